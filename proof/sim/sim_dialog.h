/*
 * sim_dialog.h - what a simulated client says in one interactive transaction, call by call, or a procedure that makes
 * the same calls (docs/interactive.md).
 *
 * What a client is shown while its transaction goes on must agree with itself, whatever others do: a cell that it has
 * read does not change, and what it has put it reads. So that is judged at once. What it has read of others may be of
 * different moments until the commit: values are judged once it has committed, and versions by the history.
 */
#pragma once

#include "prng.h"
#include "sim_cells.h"
#include "sim_herds.h"
#include "sim_people.h"
#include "sim_texts.h"

/* One transaction of a client, made anew until it commits. */
struct sim_dialog {
    struct cells *cells;
    struct cellar_lab_client *client;
    struct session *session;
    const struct cells_txn *todo;
    struct sim_texts *texts;   /* NULL: the plan has no values */
    struct sim_people *people; /* NULL: it has no people */
    struct sim_herds *herds;   /* NULL: it has no herds */
    uint8_t (*rows)[SIM_CELLS_ROW_BYTES_MAX];
    struct cellar_txn *txn;
    bool procedure;      /* its calls are those of one that runs */
    bool locks;          /* ... may lock what they read */
    bool large;          /* ... and may be very many */
    struct prng prng;    /* of the client's manners: drawn anew by each try */
    uint32_t writer;     /* its number, from 1 */
    uint64_t thought_ns; /* so far */
    uint64_t digest;     /* of all that this try has read */
    bool found;          /* by the last access that looked */
    char complaint[120]; /* about a value read; counts if it commits */
};

static inline bool sim_dialog_once_in(struct sim_dialog *dialog, uint32_t count)
{
    return prng_below(&dialog->prng, count) == 0;
}

/* From its begin to before its end. GIVEN_UP: so its client wants it. */
NODISCARD int sim_dialog_play(struct sim_dialog *dialog);

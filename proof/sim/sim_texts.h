/*
 * sim_texts.h - values of variable length in transactions of simulated clients, some of them so long that their redo
 * entry goes to an extent of the log (docs/values.md, docs/large.md).
 *
 * A value says by whom and for which key it was written, and how long it is; all its other bytes follow from that. So a
 * piece of another one, or one of another length, shows by itself.
 */
#pragma once

#include "cellar_lab.h"
#include "err.h"
#include "prng.h"

#define SIM_TEXTS_BYTES_MAX 20000

/* What a client does with values in one transaction; its own, while it waits. */
struct sim_texts {
    const struct cellar_table *table;
    uint64_t half_bytes; /* of a ring of the log */
    bool ring_only;      /* and entries must fit there */
    struct cellar_txn *txn;
    struct prng *prng;
    uint32_t writer, key; /* key: of the next step */
    bool large;
    char complaint[100];     /* about a value that was read; counts if the transaction commits */
    char contradiction[100]; /* what it was shown does not agree with itself */
    uint8_t bytes[SIM_TEXTS_BYTES_MAX];
};

/* The table, or the one that there is. */
NODISCARD int sim_texts_make(struct cellar *db, const struct cellar_table **table, struct cellar_error *error);
/* In that transaction, as that writer: how many steps it takes. */
uint32_t sim_texts_begin(struct sim_texts *texts, struct cellar_txn *txn, struct prng *prng, uint32_t writer);
/* The next one: looks at a value, and mostly changes it. A code of the transaction's. */
int sim_texts_step(struct sim_texts *texts);
/* At rest: each value is as a client wrote it, or CORRUPT. */
NODISCARD int sim_texts_check(struct cellar_lab_client *self, const struct cellar_table *table,
                              struct cellar_error *error);

/*
 * history.h - what transactions did: which version of which cell each one read and wrote, and when.
 *
 * Recorded inside the engine (history_recorder.h), kept in memory or in a file (history_file.h), judged by
 * history_check.h. A history is complete: it begins when the pool is loaded and at rest, and every transaction from
 * then on that may have had an effect is in it.
 *
 * An *item* is a cell of a record, or the record's presence (cell HISTORY_PRESENCE): insert and delete write the
 * presence and all cells. A version is the word of layout.h: EN (16 bits) over TS (48 bits). Versions of one item are
 * ordered by TS. An absent read names the version of the bucket chain that was searched: it has seen exactly the
 * inserts and deletes of its key with a TS of at most that.
 */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stdint.h>

#define HISTORY_PRESENCE 0xffff
#define HISTORY_PARTS_MAX 256

enum history_kind {
    /* version: the one read; digest: of the value. Cell HISTORY_PRESENCE: found present; version as in ABSENT */
    HISTORY_READ,
    HISTORY_WRITE,  /* version: the one written; over: the one below it; digest: of the value */
    HISTORY_ABSENT, /* cell HISTORY_PRESENCE; version: of the bucket chain */
    HISTORY_INSERT, /* cell HISTORY_PRESENCE; version: EN 0 and the TS. Its cells follow as WRITEs */
    HISTORY_DELETE, /* likewise; its cells follow as WRITEs with digest 0 */
    /*
     * cell HISTORY_PRESENCE; key to `over`: no key between them was there, but those that it read; version as in
     * ABSENT
     */
    HISTORY_RANGE,
};

struct history_access {
    uint16_t kind; /* enum history_kind */
    uint16_t cell;
    uint32_t table_id;
    uint64_t key;
    uint64_t version, over;
    uint64_t digest; /* xxh3 of the value's bytes, never 0; 0: no value, or of a READ: not known */
};

enum history_outcome {
    HISTORY_COMMITTED, /* the caller was told so */
    HISTORY_FAILED, /* no effect, but its reads were validated: the caller was told an error of the procedure's doing */
    HISTORY_INDETERMINATE, /* had its effect or not: the caller does not know, or was lost with its node */
    HISTORY_ABORTED, /* no effect, and nothing it read was validated: it is tried again, or given up. Not judged */
};
#define HISTORY_OUTCOMES 4

struct history_txn {
    uint64_t id; /* unique; in order of recording */
    uint32_t cn, coordinator;
    uint64_t begin_ns, end_ns; /* of the attempt that ended so; one clock for all */
    uint64_t ts;               /* TS_commit; 0: wrote nothing */
    uint64_t first;            /* its accesses: history->accesses[first .. first + count) */
    uint32_t count;
    uint32_t outcome; /* enum history_outcome */
};

/*
 * The pool at rest: of each item that the history wrote, after the last transaction, and of those that it read. Or of
 * each item that was there before the first one and that the history read or wrote.
 */
struct history_final {
    uint32_t table_id;
    uint16_t cell; /* presence: version 0; digest 1: present, 0: absent */
    uint64_t key, version, digest;
};

struct history {
    struct history_txn *txns;
    uint64_t txn_count, txn_capacity;
    struct history_access *accesses;
    uint64_t access_count, access_capacity;
    struct history_final *finals;
    uint64_t final_count, final_capacity;
    bool has_final; /* finals were read, and are complete */
    /* they are of every item that is not as it was loaded, also of those that no transaction here wrote */
    bool final_all;
    struct history_final *loaded;
    uint64_t loaded_count, loaded_capacity;
    bool has_loaded; /* what is not among these was not there */
    uint32_t died; /* of processes that died: of so many what they had recorded is here, without finals of their own */
    bool torn;     /* what ended last is missing: the file broke off, */
    uint64_t torn_line; /* in this line or behind it */
    bool no_epochs;  /* versions are told by their TS alone, EN 0: in mode crest not every version comes to the pool */
    bool nodes_lost; /* compute nodes were lost: locks of theirs may hide items, and finals be half done */
    uint64_t clock_error_ns; /* begin and end come from clocks that may be so far apart; 0: from one clock */
    uint32_t part, parts;    /* of a run by several processes, what number `part` of them did; parts 0: this is all */
    uint64_t run;            /* parts: of which run, a number that no other has; 0: not known */
    struct history_name {
        uint32_t table_id;
        uint32_t cells; /* of a record; 0: not known */
        char name[CELLAR_NAME_BYTES];
    } * tables;
    uint32_t table_count;
    uint32_t passing; /* nothing is said of tables with this number and above, which came and went; 0: none did */
};

/* All zero is an empty history. The adders copy (`first` is set by the adder); NOMEM is the only error. */
NODISCARD int history_txn_add(struct history *history, const struct history_txn *txn,
                              const struct history_access *accesses);
NODISCARD int history_final_add(struct history *history, const struct history_final *final);
NODISCARD int history_loaded_add(struct history *history, const struct history_final *loaded);
NODISCARD int history_table_add(struct history *history, uint32_t table_id, uint32_t cells, const char *name);
/*
 * Tables from this number on came and went meanwhile, so that versions in them began anew: what is said of them is
 * taken out. Transactions stay, with what else they did; they must be in the order in which they were added.
 */
void history_leave_out(struct history *history, uint32_t from);
/* The cells of the table's records; 0: not known. */
uint32_t history_table_cells(const struct history *history, uint32_t table_id);
/* The table's name, or "table N" written into `buffer`. */
const char *history_table_name(const struct history *history, uint32_t table_id, char buffer[CELLAR_NAME_BYTES]);
void history_free(struct history *history);

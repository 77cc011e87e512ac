/*
 * draft.h - what an interactive transaction has read, and what it means to write (docs/interactive.md): the private
 * memory of a transaction whose client thinks between two calls. Nothing of it is seen by others before the commit.
 *
 * A *note* says which version of a cell was read first, or which version of its bucket lacked the key. Notes are taken
 * by short attempts that only read, and compared by the one attempt that commits: at the moment when it is serialized,
 * and all that it has read itself is known to be current (draft_serialized).
 *
 * INV-DRAFT-1: a note is of a durable version: it counts only when the attempt that took it has ended well.
 * INV-DRAFT-2: an attempt that serves a commit or a check ends well, or with a conclusion, only if the versions that it
 *              has read itself are those of all notes. Timestamps are compared: a client may think until epoch numbers
 *              have come full circle.
 * INV-DRAFT-3: the first note of a cell stands until the transaction ends, whatever is rolled back.
 * INV-DRAFT-4: a scan notes all cells that its attempt has read, those of the index's nodes too: the commit compares
 *              the gaps between the records like the records.
 * INV-DRAFT-6: where records went without a transaction since it began (a table was dropped or emptied), or an index
 *              came, it ends with RETRY: versions begin anew there, and what its commit may need was told without that
 *              index. Each attempt and each glance looks, inside the gate.
 * INV-DRAFT-5: an attempt that ends for lack of room ends the commit, too, even where it has not read all notes.
 *
 * Memory is mapped once, for the largest transaction, and touched as it is needed; nothing is allocated by a call. The
 * hash is small at first, and made anew when it is half full.
 */
#pragma once

#include "txn.h"
#include "treenode.h"

#define DRAFT_RECORDS_MAX CELLAR_INTERACTIVE_RECORDS_MAX
#define DRAFT_SCANNED_MAX CELLAR_TXN_RECORDS_MAX  /* of one scan */
#define DRAFT_ENTRIES_MAX (4 * DRAFT_SCANNED_MAX) /* found, found and changed here, come from here, and put together */
#define DRAFT_ARENA_BYTES (256u << 20)
#define DRAFT_SLOTS_MAX (2 * DRAFT_RECORDS_MAX) /* of the (table, key) hash */

enum draft_change { DRAFT_NONE, DRAFT_PUT, DRAFT_INSERT, DRAFT_DELETE };

/* What the changes take for granted: looked at by the commit, unless it is noted. */
enum draft_expect { DRAFT_ANYTHING, DRAFT_PRESENT, DRAFT_ABSENT };

struct draft_change_state {
    uint64_t put_columns; /* of DRAFT_PUT: a bit each */
    uint8_t change;       /* enum draft_change */
    uint8_t expect;       /* enum draft_expect */
};

struct draft_record {
    const struct table *table;
    uint64_t key;
    /* notes */
    struct fabric_addr addr; /* where it was read, or its bucket that lacked the key */
    uint8_t *image;          /* note_cells, with their versions as read; a record's image */
    uint64_t bucket_version; /* of the bucket that lacked the key */
    uint32_t note_cells;
    bool noted_absent;
    /* of the attempt that reads: what it is to note, and has; notes once it has ended well */
    uint32_t want_cells, taken_cells;
    bool wanted, taken_absent;
    int32_t ref; /* of the running attempt */
    /* locked for update: cells that are to be; of the attempt that holds: those that are, and its reference */
    uint32_t hold_cells, locked_cells;
    int32_t hold_ref;
    /* changes */
    struct draft_change_state now;
    uint8_t *row; /* a row struct: the columns that were put, or a whole row */
};

/* What a change has replaced; newest first. */
struct draft_undo {
    struct draft_undo *below;
    struct draft_record *record;
    struct draft_change_state then;
    int32_t column; /* whose bytes follow; -1: the whole row's; -2: none */
};

/* Of the arena: what a change of a record of few columns takes besides its bytes. */
#define DRAFT_CHANGE_BYTES ((uint64_t)(CELLAR_CELLS_MAX / 4) * (sizeof(struct draft_undo) + 8))

/* Does the transaction make the row, as far as it knows? All its columns are in `row` then. */
static inline bool draft_is_new(const struct draft_record *record)
{
    return record->now.change == DRAFT_INSERT ||
           (record->now.change == DRAFT_PUT && record->now.expect == DRAFT_ANYTHING && record->noted_absent);
}
/* The columns that it has put itself, a bit each. */
static inline uint64_t draft_own_columns(const struct draft_record *record)
{
    if (draft_is_new(record)) return UINT64_MAX;
    return record->now.change == DRAFT_PUT ? record->now.put_columns : 0;
}

/* OWN: of a procedure, whose attempt notes what it has read itself, and serves no other (procedure.h). */
enum draft_service { DRAFT_TAKES, DRAFT_SCANS, DRAFT_COMPARES, DRAFT_OWN };

struct draft {
    struct draft_record *records; /* DRAFT_RECORDS_MAX */
    struct draft_entry {
        uint32_t generation, record;
    } * hash; /* slot_mask + 1 in use, half of them empty */
    uint32_t slot_mask;
    uint32_t count, generation;
    uint32_t catalog_changes; /* when it began */
    uint64_t arena_used;
    uint8_t *arena;
    uint32_t *wanted; /* records that the next read is to note */
    uint32_t wanted_count;
    uint32_t blocks;                /* reads that have noted something: what one has noted was true at one moment */
    uint64_t oldest_ns;             /* when the first of them began */
    uint32_t configuration;         /* ... and in which one (configuration.h) */
    bool of_pool;                   /* ... and all have noted what the pool showed */
    uint32_t changes;               /* records with one, or with an expectation */
    struct treenode_entry *entries; /* DRAFT_ENTRIES_MAX; of the scan that runs */
    /* savepoints */
    struct draft_undo *undo;
    struct draft_undo *savepoints[CELLAR_SAVEPOINTS_MAX];
    uint32_t savepoint_count;
    /* cursors that are open, a bit each: how it was when they were opened */
    struct draft_undo *marks[CELLAR_CURSORS_MAX];
    uint32_t marked;
    /* of the attempt that it serves */
    enum draft_service service;
    bool beside;     /* ... beside a hold (hold.h) */
    bool conflict;   /* it has met another version than a note's: the transaction is over */
    bool look_first; /* an attempt ended with EXISTS before it had read what is noted: the next one looks first */
    bool uncompared; /* it ended, even so, with an error that is no conclusion before it had read what is noted */
    struct cellar_detail met; /* of a conflict */
};

/*
 * Bytes that stand until the transaction ends, 8-byte aligned, not zeroed; until more are taken, RECORD_SPILL behind
 * them may be written, too. NULL: there is no more room.
 */
static inline void *draft_alloc(struct draft *draft, uint64_t bytes)
{
    uint64_t rounded = (bytes + 7) & ~7ull;
    if (rounded > DRAFT_ARENA_BYTES - draft->arena_used) return NULL;
    void *memory = draft->arena + draft->arena_used;
    draft->arena_used += rounded;
    return memory;
}

/* The attempt that it serves only reads for it: what that has found is told by a later one, or by none. */
static inline bool draft_only_reads(const struct draft *draft)
{
    return draft->service == DRAFT_TAKES || draft->service == DRAFT_SCANS;
}

/* NOMEM. */
NODISCARD int draft_open(struct draft *draft);
/* Also of one that was not opened, all zero. */
void draft_close(struct draft *draft);
/* For another transaction, when the catalog has changed so often (catalog.h). */
void draft_reset(struct draft *draft, uint32_t changes);

/* The entry that has the key, or is to have it. */
static inline struct draft_entry *draft_entry_of(const struct draft *draft, const struct table *table, uint64_t key)
{
    uint64_t at = ((key + ((uint64_t)table->id << 56)) * 0x9e3779b97f4a7c15ull) >> 32;
    for (;; at++) {
        struct draft_entry *entry = &draft->hash[at & draft->slot_mask];
        if (entry->generation != draft->generation) return entry;
        const struct draft_record *record = &draft->records[entry->record];
        if (record->key == key && record->table == table) return entry;
    }
}
/* The record of that key, or NULL. */
static inline struct draft_record *draft_find(const struct draft *draft, const struct table *table, uint64_t key)
{
    const struct draft_entry *entry = draft_entry_of(draft, table, key);
    return entry->generation == draft->generation ? &draft->records[entry->record] : NULL;
}
/* The same, made when there is none; NULL: there are DRAFT_RECORDS_MAX. */
struct draft_record *draft_record_make(struct draft *draft, const struct table *table, uint64_t key,
                                       struct draft_entry *entry);
static inline struct draft_record *draft_record(struct draft *draft, const struct table *table, uint64_t key)
{
    struct draft_entry *entry = draft_entry_of(draft, table, key);
    bool found = entry->generation == draft->generation;
    return found ? &draft->records[entry->record] : draft_record_make(draft, table, key, entry);
}
#define draft_each(draft, record)                                                                                      \
    for (struct draft_record *record = (draft)->records, *record##_end = record + (draft)->count;                      \
         record < record##_end; record++)

/* ---- reading ---- */

/* These cells are to be read, less those that are noted. False: there is nothing to read. NOMEM as TOO_LARGE: -1. */
int draft_want(struct draft *draft, struct draft_record *record, uint32_t cells);
/* These cells, which are noted, are to be found as they are. */
void draft_want_again(struct draft *draft, struct draft_record *record, uint32_t cells);
/*
 * At the end of a procedure that scans: all that its attempt has read is wanted. 0; or TOO_LARGE, positive,
 * and in *why what is.
 */
NODISCARD int draft_want_all(struct draft *draft, const struct txn *txn, enum why *why);
/* What is to be noted was read by that transaction, from then on. */
static inline void draft_read_since(struct draft *draft, const struct txn *txn, uint64_t oldest_ns, bool in_pool)
{
    if (draft->blocks == 0) {
        draft->oldest_ns = oldest_ns;
        draft->configuration = txn->home->halt->now.epoch;
        draft->of_pool = true;
    }
    draft->of_pool = draft->of_pool && in_pool;
}
/* What is wanted of a record, which is there, is in that image, which may be the record's own: it is taken from it. */
void draft_take(struct draft_record *record, const uint8_t *image);
/* There is no such record: its bucket lacked it, in bucket_version. */
void draft_take_absence(struct draft_record *record);
/* Of what is wanted nothing is noted: the read has failed. */
void draft_want_nothing(struct draft *draft);
/* OWN: these cells are to be locked by the next block, unless they are, and are noted then. */
void draft_want_held(struct draft *draft, struct draft_record *record, uint32_t cells);
/* OWN: the block has ended well. These cells are noted, and those that it has locked, where the attempt has them. */
void draft_note_own(struct draft_record *record, const struct txn *txn, uint32_t cells);
/* The read has ended well: what it has taken are notes. False: a record that was noted as present is gone (met). */
NODISCARD bool draft_note(struct draft *draft);

/*
 * By every attempt that serves a draft, when it is serialized and all that it has read is validated: takes notes, or
 * compares them. 0, or RETRY: the attempt is aborted.
 */
NODISCARD int draft_serialized(struct coro *co, struct txn *txn);

/* Of a record that is noted: has this attempt, by that reference, the same versions of these cells? */
bool draft_is_same(const struct txn *txn, const struct draft_record *record, int32_t ref, uint32_t cells);
/* Cells that an attempt beside the hold does not touch: they are locked, and noted. */
static inline uint32_t draft_cells_beside(const struct draft *draft, const struct draft_record *record)
{
    return draft->beside ? record->hold_cells : 0;
}
static inline uint32_t draft_held_cells(const struct draft *draft, const struct table *table, uint64_t key)
{
    const struct draft_record *record = draft && draft->beside ? draft_find(draft, table, key) : NULL;
    return record ? record->hold_cells : 0;
}

/* ---- changing: 0, or a code that is positive, and nothing has changed ---- */

/* As far as it is known here: is there such a record? */
enum draft_expect draft_known(const struct draft_record *record);
int draft_put(struct draft *draft, struct draft_record *record, uint32_t column, const void *value);
int draft_insert(struct draft *draft, struct draft_record *record, const void *row);
/* `expect` DRAFT_ANYTHING: that there was no such record is no error. */
int draft_delete(struct draft *draft, struct draft_record *record, enum draft_expect expect);
/*
 * As draft_put of these columns, and as draft_insert; but the caller writes them, to record->row, once this has
 * returned 0. `makes`: a record that is not there is made, with zeros in other columns; an insert's are all zero.
 */
int draft_row_put(struct draft *draft, struct draft_record *record, uint64_t columns, bool makes);
int draft_row_insert(struct draft *draft, struct draft_record *record);
/*
 * Is there room for changes of so many records, though none is known yet, with so many bytes of rows together? They
 * cannot fail then for want of it.
 */
bool draft_has_room(const struct draft *draft, uint32_t records, uint64_t bytes);
/* The cells of these columns. */
uint32_t draft_cells(const struct schema *schema, uint64_t columns);

/*
 * INV-DRAFT-7: what a cursor has marked stands until it is closed: the draft can be shown as it was then. A rollback to
 *              a savepoint of before takes the mark with it.
 */
/* A mark's number; negative: there are CELLAR_CURSORS_MAX. */
int draft_mark(struct draft *draft);
void draft_unmark(struct draft *draft, int mark);
/* Shows changes as they were then, and no call but this one's reads and draft_return until that; and as they are. */
struct draft_undo *draft_go_back(struct draft *draft, int mark);
void draft_return(struct draft *draft, struct draft_undo *gone);

/* The number of a new savepoint; negative: there are CELLAR_SAVEPOINTS_MAX. */
int draft_savepoint(struct draft *draft);
/* False: there is no such savepoint. */
bool draft_rollback(struct draft *draft, int savepoint);
bool draft_release(struct draft *draft, int savepoint);

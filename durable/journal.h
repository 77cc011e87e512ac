/*
 * journal.h - what the log of a memory node says: redo entries, each of an epoch; epochs that were closed; and lives,
 * which end when power fails (docs/durability.md).
 *
 *     journal_look at each node ─> journal_cut_of all ─> journal_open each: shows what counts, and has it on the disk
 *         ─> all are open: journal_begin each ─> all have begun: go on
 *
 * INV-DURABLE-9:  what counts of a life that has ended is cut at the last epoch that all nodes had closed.
 * INV-DURABLE-12: a node's disk has that cut when journal_begin returns; what was beyond the cut of its life counts in
 *                 no later one. Epochs of a life are above all that were ever used.
 * INV-DURABLE-13: journal_closed names an epoch only when its end, and all entries appended before that, are on the
 *                 disk.
 * INV-DURABLE-23: no log has the mark of a new life before the disks have what all logs have shown: the end of one may
 *                 have been in a cache only, and power that fails then gives another cut.
 * INV-DURABLE-14: logs of which one says that an epoch is on all disks, and another one ends before it, are refused.
 *
 * One thread at a time uses a journal.
 */
#pragma once

#include "wal.h"

/* What a node's log has. */
struct journal_found {
    uint64_t life;   /* 1, 2, ...; 0: none has begun */
    uint64_t cut;    /* of the life before it */
    uint64_t closed; /* the last epoch that was closed, in whatever life; at least `cut` */
    uint64_t last;   /* the largest epoch of an entry or a mark */
    uint64_t known;  /* the largest epoch that this log says to be on the disks of all nodes */
};

/* What all nodes' logs together have. */
struct journal_cut {
    uint64_t life;  /* that has ended; 0: none had begun */
    uint64_t epoch; /* entries of it up to this one count */
    uint64_t last;  /* the next life's epochs are above this one */
};

enum journal_kind { JOURNAL_ENTRY = 1, JOURNAL_CLOSED = 2, JOURNAL_LIFE = 3 };

/* What a log is a sequence of. */
struct journal_item {
    uint64_t group;
    enum journal_kind kind;
    bool counts;          /* an entry: it is not beyond the cut of its life */
    uint64_t life, epoch; /* of LIFE the one that begins, and the cut of the one before */
    const uint8_t *bytes; /* aligned to 8; they stay until the call returns */
    uint32_t count;
};
/* Other than 0 ends the reading, and is returned. */
typedef int journal_visit(void *arg, const struct journal_item *item);

/*
 * Reads a node's log from group config->from on; nothing is written. Errors: those of wal_read; CORRUPT: a group that
 * says what cannot be. Where the log's beginning was freed a life is known from its entries, until a mark comes.
 */
NODISCARD int journal_look(const struct wal_config *config, struct journal_found *found, struct cellar_error *error);

/* `count` nodes, one at least. CORRUPT: these logs are not of one moment: a folder is missing, older, or of no use. */
NODISCARD int journal_cut_of(const struct journal_found *nodes, uint32_t count, struct journal_cut *cut,
                             struct cellar_error *error);

/* Shows every item of a node's log, judged by that cut; nothing is written. Errors: as journal_look. */
NODISCARD int journal_items(const struct wal_config *config, const struct journal_cut *cut, journal_visit *visit,
                            void *arg, struct cellar_error *error);
/* Shows the entries that count, as journal_open does; nothing is written, and no life begins. */
NODISCARD int journal_show(const struct wal_config *config, const struct journal_cut *cut, journal_visit *visit,
                           void *arg, struct cellar_error *error);

struct journal;

/*
 * Opens a node's log, and shows the entries that count. All that the log has is on the disk then. Errors: those of
 * wal_open and journal_look.
 */
NODISCARD int journal_open(const struct wal_config *config, const struct journal_cut *cut, journal_visit *visit,
                           void *arg, struct journal **journal, struct cellar_error *error);
/*
 * Begins the life after cut->life, once the logs of all nodes are open. The cluster goes on when all have returned 0;
 * when power fails before, the same cut is found again. Errors: those of wal_sync.
 */
NODISCARD int journal_begin(struct journal *journal, struct cellar_error *error);

/* Bytes of the log that an entry takes. */
uint32_t journal_entry_bytes(uint32_t count);
/*
 * Adds an entry, whose epoch is above those closed. False: journal_sync has to make room. At most what the log's
 * group_bytes have room for.
 */
NODISCARD bool journal_entry(struct journal *journal, uint64_t epoch, const void *bytes, uint32_t count);
/*
 * Says that all entries of epochs up to this one, which is above those closed before, were added; and that all nodes
 * have published `known`, an earlier one: a node whose disk loses it later is noticed. False: likewise.
 */
NODISCARD bool journal_close_epoch(struct journal *journal, uint64_t epoch, uint64_t known);
/* Makes what was added durable. Errors: those of wal_sync. */
NODISCARD int journal_sync(struct journal *journal, struct cellar_error *error);
/* The last closed epoch that is on the disk: what the node publishes. */
uint64_t journal_closed(const struct journal *journal);

/* The life that is on. */
uint64_t journal_life(const struct journal *journal);
/* The number of the group under way: what is added from now on is in none before it. */
uint64_t journal_group(const struct journal *journal);
/* Files that the log has, and which are not needed once no group below `below` is. Errors: those of wal_free. */
uint32_t journal_files(const struct journal *journal);
/* As wal_written. */
uint64_t journal_written(const struct journal *journal);
NODISCARD int journal_free(struct journal *journal, uint64_t below, struct cellar_error *error);

/* As wal_close. NULL is allowed. */
NODISCARD int journal_end(struct journal *journal, struct cellar_error *error);

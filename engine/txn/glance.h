/*
 * glance.h - reads of an interactive transaction, and the check of all that it has read, without an attempt
 * (docs/interactive.md, Glances): where what the pool shows is what a transaction reads.
 *
 *     gate ─ is the pool what is read? ─ READ the buckets of records whose places the worker does not know
 *          ─ READ the records, then READ their headers again, and buckets that lack a key ─ as before: noted ─ gate
 *
 * It is a read attempt of docs/protocol.md, section 4, written out. v is when the last record has been read, at its
 * memory node: of records on one node the headers are read behind them by the same batch. What is not plainly so (a
 * tag, a torn image, a chain of several buckets, a gate that is closed) is left to an attempt.
 *
 * INV-GLANCE-1: it is inside the gate, and asks there whether the pool is what is read (INV-WAY-2).
 * INV-GLANCE-2: a cell is noted only if its record's header, read after all records, is of the same key, not deleted,
 *               shows no tag on what the mode would lock and the epoch number of the cell; so soon after the first READ
 *               that epoch numbers have not come full circle. What leads to a record is read likewise: of a range the
 *               index's nodes.
 * INV-GLANCE-3: nothing is noted unless all that is wanted can be.
 * INV-GLANCE-4: a key is noted as absent only if its bucket, read before all records, had no entry for it and no
 *               further part; and, read after them, has that version still, and no tag.
 * INV-GLANCE-5: notes of several moments are true at one, if the headers and buckets of all, read together, are as
 *               INV-GLANCE-2 and 4 have them: where all were read in the pool, in the configuration that there is now,
 *               and the first of them so soon before that epoch numbers have not come full circle.
 */
#pragma once

#include "draft.h"

#define GLANCE_RECORDS_MAX 64
#define GLANCE_NOTES_MAX 1024 /* whose headers are read again */

/*
 * Reads what the draft wants, as take() does: to be noted by draft_note, or not. False: an attempt is to read it. `co`
 * may be NULL where operations have run when their post returns (fabric.immediate).
 */
bool glance(struct coro *co, struct txn *txn, struct draft *draft);
/* Was all that is noted so at one moment, within this call? False: an attempt is to say. `co` as there. */
bool glance_again(struct coro *co, struct txn *txn, struct draft *draft);

/*
 * Reads in several rounds what leads to one another, an index's nodes and then rows, and then all their headers: v is
 * when the last round has been read. Each of these is false where an attempt is to read.
 */
struct glance_walk {
    struct coro *co;
    struct txn *txn;
    struct draft *draft;
    struct glance_fresh *fresh; /* wanted, and not read yet */
    uint32_t fresh_count;
    struct fabric_addr first; /* of the first record; */
    bool apart;               /* ... and not all are on its memory node */
    bool notes;               /* some is noted already */
};
typedef bool glance_along(struct glance_walk *walk, void *arg);
/* All that `along` wants is read, as by glance(). `along` ends before the last round: what is wanted then is read. */
bool glance_walk(struct coro *co, struct txn *txn, struct draft *draft, glance_along *along, void *arg);
/* These cells; those that are noted are to be as they are, at v. Of a record that was noted absent: false. */
bool glance_walk_want(struct glance_walk *walk, struct draft_record *record, uint32_t cells);
/* A round: what is wanted is in the records' images. */
bool glance_walk_read(struct glance_walk *walk);

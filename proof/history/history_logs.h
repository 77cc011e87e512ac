/*
 * history_logs.h - do the redo logs of the pool at rest tell the same as the history? Recovery will have nothing else
 * to go by.
 *
 *     truth       a whole entry of this opening of the database belongs to a recorded transaction of its coordinator,
 *                 and says what that wrote: the same cells, presences and values, in the same order
 *     order       a coordinator's entries rise in TS with their sequence; where one lies directly behind the other
 *                 they are consecutive, or the second is what is left of the lap before, or begins the ring's second
 *                 half
 *     durability  the newest entry of a coordinator, when its transaction committed, is on all replicas; and whatever
 *                 entry of a committed transaction is on one of them is on all
 *     write-ahead no version of an indeterminate transaction is in the pool, or was read or overwritten, unless its
 *                 entry is on all replicas
 *
 * A ring keeps only its newest entry for sure, so older ones may be missing. Replicas on memory nodes that do not
 * answer are passed over; after an indeterminate transaction a coordinator's older entries may be half overwritten.
 */
#pragma once

#include "db.h"
#include "history.h"

/*
 * Runs on that coordinator, with all at rest, once the recorder is closed. The history holds every transaction of
 * this opening of the database that wrote, and began at since_ns or later; those before are of earlier openings.
 * -CORRUPT: what is wrong, in one line; another code: the logs could not be read.
 */
NODISCARD int history_logs_check(const struct history *history, struct cellar *db, uint32_t coordinator,
                                 uint64_t since_ns, struct cellar_error *error);

/*
 * loader_logs.h - reading the redo logs of a pool at rest: every whole entry in every coordinator's segment.
 */
#pragma once

#include "loader.h"
#include "logseg.h"

struct loader_log {
    uint32_t node, replica;   /* the segment's primary node; which of its replicas was read */
    uint32_t cn, coordinator; /* whose segment it is, as its run's header says */
    struct fabric_addr addr;  /* of the entry, in the primary */
    uint64_t offset;          /* of the entry, in its ring */
};

/* `entry` is whole (logseg_parse) and valid during the call; its changes: logseg_next_write. */
typedef int (*loader_log_fn)(void *arg, const struct loader_log *at, const struct log_entry_wire *entry);

/*
 * Calls fn for each whole entry of the segments whose primary is on `node`, segment by segment in the order of
 * addresses, as that replica (0: the primary) has them. Entries are found on the lines of their ring, and nothing is
 * looked for inside one that is whole. A negative value from fn ends it.
 */
NODISCARD int loader_logs(struct coro *co, struct loader *loader, uint32_t node, uint32_t replica, loader_log_fn fn,
                          void *arg, struct cellar_error *error);

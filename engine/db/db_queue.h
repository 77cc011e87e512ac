/* db_queue.h - the end of completion queues. */
#pragma once

#include "cellar_proc.h"
#include "err.h"

struct cellar;

/* Of completion queues that are still open; no call is in flight. */
void db_queues_free(struct cellar *db);

/* As cellar_proc_queue_open. */
NODISCARD int db_queue_open(struct cellar *db, uint32_t calls_max, cellar_notify_fn notify, void *notify_arg,
                            struct cellar_queue **out, struct cellar_error *error);

/* db_queue.h - the end of completion queues. */
#pragma once

struct cellar;

/* Of completion queues that are still open; no call is in flight. */
void db_queues_free(struct cellar *db);

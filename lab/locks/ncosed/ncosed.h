/*
 * ncosed.h - what clients and homes of N-CoSED (ncosed.c) tell each other. A home has a record for each lock
 * of which readers have left that are still in the word, or a writer waits for some: of a table that is made at open
 * and cannot overflow. Each client holds or waits for locks_per_client locks at most, those it gave up waiting for
 * included until the tender has seen to them, and has told so many times at most that it left without a home's answer
 * that this was seen to.
 */
#pragma once

#include "lockmgr_algorithm.h"

enum ncosed_kind {
    NCOSED_FOLLOW,  /* writer to writer: I am next */
    NCOSED_JOIN,    /* reader to writer: I come in after you */
    NCOSED_GRANT,   /* to either */
    NCOSED_REPLACE, /* writer to home: I have replaced so many readers */
    NCOSED_LEFT,    /* reader to home */
    NCOSED_SEEN,    /* home to client: so many of its LEFTs, of all, have been seen to */
};
/* Words of a message: the sender (a client; of SEEN the home's worker), its acquire, a number. */
enum { NCOSED_FROM, NCOSED_TICKET, NCOSED_COUNT };

#define NCOSED_LOCKS_PER_CLIENT 16
#define NCOSED_SEEN_EVERY 8 /* LEFTs of one client, to one home */

/*
 * LEFTs that one client may have sent without having been told that they were seen to: enough for each home to owe it
 * less than an answer.
 */
static inline uint32_t ncosed_window(const struct lockmgr_config *config)
{
    return NCOSED_SEEN_EVERY * (config->server_workers + 1);
}

static inline uint32_t ncosed_locks_per_client(const struct lockmgr_config *config)
{
    return config->locks_per_client ? config->locks_per_client : NCOSED_LOCKS_PER_CLIENT;
}

static inline uint64_t ncosed_clients(const struct lockmgr_config *config)
{
    return (uint64_t)config->cn_count * config->workers_per_cn * config->clients_per_worker;
}

/* Records that a home may need at once. */
static inline uint64_t ncosed_records(const struct lockmgr_config *config)
{
    return ncosed_clients(config) * (ncosed_locks_per_client(config) + ncosed_window(config));
}

/* From that worker, by its tender, to client `id`. */
void ncosed_grant(struct lockmgr_worker *worker, struct fabric_addr lock, uint64_t id, uint64_t ticket);

NODISCARD int ncosed_home_open(struct lockmgr_worker *worker, struct cellar_error *error);
void ncosed_home_close(struct lockmgr_worker *worker);
void ncosed_home_deliver(struct lockmgr_worker *worker, const struct fabric_message *from,
                         const struct lockmgr_message_wire *wire);
uint64_t ncosed_home_tend(struct coro *co, struct lockmgr_worker *worker);

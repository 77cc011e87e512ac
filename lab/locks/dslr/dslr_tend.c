/*
 * dslr_tend.c - what a worker does for tickets of DSLR that no client waits for: words to be cleared, places of
 * waiters that gave up.
 */
#include "dslr.h"
#include "dslr_plants.h"
#include "must.h"

#include <stdlib.h>

#define LAST_WAIT_NS 10000 /* until the last tickets before a reset are done */
#define LOOK_MAX_NS 100000 /* between two looks at a ghost's turn */

/*
 * A word to be cleared when all tickets that count are done: for those that came later, the word stands still until
 * then.
 */
struct last_ticket {
    struct fabric_addr lock;
    uint64_t idle; /* the counters of tickets done, then */
};

/* A ticket of a client that gave up. */
struct ghost {
    struct lockmgr_hold hold; /* its client is the tender */
    uint64_t look_ns;
};

struct own {
    struct last_ticket *last;
    struct ghost *ghosts;
    uint32_t last_count, last_capacity, ghost_count, ghost_capacity;
};

/* The array, or a bigger one, with room for one more; NULL: there is no memory, and the array is as it was. */
static void *with_room(void *array, uint32_t count, uint32_t *capacity, size_t bytes)
{
    if (count < *capacity) return array;
    uint32_t more = *capacity ? 2 * *capacity : 8;
    void *bigger = realloc(array, more * bytes);
    if (bigger) *capacity = more;
    return bigger;
}

/* ---- full words ---- */

/* A client must not wait for the others itself: it may hold another lock that one of them waits for. */
void dslr_leave_last(struct lockmgr_hold *hold)
{
    struct lockmgr_worker *worker = hold->client->worker;
    const struct dslr_place *place = dslr_place(hold);
    struct own *own = worker->own;
    bool shared = place->kind == DSLR_S;
    if (worker->lockmgr->policy != DSLR_PLAIN) return;
    if (place->ticket[place->kind] != dslr_full_of(&worker->lockmgr->config) - 1) return;
    struct last_ticket *last = with_room(own->last, own->last_count, &own->last_capacity, sizeof *last);
    must(last);
    own->last = last;
    uint64_t exclusive = place->ticket[DSLR_X] + !shared, readers = place->ticket[DSLR_S] + shared;
    own->last[own->last_count++] = (struct last_ticket){.lock = hold->lock, .idle = exclusive << 16 | readers};
    lockmgr_stir(worker);
}

/* True: cleared. */
static bool clear(struct coro *co, struct lockmgr_worker *worker, const struct last_ticket *last)
{
    struct lockmgr_client *tender = &worker->tender;
    uint64_t *word = (uint64_t *)(void *)tender->buffer;
    struct fabric_op op = fabric_op_read(last->lock, word, sizeof *word);
    if (lockmgr_do(co, tender, &op, 1)) return true; /* the node is gone, or this one is */
    if (*word >> 32 != last->idle && !PLANT(lockmgr_dslr_early_reset)) return false;
    uint64_t seen = *word;
    op = fabric_op_cas(last->lock, &tender->old[0], seen, 0);
    if (lockmgr_do(co, tender, &op, 1)) return true;
    tender->stats.resets += tender->old[0] == seen;
    return tender->old[0] == seen;
}

static uint64_t clear_words(struct coro *co, struct lockmgr_worker *worker)
{
    struct own *own = worker->own;
    uint32_t i = 0;
    while (i < own->last_count) {
        struct last_ticket ticket = own->last[i]; /* clients may add others meanwhile */
        if (clear(co, worker, &ticket))
            own->last[i] = own->last[--own->last_count];
        else
            i++;
    }
    return own->last_count ? fabric_now_ns(worker->ep) + LAST_WAIT_NS : UINT64_MAX;
}

/* ---- ghosts ---- */

bool dslr_leave_ghost(struct lockmgr_hold *hold)
{
    struct lockmgr_worker *worker = hold->client->worker;
    struct own *own = worker->own;
    if (PLANT(lockmgr_dslr_ghost_forgotten)) return true;
    struct ghost *ghost = with_room(own->ghosts, own->ghost_count, &own->ghost_capacity, sizeof *ghost);
    if (!ghost) return false;
    own->ghosts = ghost;
    ghost += own->ghost_count++;
    *ghost = (struct ghost){.hold = *hold};
    ghost->hold.client = &worker->tender;
    ghost->hold.next = NULL;
    lockmgr_stir(worker);
    return true;
}

/* True: its turn is over. */
static bool haunt(struct coro *co, struct ghost *ghost)
{
    enum dslr_turn turn;
    if (dslr_look(co, &ghost->hold, &turn)) return true; /* the node is gone, or this one is */
    if (turn == DSLR_PASSED) return true;
    if (turn == DSLR_IS_THERE || PLANT(lockmgr_dslr_ghost_hurries))
        return dslr_leave(co, &ghost->hold) <= 0; /* FENCED: it was passed over */
    uint64_t wait_ns = (uint64_t)dslr_before(&ghost->hold, dslr_place(&ghost->hold)->seen) * DSLR_TICKET_NS;
    uint64_t most_ns = dslr_lease_ns(&ghost->hold) / DSLR_STEPS;
    if (most_ns == 0 || most_ns > LOOK_MAX_NS) most_ns = LOOK_MAX_NS;
    ghost->look_ns = lockmgr_now_ns(ghost->hold.client) + (wait_ns < most_ns ? wait_ns : most_ns);
    return false;
}

static uint64_t haunt_all(struct coro *co, struct lockmgr_worker *worker)
{
    struct own *own = worker->own;
    uint64_t next_ns = UINT64_MAX;
    uint32_t i = 0;
    while (i < own->ghost_count) {
        struct ghost ghost = own->ghosts[i]; /* clients may add others meanwhile */
        bool over = ghost.look_ns <= fabric_now_ns(worker->ep) && haunt(co, &ghost);
        own->ghosts[i] = over ? own->ghosts[--own->ghost_count] : ghost;
        if (over) continue;
        if (ghost.look_ns < next_ns) next_ns = ghost.look_ns;
        i++;
    }
    return next_ns;
}

/* ---- the worker ---- */

uint64_t dslr_tend(struct coro *co, struct lockmgr_worker *worker)
{
    uint64_t clear_ns = clear_words(co, worker), haunt_ns = haunt_all(co, worker);
    return clear_ns < haunt_ns ? clear_ns : haunt_ns;
}

bool dslr_quiet(const struct lockmgr_worker *worker)
{
    const struct own *own = worker->own;
    return own->last_count == 0 && own->ghost_count == 0;
}

void dslr_worker_forget(struct lockmgr_worker *worker)
{
    struct own *own = worker->own;
    own->last_count = own->ghost_count = 0;
}

int dslr_worker_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    worker->own = calloc(1, sizeof(struct own));
    return worker->own ? 0 : err_set(error, CELLAR_NOMEM, "no memory for tickets");
}

void dslr_worker_close(struct lockmgr_worker *worker)
{
    struct own *own = worker->own;
    free(own->last);
    free(own->ghosts);
    free(own);
}

/*
 * declock_place.c - a seat's place in the remote queue: one FAA to enter, a WRITE of the entry only by one that must
 * wait; FAA and READ in one doorbell to leave, then a message to those that the entries name.
 */
#include "declock.h"
#include "declock_plants.h"
#include "must.h"

#include <string.h>

bool declock_again(struct coro *co, struct lockmgr_client *client, int code, uint32_t *tries)
{
    if (code != CELLAR_UNREACHABLE || *tries >= DECLOCK_TRIES_MAX) return false;
    uint64_t rtt_ns = client->worker->lockmgr->config.rtt_ns;
    lockmgr_sleep(co, client, (rtt_ns ? rtt_ns : 1) * (1 + *tries));
    client->stats.retries++;
    ++*tries;
    return true;
}

/* What changes nothing may be done again even if it is not known whether it was. */
static int harmless(int code) { return code == CELLAR_INDETERMINATE ? CELLAR_UNREACHABLE : code; }

int declock_fetch(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock)
{
    struct declock *declock = declock_of(client->worker);
    uint32_t tries = 0;
    int code;
    do {
        struct fabric_op op =
            fabric_op_read(lock, declock_client_of(client)->words, (uint32_t)cql_bytes(&declock->cql));
        code = lockmgr_do(co, client, &op, 1);
    } while (declock_again(co, client, harmless(code), &tries));
    return code;
}

/* ---- to be IDLE ---- */

/* Under the slot's lock. */
static void make_idle(struct declock_seat *seat)
{
    seat->state = DECLOCK_IDLE;
    seat->ticketed = seat->granted = seat->remote_known = false;
    seat->tenure++;
}

void declock_place_idle(struct coro *co, struct lockmgr_client *client, struct declock_seat *seat)
{
    struct declock *declock = declock_of(client->worker);
    struct fabric_ep *ep = client->worker->ep;
    uint64_t lock = seat->record->lock;
    declock_lock(declock, lock, ep);
    make_idle(seat);
    struct declock_ack ack = declock_reset_settle(seat->record);
    declock_local_appoint(declock, seat, client->worker);
    declock_seat_drop(declock, seat, ep);
    declock_unlock(declock, lock);
    if (ack.due) declock_reset_answer(co, client, &ack);
}

/* ---- enter ---- */

/* It is not known whether the FAA was executed: a reset makes that good. */
static int enter_unknown(struct coro *co, struct lockmgr_hold *hold, int code, uint64_t deadline_ns)
{
    declock_place_idle(co, hold->client, declock_seat_of(hold));
    if (code != CELLAR_INDETERMINATE) return code;
    hold->client->stats.retries++;
    return declock_reset_now(co, hold->client, hold->lock, deadline_ns);
}

/* The WRITE of a waiter's entry, out of the client's words. It counts as acquiring, whichever client posts it. */
static struct fabric_op entry_op(struct lockmgr_client *client, struct fabric_addr lock,
                                 const struct declock_waiter *waiter, const struct cql_ticket *ticket)
{
    const struct cql *cql = &declock_of(client->worker)->cql;
    struct cql_entry entry = {.version = cql_version(cql, ticket->index),
                              .client = waiter->client,
                              .stamp = waiter->stamp,
                              .exclusive = waiter->mode == LOCKMGR_EXCLUSIVE};
    uint64_t *words = declock_client_of(client)->words;
    words[0] = cql_entry_word(&entry);
    if (client->releasing) {
        client->stats.release_ops[FABRIC_WRITE]--;
        client->stats.acquire_ops[FABRIC_WRITE]++;
    }
    return fabric_op_write(fabric_addr_plus(lock, (CQL_ENTRIES_WORD + cql_slot(cql, ticket->index)) * sizeof(uint64_t)),
                           words, sizeof(uint64_t));
}

static int write_entry(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock,
                       const struct declock_waiter *waiter, const struct cql_ticket *ticket)
{
    uint32_t tries = 0;
    int code;
    do {
        struct fabric_op op = entry_op(client, lock, waiter, ticket);
        code = lockmgr_do(co, client, &op, 1);
    } while (declock_again(co, client, harmless(code), &tries));
    return code;
}

/* A place was got, with the lock or without: false if a reset has made it void meanwhile. */
static bool settle_in(struct coro *co, struct lockmgr_hold *hold, const struct cql_ticket *ticket, bool granted,
                      bool alone)
{
    struct declock_seat *seat = declock_seat_of(hold);
    struct declock *declock = declock_of(hold->client->worker);
    declock_lock(declock, hold->lock.bits, hold->client->worker->ep);
    seat->ticket = *ticket;
    bool kept = !declock_void(seat);
    if (kept) {
        seat->state = granted || seat->granted ? DECLOCK_HELD : DECLOCK_WAITING;
        seat->alone = alone;
        seat->tenure++;
    }
    struct declock_ack ack = declock_reset_settle(seat->record);
    declock_unlock(declock, hold->lock.bits);
    if (ack.due) declock_reset_answer(co, hold->client, &ack);
    return kept;
}

static int enter_waiting(struct coro *co, struct lockmgr_hold *hold, const struct cql_ticket *ticket)
{
    struct declock_seat *seat = declock_seat_of(hold);
    struct declock *declock = declock_of(hold->client->worker);
    /* From the WRITE on a grant may come. */
    declock_lock(declock, hold->lock.bits, hold->client->worker->ep);
    seat->ticket = *ticket;
    seat->ticketed = true;
    declock_unlock(declock, hold->lock.bits);
    struct declock_waiter self = declock_waiter_of(hold);
    int code = write_entry(co, hold->client, hold->lock, &self, ticket);
    if (code == 0 && settle_in(co, hold, ticket, false, false)) return 0;
    declock_place_idle(co, hold->client, seat);
    return code;
}

int declock_place_enter(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    const struct cql *cql = &declock_of(client->worker)->cql;
    uint64_t old;
    uint32_t tries = 0;
    int code;
    do code = lockmgr_faa_word(co, hold, 0, cql_enter_addend(cql, hold->mode), &old);
    while (declock_again(co, client, code, &tries));
    if (code) return enter_unknown(co, hold, code, deadline_ns);
    struct cql_ticket ticket;
    switch (cql_entered(cql, old, hold->mode, &ticket)) {
    case CQL_GRANTED:
        if (!settle_in(co, hold, &ticket, true, cql_header_of(cql, old).size == 0))
            declock_place_idle(co, client, declock_seat_of(hold));
        return 0;
    case CQL_WAITS:
        return enter_waiting(co, hold, &ticket);
    case CQL_RESETTING:
        declock_place_idle(co, client, declock_seat_of(hold));
        return 0;
    case CQL_EXHAUSTED:
        break;
    }
    declock_place_idle(co, client, declock_seat_of(hold));
    client->stats.retries++;
    return declock_reset(co, client, hold->lock, ticket.generation, deadline_ns);
}

/* ---- leave ---- */

/* What is left to do when the place is given up. */
enum left { LEFT, LEFT_UNSURE /* the lock is to be reset */ };

struct leaving {
    struct lockmgr_client *client;
    struct declock_seat *seat;
    struct fabric_addr lock;
    enum lockmgr_mode mode;
    uint8_t generation;
    bool alone; /* no waiter was known */
    uint64_t old, since_ns;
    /* the one that enters with the same FAA: */
    struct declock_waiter next;
    enum cql_entered entered;
    struct cql_ticket ticket;
    bool entry_due; /* its entry is to be written */
};

static uint64_t leave_addend(const struct leaving *leaving)
{
    return cql_leave_addend(&declock_of(leaving->client->worker)->cql, leaving->mode);
}

/*
 * FAA and READ in one doorbell. *fetched: the entries are there. Where no waiter was known, FAA alone: if one has
 * come after all, it was so lately that the READ would have missed the entry, which has landed a round trip later.
 */
static int leave_queue(struct coro *co, struct leaving *leaving, bool *fetched)
{
    struct lockmgr_client *client = leaving->client;
    const struct cql *cql = &declock_of(client->worker)->cql;
    uint64_t *entries = declock_client_of(client)->words + CQL_ENTRIES_WORD;
    uint64_t addend = leave_addend(leaving);
    uint32_t tries = 0, count = leaving->alone ? 1 : 2;
    struct fabric_op ops[2];
    if (leaving->next.any) addend += cql_enter_addend(cql, leaving->next.mode);
    do {
        ops[0] = fabric_op_faa(leaving->lock, &declock_client_of(client)->old, addend);
        ops[1] = fabric_op_read(fabric_addr_plus(leaving->lock, CQL_ENTRIES_WORD * sizeof(uint64_t)), entries,
                                cql->capacity * (uint32_t)sizeof(uint64_t));
        *fetched = lockmgr_do(co, client, ops, count) == 0 && count == 2;
    } while (ops[0].status && declock_again(co, client, ops[0].status, &tries));
    leaving->old = declock_client_of(client)->old;
    client->stats.joint += leaving->next.any && ops[0].status == 0;
    return ops[0].status;
}

/* READs again until the entries that matter are there. True: the lock belongs to a reset, nothing is left to do. */
static int refetch(struct coro *co, struct leaving *leaving, bool *over)
{
    struct lockmgr_client *client = leaving->client;
    uint64_t *words = declock_client_of(client)->words;
    int code = declock_fetch(co, client, leaving->lock);
    if (code) return code;
    struct cql_header header = cql_header_of(&declock_of(client->worker)->cql, words[0]);
    *over = header.resetter || header.generation != leaving->generation;
    return 0;
}

static void prepare_grants(const struct leaving *leaving, const struct cql_successors *next, uint32_t from,
                           uint32_t count, struct fabric_op *ops)
{
    struct lockmgr_client *client = leaving->client;
    const struct lockmgr *lockmgr = client->worker->lockmgr;
    const struct cql *cql = &declock_of(client->worker)->cql;
    struct declock_client *own = declock_client_of(client);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t index = next->first + from + i;
        uint32_t cn = 0, worker = 0, number = 0;
        struct cql_entry entry = cql_entry_of(own->words[CQL_ENTRIES_WORD + cql_slot(cql, index)]);
        /* An entry that names no client is refused by the receiver, as is any ticket that it does not have. */
        if (!lockmgr_locate(&lockmgr->config, entry.client, &cn, &worker, &number)) number = LOCKMGR_NO_CLIENT - 1;
        own->messages[i] =
            (struct lockmgr_message_wire){.lock = leaving->lock.bits,
                                          .client = number,
                                          .kind = DECLOCK_GRANT,
                                          .magic = LOCKMGR_MAGIC,
                                          .words = {index, leaving->generation, next->stamped, next->stamp}};
        ops[i] = (struct fabric_op){.kind = FABRIC_SEND,
                                    .addr = fabric_endpoint_addr(cn, worker),
                                    .local = &own->messages[i],
                                    .size_bytes = sizeof own->messages[i]};
        client->stats.messages++;
    }
}

/*
 * Whatever went wrong, the grant may be sent again: it counts once. A compute node that has stopped leaves it to the
 * reset after its own death: its receiver may be dead, and if no compute node is left to recover that one, it is
 * never said.
 */
static int send_until_there(struct coro *co, struct leaving *leaving, struct fabric_op *op, enum left *left)
{
    struct lockmgr_client *client = leaving->client;
    const struct lockmgr *lockmgr = client->worker->lockmgr;
    while (op->status) {
        if (op->status == CELLAR_FENCED || op->status == CELLAR_INVALID) return op->status;
        if (lockmgr_stopped(lockmgr) && !PLANT(declock_stopped_insists)) return CELLAR_FENCED;
        if (lockmgr_dead(lockmgr, (uint32_t)(fabric_addr_node(op->addr)))) {
            *left = LEFT_UNSURE;
            return 0;
        }
        lockmgr_sleep(co, client, lockmgr->config.rtt_ns ? lockmgr->config.rtt_ns : 1);
        struct fabric_op again = {
            .kind = FABRIC_SEND, .addr = op->addr, .local = op->local, .size_bytes = op->size_bytes};
        op->status = lockmgr_do(co, client, &again, 1);
    }
    return 0;
}

/* Those of [first, first + count) hold now, and the entry that is due is written beside that. */
static int notify(struct coro *co, struct leaving *leaving, const struct cql_successors *next, enum left *left)
{
    struct lockmgr_client *client = leaving->client;
    struct fabric_op ops[DECLOCK_MESSAGES + 1];
    int code = 0;
    for (uint32_t from = 0; code == 0 && (from < next->count || leaving->entry_due); from += DECLOCK_MESSAGES) {
        uint32_t count = next->count - from < DECLOCK_MESSAGES ? next->count - from : DECLOCK_MESSAGES;
        bool entry = leaving->entry_due;
        prepare_grants(leaving, next, from, count, ops);
        if (entry) ops[count] = entry_op(client, leaving->lock, &leaving->next, &leaving->ticket);
        leaving->entry_due = false;
        int failed = lockmgr_do(co, client, ops, count + entry);
        for (uint32_t i = 0; failed && code == 0 && i < count; i++) code = send_until_there(co, leaving, &ops[i], left);
        if (failed && code == 0 && entry && ops[count].status)
            code = write_entry(co, client, leaving->lock, &leaving->next, &leaving->ticket);
    }
    return code;
}

/*
 * An entry that is long in coming may be of a node that died before it wrote it; or it was there, and a late WRITE of
 * an earlier round has undone it: readers leave in any order, so that the slot of one that still waits may count as
 * free (docs/declock.md, race 9).
 */
static bool in_vain(const struct leaving *leaving)
{
    const struct lockmgr_client *client = leaving->client;
    if (PLANT(declock_refetch_for_ever)) return false;
    return lockmgr_now_ns(client) - leaving->since_ns > declock_of(client->worker)->stall_ns;
}

/*
 * What the FAA that left the queue has got for the next one of the CN. Until its entry is written no client can grant
 * it.
 */
static void enter_next(struct leaving *leaving)
{
    struct declock *declock = declock_of(leaving->client->worker);
    struct declock_seat *seat = leaving->seat;
    leaving->entered =
        cql_entered(&declock->cql, leaving->old + leave_addend(leaving), leaving->next.mode, &leaving->ticket);
    if (leaving->entered != CQL_WAITS && leaving->entered != CQL_GRANTED) return;
    leaving->entry_due = leaving->entered == CQL_WAITS;
    declock_lock(declock, leaving->lock.bits, leaving->client->worker->ep);
    seat->ticket = leaving->ticket;
    seat->place_mode = leaving->next.mode;
    seat->ticketed = leaving->entry_due;
    if (!PLANT(declock_next_granted)) seat->granted = false;
    seat->remote_known = false;
    seat->alone = cql_header_of(&declock->cql, leaving->old).size == 1;
    seat->tenure++;
    declock_unlock(declock, leaving->lock.bits);
}

/* The next one, and `over`: the lock belongs to a reset. */
static int find_next(struct coro *co, struct leaving *leaving, bool fetched, struct cql_successors *next, bool *over)
{
    struct lockmgr_client *client = leaving->client;
    const struct cql *cql = &declock_of(client->worker)->cql;
    const uint64_t *entries = declock_client_of(client)->words + CQL_ENTRIES_WORD;
    while (next->next == CQL_REFETCH && !*over) {
        client->stats.refetches += fetched;
        client->stats.retries += fetched;
        fetched = true;
        int code = refetch(co, leaving, over);
        if (code) return code;
        if (!*over) *next = cql_successors(cql, leaving->old, leaving->mode, entries);
        if (next->next == CQL_REFETCH && in_vain(leaving)) next->next = CQL_LOST;
    }
    return 0;
}

static int leave(struct coro *co, struct leaving *leaving, enum left *left)
{
    struct lockmgr_client *client = leaving->client;
    const struct cql *cql = &declock_of(client->worker)->cql;
    const uint64_t *entries = declock_client_of(client)->words + CQL_ENTRIES_WORD;
    bool fetched, over = false;
    leaving->since_ns = lockmgr_now_ns(client);
    int code = leave_queue(co, leaving, &fetched);
    *left = code == CELLAR_INDETERMINATE ? LEFT_UNSURE : LEFT;
    if (code) return *left == LEFT_UNSURE ? 0 : code;
    struct cql_header header = cql_header_of(cql, leaving->old);
    if (header.generation != leaving->generation) return CELLAR_FENCED;
    if (header.resetter) return 0;
    if (leaving->next.any) enter_next(leaving);
    struct cql_successors next = {.next = header.size <= 1 ? CQL_NONE : CQL_REFETCH};
    if (next.next == CQL_REFETCH && fetched) next = cql_successors(cql, leaving->old, leaving->mode, entries);
    /* The entry first: a client may look for it that must be found here. */
    if (next.next == CQL_REFETCH && leaving->entry_due) {
        leaving->entry_due = false;
        code = write_entry(co, client, leaving->lock, &leaving->next, &leaving->ticket);
    }
    if (code == 0) code = find_next(co, leaving, fetched, &next, &over);
    if (code || over) return code;
    if (next.next == CQL_LOST) *left = LEFT_UNSURE;
    if (next.next != CQL_NOTIFY) next.count = 0;
    return notify(co, leaving, &next, left);
}

/* ---- leave and enter ---- */

enum rejoined {
    REJOINED,
    REJOINED_ALONE /* holds, or is to hold at once, and no client of the CN waits any more */,
    REJOINED_VOID
};

static enum rejoined settle_next(struct coro *co, const struct leaving *leaving)
{
    struct lockmgr_client *client = leaving->client;
    struct declock *declock = declock_of(client->worker);
    struct declock_seat *seat = leaving->seat;
    enum rejoined rejoined = REJOINED_VOID;
    declock_lock(declock, leaving->lock.bits, client->worker->ep);
    if (!declock_void(seat)) {
        rejoined = REJOINED;
        seat->state = leaving->entered == CQL_GRANTED || seat->granted ? DECLOCK_HELD : DECLOCK_WAITING;
        declock_local_appoint(declock, seat, client->worker);
        if (seat->state == DECLOCK_HELD && !seat->agent && !PLANT(declock_next_gone)) {
            rejoined = REJOINED_ALONE;
            seat->state = DECLOCK_BUSY;
            seat->ticketed = false;
        }
    }
    struct declock_ack ack = declock_reset_settle(seat->record);
    declock_unlock(declock, leaving->lock.bits);
    if (ack.due) declock_reset_answer(co, client, &ack);
    return rejoined;
}

int declock_place_leave(struct coro *co, struct lockmgr_client *client, struct declock_seat *seat,
                        const struct declock_waiter *next, bool alone)
{
    struct leaving leaving = {.client = client,
                              .seat = seat,
                              .lock = {seat->record->lock},
                              .mode = seat->place_mode,
                              .generation = seat->ticket.generation,
                              .alone = alone && !next->any,
                              .next = *next,
                              .entered = CQL_RESETTING};
    enum left left = LEFT;
    bool two = PLANT(declock_two_places);
    if (two) {
        leaving.next.any = false;
        declock_place_idle(co, client, seat);
    }
    int code = leave(co, &leaving, &left);
    if (leaving.entered == CQL_EXHAUSTED) left = LEFT_UNSURE;
    bool placed = leaving.entered == CQL_GRANTED || leaving.entered == CQL_WAITS;
    enum rejoined rejoined = REJOINED_VOID;
    if (code == 0 && left == LEFT && placed) rejoined = settle_next(co, &leaving);
    if (rejoined == REJOINED_ALONE) return declock_place_leave(co, client, seat, &(struct declock_waiter){0}, false);
    if (rejoined == REJOINED_VOID && !two) declock_place_idle(co, client, seat);
    if (code || left == LEFT) return code;
    return declock_reset(co, client, leaving.lock, leaving.generation, 0);
}

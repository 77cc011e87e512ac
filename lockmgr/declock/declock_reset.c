/*
 * declock_reset.c - when the queue of a lock cannot go on (ring full, versions at their end, a dead node in it), a
 * client empties it:
 *
 *     leader   CAS: its name into the header ──> signals to all CNs ──> all have acknowledged ──> WRITE entries
 *              ──> CAS: header cleared, generation + 1
 *     others   a newcomer finds a resetter, has no place, polls the header; a waiter is aborted; a holder goes on
 *              until it releases, without an operation. A CN acknowledges when all that is done (INV-DECLOCK-2)
 *
 * A dead leader is replaced: all steps may be done again. Dead nodes need not acknowledge: they are fenced, and
 * nothing of theirs is executed. Where the dead leader's index is used again already, its name cannot be told from
 * the living one's: that one is told that it is named, and leads.
 */
#include "declock.h"
#include "declock_plants.h"
#include "lockmgr_plants.h"
#include "must.h"

#include <string.h>

#define POLL_ROUND_TRIPS 2
#define POLL_ROUND_TRIPS_MAX 256
#define SIGNAL_AGAIN_ROUND_TRIPS 32

static uint64_t rtt_of(const struct lockmgr_client *client)
{
    uint64_t rtt_ns = client->worker->lockmgr->config.rtt_ns;
    return rtt_ns ? rtt_ns : 1000;
}

uint64_t declock_deaths(const struct lockmgr *lockmgr)
{
    const struct lockmgr_view *view = &lockmgr->config.view;
    bool counted = view->deaths;
    if (PLANT(lockmgr_dead_unseen)) counted = false;
    if (PLANT(declock_deaths_undone)) counted = false;
    return counted ? view->deaths(view->arg) : declock_dead_count(lockmgr);
}

uint32_t declock_dead_count(const struct lockmgr *lockmgr)
{
    uint32_t count = 0;
    for (uint32_t cn = 0; cn < lockmgr->config.cn_count; cn++) count += lockmgr_dead(lockmgr, cn);
    return count;
}

/* ---- acknowledging ---- */

/* Has the CN nothing any more that belongs to a generation before `to`? */
static bool quiescent(const struct declock_record *record, uint8_t to)
{
    for (const struct declock_seat *seat = record->seats; seat; seat = seat->next) {
        if (seat->state == DECLOCK_BUSY && !(PLANT(declock_ack_writing) && seat->ticketed)) return false;
        if (seat->state == DECLOCK_HELD && PLANT(declock_ack_holding)) continue;
        if (seat->state == DECLOCK_WAITING && PLANT(declock_waiters_kept)) continue;
        if (seat->state != DECLOCK_IDLE && seat->state != DECLOCK_BUSY && cql_older(seat->ticket.generation, to))
            return false;
    }
    return true;
}

struct declock_ack declock_reset_settle(struct declock_record *record)
{
    struct declock_ack ack = {.due = false};
    if (!record->ack.due || !quiescent(record, record->ack.generation)) return ack;
    ack = record->ack;
    record->ack.due = false;
    return ack;
}

/* Waiters of an earlier generation wait no more. */
static void abort_waiters(struct declock *declock, struct declock_record *record, struct lockmgr_worker *worker)
{
    for (struct declock_seat *seat = record->seats; seat; seat = seat->next) {
        if (seat->state != DECLOCK_WAITING || !declock_void(seat) || PLANT(declock_waiters_kept)) continue;
        seat->state = DECLOCK_IDLE;
        seat->ticketed = seat->granted = false;
        seat->tenure++;
        if (seat->agent) lockmgr_signal(worker, seat->agent->client);
        declock_local_appoint(declock, seat, worker);
    }
}

/* What was abandoned, and has been aborted, is of no use. */
static void drop_idle(struct declock *declock, struct declock_record *record, struct fabric_ep *ep)
{
    record->pins++;
    for (struct declock_seat *seat = record->seats, *next; seat; seat = next) {
        next = seat->next;
        declock_seat_drop(declock, seat, ep);
    }
    record->pins--;
    declock_record_drop(declock, record, ep);
}

/* A signal: the CN's acknowledgement, due now or, as the record says, later. */
static struct declock_ack signalled(struct lockmgr_worker *worker, const struct declock_ack *ack)
{
    struct declock *declock = declock_of(worker);
    declock_lock(declock, ack->lock, worker->ep);
    struct declock_record *record = declock_record_find(declock, ack->lock);
    struct declock_ack now = *ack;
    if (record) {
        if (!record->reset_known || cql_older(record->reset_to, ack->generation)) record->reset_to = ack->generation;
        record->reset_known = true;
        record->ack = *ack;
        abort_waiters(declock, record, worker);
        now = declock_reset_settle(record);
        drop_idle(declock, record, worker->ep);
    }
    declock_unlock(declock, ack->lock);
    return now;
}

void declock_reset_answer(struct coro *co, struct lockmgr_client *client, const struct declock_ack *ack)
{
    struct lockmgr_message_wire wire = {
        .lock = ack->lock, .kind = DECLOCK_ACK, .words = {ack->generation, client->worker->lockmgr->cn}};
    /* If it does not arrive it is asked for again. */
    int code = lockmgr_send(co, client, ack->to.cn, ack->to.worker, &wire);
    client->stats.failures += code == CELLAR_INVALID;
}

void declock_reset_answer_all(struct coro *co, struct lockmgr_client *client)
{
    struct declock_worker *own = client->worker->own;
    while (own->ack_count > 0) {
        struct declock_ack ack = own->acks[--own->ack_count];
        declock_reset_answer(co, client, &ack);
    }
}

/*
 * INV-DECLOCK-11. The tender leads what an earlier life of this CN has begun; of what this one leads already nothing
 * is new. Without room for another record nothing happens, and the waiter asks again.
 */
static void inherit(struct lockmgr_worker *worker, const struct lockmgr_message_wire *wire)
{
    struct declock *declock = declock_of(worker);
    struct declock_worker *own = worker->own;
    declock_lock(declock, wire->lock, worker->ep);
    struct declock_record *record = declock_record_make(declock, wire->lock, worker->ep);
    if (record && !record->lead.by) {
        record->lead = (struct declock_lead){.by = &worker->tender,
                                             .generation = (uint8_t)wire->words[0],
                                             .inherited = true,
                                             .begin_ns = lockmgr_now_ns(&worker->tender),
                                             .left_next = own->left};
        own->left = record;
        lockmgr_signal(worker, &worker->tender);
    }
    declock_unlock(declock, wire->lock);
}

static void answer_later(struct lockmgr_worker *worker, const struct declock_ack *ack)
{
    struct declock_worker *own = worker->own;
    if (own->ack_count < DECLOCK_ACKS) own->acks[own->ack_count++] = *ack;
    lockmgr_signal(worker, &worker->tender);
}

static void collect(struct lockmgr_worker *worker, const struct lockmgr_message_wire *wire)
{
    struct declock *declock = declock_of(worker);
    uint64_t cn = wire->words[1];
    if (cn >= CQL_CNS_MAX) return;
    declock_lock(declock, wire->lock, worker->ep);
    struct declock_record *record = declock_record_find(declock, wire->lock);
    struct declock_lead *lead = record ? &record->lead : NULL;
    if (lead && lead->by && (uint8_t)(lead->generation + 1) == (uint8_t)wire->words[0]) {
        lead->acked[cn / 64] |= 1ull << cn % 64;
        lockmgr_signal(worker, lead->by);
    }
    declock_unlock(declock, wire->lock);
}

void declock_reset_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                           const struct lockmgr_message_wire *wire)
{
    if (wire->kind == DECLOCK_ACK) {
        collect(worker, wire);
        return;
    }
    if (wire->kind == DECLOCK_NAMED) {
        inherit(worker, wire);
        return;
    }
    struct declock_ack ack = {.lock = wire->lock,
                              .to = {message->from_cn, message->from_worker},
                              .generation = (uint8_t)wire->words[0],
                              .due = true};
    ack = signalled(worker, &ack);
    if (ack.due) answer_later(worker, &ack);
}

/* ---- the leader ---- */

struct reset {
    struct lockmgr_client *client;
    struct fabric_addr lock;
    uint8_t generation; /* that is to end */
    uint64_t word;      /* the header, as it was last seen */
    uint64_t deaths;    /* when it began, or went on */
    bool named;         /* the own name may be in the header */
    struct declock_record *record;
};

static uint32_t worker_of(const struct lockmgr_client *client, uint64_t lock)
{
    return (uint32_t)(lock / LOCKMGR_LOCK_ALIGN) % client->worker->lockmgr->config.workers_per_cn;
}

static uint8_t name_of(const struct lockmgr_client *client) { return (uint8_t)(client->worker->lockmgr->cn + 1); }

/* CAS of the header, the outcome known: *old is what it was. A lost reply is made good by READing. */
static int cas_header(struct coro *co, struct reset *reset, uint64_t swap, bool *done)
{
    struct lockmgr_client *client = reset->client;
    uint64_t *old = &declock_client_of(client)->old;
    uint32_t tries = 0;
    struct fabric_op op;
    do {
        op = fabric_op_cas(reset->lock, old, reset->word, swap);
        (void)!lockmgr_do(co, client, &op, 1);
    } while (declock_again(co, client, op.status, &tries));
    if (op.status && op.status != CELLAR_INDETERMINATE) return op.status;
    if (op.status == 0) {
        *done = *old == reset->word;
        reset->word = *done ? swap : *old;
        return 0;
    }
    int code = declock_fetch(co, client, reset->lock);
    reset->word = declock_client_of(client)->words[0];
    return code;
}

/* The own name into the header. *led: this client leads; else another one does, or has. */
static int take_lead(struct coro *co, struct reset *reset, bool *led)
{
    struct lockmgr_client *client = reset->client;
    int code = declock_fetch(co, client, reset->lock);
    reset->word = declock_client_of(client)->words[0];
    while (code == 0) {
        struct cql_header header = cql_header_of(&declock_of(client->worker)->cql, reset->word);
        if (header.generation != reset->generation) return 0;
        *led = reset->named = header.resetter == name_of(client);
        if (*led || reset->record->lead.inherited) return 0;
        if (header.resetter && (!lockmgr_surely_dead(co, client, header.resetter - 1u) || PLANT(declock_resetter_lost)))
            return 0;
        reset->named = true;
        code = cas_header(co, reset, cql_with_resetter(reset->word, name_of(client)), led);
        if (*led) return code;
    }
    return code;
}

/* FENCED: this node was declared dead itself. What else did not arrive is sent again. */
static int send_signals(struct coro *co, struct reset *reset, const uint32_t *cns, uint32_t count)
{
    struct lockmgr_client *client = reset->client;
    struct declock_client *own = declock_client_of(client);
    uint32_t to = worker_of(client, reset->lock.bits);
    struct fabric_op ops[DECLOCK_MESSAGES];
    for (uint32_t i = 0; i < count; i++) {
        own->messages[i] = (struct lockmgr_message_wire){.lock = reset->lock.bits,
                                                         .kind = DECLOCK_RESET,
                                                         .magic = LOCKMGR_MAGIC,
                                                         .words = {(uint8_t)(reset->generation + 1)}};
        ops[i] = (struct fabric_op){.kind = FABRIC_SEND,
                                    .addr = fabric_endpoint_addr(cns[i], to),
                                    .local = &own->messages[i],
                                    .size_bytes = sizeof own->messages[i]};
    }
    client->stats.messages += count;
    int code = lockmgr_do(co, client, ops, count);
    return code == CELLAR_FENCED && !PLANT(declock_fence_unheard) ? code : 0;
}

/*
 * *all: CNs that live and have not acknowledged; signals them if `send`. A dead CN acknowledges by being dead: if its
 * index is used again, the later life has come after the look, when the header named the resetter already, and has
 * no place.
 */
static int missing(struct coro *co, struct reset *reset, bool send, uint32_t *all)
{
    const struct lockmgr *lockmgr = reset->client->worker->lockmgr;
    uint64_t *acked = reset->record->lead.acked;
    uint32_t cns[DECLOCK_MESSAGES], count = 0;
    int code = 0;
    *all = 0;
    for (uint32_t cn = 0; cn < lockmgr->config.cn_count && code == 0; cn++) {
        if (cn == lockmgr->cn || acked[cn / 64] >> cn % 64 & 1) continue;
        if (lockmgr_surely_dead(co, reset->client, cn) && !PLANT(declock_dead_awaited)) {
            acked[cn / 64] |= 1ull << cn % 64;
            continue;
        }
        ++*all;
        cns[count++] = cn;
        if (count == DECLOCK_MESSAGES && send) code = send_signals(co, reset, cns, count);
        if (count == DECLOCK_MESSAGES) count = 0;
    }
    return code == 0 && count && send ? send_signals(co, reset, cns, count) : code;
}

/* The own CN's seats are asked without a message. */
static bool own_quiet(struct lockmgr_client *client, const struct reset *reset)
{
    struct declock *declock = declock_of(client->worker);
    struct declock_record *record = reset->record;
    declock_lock(declock, reset->lock.bits, client->worker->ep);
    record->reset_known = true;
    record->reset_to = (uint8_t)(reset->generation + 1);
    abort_waiters(declock, record, client->worker);
    bool quiet = quiescent(record, record->reset_to);
    struct declock_ack ack = declock_reset_settle(record);
    drop_idle(declock, record, client->worker->ep);
    declock_unlock(declock, reset->lock.bits);
    if (ack.due) answer_later(client->worker, &ack);
    return quiet;
}

static int collect_all(struct coro *co, struct reset *reset, uint64_t until_ns)
{
    struct lockmgr_client *client = reset->client;
    struct declock_lead *lead = &reset->record->lead;
    while (!PLANT(declock_reset_unawaited)) {
        uint32_t all;
        uint64_t now_ns = lockmgr_now_ns(client);
        bool quiet = own_quiet(client, reset), again = now_ns >= lead->again_ns;
        if (again) lead->again_ns = now_ns + SIGNAL_AGAIN_ROUND_TRIPS * rtt_of(client);
        int code = missing(co, reset, again, &all);
        if (code || (all == 0 && quiet)) return code;
        declock_reset_answer_all(co, client); /* if this is the tender, no other does */
        bool ends = lockmgr_ends(client->worker) || lockmgr_dead(client->worker->lockmgr, client->worker->lockmgr->cn);
        if (ends) return CELLAR_FENCED;
        if (lockmgr_now_ns(client) >= until_ns && !PLANT(declock_leads_for_ever)) return CELLAR_DEADLINE;
        lockmgr_wait(co, client, lockmgr_now_ns(client) + POLL_ROUND_TRIPS * rtt_of(client));
    }
    return 0;
}

/* Entries and the reset word. Of the header nothing yet. */
static int write_entries(struct coro *co, struct reset *reset)
{
    struct lockmgr_client *client = reset->client;
    const struct cql *cql = &declock_of(client->worker)->cql;
    uint64_t *words = declock_client_of(client)->words;
    uint32_t tries = 0;
    int code;
    do {
        memset(words, 0, cql_bytes(cql));
        words[1] = reset->deaths;
        uint32_t bytes = (uint32_t)cql_bytes(cql) - (uint32_t)sizeof(uint64_t);
        if (PLANT(declock_entries_kept)) bytes = sizeof(uint64_t);
        struct fabric_op op = fabric_op_write(fabric_addr_plus(reset->lock, sizeof(uint64_t)), words + 1, bytes);
        code = lockmgr_do(co, client, &op, 1);
        if (code == CELLAR_INDETERMINATE) code = CELLAR_UNREACHABLE;
    } while (declock_again(co, client, code, &tries));
    return code;
}

static int clear_header(struct coro *co, struct reset *reset)
{
    struct lockmgr_client *client = reset->client;
    uint64_t free_word = cql_free_word((uint8_t)(reset->generation + 1));
    bool done = false;
    int code = 0;
    while (code == 0 && !done) {
        struct cql_header header = cql_header_of(&declock_of(client->worker)->cql, reset->word);
        /* Only a lost reply lets it seem that another client was here. */
        if (header.resetter != name_of(client) || header.generation != reset->generation) return 0;
        code = cas_header(co, reset, free_word, &done);
    }
    return code;
}

static int lead(struct coro *co, struct reset *reset, uint64_t until_ns)
{
    struct lockmgr_client *client = reset->client;
    bool led = false;
    reset->deaths = declock_deaths(client->worker->lockmgr);
    int code = take_lead(co, reset, &led);
    if (code || !led) return code;
    if ((code = collect_all(co, reset, until_ns))) return code;
    if ((code = write_entries(co, reset))) return code;
    code = clear_header(co, reset);
    client->stats.resets++;
    client->stats.reset_ns += lockmgr_now_ns(client) - reset->record->lead.begin_ns;
    return code;
}

/* One of a CN leads at most; *led: what it leads, if it is not the caller. */
static bool enlist(struct reset *reset, uint8_t *led)
{
    struct lockmgr_client *client = reset->client;
    struct declock *declock = declock_of(client->worker);
    declock_lock(declock, reset->lock.bits, client->worker->ep);
    struct declock_record *record = declock_record_make(declock, reset->lock.bits, client->worker->ep);
    bool free_now = record && !record->lead.by;
    if (free_now)
        record->lead =
            (struct declock_lead){.by = client, .generation = reset->generation, .begin_ns = lockmgr_now_ns(client)};
    *led = record ? record->lead.generation : (uint8_t)(reset->generation - 1);
    declock_unlock(declock, reset->lock.bits);
    reset->record = record;
    return free_now;
}

/* INV-DECLOCK-10. The tender has no deadline, and holds no lock that another waits for. */
static void leave_to_tender(struct reset *reset)
{
    struct lockmgr_worker *worker = reset->client->worker;
    struct declock *declock = declock_of(worker);
    struct declock_worker *own = worker->own;
    declock_lock(declock, reset->lock.bits, worker->ep);
    reset->record->lead.by = &worker->tender;
    declock_unlock(declock, reset->lock.bits);
    reset->record->lead.left_next = own->left;
    own->left = reset->record;
    if (reset->client != &worker->tender) lockmgr_signal(worker, &worker->tender);
}

static void resign(struct reset *reset)
{
    struct fabric_ep *ep = reset->client->worker->ep;
    struct declock *declock = declock_of(reset->client->worker);
    declock_lock(declock, reset->lock.bits, ep);
    reset->record->lead.by = NULL;
    drop_idle(declock, reset->record, ep);
    declock_unlock(declock, reset->lock.bits);
}

static int lead_on(struct coro *co, struct reset *reset, uint64_t until_ns)
{
    int code = lead(co, reset, until_ns);
    bool open = code == CELLAR_DEADLINE || code == CELLAR_UNREACHABLE || code == CELLAR_INDETERMINATE;
    if (open && reset->named && !PLANT(declock_lead_dropped))
        leave_to_tender(reset);
    else
        resign(reset);
    return code == CELLAR_DEADLINE ? 0 : code;
}

/*
 * The client that leads for this CN may be at the end of an earlier reset, which does not empty the queue that the
 * caller means: then the caller waits and looks again.
 */
int declock_reset(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock, uint8_t generation,
                  uint64_t until_ns)
{
    struct reset reset = {.client = client, .lock = lock, .generation = generation};
    for (uint8_t led; !enlist(&reset, &led);) {
        if (PLANT(declock_reset_shared)) return 0;
        if (led == generation && lockmgr_now_ns(client) >= until_ns) return 0;
        lockmgr_sleep(co, client, POLL_ROUND_TRIPS * rtt_of(client));
        int code = declock_fetch(co, client, lock);
        if (code) return code;
        uint64_t word = declock_client_of(client)->words[0];
        if (cql_header_of(&declock_of(client->worker)->cql, word).generation != generation) return 0;
    }
    return lead_on(co, &reset, until_ns);
}

uint64_t declock_reset_tend(struct coro *co, struct lockmgr_client *tender)
{
    struct declock_worker *own = tender->worker->own;
    struct declock_record *left = own->left;
    own->left = NULL;
    while (left) {
        struct declock_record *record = left;
        left = record->lead.left_next;
        struct reset reset = {.client = tender,
                              .lock = {record->lock},
                              .generation = record->lead.generation,
                              .named = true, /* unless a look shows otherwise */
                              .record = record};
        tender->stats.failures += lead_on(co, &reset, 0) != 0;
    }
    return own->left ? lockmgr_now_ns(tender) + SIGNAL_AGAIN_ROUND_TRIPS * rtt_of(tender) : UINT64_MAX;
}

int declock_reset_now(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock, uint64_t until_ns)
{
    int code = declock_fetch(co, client, lock);
    if (code) return code;
    struct cql_header header = cql_header_of(&declock_of(client->worker)->cql, declock_client_of(client)->words[0]);
    return declock_reset(co, client, lock, header.generation, until_ns);
}

/* ---- waiting for its end, or for a dead compute node ---- */

static bool leads(struct lockmgr_client *client, struct fabric_addr lock)
{
    struct declock *declock = declock_of(client->worker);
    declock_lock(declock, lock.bits, client->worker->ep);
    const struct declock_record *record = declock_record_find(declock, lock.bits);
    bool any = record && record->lead.by;
    declock_unlock(declock, lock.bits);
    return any;
}

/*
 * The header has a name. If that CN is dead the reset is taken over; if it lives the name may be an earlier life's:
 * `late`, it is told. A message that is lost is sent again, as each waiter looks again.
 */
static int resetter_judge(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock,
                          const struct cql_header *header, bool late, uint64_t until_ns)
{
    const struct lockmgr *lockmgr = client->worker->lockmgr;
    uint32_t cn = header->resetter - 1u;
    struct lockmgr_message_wire wire = {.lock = lock.bits, .kind = DECLOCK_NAMED, .words = {header->generation}};
    bool orphan = cn == lockmgr->cn && !leads(client, lock) && !PLANT(declock_name_inherited);
    if (orphan || lockmgr_dead(lockmgr, cn)) return declock_reset(co, client, lock, header->generation, until_ns);
    if (late && cn != lockmgr->cn && !PLANT(declock_name_inherited))
        client->stats.failures += lockmgr_send(co, client, cn, worker_of(client, lock.bits), &wire) != 0;
    return 0;
}

int declock_reset_await(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock, uint64_t until_ns)
{
    const struct declock *declock = declock_of(client->worker);
    for (uint64_t pause = POLL_ROUND_TRIPS;; pause = pause < POLL_ROUND_TRIPS_MAX ? 2 * pause : pause) {
        int code = declock_fetch(co, client, lock);
        if (code) return code;
        struct cql_header header = cql_header_of(&declock->cql, declock_client_of(client)->words[0]);
        if (header.resetter == 0) return 0;
        if (lockmgr_now_ns(client) >= until_ns) return CELLAR_DEADLINE;
        bool late = pause >= SIGNAL_AGAIN_ROUND_TRIPS;
        if ((code = resetter_judge(co, client, lock, &header, late, until_ns))) return code;
        client->stats.retries++;
        lockmgr_sleep(co, client, pause * rtt_of(client));
    }
}

int declock_reset_stalled(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock, uint8_t generation,
                          uint64_t until_ns)
{
    uint64_t deaths = declock_deaths(client->worker->lockmgr);
    if (deaths == 0 || PLANT(declock_stall_ignored)) return 0;
    int code = declock_fetch(co, client, lock);
    if (code) return code;
    const uint64_t *words = declock_client_of(client)->words;
    struct cql_header header = cql_header_of(&declock_of(client->worker)->cql, words[0]);
    if (header.generation != generation) return 0;
    if (header.resetter) return resetter_judge(co, client, lock, &header, true, until_ns);
    if (words[1] >= deaths) return 0;
    client->stats.retries++;
    return declock_reset(co, client, lock, generation, until_ns);
}

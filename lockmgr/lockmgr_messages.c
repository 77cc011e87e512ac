/*
 * lockmgr_messages.c - messages between workers: sent and awaited, or left to tend; and what a worker does besides
 * its clients' work.
 */
#include "lockmgr.h"
#include "lockmgr_algorithm.h"
#include "lockmgr_plants.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define SEND_AGAIN_NS 1000 /* the receiver's inbox is full: after 1, 2, 4 ... of these, */
#define SEND_AGAIN_MAX 7   /* ... to the power of that: where threads share processors the receiver needs one */
#define LETTER_TRIES 16    /* of one that may have been lost */
#define LOOK_AT_LETTERS_NS 5000

/* ---- one message, awaited ---- */

int lockmgr_send(struct coro *co, struct lockmgr_client *client, uint32_t cn, uint32_t worker,
                 struct lockmgr_message_wire *wire)
{
    uint64_t give_up_ns = lockmgr_now_ns(client) + lockmgr_ask_again_ns(&client->worker->lockmgr->config);
    wire->magic = LOCKMGR_MAGIC;
    for (uint32_t fulls = 0;; fulls += fulls < SEND_AGAIN_MAX) {
        memcpy(client->buffer, wire, sizeof *wire);
        struct fabric_op op = {.kind = FABRIC_SEND,
                               .addr = fabric_endpoint_addr(cn, worker),
                               .local = client->buffer,
                               .size_bytes = sizeof *wire};
        int code = lockmgr_do(co, client, &op, 1);
        client->stats.messages++;
        if (code != CELLAR_FULL) return code;
        if (lockmgr_now_ns(client) >= give_up_ns || lockmgr_dead(client->worker->lockmgr, cn))
            return CELLAR_UNREACHABLE;
        lockmgr_sleep(co, client, SEND_AGAIN_NS << fulls);
    }
}

struct lockmgr_hold *lockmgr_find(struct lockmgr_worker *worker, uint32_t client, uint64_t lock)
{
    if (client >= worker->client_count) return NULL;
    struct lockmgr_hold *hold = worker->clients[client].holds;
    while (hold && hold->lock.bits != lock) hold = hold->next;
    return hold;
}

bool lockmgr_deliver(struct lockmgr_worker *worker, const struct fabric_message *message)
{
    struct lockmgr_message_wire wire;
    if (message->size_bytes != sizeof wire) return false;
    memcpy(&wire, message->bytes, sizeof wire);
    if (wire.magic != LOCKMGR_MAGIC) return false;
    if (lockmgr_ends(worker)) return true;
    const struct lockmgr_algorithm *algorithm = worker->lockmgr->algorithm;
    lockmgr_stir(worker);
    if (worker->lockmgr->switches)
        algorithm->switch_deliver(worker, message);
    else if (worker->lockmgr->serves)
        algorithm->server_deliver(worker, message, &wire);
    else if (algorithm->deliver)
        algorithm->deliver(worker, message, &wire);
    return true;
}

/* ---- messages that no client waits for ---- */

/* One on its way, or (tries > 0) to be sent again. Kept with its memory until the fabric has answered. */
struct lockmgr_letter {
    uint32_t cn, worker, tries, fulls;
    bool used;
    uint64_t again_ns; /* 0: it is under way */
    struct fabric_op op;
    struct fabric_wait wait;
    struct lockmgr_message_wire wire;
};

int lockmgr_outbox_open(struct lockmgr_worker *worker, uint8_t *bytes)
{
    struct lockmgr_outbox *outbox = &worker->outbox;
    outbox->bytes = bytes;
    outbox->under_way = calloc(LOCKMGR_LETTERS, sizeof *outbox->under_way);
    return outbox->under_way ? 0 : CELLAR_NOMEM;
}

void lockmgr_outbox_close(struct lockmgr_worker *worker)
{
    free(worker->outbox.under_way);
    free(worker->outbox.waiting);
}

bool lockmgr_outbox_forget(struct lockmgr_worker *worker)
{
    struct lockmgr_outbox *outbox = &worker->outbox;
    outbox->head = outbox->tail = 0;
    for (uint32_t i = 0; i < LOCKMGR_LETTERS; i++)
        if (outbox->under_way[i].used && outbox->under_way[i].again_ns == 0 && outbox->under_way[i].wait.pending)
            return false;
    for (uint32_t i = 0; i < LOCKMGR_LETTERS; i++) outbox->under_way[i].used = false;
    outbox->used = 0;
    return true;
}

static void post_letter(struct lockmgr_worker *worker, struct lockmgr_letter *letter)
{
    uint8_t *bytes = worker->outbox.bytes + (letter - worker->outbox.under_way) * sizeof letter->wire;
    memcpy(bytes, &letter->wire, sizeof letter->wire);
    letter->again_ns = 0;
    letter->op = (struct fabric_op){.kind = FABRIC_SEND,
                                    .addr = fabric_endpoint_addr(letter->cn, letter->worker),
                                    .local = bytes,
                                    .size_bytes = sizeof letter->wire};
    letter->wait = (struct fabric_wait){.co = NULL};
    worker->tender.stats.messages++;
    fabric_post(worker->ep, &letter->op, 1, &letter->wait);
}

static struct lockmgr_letter *letter_at(const struct lockmgr_outbox *outbox, uint32_t i)
{
    return &outbox->waiting[i & (outbox->capacity - 1)];
}

static void grow_outbox(struct lockmgr_outbox *outbox)
{
    uint32_t count = outbox->tail - outbox->head, capacity = outbox->capacity ? outbox->capacity * 2 : 64;
    struct lockmgr_letter *bigger = calloc(capacity, sizeof *bigger);
    must(bigger);
    for (uint32_t i = 0; i < count; i++) bigger[i] = *letter_at(outbox, outbox->head + i);
    free(outbox->waiting);
    outbox->waiting = bigger;
    outbox->capacity = capacity;
    outbox->head = 0;
    outbox->tail = count;
}

static void let_wait(struct lockmgr_outbox *outbox, const struct lockmgr_letter *letter)
{
    if (outbox->tail - outbox->head == outbox->capacity) grow_outbox(outbox);
    *letter_at(outbox, outbox->tail++) = *letter;
}

/*
 * Answered: done, or to be sent again, since the inbox was full or that is not known. The dead get no letters; where
 * the inbox stays full, it waits among those that have not been sent: a receiver that is lost must not keep all
 * places from the others.
 */
static void settle_letter(struct lockmgr_worker *worker, struct lockmgr_letter *letter, uint64_t now_ns)
{
    bool full = letter->op.status == CELLAR_FULL;
    bool lost = letter->op.status == CELLAR_UNREACHABLE || letter->op.status == CELLAR_INDETERMINATE;
    letter->used = (full || (lost && ++letter->tries < LETTER_TRIES)) && !lockmgr_dead(worker->lockmgr, letter->cn);
    letter->again_ns = now_ns + (SEND_AGAIN_NS << letter->fulls);
    letter->fulls += full && letter->fulls < SEND_AGAIN_MAX;
    if (letter->used && full && letter->fulls == SEND_AGAIN_MAX) {
        let_wait(&worker->outbox, letter);
        letter->used = false;
    }
    worker->outbox.used -= !letter->used;
}

static void settle_letters(struct lockmgr_worker *worker)
{
    uint64_t now_ns = fabric_now_ns(worker->ep);
    for (uint32_t i = 0; i < LOCKMGR_LETTERS; i++) {
        struct lockmgr_letter *letter = &worker->outbox.under_way[i];
        if (letter->used && letter->again_ns == 0 && letter->wait.pending == 0) settle_letter(worker, letter, now_ns);
        if (letter->used && letter->again_ns && letter->again_ns <= now_ns) post_letter(worker, letter);
    }
}

/* The first one that is due; those before it go to the end. False: none is. */
static bool take_due(struct lockmgr_outbox *outbox, uint64_t now_ns, struct lockmgr_letter *due)
{
    for (uint32_t left = outbox->tail - outbox->head; left > 0; left--) {
        *due = *letter_at(outbox, outbox->head++);
        if (due->again_ns <= now_ns) return true;
        let_wait(outbox, due);
    }
    return false;
}

static void post_waiting(struct lockmgr_worker *worker)
{
    struct lockmgr_outbox *outbox = &worker->outbox;
    uint64_t now_ns = outbox->head != outbox->tail ? fabric_now_ns(worker->ep) : 0;
    for (uint32_t i = 0; i < LOCKMGR_LETTERS && outbox->head != outbox->tail; i++) {
        struct lockmgr_letter *letter = &outbox->under_way[i], due;
        if (letter->used) continue;
        if (!take_due(outbox, now_ns, &due)) return;
        *letter = due;
        outbox->used++;
        post_letter(worker, letter);
    }
}

void lockmgr_queue(struct lockmgr_worker *worker, uint32_t to_cn, uint32_t to_worker,
                   const struct lockmgr_message_wire *wire)
{
    struct lockmgr_outbox *outbox = &worker->outbox;
    struct lockmgr_letter letter = {.cn = to_cn, .worker = to_worker, .used = true, .wire = *wire};
    if (lockmgr_ends(worker)) return;
    letter.wire.magic = LOCKMGR_MAGIC;
    let_wait(outbox, &letter);
    if (outbox->used == LOCKMGR_LETTERS) settle_letters(worker);
    post_waiting(worker);
    lockmgr_stir(worker);
}

uint32_t lockmgr_server_of(const struct lockmgr_config *config, struct fabric_addr lock)
{
    return (uint32_t)((lock.bits * 0x9e3779b97f4a7c15ull >> 32) % config->server_workers);
}

uint32_t lockmgr_tenants(const struct lockmgr_config *config) { return config->tenants ? config->tenants : 2; }

/* The first nodes are tenant 0's, the others are dealt evenly. */
uint32_t lockmgr_tenant_of(const struct lockmgr_config *config, uint32_t cn)
{
    uint32_t tenants = lockmgr_tenants(config), first = config->tenant_cns;
    if (first == 0) return (uint32_t)((uint64_t)cn * tenants / config->cn_count);
    if (cn < first || tenants == 1) return 0;
    return 1 + (uint32_t)((uint64_t)(cn - first) * (tenants - 1) / (config->cn_count - first));
}

uint64_t lockmgr_index_of(const struct lockmgr_config *config, uint64_t lock)
{
    uint64_t bytes = lock - config->first_lock.bits;
    bool one =
        config->lock_stride && bytes % config->lock_stride == 0 && bytes / config->lock_stride < config->lock_count;
    return one ? bytes / config->lock_stride : UINT64_MAX;
}

bool lockmgr_awaits(const struct lockmgr_worker *worker) { return worker->awaits && !PLANT(lockmgr_tender_alone); }

bool lockmgr_quiet(const struct lockmgr_worker *worker)
{
    const struct lockmgr_algorithm *algorithm = worker->lockmgr->algorithm;
    if (worker->outbox.head != worker->outbox.tail || worker->outbox.used || worker->stirred) return false;
    bool (*quiet)(const struct lockmgr_worker *) = worker->lockmgr->switches ? algorithm->switch_quiet
                                                   : worker->lockmgr->serves ? algorithm->server_quiet
                                                                             : algorithm->quiet;
    return !quiet || quiet(worker);
}

void lockmgr_stir(struct lockmgr_worker *worker)
{
    worker->stirred = true;
    lockmgr_signal(worker, &worker->tender);
}

uint64_t lockmgr_tend(struct coro *co, struct lockmgr_worker *worker)
{
    const struct lockmgr_algorithm *algorithm = worker->lockmgr->algorithm;
    uint64_t (*tend)(struct coro *, struct lockmgr_worker *) = worker->lockmgr->switches ? algorithm->switch_tend
                                                               : worker->lockmgr->serves ? algorithm->server_tend
                                                                                         : algorithm->tend;
    uint64_t next_ns = UINT64_MAX;
    worker->tender_task.co = worker->tender.wait.co = co;
    if (lockmgr_ends(worker)) return lockmgr_rest(worker);
    do {
        worker->stirred = false;
        if (tend) next_ns = tend(co, worker);
    } while (worker->stirred);
    if (lockmgr_ends(worker)) return lockmgr_rest(worker);
    settle_letters(worker);
    post_waiting(worker);
    bool parked = worker->outbox.head != worker->outbox.tail;
    if (worker->outbox.used == 0 && !parked) return next_ns;
    uint64_t wait_ns = worker->outbox.used ? LOOK_AT_LETTERS_NS : SEND_AGAIN_NS << SEND_AGAIN_MAX;
    uint64_t look_ns = fabric_now_ns(worker->ep) + wait_ns;
    return look_ns < next_ns ? look_ns : next_ns;
}

void lockmgr_tend_wait(struct coro *co, struct lockmgr_worker *worker, uint64_t until_ns)
{
    worker->tender_task.co = co;
    (void)sched_wait(co, worker->sched, &worker->tender_task, &worker->tender.signal, until_ns);
}

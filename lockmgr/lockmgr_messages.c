/* lockmgr_messages.c - messages between workers: sent and awaited, or left to tend; and what a worker does besides its clients' work. */
#include "lockmgr.h"

#include "lockmgr_algorithm.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define SEND_AGAIN_NS 1000 /* the receiver's inbox is full */
#define LETTERS_AT_ONCE 16

/* ---- one message, awaited ---- */

int lockmgr_send(struct coro *co, struct lockmgr_client *client, uint32_t cn, uint32_t worker,
                 struct lockmgr_message_wire *wire)
{
    wire->magic = LOCKMGR_MAGIC;
    for (;;) {
        memcpy(client->buffer, wire, sizeof *wire);
        struct fabric_op op = {.kind = FABRIC_SEND,
                               .addr = fabric_endpoint_addr(cn, worker),
                               .local = client->buffer,
                               .size_bytes = sizeof *wire};
        int code = lockmgr_do(co, client, &op, 1);
        client->stats.messages++;
        if (code != -CELLAR_ERR_FULL) return code;
        lockmgr_sleep(co, client, SEND_AGAIN_NS);
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
    const struct lockmgr_algorithm *algorithm = worker->lockmgr->algorithm;
    worker->stirred = true;
    if (worker->lockmgr->serves)
        algorithm->server_deliver(worker, message, &wire);
    else if (algorithm->deliver)
        algorithm->deliver(worker, message, &wire);
    return true;
}

/* ---- messages that tend sends ---- */

struct lockmgr_letter {
    uint32_t cn, worker;
    struct lockmgr_message_wire wire;
};

static struct lockmgr_letter *letter_at(const struct lockmgr_outbox *outbox, uint32_t i)
{
    return &outbox->letters[i & (outbox->capacity - 1)];
}

static void grow_outbox(struct lockmgr_outbox *outbox)
{
    struct lockmgr_outbox bigger = {.tail = outbox->tail - outbox->head,
                                    .capacity = outbox->capacity ? outbox->capacity * 2 : 64};
    bigger.letters = calloc(bigger.capacity, sizeof *bigger.letters);
    must(bigger.letters);
    for (uint32_t i = 0; i < bigger.tail; i++) bigger.letters[i] = *letter_at(outbox, outbox->head + i);
    free(outbox->letters);
    *outbox = bigger;
}

void lockmgr_queue(struct lockmgr_worker *worker, uint32_t to_cn, uint32_t to_worker,
                   const struct lockmgr_message_wire *wire)
{
    struct lockmgr_outbox *outbox = &worker->outbox;
    if (outbox->tail - outbox->head == outbox->capacity) grow_outbox(outbox);
    struct lockmgr_letter *letter = letter_at(outbox, outbox->tail++);
    *letter = (struct lockmgr_letter){.cn = to_cn, .worker = to_worker, .wire = *wire};
    letter->wire.magic = LOCKMGR_MAGIC;
}

/* As many as one batch takes; those for full inboxes go to the end of the queue. */
static bool send_some(struct coro *co, struct lockmgr_worker *worker)
{
    struct lockmgr_client *tender = &worker->tender;
    struct lockmgr_outbox *outbox = &worker->outbox;
    struct lockmgr_letter letters[LETTERS_AT_ONCE];
    struct fabric_op ops[LETTERS_AT_ONCE];
    uint32_t count = 0;
    bool full = false;
    for (; count < LETTERS_AT_ONCE && outbox->head != outbox->tail; count++) {
        letters[count] = *letter_at(outbox, outbox->head++);
        uint8_t *bytes = tender->buffer + count * sizeof letters->wire;
        memcpy(bytes, &letters[count].wire, sizeof letters->wire);
        ops[count] = (struct fabric_op){.kind = FABRIC_SEND,
                                        .addr = fabric_endpoint_addr(letters[count].cn, letters[count].worker),
                                        .local = bytes,
                                        .size_bytes = sizeof letters->wire};
    }
    tender->stats.messages += count;
    if (lockmgr_do(co, tender, ops, count) == 0) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (ops[i].status != -CELLAR_ERR_FULL) continue; /* nobody there: who waits for an answer has to ask again */
        lockmgr_queue(worker, letters[i].cn, letters[i].worker, &letters[i].wire);
        full = true;
    }
    return full;
}

static void send_letters(struct coro *co, struct lockmgr_worker *worker)
{
    while (worker->outbox.head != worker->outbox.tail)
        if (send_some(co, worker)) lockmgr_sleep(co, &worker->tender, SEND_AGAIN_NS);
}

uint32_t lockmgr_server_of(const struct lockmgr_config *config, struct fabric_addr lock)
{
    return (uint32_t)((lock.bits * 0x9e3779b97f4a7c15ull >> 32) % config->server_workers);
}

bool lockmgr_quiet(const struct lockmgr_worker *worker)
{
    const struct lockmgr_algorithm *algorithm = worker->lockmgr->algorithm;
    if (worker->outbox.head != worker->outbox.tail || worker->stirred) return false;
    return worker->lockmgr->serves || !algorithm->quiet || algorithm->quiet(worker);
}

uint64_t lockmgr_tend(struct coro *co, struct lockmgr_worker *worker)
{
    const struct lockmgr_algorithm *algorithm = worker->lockmgr->algorithm;
    uint64_t (*tend)(struct coro *, struct lockmgr_worker *) =
        worker->lockmgr->serves ? algorithm->server_tend : algorithm->tend;
    uint64_t next_ns = UINT64_MAX;
    worker->tender_task.co = worker->tender.wait.co = co;
    do {
        worker->stirred = false;
        if (tend) next_ns = tend(co, worker);
        send_letters(co, worker);
    } while (worker->stirred);
    return next_ns;
}

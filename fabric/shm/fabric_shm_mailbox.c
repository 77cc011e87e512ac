/*
 * fabric_shm_mailbox.c - messages between endpoints, in memory that all compute-node processes share.
 *
 * Each endpoint owns a mailbox (a stack of messages not yet taken) and a set of buffers for the messages it sends. A
 * sender fills a buffer and pushes it with one CAS; the receiver takes the whole stack with one exchange, turns it
 * round
 * - oldest first again - and gives each buffer back once it has copied it. Nothing blocks another process when one is
 *   killed
 * between two instructions (INV-FABRIC-5). Indexes and sizes read from here were written by other processes and are
 * checked.
 */
#include "fabric_shm_internal.h"
#include "must.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_OPEN (1ull << 63)
#define STACK_MESSAGES(stack) ((uint32_t)((stack) >> 32) & 0xffff)
#define STACK_NEWEST(stack) ((uint32_t)(stack))

/* ---- futexes ---- */

void fabric_shm_futex_wake(uint32_t *word, uint32_t count)
{
    long woken = syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
    must(woken >= 0);
}

void fabric_shm_futex_wait(uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000), .tv_nsec = (long)(timeout_ns % 1000000000)};

    /* Whatever it returns - woken, changed, timed out, interrupted - the caller looks again. */
    (void)syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout_ns == UINT64_MAX ? NULL : &timeout, NULL, 0);
}

void fabric_shm_ring(struct fabric_shm_mailbox_wire *mailbox)
{
    __atomic_fetch_add(&mailbox->doorbell, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&mailbox->sleeping, __ATOMIC_SEQ_CST)) fabric_shm_futex_wake(&mailbox->doorbell, 1);
}

/* ---- the segment ---- */

static uint32_t endpoint_index(uint32_t cn, uint32_t worker) { return cn * FABRIC_SHM_WORKERS_MAX + worker; }

uint64_t fabric_shm_mailbox_bytes(uint32_t cn_count)
{
    uint64_t endpoints = (uint64_t)cn_count * FABRIC_SHM_WORKERS_MAX;
    return endpoints *
           (sizeof(struct fabric_shm_mailbox_wire) + FABRIC_SHM_BUFFERS * sizeof(struct fabric_shm_buffer_wire));
}

uint64_t fabric_shm_mailbox_boxes_bytes(uint32_t cn_count)
{
    return (uint64_t)cn_count * FABRIC_SHM_WORKERS_MAX * sizeof(struct fabric_shm_mailbox_wire);
}

uint64_t fabric_shm_mailbox_buffers_at(uint32_t cn_count, uint32_t cn, uint32_t worker)
{
    return fabric_shm_mailbox_boxes_bytes(cn_count) +
           (uint64_t)endpoint_index(cn, worker) * FABRIC_SHM_BUFFERS * sizeof(struct fabric_shm_buffer_wire);
}

void fabric_shm_mailbox_bind(struct fabric_shm_mailboxes *mailboxes, struct fabric_shm_mapping mapping,
                             uint32_t cn_count)
{
    must(mapping.bytes >= fabric_shm_mailbox_bytes(cn_count));
    mailboxes->mapping = mapping;
    mailboxes->endpoints = cn_count * FABRIC_SHM_WORKERS_MAX;
    mailboxes->boxes = mapping.base;
    mailboxes->buffers = (struct fabric_shm_buffer_wire *)(void *)(mailboxes->boxes + mailboxes->endpoints);
}

/* ---- buffers ---- */

/* INV-FABRIC-9. The buffer of a 1-based index found in shared memory; NULL at the bottom, and for nonsense. */
static struct fabric_shm_buffer_wire *buffer_at(const struct fabric_shm_mailboxes *mailboxes, uint32_t index)
{
    if (index == 0 || index > mailboxes->endpoints * FABRIC_SHM_BUFFERS) return NULL;
    return &mailboxes->buffers[index - 1];
}

static void give_back(struct fabric_shm_buffer_wire *buffer) { __atomic_store_n(&buffer->sent, 0, __ATOMIC_RELEASE); }

/* Gives back all messages of a stack, whatever it is replaced by. */
static void replace_stack(struct fabric_shm_mailboxes *mailboxes, uint32_t endpoint, uint64_t stack)
{
    uint64_t old = __atomic_exchange_n(&mailboxes->boxes[endpoint].stack, stack, __ATOMIC_SEQ_CST);
    struct fabric_shm_buffer_wire *buffer = buffer_at(mailboxes, STACK_NEWEST(old));

    for (uint32_t i = 0; buffer && i < STACK_MESSAGES(old); i++) {
        struct fabric_shm_buffer_wire *below = buffer_at(mailboxes, buffer->next);
        give_back(buffer);
        buffer = below;
    }
}

struct fabric_shm_mailbox_wire *fabric_shm_mailbox_open(struct fabric_shm_mailboxes *mailboxes, uint32_t cn,
                                                        uint32_t worker)
{
    uint32_t endpoint = endpoint_index(cn, worker);

    replace_stack(mailboxes, endpoint, STACK_OPEN);
    __atomic_store_n(&mailboxes->boxes[endpoint].sleeping, 0, __ATOMIC_SEQ_CST);
    return &mailboxes->boxes[endpoint];
}

void fabric_shm_mailbox_close(struct fabric_shm_mailboxes *mailboxes, uint32_t cn, uint32_t worker)
{
    replace_stack(mailboxes, endpoint_index(cn, worker), 0);
}

/* A free buffer of this endpoint as a 1-based index, or 0. They come back roughly in the order they went. */
static uint32_t find_free(struct fabric_shm_ep *sep, const struct fabric_shm_mailboxes *mailboxes)
{
    uint32_t first = endpoint_index(sep->ep.cn, sep->ep.worker) * FABRIC_SHM_BUFFERS;

    for (uint32_t i = 0; i < FABRIC_SHM_BUFFERS; i++) {
        uint32_t index = first + (sep->next_buffer + i) % FABRIC_SHM_BUFFERS;
        if (__atomic_load_n(&mailboxes->buffers[index].sent, __ATOMIC_ACQUIRE) == 0) {
            sep->next_buffer = (sep->next_buffer + i + 1) % FABRIC_SHM_BUFFERS;
            return index + 1;
        }
    }
    return 0;
}

/* ---- sending ---- */

static int push(struct fabric_shm_mailbox_wire *mailbox, struct fabric_shm_buffer_wire *buffer, uint32_t index)
{
    uint64_t stack = __atomic_load_n(&mailbox->stack, __ATOMIC_RELAXED), pushed;

    do {
        if (!(stack & STACK_OPEN)) return CELLAR_UNREACHABLE;
        if (STACK_MESSAGES(stack) >= FABRIC_INBOX_MESSAGES) return CELLAR_FULL;
        buffer->next = STACK_NEWEST(stack);
        pushed = STACK_OPEN | (uint64_t)(STACK_MESSAGES(stack) + 1) << 32 | index;
    } while (!__atomic_compare_exchange_n(&mailbox->stack, &stack, pushed, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    return 0;
}

int fabric_shm_send(struct fabric_shm_ep *sep, const struct fabric_op *op)
{
    struct fabric_shm *shm = (struct fabric_shm *)sep->ep.fabric;
    uint32_t cn = fabric_addr_node(op->addr);
    uint64_t worker = fabric_addr_offset(op->addr);

    if (cn >= shm->fabric.cn_count || worker >= FABRIC_SHM_WORKERS_MAX || op->size_bytes > FABRIC_MESSAGE_BYTES)
        return CELLAR_INVALID;

    struct fabric_shm_mailbox_wire *mailbox = &shm->mailboxes.boxes[endpoint_index(cn, (uint32_t)worker)];
    uint32_t index = find_free(sep, &shm->mailboxes);
    if (index == 0) return CELLAR_FULL;

    struct fabric_shm_buffer_wire *buffer = buffer_at(&shm->mailboxes, index);
    buffer->from_cn = sep->ep.cn;
    buffer->from_worker = sep->ep.worker;
    buffer->size_bytes = op->size_bytes;
    memcpy(buffer->bytes, op->local, op->size_bytes);
    __atomic_store_n(&buffer->sent, 1, __ATOMIC_RELAXED);
    int code = push(mailbox, buffer, index);
    if (code != 0) {
        give_back(buffer);
        return code;
    }
    if (__atomic_load_n(&mailbox->sleeping, __ATOMIC_SEQ_CST)) fabric_shm_ring(mailbox);
    return 0;
}

/* ---- receiving ---- */

/* Takes the stack and turns it round; returns the oldest message's index. */
static uint32_t take_stack(struct fabric_shm_ep *sep, const struct fabric_shm_mailboxes *mailboxes)
{
    uint64_t stack = __atomic_exchange_n(&sep->mailbox->stack, STACK_OPEN, __ATOMIC_SEQ_CST);
    uint32_t index = STACK_NEWEST(stack), oldest = 0;

    for (uint32_t i = 0; i < STACK_MESSAGES(stack); i++) {
        struct fabric_shm_buffer_wire *buffer = buffer_at(mailboxes, index);
        if (!buffer) break;
        uint32_t below = buffer->next;
        buffer->next = oldest;
        oldest = index;
        index = below;
    }
    return oldest;
}

static void copy_out(struct fabric_message *message, const struct fabric_shm_buffer_wire *buffer)
{
    uint32_t size = buffer->size_bytes < FABRIC_MESSAGE_BYTES ? buffer->size_bytes : FABRIC_MESSAGE_BYTES;

    message->from_cn = buffer->from_cn;
    message->from_worker = buffer->from_worker;
    message->size_bytes = size;
    message->pad = 0;
    memcpy(message->bytes, buffer->bytes, size);
}

void fabric_shm_receive(struct fabric_shm_ep *sep)
{
    const struct fabric_shm_mailboxes *mailboxes = &((struct fabric_shm *)sep->ep.fabric)->mailboxes;
    struct fabric_ep *ep = &sep->ep;

    if (sep->taken == 0) sep->taken = take_stack(sep, mailboxes);
    while (sep->taken != 0 && ep->inbox_tail - ep->inbox_head < FABRIC_INBOX_MESSAGES) {
        struct fabric_shm_buffer_wire *buffer = buffer_at(mailboxes, sep->taken);
        if (!buffer) {
            sep->taken = 0;
            break;
        }
        copy_out(&ep->inbox[ep->inbox_tail++ % FABRIC_INBOX_MESSAGES], buffer);
        sep->taken = buffer->next;
        give_back(buffer);
    }
}

void fabric_shm_drop_taken(struct fabric_shm_ep *sep)
{
    const struct fabric_shm_mailboxes *mailboxes = &((struct fabric_shm *)sep->ep.fabric)->mailboxes;
    struct fabric_shm_buffer_wire *buffer;

    for (uint32_t i = 0; i < FABRIC_INBOX_MESSAGES && (buffer = buffer_at(mailboxes, sep->taken)); i++) {
        sep->taken = buffer->next;
        give_back(buffer);
    }
}

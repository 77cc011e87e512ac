/* lines_model.c - the model, and the functions that the compiler calls. */
#include "lines_model.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BITS 6
#define LINES (1u << 21)
#define SITES (1u << 13)

struct line {
    uintptr_t number; /* 0: none here */
    uint64_t having;  /* the threads that have it, a bit each */
    uint32_t writer;  /* the last one that wrote it, of whose writing all others must hear */
};

static struct {
    pthread_mutex_t mutex;
    bool on;
    uintptr_t pool_begin, pool_end;
    struct lines_total total;
    struct line lines[LINES];
    struct lines_site sites[SITES];
} model = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static __thread uint32_t self; /* the thread's number */

/* ---- the model ---- */

void lines_model_thread(uint32_t number) { self = number; }

void lines_model_pool(const void *begin, uint64_t bytes)
{
    model.pool_begin = (uintptr_t)begin;
    model.pool_end = (uintptr_t)begin + bytes;
}

void lines_model_begin(void)
{
    pthread_mutex_lock(&model.mutex);
    memset(model.lines, 0, sizeof model.lines);
    memset(model.sites, 0, sizeof model.sites);
    model.total = (struct lines_total){0};
    model.on = true;
    pthread_mutex_unlock(&model.mutex);
}

void lines_model_end(void)
{
    pthread_mutex_lock(&model.mutex);
    model.on = false;
    pthread_mutex_unlock(&model.mutex);
}

void lines_model_total(struct lines_total *total) { *total = model.total; }

static struct line *line_of(uintptr_t number)
{
    for (uint32_t at = (uint32_t)(number * 0x9e3779b97f4a7c15ull >> 40);; at++) {
        struct line *line = &model.lines[at % LINES];
        if (line->number == number) return line;
        if (line->number) continue;
        line->number = number;
        return line;
    }
}

static struct lines_site *site_of(uintptr_t pc, bool pool)
{
    for (uint32_t at = (uint32_t)(pc * 0x9e3779b97f4a7c15ull >> 40);; at++) {
        struct lines_site *site = &model.sites[at % SITES];
        if (site->pc == pc && site->pool == pool) return site;
        if (site->pc) continue;
        site->pc = pc;
        site->pool = pool;
        return site;
    }
}

/* Is the line taken over from another thread? */
static bool take(struct line *line, bool write)
{
    uint64_t own = 1ull << (self - 1);
    bool taken = write ? (line->having & ~own) != 0 : !(line->having & own) && line->writer && line->writer != self;
    line->having = write ? own : line->having | own;
    if (write) line->writer = self;
    return taken;
}

static void access_line(uintptr_t number, bool write, bool atomic, uintptr_t pc)
{
    bool pool = number << LINE_BITS >= model.pool_begin && number << LINE_BITS < model.pool_end;
    bool taken = take(line_of(number), write);
    model.total.accesses++;
    if (!taken && !atomic) return;
    struct lines_site *site = site_of(pc, pool);
    model.total.taken[pool] += taken;
    model.total.atomics[pool] += atomic;
    site->atomics += atomic;
    *(write ? &site->taken_write : &site->taken_read) += taken;
}

static void touch(const void *address, uint64_t bytes, bool write, bool atomic, void *pc)
{
    if (!__atomic_load_n(&model.on, __ATOMIC_RELAXED) || !self || !bytes) return;
    uintptr_t first = (uintptr_t)address >> LINE_BITS, last = ((uintptr_t)address + bytes - 1) >> LINE_BITS;
    pthread_mutex_lock(&model.mutex);
    for (uintptr_t line = first; model.on && line <= last; line++) access_line(line, write, atomic, (uintptr_t)pc);
    pthread_mutex_unlock(&model.mutex);
}

static int more(const void *a, const void *b)
{
    const struct lines_site *x = a, *y = b;
    uint64_t of_x = x->taken_read + x->taken_write, of_y = y->taken_read + y->taken_write;
    if (of_x != of_y) return of_x < of_y ? 1 : -1;
    return x->atomics < y->atomics ? 1 : x->atomics > y->atomics ? -1 : (x->pc > y->pc) - (x->pc < y->pc);
}

uint32_t lines_model_sites(struct lines_site *sites, uint32_t max)
{
    uint32_t found = 0;
    struct lines_site *all = malloc(sizeof model.sites);
    if (!all) return 0;
    for (uint32_t i = 0; i < SITES; i++)
        if (model.sites[i].pc) all[found++] = model.sites[i];
    qsort(all, found, sizeof *all, more);
    if (found > max) found = max;
    memcpy(sites, all, found * sizeof *all);
    free(all);
    return found;
}

/* ---- what the compiler calls ---- */

#define PC __builtin_return_address(0)

#define PLAIN(bytes)                                                                                                   \
    void __tsan_read##bytes(void *at);                                                                                 \
    void __tsan_read##bytes(void *at) { touch(at, bytes, false, false, PC); }                                          \
    void __tsan_write##bytes(void *at);                                                                                \
    void __tsan_write##bytes(void *at) { touch(at, bytes, true, false, PC); }                                          \
    void __tsan_unaligned_read##bytes(void *at);                                                                       \
    void __tsan_unaligned_read##bytes(void *at) { touch(at, bytes, false, false, PC); }                                \
    void __tsan_unaligned_write##bytes(void *at);                                                                      \
    void __tsan_unaligned_write##bytes(void *at) { touch(at, bytes, true, false, PC); }                                \
    void __tsan_volatile_read##bytes(void *at);                                                                        \
    void __tsan_volatile_read##bytes(void *at) { touch(at, bytes, false, false, PC); }                                 \
    void __tsan_volatile_write##bytes(void *at);                                                                       \
    void __tsan_volatile_write##bytes(void *at) { touch(at, bytes, true, false, PC); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_init(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc) { (void)pc; }
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}
void __tsan_read_range(void *at, uint64_t bytes);
void __tsan_read_range(void *at, uint64_t bytes) { touch(at, bytes, false, false, PC); }
void __tsan_write_range(void *at, uint64_t bytes);
void __tsan_write_range(void *at, uint64_t bytes) { touch(at, bytes, true, false, PC); }

/*
 * A load is no atomic instruction, nor a store but for one that is sequentially consistent: that is an exchange. All
 * are done sequentially consistent here, whatever was asked for.
 */
#define ATOMIC(bits, type)                                                                                             \
    type __tsan_atomic##bits##_load(const volatile type *at, int order);                                               \
    type __tsan_atomic##bits##_load(const volatile type *at, int order)                                                \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        touch((const void *)at, sizeof *at, false, false, PC);                                                         \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                                  \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order);                                        \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order)                                         \
    {                                                                                                                  \
        touch((const void *)at, sizeof *at, true, order == __ATOMIC_SEQ_CST, PC);                                      \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                                 \
    }                                                                                                                  \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type expected, type value, int order,           \
                                                    int failure);                                                      \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type expected, type value, int order,           \
                                                    int failure)                                                       \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        (void)failure;                                                                                                 \
        touch((const void *)at, sizeof *at, true, true, PC);                                                           \
        __atomic_compare_exchange_n(at, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                      \
        return expected;                                                                                               \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *at, type *expected, type value, int order,        \
                                                      int failure);                                                    \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *at, type *expected, type value, int order,        \
                                                      int failure)                                                     \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        (void)failure;                                                                                                 \
        touch((const void *)at, sizeof *at, true, true, PC);                                                           \
        return __atomic_compare_exchange_n(at, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *at, type *expected, type value, int order,          \
                                                    int failure);                                                      \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *at, type *expected, type value, int order,          \
                                                    int failure)                                                       \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        (void)failure;                                                                                                 \
        touch((const void *)at, sizeof *at, true, true, PC);                                                           \
        return __atomic_compare_exchange_n(at, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
    }
#define ATOMIC_FETCH(bits, type, name, does)                                                                           \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order);                                       \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order)                                        \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        touch((const void *)at, sizeof *at, true, true, PC);                                                           \
        return does(at, value, __ATOMIC_SEQ_CST);                                                                      \
    }
#define ATOMICS(bits, type)                                                                                            \
    ATOMIC(bits, type)                                                                                                 \
    ATOMIC_FETCH(bits, type, exchange, __atomic_exchange_n)                                                            \
    ATOMIC_FETCH(bits, type, fetch_add, __atomic_fetch_add)                                                            \
    ATOMIC_FETCH(bits, type, fetch_sub, __atomic_fetch_sub)                                                            \
    ATOMIC_FETCH(bits, type, fetch_and, __atomic_fetch_and)                                                            \
    ATOMIC_FETCH(bits, type, fetch_or, __atomic_fetch_or)                                                              \
    ATOMIC_FETCH(bits, type, fetch_xor, __atomic_fetch_xor)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    static __thread uint64_t fences; /* a line that no other thread has */
    if (order == __ATOMIC_SEQ_CST) touch(&fences, sizeof fences, false, true, PC);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) { (void)order; }

/* clang hands these over, too. */
#define COPIES(name)                                                                                                   \
    void *__tsan_##name(void *to, const void *from, uint64_t bytes);                                                   \
    void *__tsan_##name(void *to, const void *from, uint64_t bytes)                                                    \
    {                                                                                                                  \
        touch(from, bytes, false, false, PC);                                                                          \
        touch(to, bytes, true, false, PC);                                                                             \
        return name(to, from, bytes);                                                                                  \
    }
COPIES(memcpy)
COPIES(memmove)
void *__tsan_memset(void *to, int value, uint64_t bytes);
void *__tsan_memset(void *to, int value, uint64_t bytes)
{
    touch(to, bytes, true, false, PC);
    return memset(to, value, bytes);
}

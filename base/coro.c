/*
 * coro.c - the switch between a coroutine and its resumer.
 *
 * One word, `sp`, holds the stack pointer of the side that is not running; a switch exchanges it with the machine's and
 * saves only what a call preserves. The floating-point control words are not switched: they belong to the thread, and
 * nothing here changes them. Machines without a switch of their own use ucontext.
 */
#include "coro.h"

#include "must.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CORO_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define CORO_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CORO_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define CORO_TSAN 1
#endif
#if defined(CORO_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(CORO_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

/*
 * Valgrind takes a switch for a huge frame unless it knows the stacks; outside it these requests cost a few
 * instructions.
 */
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#if !defined(VALGRIND_STACK_REGISTER)
#define VALGRIND_STACK_REGISTER(start, end) 0
#define VALGRIND_STACK_DEREGISTER(id) ((void)(id))
#endif

#if !defined(CORO_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define CORO_UCONTEXT 1
#endif
#if defined(CORO_UCONTEXT)
#include <ucontext.h>
#endif

#define STACK_BYTES_MIN (16u << 10)
/* Stacks start at differing offsets, or the hot ends of all of them would compete for the same few cache sets. */
#define COLOURS 16
#define COLOUR_BYTES 256

enum coro_state { CORO_SUSPENDED, CORO_RUNNING, CORO_DONE };

struct coro {
#if defined(CORO_UCONTEXT)
    ucontext_t inside, outside;
#else
    void *sp; /* of the side that is not running */
#endif
    enum coro_state state;
    const struct coro *annex; /* on whose stack a function runs that it has called; NULL: none */
    char *stack;              /* the lowest usable byte, just above the guard page */
    size_t stack_bytes;
    char *map;
    size_t map_bytes;
    unsigned valgrind_id;
    coro_fn fn;
    void *arg;
#if defined(CORO_ASAN)
    const void *outside_stack, *inside_stack; /* inside: the stack it last yielded from, its own or a nested one */
    size_t outside_stack_bytes, inside_stack_bytes;
    bool started, dropped;
#endif
#if defined(CORO_TSAN)
    void *fiber, *outside_fiber, *inside_fiber; /* inside: the fiber it last yielded from */
#endif
};

static void coro_main(struct coro *co);

/* ---- the machine's switch ---------------------------------------------------------------------------- */

#if defined(CORO_UCONTEXT)

static void ucontext_main(unsigned high, unsigned low)
{
    coro_main((struct coro *)((uintptr_t)((uint64_t)high << 32 | low))); /* makecontext passes ints only */
}

static bool context_init(struct coro *co, size_t colour_bytes)
{
    if (getcontext(&co->inside) != 0) return false;
    co->inside.uc_stack.ss_sp = co->stack;
    co->inside.uc_stack.ss_size = co->stack_bytes - colour_bytes;
    co->inside.uc_link = NULL;
    uint64_t bits = (uintptr_t)co;
    makecontext(&co->inside, (void (*)(void))ucontext_main, 2, (unsigned)(bits >> 32), (unsigned)bits);
    return true;
}

static inline void context_enter(struct coro *co) { must(swapcontext(&co->outside, &co->inside) == 0); }
static inline void context_leave(struct coro *co) { must(swapcontext(&co->inside, &co->outside) == 0); }

#else

/* Saves the callee-saved registers on this stack, exchanges the stack pointer with *sp, restores those found there. */
void coro_switch(void **sp) __attribute__((visibility("hidden")));
/* Where a new coroutine begins: calls coro_switch_main(co), both kept in callee-saved registers. */
void coro_switch_start(void) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
#define SAVED_WORDS 7 /* r15 r14 r13 r12 rbx rbp, return address */
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".globl coro_switch\n"
        ".hidden coro_switch\n"
        ".type coro_switch, @function\n"
        "coro_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq (%rdi), %rax\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rax, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rcx\n" /* a jump, since the return predictor expects the other side's caller */
        "    jmpq *%rcx\n"
        ".size coro_switch, . - coro_switch\n"
        ".p2align 4\n"
        ".globl coro_switch_start\n"
        ".hidden coro_switch_start\n"
        ".type coro_switch_start, @function\n"
        "coro_switch_start:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n" /* the outermost frame */
        "    movq %r12, %rdi\n"
        "    callq *%r13\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        ".size coro_switch_start, . - coro_switch_start\n"
        ".popsection\n");

static void saved_init(uintptr_t *saved, struct coro *co)
{
    saved[3] = (uintptr_t)co;
    saved[2] = (uintptr_t)coro_main;
    saved[6] = (uintptr_t)coro_switch_start;
}
#else
#define SAVED_WORDS 20 /* x19..x28, x29 x30, d8..d15 */
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".globl coro_switch\n"
        ".hidden coro_switch\n"
        ".type coro_switch, %function\n"
        "coro_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    ldr x9, [x0]\n"
        "    mov x10, sp\n"
        "    str x10, [x0]\n"
        "    mov sp, x9\n"
        "    ldp x19, x20, [sp]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size coro_switch, . - coro_switch\n"
        ".p2align 4\n"
        ".globl coro_switch_start\n"
        ".hidden coro_switch_start\n"
        ".type coro_switch_start, %function\n"
        "coro_switch_start:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined x30\n" /* the outermost frame */
        "    mov x0, x19\n"
        "    blr x20\n"
        "    brk #1\n"
        "    .cfi_endproc\n"
        ".size coro_switch_start, . - coro_switch_start\n"
        ".popsection\n");

static void saved_init(uintptr_t *saved, struct coro *co)
{
    saved[0] = (uintptr_t)co;
    saved[1] = (uintptr_t)coro_main;
    saved[11] = (uintptr_t)coro_switch_start;
}
#endif

static bool context_init(struct coro *co, size_t colour_bytes)
{
    /* 16-aligned once the saved words are popped, as at any call; what lies below is fresh memory, all zero. */
    uintptr_t *top = (uintptr_t *)(void *)(co->stack + co->stack_bytes - colour_bytes - 64);
    co->sp = top - SAVED_WORDS;
    saved_init(top - SAVED_WORDS, co);
    return true;
}

static inline void context_enter(struct coro *co) { coro_switch(&co->sp); }
static inline void context_leave(struct coro *co) { coro_switch(&co->sp); }

#endif

/* ---- entering and leaving, with the sanitizers told ---------------------------------------------------- */

static inline void enter(struct coro *co)
{
#if defined(CORO_TSAN)
    co->outside_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(co->inside_fiber, 0);
#endif
#if defined(CORO_ASAN)
    void *fake_stack;
    __sanitizer_start_switch_fiber(&fake_stack, co->inside_stack, co->inside_stack_bytes);
    context_enter(co);
    __sanitizer_finish_switch_fiber(fake_stack, &co->inside_stack, &co->inside_stack_bytes);
#else
    context_enter(co);
#endif
}

/* Leaves for the last time: nothing returns here, so ASan may free the stack's shadow frames. */
__attribute__((noreturn)) static void leave_for_good(struct coro *co)
{
#if defined(CORO_TSAN)
    __tsan_switch_to_fiber(co->outside_fiber, 0);
#endif
#if defined(CORO_ASAN)
    __sanitizer_start_switch_fiber(NULL, co->outside_stack, co->outside_stack_bytes);
#endif
    context_leave(co);
    __builtin_unreachable();
}

static inline void leave(struct coro *co)
{
#if defined(CORO_TSAN)
    co->inside_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(co->outside_fiber, 0);
#endif
#if defined(CORO_ASAN)
    void *fake_stack;
    __sanitizer_start_switch_fiber(&fake_stack, co->outside_stack, co->outside_stack_bytes);
    context_leave(co);
    __sanitizer_finish_switch_fiber(fake_stack, &co->outside_stack, &co->outside_stack_bytes);
    if (co->dropped) leave_for_good(co);
#else
    context_leave(co);
#endif
}

static void coro_main(struct coro *co)
{
#if defined(CORO_ASAN)
    __sanitizer_finish_switch_fiber(NULL, &co->outside_stack, &co->outside_stack_bytes);
    co->started = true;
#endif
    co->fn(co, co->arg);
    co->state = CORO_DONE;
    leave_for_good(co);
}

/* ---- from birth to death --------------------------------------------------------------------------- */

static bool stack_map(struct coro *co, size_t stack_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t usable = (stack_bytes + COLOURS * COLOUR_BYTES + page - 1) / page * page;
    void *map = mmap(NULL, page + usable, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return false;
    co->map = map;
    co->map_bytes = page + usable;
    co->stack = co->map + page;
    co->stack_bytes = usable;
    co->valgrind_id = VALGRIND_STACK_REGISTER(co->stack, co->stack + usable);
    return mprotect(map, page, PROT_NONE) == 0;
}

static void stack_unmap(struct coro *co)
{
    if (!co->map) return;
#if defined(CORO_ASAN)
    __asan_unpoison_memory_region(co->stack, co->stack_bytes); /* or the next mapping there inherits red zones */
#endif
    VALGRIND_STACK_DEREGISTER(co->valgrind_id);
    must(munmap(co->map, co->map_bytes) == 0);
}

struct coro *coro_new(size_t stack_bytes, coro_fn fn, void *arg)
{
    must(stack_bytes >= STACK_BYTES_MIN);
    struct coro *co = calloc(1, sizeof(*co));
    if (!co) return NULL;
    co->fn = fn;
    co->arg = arg;
    size_t colour_bytes = 0;
    if (!stack_map(co, stack_bytes)) goto fail;
    colour_bytes = ((uintptr_t)co->map / (co->map_bytes) % COLOURS) * COLOUR_BYTES;
    if (!context_init(co, colour_bytes)) goto fail;
#if defined(CORO_ASAN)
    co->inside_stack = co->stack;
    co->inside_stack_bytes = co->stack_bytes;
#endif
#if defined(CORO_TSAN)
    co->fiber = co->inside_fiber = __tsan_create_fiber(0);
#endif
    return co;
fail:
    stack_unmap(co);
    free(co);
    return NULL;
}

/*
 * Of this thread. A resume may return on another one, if it is itself within a coroutine: the word's place is looked up
 * anew by a call.
 */
static __thread struct coro *inside __attribute__((tls_model("initial-exec"))); /* NULL: none runs */
static __attribute__((noinline)) struct coro *inside_set(struct coro *now)
{
    struct coro *then = inside;
    inside = now;
    return then;
}

bool coro_is_inside(void) { return inside; }

bool coro_is_here(const struct coro *co) { return inside && (inside == co || inside == co->annex); }

void coro_resume(struct coro *co)
{
    must(co->state == CORO_SUSPENDED);
    co->state = CORO_RUNNING;
    struct coro *outside = inside_set(co);
    enter(co);
    (void)inside_set(outside);
}

void coro_yield(struct coro *co)
{
    must(co->state == CORO_RUNNING);
    /* Within co, or its annex: a coroutine that co has resumed must not yield in its name. */
    const struct coro *at = co->annex ? co->annex : co;
    must((uintptr_t)__builtin_frame_address(0) - (uintptr_t)at->stack < at->stack_bytes);
    co->state = CORO_SUSPENDED;
    leave(co);
}

void coro_yield_nested(struct coro *co)
{
    /* The switch saves the stack that runs, whose it may be; what co itself waits for is on that stack. */
    must(co->state == CORO_RUNNING);
    struct coro *here = inside;
    co->state = CORO_SUSPENDED;
    leave(co);
    (void)inside_set(here); /* resuming co has set it to co */
}

bool coro_done(const struct coro *co) { return co->state == CORO_DONE; }

void coro_free(struct coro *co)
{
    if (!co) return;
    must(co->state != CORO_RUNNING);
#if defined(CORO_ASAN)
    if (co->state == CORO_SUSPENDED && co->started) {
        /* Only the coroutine itself can give its fake stack back: let it, where it last yielded. */
        co->dropped = true;
        enter(co);
    }
#endif
#if defined(CORO_TSAN)
    __tsan_destroy_fiber(co->fiber);
#endif
    stack_unmap(co);
    free(co);
}

/* ---- annexes ------------------------------------------------------------------------------------------ */

struct coro_annex {
    struct coro *co;
    void (*fn)(void *arg);
    void *arg;
};

static void annex_main(struct coro *co, void *arg)
{
    const struct coro_annex *annex = arg;
    for (;;) {
        annex->fn(annex->arg);
        coro_yield(co);
    }
}

struct coro_annex *coro_annex_new(size_t stack_bytes)
{
    struct coro_annex *annex = calloc(1, sizeof(*annex));
    if (annex && (annex->co = coro_new(stack_bytes, annex_main, annex))) return annex;
    free(annex);
    return NULL;
}

void coro_annex_free(struct coro_annex *annex)
{
    if (annex) coro_free(annex->co);
    free(annex);
}

void coro_annex_call(struct coro *co, struct coro_annex *annex, void (*fn)(void *arg), void *arg)
{
    must(!co->annex);
    annex->fn = fn;
    annex->arg = arg;
    co->annex = annex->co;
    coro_resume(annex->co);
    co->annex = NULL;
}

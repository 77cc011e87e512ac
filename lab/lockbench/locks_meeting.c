#include "locks_meeting.h"

#include <stdlib.h>
#include <string.h>

#define POLL_NS 1000000
#define PATIENCE_NS 10000000000 /* for a process that is late in ending its window */
#define PROCESSES_MAX 64

/* Words of the meeting. */
enum { READY, ENDED, QUIET, PARTED, FAILED, SLOTS = 8 };
/* Of each process's slot. */
enum { PRINT, ROUNDS, ACQUIRES, VIOLATIONS, LOST, SLOT_WORDS };
_Static_assert((SLOTS + PROCESSES_MAX * SLOT_WORDS) * sizeof(uint64_t) <= LOCKS_MEETING_BYTES, "has room for all");

/* ---- words, from the main thread ---- */

static int execute(struct locks_run *run, struct fabric_op op)
{
    struct fabric_wait wait = {0};
    fabric_post(run->meeting->ep, &op, 1, &wait);
    while (wait.pending) (void)fabric_poll(run->meeting->ep);
    return op.status;
}

static struct fabric_addr word_addr(const struct locks_run *run, uint32_t word)
{
    return fabric_addr_of(0, run->meeting->base + word * sizeof(uint64_t));
}

static int failed(int code, struct cellar_error *error)
{
    return code == 0 ? 0 : err_set(error, CELLAR_INDETERMINATE, "the memory node does not answer");
}

static int add(struct locks_run *run, uint32_t word, uint64_t addend, struct cellar_error *error)
{
    return failed(execute(run, fabric_op_faa(word_addr(run, word), run->meeting->buffer, addend)), error);
}

/* All words, into the buffer. */
static int read_words(struct locks_run *run, struct cellar_error *error)
{
    return failed(execute(run, fabric_op_read(word_addr(run, READY), run->meeting->buffer, LOCKS_MEETING_BYTES)),
                  error);
}

static int check_others(const struct locks_run *run, struct cellar_error *error)
{
    uint64_t process = run->meeting->buffer[FAILED];
    if (process == 0) return 0;
    return err_set(error, CELLAR_CANCELLED, "process %llu of %u ended with an error; see its message",
                   (unsigned long long)process - 1, run->plan->processes);
}

/* *value: of the word; an error if another process has failed. */
static int look(struct locks_run *run, uint32_t word, uint64_t *value, struct cellar_error *error)
{
    int code = read_words(run, error);
    if (code) return code;
    *value = run->meeting->buffer[word];
    return check_others(run, error);
}

static uint32_t slot(uint32_t process, uint32_t word) { return SLOTS + process * SLOT_WORDS + word; }

static bool interrupted(const struct locks_run *run)
{
    return run->plan->stop && __atomic_load_n(run->plan->stop, __ATOMIC_RELAXED);
}

/* Until all processes have added to the word. */
static int await_all(struct locks_run *run, uint32_t word, bool interruptible, struct cellar_error *error)
{
    uint64_t begin_ns = run->plan->watch->now_ns(), count = 0;
    for (;;) {
        int code = look(run, word, &count, error);
        if (code || count >= run->plan->processes) return code;
        if (interruptible && interrupted(run))
            return err_set(error, CELLAR_CANCELLED, "interrupted while waiting for the other processes");
        if (run->plan->watch->now_ns() - begin_ns > PATIENCE_NS)
            return err_set(error, CELLAR_DEADLINE, "%llu of %u processes are overdue; they must have died",
                           (unsigned long long)(run->plan->processes - count), run->plan->processes);
        run->plan->watch->pause(POLL_NS);
    }
}

/* ---- stages ---- */

int locks_meeting_check(const struct locks_plan *plan, struct cellar_error *error)
{
    if (plan->sim && plan->memnodes) return err_set(error, CELLAR_INVALID, "--memnodes is for --fabric shm");
    if (plan->processes <= PROCESSES_MAX) return 0;
    return err_set(error, CELLAR_INVALID, "%u processes: at most %d", plan->processes, PROCESSES_MAX);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++) hash = mix(hash, (uint8_t)*text);
    return mix(hash, 256);
}

/* Of all that processes must have been given alike; never 0. */
static uint64_t fingerprint(const struct locks_plan *plan)
{
    const struct lockmgr_config *lock = &plan->lock;
    uint64_t hash = mix_text(mix_text(plan->processes, lock->algorithm), lock->policy);
    const uint64_t values[] = {lock->cn_count,
                               lock->workers_per_cn,
                               lock->clients_per_worker,
                               lock->capacity,
                               lock->lease_ns,
                               lock->slots_max,
                               lock->server_workers,
                               plan->locks,
                               plan->cs_ops,
                               plan->object_bytes,
                               (uint64_t)plan->mix,
                               plan->window_ns,
                               plan->warmup_ns,
                               plan->ops,
                               plan->seed,
                               (uint64_t)(plan->theta * 1e9),
                               (uint64_t)(plan->read_ratio * 1e9),
                               (uint64_t)(plan->update_ratio * 1e9)};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) hash = mix(hash, values[i]);
    return hash | 1;
}

static int open_endpoint(struct locks_run *run, struct cellar_error *error)
{
    struct locks_meeting *meeting = run->meeting = calloc(1, sizeof *meeting);
    if (meeting) meeting->buffer = calloc(1, LOCKS_MEETING_BYTES);
    if (!meeting || !meeting->buffer || fabric_register_local(run->fabric, meeting->buffer, LOCKS_MEETING_BYTES))
        return err_set(error, CELLAR_NOMEM, "no memory for a meeting of processes");
    meeting->base = run->fabric->mn_bytes - LOCKS_MEETING_BYTES;
    int code = fabric_endpoint_open(run->fabric, run->first_cn, run->config.workers_per_cn, &meeting->ep, error);
    if (code == 0) meeting->ep->bulk = true;
    return code;
}

/* Are all there, and alike? */
static int compare(struct locks_run *run, bool *all, struct cellar_error *error)
{
    const uint64_t *buffer = run->meeting->buffer;
    int code = read_words(run, error);
    if (code) return code;
    uint64_t mine = buffer[slot(run->plan->process, PRINT)];
    *all = true;
    for (uint32_t i = 0; code == 0 && i < run->plan->processes; i++) {
        uint64_t other = buffer[slot(i, PRINT)];
        *all = *all && other;
        if (other && other != mine)
            code = err_set(error, CELLAR_MISMATCH,
                           "process %u of %u was given other options than this one; only --process may differ", i,
                           run->plan->processes);
    }
    return code ? code : check_others(run, error);
}

int locks_meeting_join(struct locks_run *run, struct cellar_error *error)
{
    const struct locks_plan *plan = run->plan;
    struct fabric_op op;
    bool all = false;
    int code = open_endpoint(run, error);
    if (code) return code;
    op = fabric_op_cas(word_addr(run, slot(plan->process, PRINT)), run->meeting->buffer, 0, fingerprint(plan));
    code = failed(execute(run, op), error);
    if (code == 0 && run->meeting->buffer[0])
        return err_set(error, CELLAR_EXISTS,
                       "process %u of %u has been here already: %s holds an earlier run; a run needs fresh memory",
                       plan->process, plan->processes, plan->memnodes);
    run->joined = code == 0;
    while (code == 0 && !all) {
        code = compare(run, &all, error);
        if (code == 0 && !all && interrupted(run))
            code = err_set(error, CELLAR_CANCELLED, "interrupted while waiting for the other processes");
        if (code == 0 && !all) plan->watch->pause(POLL_NS);
    }
    return code;
}

int locks_meeting_ready(struct locks_run *run, struct cellar_error *error)
{
    int code = add(run, READY, 1, error);
    return code ? code : await_all(run, READY, true, error);
}

/*
 * One step: what has to be told is told, what others have told is passed on to the workers. *stage: ENDED or QUIET,
 * the next to be told.
 */
static int attend_once(struct locks_run *run, uint32_t *stage, bool *told, struct cellar_error *error)
{
    _Atomic uint32_t *mine = *stage == ENDED ? &run->active : &run->unquiet;
    uint64_t count;
    int code = 0;
    if (!*told && atomic_load(mine) == 0) {
        code = add(run, *stage, 1, error);
        *told = true;
    }
    if (code == 0) code = look(run, *stage, &count, error);
    if (code || count < run->plan->processes) return code;
    atomic_store(*stage == ENDED ? &run->all_ended : &run->all_quiet, true);
    *told = *stage == QUIET;
    *stage = QUIET;
    locks_wake_all(run);
    return 0;
}

int locks_meeting_attend(struct locks_run *run, struct cellar_error *error)
{
    const struct locks_plan *plan = run->plan;
    uint64_t overdue_ns = plan->watch->now_ns() + plan->warmup_ns + plan->window_ns + PATIENCE_NS;
    uint32_t stage = ENDED;
    bool told = false;
    int code = 0;
    while (code == 0 && __atomic_load_n(&run->running, __ATOMIC_ACQUIRE)) {
        if (!atomic_load(&run->all_quiet)) code = attend_once(run, &stage, &told, error);
        if (code == 0 && !plan->ops && plan->watch->now_ns() > overdue_ns)
            code = err_set(error, CELLAR_DEADLINE, "other processes are overdue; they must have died");
        plan->watch->pause(POLL_NS);
    }
    if (code == 0) return 0;
    atomic_store(&run->cut_off, true);
    locks_wake_all(run);
    return run->fabric->ops->wait(run->fabric, &run->running, UINT64_MAX) ? CELLAR_INDETERMINATE : code;
}

int locks_meeting_part(struct locks_run *run, struct locks_result *result, struct cellar_error *error)
{
    const struct locks_tally *total = result->total;
    const uint64_t mine[SLOT_WORDS] = {0, total->rounds, total->acquires, total->violations, total->lost};
    uint64_t count, *buffer = run->meeting->buffer;
    int code = 0;
    for (uint32_t i = ROUNDS; code == 0 && i < SLOT_WORDS; i++)
        code = add(run, slot(run->plan->process, i), mine[i], error);
    if (code == 0) code = add(run, PARTED, 1, error);
    if (code == 0) code = await_all(run, PARTED, false, error);
    if (code == 0) code = look(run, PARTED, &count, error);
    for (uint32_t i = 0; code == 0 && i < run->plan->processes; i++) {
        result->all_rounds += buffer[slot(i, ROUNDS)];
        result->all_violations += buffer[slot(i, VIOLATIONS)];
        result->all_lost += buffer[slot(i, LOST)];
    }
    return code;
}

/* A process that ends with an error takes the others with it. */
void locks_meeting_close(struct locks_run *run, bool well)
{
    struct locks_meeting *meeting = run->meeting;
    if (!meeting) return;
    if (run->joined && !well)
        (void)execute(run, fabric_op_cas(word_addr(run, FAILED), meeting->buffer, 0, run->plan->process + 1));
    if (meeting->ep) fabric_endpoint_close(meeting->ep);
    free(meeting->buffer);
    free(meeting);
    run->meeting = NULL;
}

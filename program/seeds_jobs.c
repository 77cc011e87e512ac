#include "seeds_jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_NS 2000000
#define HANG_NS 300000000000 /* of real time, for one seed: it runs in a circle without an event */
#define SAYING_BYTES 8192    /* of what a crashed child wrote last */

enum child_exit { CHILD_DONE = 0, CHILD_FAILED = 64, CHILD_ERROR = 65 };

/* What a child is at, and what came of it. */
struct seeds_slot {
    uint64_t at; /* index of its seed + 1; 0: of none */
    struct sim_report report;
    struct cellar_error error;
};

struct seeds_shared {
    uint64_t next, end; /* indexes: the next seed to run; none from `end` on */
    struct seeds_totals totals;
    struct seeds_slot *slots; /* of the children, and one for tries; in the same mapping */
    uint64_t *hashes;
    uint64_t bytes;
};

struct seeds_child {
    pid_t pid;  /* 0: none */
    int saying; /* a file without a name: its standard error */
    uint64_t at, since_ns;
};

const struct seeds_totals *seeds_jobs_totals(const struct seeds_jobs *jobs) { return &jobs->shared->totals; }

uint64_t seeds_jobs_hash(const struct seeds_jobs *jobs, uint64_t index) { return jobs->shared->hashes[index]; }

/* ---- in a child ---- */

static void add(uint64_t *sum, uint64_t value) { __atomic_fetch_add(sum, value, __ATOMIC_RELAXED); }

static void raise_to(uint64_t *most, uint64_t value)
{
    uint64_t seen = __atomic_load_n(most, __ATOMIC_RELAXED);
    while (seen < value && !__atomic_compare_exchange_n(most, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void count_run(struct seeds_totals *totals, const struct sim_report *report)
{
    add(&totals->done, 1);
    add(&totals->failed, report->checker != NULL);
    add(&totals->committed, report->committed);
    add(&totals->without_effect, report->failed);
    add(&totals->indeterminate, report->indeterminate);
    add(&totals->recovered, report->recovered);
    raise_to(&totals->recovery_ns, report->recovery_ns);
    raise_to(&totals->stop_ns, report->stop_ns);
    add(&totals->suspected, report->suspected);
    add(&totals->failovers, report->failovers);
    add(&totals->replaced, report->replaced);
    add(&totals->reopened, report->reopened);
    raise_to(&totals->halt_ns, report->halt_ns);
    add(&totals->ops, report->ops);
    add(&totals->virtual_ns, report->virtual_ns);
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++)
        if (report->fault_counts[kind]) add(&totals->faults[kind], report->fault_counts[kind]);
}

/* Runs a plan; with `twice` once more, and compares. */
static int run_plan(const struct sim_plan *plan, bool twice, struct sim_report *report, struct cellar_error *error)
{
    int code = sim_run(plan, report, error);
    if (code != 0 || !twice) return code;
    struct sim_report *again = malloc(sizeof *again);
    if (!again) return err_set(error, CELLAR_NOMEM, "no memory for a report");
    code = sim_run(plan, again, error);
    if (code == CELLAR_CORRUPT || (code == 0 && again->trace_hash != report->trace_hash)) {
        report->checker = "determinism";
        snprintf(report->verdict, sizeof report->verdict,
                 "two runs of one plan differ: trace hash %016llx after %llu operations, then %016llx after %llu",
                 (unsigned long long)report->trace_hash, (unsigned long long)report->ops,
                 (unsigned long long)again->trace_hash, (unsigned long long)again->ops);
        code = CELLAR_CORRUPT;
    }
    free(again);
    return code;
}

static enum child_exit run_seeds(const struct seeds_jobs *jobs, struct seeds_slot *slot)
{
    struct seeds_shared *shared = jobs->shared;
    const struct seeds_settings *settings = jobs->settings;
    struct sim_plan *plan = malloc(sizeof *plan);
    if (!plan) return CHILD_ERROR;
    for (;;) {
        uint64_t index = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
        if (index >= __atomic_load_n(&shared->end, __ATOMIC_RELAXED)) return CHILD_DONE;
        __atomic_store_n(&slot->at, index + 1, __ATOMIC_RELEASE);
        seeds_settings_plan(settings, settings->first + index, plan);
        plan->history = settings->history;
        plan->trace = settings->trace;
        plan->trace_every = settings->trace_every;
        int code = run_plan(plan, settings->twice, &slot->report, &slot->error);
        if (code != 0 && code != CELLAR_CORRUPT) return CHILD_ERROR;
        count_run(&shared->totals, &slot->report);
        if (code != 0) return CHILD_FAILED;
        shared->hashes[index] = slot->report.trace_hash;
        __atomic_store_n(&slot->at, 0, __ATOMIC_RELEASE);
    }
}

static void child_begin(int saying, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(CHILD_ERROR); /* it died before it could be tied to */
    dup2(saying, STDERR_FILENO);
}

/* ---- crashes ---- */

static bool says_why(const char *line)
{
    return strstr(line, "bug at ") || strstr(line, "ERROR: ") || strstr(line, "runtime error: ") ||
           strstr(line, "WARNING: ThreadSanitizer");
}

/* The line of what it wrote that says why; else the last one. */
static void crash_text(int saying, char *text, size_t bytes)
{
    char said[SAYING_BYTES + 1], *rest = NULL, *why = NULL;
    off_t end = lseek(saying, 0, SEEK_END);
    off_t from = end > SAYING_BYTES ? end - SAYING_BYTES : 0;
    ssize_t count = pread(saying, said, SAYING_BYTES, from);
    said[count > 0 ? count : 0] = 0;
    for (char *line = strtok_r(said, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        why = line;
        if (says_why(line)) break;
    }
    snprintf(text, bytes, "%s", why ? why : "it said nothing");
}

static void crash_report(int status, int saying, struct sim_report *report)
{
    char why[512];
    crash_text(saying, why, sizeof why);
    report->checker = "crash";
    if (WIFSIGNALED(status))
        snprintf(report->verdict, sizeof report->verdict, "the process ended with signal %d (%s): %s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), why);
    else
        snprintf(report->verdict, sizeof report->verdict, "the process ended with status %d: %s", WEXITSTATUS(status),
                 why);
}

static void hang_report(struct sim_report *report)
{
    report->checker = "crash";
    snprintf(report->verdict, sizeof report->verdict, "the run did not end within %llu s of real time",
             (unsigned long long)(HANG_NS / 1000000000));
}

/* ---- children ---- */

static int child_start(struct seeds_jobs *jobs, struct seeds_child *child, struct seeds_slot *slot,
                       struct cellar_error *error)
{
    slot->at = 0;
    memset(&slot->report, 0, sizeof slot->report);
    if (ftruncate(child->saying, 0) != 0 || lseek(child->saying, 0, SEEK_SET) != 0)
        return err_set(error, CELLAR_SYSTEM, "cannot empty a file of memory: %s", strerror(errno));
    fflush(NULL);
    child->since_ns = jobs->watch->now_ns();
    pid_t parent = getpid();
    child->pid = fork();
    if (child->pid < 0) {
        child->pid = 0;
        return err_set(error, CELLAR_SYSTEM, "cannot start a process: %s", strerror(errno));
    }
    if (child->pid == 0) {
        child_begin(child->saying, parent);
        _exit(run_seeds(jobs, slot));
    }
    return 0;
}

/* Notes a failed seed, in order; unless told to keep going no later seed is begun. */
static void failure_add(struct seeds_jobs *jobs, uint64_t index, const struct sim_report *report)
{
    uint64_t seed = jobs->settings->first + index;
    uint32_t at = jobs->failure_count;
    if (!jobs->settings->keep_going && index < jobs->shared->end)
        __atomic_store_n(&jobs->shared->end, index, __ATOMIC_RELAXED);
    while (at > 0 && jobs->failures[at - 1].seed > seed) at--;
    if (at == SEEDS_FAILURES_MAX) return;
    uint32_t moved = jobs->failure_count < SEEDS_FAILURES_MAX ? jobs->failure_count - at : SEEDS_FAILURES_MAX - 1 - at;
    memmove(&jobs->failures[at + 1], &jobs->failures[at], moved * sizeof *jobs->failures);
    jobs->failures[at] = (struct seeds_failure){seed, *report};
    if (jobs->failure_count < SEEDS_FAILURES_MAX) jobs->failure_count++;
}

/* A child has ended: what of? An error: that plan cannot be run. */
static int child_ended(struct seeds_jobs *jobs, const struct seeds_child *child, struct seeds_slot *slot, int status,
                       struct cellar_error *error)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_DONE) return 0;
    if (slot->at == 0) return err_set(error, CELLAR_SYSTEM, "a process ended before it ran a seed");
    uint64_t index = slot->at - 1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_ERROR)
        return err_set(error, slot->error.code ? slot->error.code : CELLAR_NOMEM, "seed %llu cannot be run: %s",
                       (unsigned long long)(jobs->settings->first + index), slot->error.text);
    if (!(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_FAILED)) {
        if (!slot->report.checker) crash_report(status, child->saying, &slot->report);
        count_run(&jobs->shared->totals, &slot->report);
    }
    failure_add(jobs, index, &slot->report);
    return 0;
}

/* Ends a child whose seed takes too long, or need not be run any more. */
static void child_look_after(struct seeds_jobs *jobs, struct seeds_child *child, struct seeds_slot *slot)
{
    uint64_t at = __atomic_load_n(&slot->at, __ATOMIC_ACQUIRE), now_ns = jobs->watch->now_ns();
    if (at != child->at) {
        child->at = at;
        child->since_ns = now_ns;
    }
    if (at > 0 && now_ns - child->since_ns > HANG_NS) {
        hang_report(&slot->report);
        kill(child->pid, SIGKILL);
    } else if (at > jobs->shared->end + 1) {
        kill(child->pid, SIGKILL);
    }
}

/* One look at a child; *busy: it goes on, or another one in its place. */
static int child_step(struct seeds_jobs *jobs, uint32_t i, bool *busy, struct cellar_error *error)
{
    struct seeds_child *child = &jobs->children[i];
    struct seeds_slot *slot = &jobs->shared->slots[i];
    int status;
    if (!child->pid) return 0;
    pid_t pid = waitpid(child->pid, &status, WNOHANG);
    *busy = true;
    if (pid == 0) {
        child_look_after(jobs, child, slot);
        return 0;
    }
    child->pid = 0;
    bool stale = slot->at > jobs->shared->end + 1; /* ended by child_look_after */
    int code = stale ? 0 : child_ended(jobs, child, slot, status, error);
    if (code < 0) return code;
    if (jobs->shared->next < jobs->shared->end) return child_start(jobs, child, slot, error);
    return 0;
}

static void children_end(struct seeds_jobs *jobs)
{
    for (uint32_t i = 0; i <= jobs->settings->jobs; i++) {
        struct seeds_child *child = &jobs->children[i];
        if (!child->pid) continue;
        kill(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
        child->pid = 0;
    }
}

int seeds_jobs_run(struct seeds_jobs *jobs, struct cellar_error *error)
{
    int code = 0;
    bool busy = true;
    for (uint32_t i = 0; i < jobs->settings->jobs && i < jobs->shared->end && code == 0; i++)
        code = child_start(jobs, &jobs->children[i], &jobs->shared->slots[i], error);
    while (busy && code == 0) {
        busy = false;
        for (uint32_t i = 0; i < jobs->settings->jobs && code == 0; i++) code = child_step(jobs, i, &busy, error);
        if (__atomic_load_n(&jobs->watch->stop, __ATOMIC_RELAXED)) {
            jobs->interrupted = true;
            __atomic_store_n(&jobs->shared->end, 0, __ATOMIC_RELAXED);
            break;
        }
        if (busy) jobs->watch->pause(PAUSE_NS);
    }
    children_end(jobs);
    return code;
}

int seeds_jobs_try(struct seeds_jobs *jobs, const struct sim_plan *plan, struct sim_report *report,
                   struct cellar_error *error)
{
    struct seeds_child *child = &jobs->children[jobs->settings->jobs];
    struct seeds_slot *slot = &jobs->shared->slots[jobs->settings->jobs];
    int status;
    if (__atomic_load_n(&jobs->watch->stop, __ATOMIC_RELAXED)) return CELLAR_CANCELLED;
    memset(&slot->report, 0, sizeof slot->report);
    if (ftruncate(child->saying, 0) != 0 || lseek(child->saying, 0, SEEK_SET) != 0) return CELLAR_SYSTEM;
    fflush(NULL);
    child->since_ns = jobs->watch->now_ns();
    pid_t parent = getpid();
    child->pid = fork();
    if (child->pid < 0) return err_set(error, CELLAR_SYSTEM, "cannot start a process: %s", strerror(errno));
    if (child->pid == 0) {
        child_begin(child->saying, parent);
        int code = run_plan(plan, jobs->settings->twice, &slot->report, &slot->error);
        _exit(code == 0 ? CHILD_DONE : code == CELLAR_CORRUPT ? CHILD_FAILED : CHILD_ERROR);
    }
    while (waitpid(child->pid, &status, WNOHANG) == 0) {
        jobs->watch->pause(PAUSE_NS / 4);
        if (jobs->watch->now_ns() - child->since_ns <= HANG_NS) continue;
        hang_report(&slot->report);
        kill(child->pid, SIGKILL);
        waitpid(child->pid, &status, 0);
        break;
    }
    child->pid = 0;
    bool exited = WIFEXITED(status), done = exited && WEXITSTATUS(status) == CHILD_DONE;
    if (exited && WEXITSTATUS(status) == CHILD_ERROR) {
        *error = slot->error;
        return CELLAR_INVALID;
    }
    if (!slot->report.checker && !done) crash_report(status, child->saying, &slot->report);
    *report = slot->report;
    return done ? 0 : CELLAR_CORRUPT;
}

/* ---- birth and death ---- */

/* Room for slots and hashes behind the head, all in one mapping that children inherit. */
static struct seeds_shared *share(uint32_t slots, uint64_t hashes)
{
    uint64_t head = (sizeof(struct seeds_shared) + 63) / 64 * 64;
    uint64_t bytes = head + slots * sizeof(struct seeds_slot) + hashes * sizeof(uint64_t);
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    struct seeds_shared *shared = (struct seeds_shared *)(void *)memory;
    shared->bytes = bytes;
    shared->end = hashes;
    shared->slots = (struct seeds_slot *)(void *)(memory + head);
    shared->hashes = (uint64_t *)(void *)(shared->slots + slots);
    return shared;
}

int seeds_jobs_open(struct seeds_jobs *jobs, const struct seeds_settings *settings, struct watch *watch,
                    struct cellar_error *error)
{
    *jobs = (struct seeds_jobs){.settings = settings, .watch = watch};
    uint32_t slots = settings->jobs + 1;
    jobs->shared = share(slots, settings->last - settings->first + 1);
    jobs->children = calloc(slots, sizeof *jobs->children);
    jobs->failures = calloc(SEEDS_FAILURES_MAX + 1, sizeof *jobs->failures);
    if (!jobs->shared || !jobs->children || !jobs->failures) {
        seeds_jobs_close(jobs);
        return err_set(error, CELLAR_NOMEM, "no memory for %u processes and their seeds", settings->jobs);
    }
    for (uint32_t i = 0; i < slots; i++) jobs->children[i].saying = -1;
    for (uint32_t i = 0; i < slots; i++) {
        jobs->children[i].saying = memfd_create("cellar sim", MFD_CLOEXEC);
        if (jobs->children[i].saying >= 0) continue;
        seeds_jobs_close(jobs);
        return err_set(error, CELLAR_SYSTEM, "cannot make a file of memory: %s", strerror(errno));
    }
    return 0;
}

void seeds_jobs_close(struct seeds_jobs *jobs)
{
    for (uint32_t i = 0; jobs->children && i <= jobs->settings->jobs; i++)
        if (jobs->children[i].saying >= 0) close(jobs->children[i].saying);
    if (jobs->shared) munmap(jobs->shared, jobs->shared->bytes);
    free(jobs->children);
    free(jobs->failures);
    *jobs = (struct seeds_jobs){0};
}

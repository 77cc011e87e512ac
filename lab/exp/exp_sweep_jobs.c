/*
 * exp_sweep_jobs.c - the points of a plan, run in processes of their own: one takes the next as soon as it is done
 * with the last.
 */
#include "exp_sweep.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_NS 2000000
#define JOBS_MAX 64

/* Shared by all processes. */
struct board {
    uint32_t next; /* of `order` */
    uint64_t done; /* weights */
    struct cellar_error error;
};

struct jobs {
    struct exp_sweep_plan *plan;
    struct board *board;
    uint32_t *order; /* of points that are run, long ones first */
    uint32_t count;
    pid_t children[JOBS_MAX];
};

void *exp_sweep_share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void exp_sweep_unshare(void *memory, size_t bytes)
{
    if (memory) munmap(memory, bytes);
}

static void work(struct jobs *jobs)
{
    struct board *board = jobs->board;
    struct cellar_error error = {0};
    for (;;) {
        uint32_t i = __atomic_fetch_add(&board->next, 1, __ATOMIC_RELAXED);
        if (i >= jobs->count) _exit(0);
        const struct exp_sweep_point *point = &jobs->plan->points[jobs->order[i]];
        if (jobs->plan->family->measure(point->line, &jobs->plan->results[jobs->order[i]], &error)) {
            board->error = error;
            _exit(1);
        }
        __atomic_fetch_add(&board->done, (uint64_t)point->weight, __ATOMIC_RELAXED);
    }
}

static int begin(struct jobs *jobs, uint32_t i, struct cellar_error *error)
{
    fflush(NULL);
    pid_t parent = getpid();
    jobs->children[i] = fork();
    if (jobs->children[i] < 0) {
        jobs->children[i] = 0;
        return err_set(error, CELLAR_SYSTEM, "cannot start a process: %s", strerror(errno));
    }
    if (jobs->children[i] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_THP_DISABLE, 1, 0, 0,
              0); /* sparse memory of hundreds of coordinators: clearing took most of the time */
        if (getppid() != parent) _exit(1);
        work(jobs);
    }
    return 0;
}

/* Has the child ended, and how? */
static int look(struct jobs *jobs, uint32_t i, struct cellar_error *error)
{
    int status;
    if (waitpid(jobs->children[i], &status, WNOHANG) != jobs->children[i]) return 0;
    jobs->children[i] = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (!WIFEXITED(status))
        return err_set(error, CELLAR_SYSTEM, "a process that measured was ended by signal %d", WTERMSIG(status));
    *error = jobs->board->error;
    return error->code ? error->code : err_set(error, CELLAR_SYSTEM, "a process that measured has failed");
}

static void end_all(struct jobs *jobs)
{
    for (uint32_t i = 0; i < JOBS_MAX; i++) {
        if (!jobs->children[i]) continue;
        kill(jobs->children[i], SIGKILL);
        waitpid(jobs->children[i], NULL, 0);
    }
}

static int await_all(struct jobs *jobs, struct cellar_error *error)
{
    struct exp *exp = jobs->plan->exp;
    int code = 0;
    for (bool busy = true; busy && code == 0;) {
        busy = false;
        for (uint32_t i = 0; i < JOBS_MAX && code == 0; i++) {
            if (!jobs->children[i]) continue;
            busy = true;
            code = look(jobs, i, error);
        }
        uint32_t next = __atomic_load_n(&jobs->board->next, __ATOMIC_RELAXED);
        uint32_t at = next > 0 && next <= jobs->count ? next - 1 : jobs->count - 1;
        __atomic_store_n(&exp->progress.name, jobs->plan->points[jobs->order[at]].sweep->name, __ATOMIC_RELAXED);
        __atomic_store_n(&exp->progress.done, __atomic_load_n(&jobs->board->done, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
        if (busy) exp->watch->pause(PAUSE_NS);
    }
    return code;
}

/* Points whose line no other point has, by falling weight; each sum of weights is the progress' whole. */
static void put_in_order(struct jobs *jobs)
{
    struct exp_sweep_plan *plan = jobs->plan;
    plan->exp->progress = (struct progress_points){.name = ""};
    for (uint32_t i = 0; i < plan->point_count; i++) {
        const struct exp_sweep_point *point = &plan->points[i];
        if (point->same != i) continue;
        uint32_t at = jobs->count++;
        for (; at > 0 && plan->points[jobs->order[at - 1]].weight < point->weight; at--)
            jobs->order[at] = jobs->order[at - 1];
        jobs->order[at] = i;
        plan->exp->progress.all += (uint64_t)point->weight;
    }
}

static int run_all(struct jobs *jobs, uint32_t count, struct cellar_error *error)
{
    struct exp *exp = jobs->plan->exp;
    int code = 0;
    exp->watch->begin(exp->watch, &(struct watch_phase){.draw = progress_draw_points, .arg = &exp->progress});
    for (uint32_t i = 0; i < count && i < JOBS_MAX && code == 0; i++) code = begin(jobs, i, error);
    if (code == 0) code = await_all(jobs, error);
    end_all(jobs);
    exp->watch->end(exp->watch);
    return code;
}

int exp_sweep_measure(struct exp_sweep_plan *plan, uint32_t count, struct cellar_error *error)
{
    struct jobs jobs = {.plan = plan, .board = exp_sweep_share(sizeof(struct board))};
    jobs.order = calloc(EXP_SWEEP_POINTS, sizeof *jobs.order);
    int code = jobs.board && jobs.order ? 0 : err_set(error, CELLAR_NOMEM, "no memory for a list of measurements");
    if (code == 0) put_in_order(&jobs);
    if (code == 0 && jobs.count > 0) code = run_all(&jobs, count, error);
    for (uint32_t i = 0; code == 0 && i < plan->point_count; i++)
        plan->results[i] = plan->results[plan->points[i].same];
    free(jobs.order);
    exp_sweep_unshare(jobs.board, sizeof(struct board));
    return code;
}

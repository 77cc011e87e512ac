/*
 * powerloss.c - databases on a file system that forgets what was not synced (forgetful.c), whose processes are all
 * killed, again and again; and a witness outside of them that knows what was acknowledged (durable_run.h).
 *
 *     powerloss ROUNDS SEED [BUG]
 *
 * In a round two processes, each with some clients and a folder of its own, work until the power fails: amid a change
 * or sync whose number is drawn, so that about half of the failures come while the folders are opened, restored and
 * loaded, or after a time that is drawn. All processes are killed, and what is left is mounted anew. In half of the
 * rounds the folders are opened then, and the power fails again, soon. Then `cellar check` judges each folder, the
 * witness opens it, and the next round goes on from there: on what the witness has left, or, now and then, on new
 * folders. In a third of the rounds, and often with new folders, the processes are first killed amid some change or
 * sync, and others begin: these see all that was written, and not all of it is on the disk.
 *
 * The seed gives all draws; what the processes do by then depends on the machine, so two runs of a seed differ.
 *
 * BUG: `lies`, syncs of files do nothing; or a planted bug (durable_plants.h, db_plants.h). The witness has to find it.
 *
 * Exit 0: nothing was lost, and something was forgotten (BUG: it was found). 1: else. 77: this machine cannot mount.
 */
#include "durable_run.h"
#include "plant.h"
#include "prng.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BANKS 2
#define SKIPPED 77
#define EARLY_MAX 150 /* changes and syncs: an opening makes about so many */
#define FIRST_BITS 4  /* the first steps of a folder that is made */
#define CUT_BITS 14   /* the power fails amid one of the first 2^14 */
#define STOP_BITS 10
#define STUCK_MS 60000

struct bank {
    char parent[288], folder[300];
    enum cellar_lab_cc cc;
    uint64_t every; /* durable_run.h */
    struct durable_run_witness *witness;
    pid_t writer;
};

struct forgetful {
    pid_t pid;
    int tell;
    FILE *says; /* NULL: nothing is mounted */
};

struct powerloss {
    char work[256], kept[272], mount[272], build[256];
    const char *bug; /* NULL: none */
    struct prng prng;
    struct forgetful forgetful;
    struct bank banks[BANKS];
    uint64_t mounts, rounds, failures, acked, sectors, forgotten, names, names_forgotten, lost;
};

static void sleep_ms(uint64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000}, NULL);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool said(const char *what)
{
    fprintf(stderr, "powerloss: %s\n", what);
    return false;
}

/* ---- the file system ---- */

static void forgetful_main(const struct powerloss *self, int in, int out)
{
    char program[300], seed[32];
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    snprintf(program, sizeof program, "%s/forgetful", self->build);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)self->mounts);
    execl(program, program, self->kept, self->mount, seed, self->bug && !strcmp(self->bug, "lies") ? "lies" : NULL,
          NULL);
    fprintf(stderr, "powerloss: %s: %s\n", program, strerror(errno));
    _exit(1);
}

/* A line of it, or NULL: none has come in this time, or it has ended. */
static const char *hear(struct forgetful *forgetful, uint64_t ms, char line[128])
{
    struct pollfd wait = {.fd = fileno(forgetful->says), .events = POLLIN};
    int ready = poll(&wait, 1, (int)ms);
    return ready > 0 ? fgets(line, 128, forgetful->says) : NULL;
}

static void tell(const struct forgetful *forgetful, const char *line)
{
    if (write(forgetful->tell, line, strlen(line)) < 0) said("the file system does not listen");
}

/* 0, or the program's exit code. */
static int mount_open(struct powerloss *self)
{
    int in[2], out[2], status;
    char line[128];
    struct forgetful *forgetful = &self->forgetful;
    self->mounts = prng_next(&self->prng);
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) return 1;
    forgetful->pid = fork();
    if (forgetful->pid == 0) forgetful_main(self, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    forgetful->tell = in[1];
    forgetful->says = fdopen(out[0], "r");
    if (!forgetful->says) return 1;
    setvbuf(forgetful->says, NULL, _IONBF, 0); /* or `hear` would wait for what lies in its buffer */
    if (hear(forgetful, STUCK_MS, line)) return 0;
    close(forgetful->tell);
    fclose(forgetful->says);
    forgetful->says = NULL;
    waitpid(forgetful->pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED ? SKIPPED : 1;
}

static bool mount_close(struct powerloss *self)
{
    int status;
    if (!self->forgetful.says) return true;
    tell(&self->forgetful, "end\n");
    close(self->forgetful.tell);
    waitpid(self->forgetful.pid, &status, 0);
    fclose(self->forgetful.says);
    self->forgetful.says = NULL;
    bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (well) return true;
    umount2(self->mount, MNT_DETACH);
    fprintf(stderr, "powerloss: the file system did not end well: status %d\n", status);
    return false;
}

/* It has failed, or fails after this time; what was forgotten is counted. */
static bool power_awaited(struct powerloss *self, uint64_t ms)
{
    char line[128];
    unsigned long long sectors, forgotten, names, names_forgotten;
    const char *lost = hear(&self->forgetful, ms, line);
    if (lost && !strncmp(lost, "stopped", 7))
        lost = hear(&self->forgetful, ms, line); /* as its processes were killed */
    if (!lost) tell(&self->forgetful, "now\n");
    if (!lost) lost = hear(&self->forgetful, STUCK_MS, line);
    if (!lost || sscanf(lost, "lost %llu %llu %llu %llu", &sectors, &forgotten, &names, &names_forgotten) != 4)
        return said("the file system does not say what it has forgotten");
    self->failures++;
    self->sectors += sectors;
    self->forgotten += forgotten;
    self->names += names;
    self->names_forgotten += names_forgotten;
    return true;
}

/* ---- the databases ---- */

/* In a process of its own, until it is killed, or its disk is gone. */
static void writer_main(const struct bank *bank)
{
    struct durable_run run = {.witness = bank->witness, .every = bank->every, .queued = bank->witness->life % 2};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (durable_run_open(&run, bank->folder, bank->cc) == 0 && durable_run_judge(&run) && durable_run_load(&run) == 0)
        (void)durable_run_work(&run);
    pause();
    _exit(1);
}

static int judge_main(const struct bank *bank, bool closes)
{
    struct durable_run run = {.witness = bank->witness};
    bool well = durable_run_open(&run, bank->folder, bank->cc) == 0 && durable_run_judge(&run);
    if (!well) fprintf(stderr, "%s: %s\n", bank->folder, run.wrong[0] ? run.wrong : run.error.text);
    if (well && closes) cellar_close(run.db);
    return !well;
}

static bool ends_well(pid_t pid)
{
    int status;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Of a folder of which nothing was acknowledged there may be nothing. */
static bool checked(const struct powerloss *self, const struct bank *bank)
{
    char program[300];
    uint64_t acked = 0;
    for (int i = 0; i < DURABLE_RUN_CLIENTS; i++) acked += bank->witness->acked[i];
    if (!acked) return true;
    snprintf(program, sizeof program, "%s/cellar", self->build);
    pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout)) execl(program, program, "check", bank->folder, NULL);
        _exit(1);
    }
    return ends_well(pid) || said("cellar check refuses what is left");
}

static bool judged(struct powerloss *self, struct bank *bank)
{
    bool closes = prng_below(&self->prng, 3) == 0;
    bool well = checked(self, bank);
    pid_t pid = fork();
    if (pid == 0) _exit(judge_main(bank, closes));
    return ends_well(pid) && well;
}

static void writers_start(struct powerloss *self)
{
    for (struct bank *bank = self->banks; bank < self->banks + BANKS; bank++) {
        bank->writer = fork();
        if (bank->writer == 0) writer_main(bank);
    }
}

static void writers_kill(struct powerloss *self)
{
    for (int i = 0; i < BANKS; i++) kill(self->banks[i].writer, SIGKILL);
    for (int i = 0; i < BANKS; i++) waitpid(self->banks[i].writer, NULL, 0);
}

static uint64_t acked_by_now(const struct powerloss *self)
{
    uint64_t sum = 0;
    for (int i = 0; i < BANKS; i++)
        for (int client = 0; client < DURABLE_RUN_CLIENTS; client++) sum += self->banks[i].witness->acked[client];
    return sum;
}

/* ---- rounds ---- */

/* What was is counted, and gone. */
static bool banks_renew(struct powerloss *self)
{
    static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST,
                                               CELLAR_LAB_CC_CELLAR};
    char command[600];
    self->acked += acked_by_now(self);
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -p '%s' '%s'", self->kept, self->kept, self->mount);
    if (system(command)) return said("no folder to work in");
    for (int i = 0; i < BANKS; i++) {
        struct bank *bank = &self->banks[i];
        snprintf(bank->parent, sizeof bank->parent, "%s/%d", self->mount, i);
        snprintf(bank->folder, sizeof bank->folder, "%s/bank", bank->parent);
        bank->cc = modes[prng_below(&self->prng, sizeof modes / sizeof *modes)];
        bank->every = 1 + prng_below(&self->prng, 3);
        memset(bank->witness, 0, sizeof *bank->witness);
    }
    return true;
}

/* What a folder is made in is on the disk. */
static bool parents_make(const struct powerloss *self)
{
    bool well = true;
    for (int i = 0; i < BANKS; i++) well = mkdir(self->banks[i].parent, 0700) == 0 && well;
    int top = open(self->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    well = top >= 0 && fsync(top) == 0 && well;
    if (top >= 0) close(top);
    return well || said("no folders in the file system");
}

static int banks_begin(struct powerloss *self)
{
    int rc = banks_renew(self) ? mount_open(self) : 1;
    return rc ? rc : !parents_make(self);
}

/* Each power of two is as likely as the others. */
static uint64_t cut_draw(struct prng *prng, uint64_t bits)
{
    uint64_t power = (uint64_t)1 << prng_below(prng, bits);
    return power + prng_below(prng, power);
}

/* The processes work until the power fails; they die, and the mount is closed. */
static bool power_lost(struct powerloss *self, uint64_t cut, uint64_t ms)
{
    char line[64];
    uint64_t late_ms = prng_below(&self->prng, 20);
    snprintf(line, sizeof line, "cut %llu\n", (unsigned long long)cut);
    tell(&self->forgetful, line);
    writers_start(self);
    bool well = power_awaited(self, ms);
    sleep_ms(late_ms);
    writers_kill(self);
    return mount_close(self) && well;
}

/* The processes are killed amid a change or sync. What they have written is there, though not all of it was synced. */
static void writers_die(struct powerloss *self, uint64_t stop)
{
    char line[128];
    snprintf(line, sizeof line, "stop %llu\n", (unsigned long long)stop);
    tell(&self->forgetful, line);
    writers_start(self);
    (void)hear(&self->forgetful, 500, line);
    for (int i = 0; i < BANKS; i++) kill(self->banks[i].writer, SIGKILL);
    tell(&self->forgetful, "go\n"); /* a process that waits for an answer does not die before it comes */
    for (int i = 0; i < BANKS; i++) waitpid(self->banks[i].writer, NULL, 0);
}

/* Is mounted before and after. */
static bool round_go(struct powerloss *self, bool first)
{
    struct prng *prng = &self->prng;
    uint64_t stop = cut_draw(prng, first ? FIRST_BITS : STOP_BITS);
    if (prng_below(prng, first ? 2 : 3) == 0) writers_die(self, stop);
    uint64_t cut = cut_draw(prng, CUT_BITS), ms = prng_between(prng, 300, 1500);
    if (!power_lost(self, cut, ms) || mount_open(self)) return false;
    if (prng_below(prng, 2)) return true;
    cut = 1 + prng_below(prng, EARLY_MAX);
    return power_lost(self, cut, 3000) && mount_open(self) == 0;
}

static void told(const struct powerloss *self, double begin)
{
    printf("rounds %llu, power failures %llu, commits acknowledged %llu, lost %llu, sectors not synced %llu, "
           "forgotten %llu, names %llu, forgotten %llu, seconds %.0f\n",
           (unsigned long long)self->rounds, (unsigned long long)self->failures,
           (unsigned long long)(self->acked + acked_by_now(self)), (unsigned long long)self->lost,
           (unsigned long long)self->sectors, (unsigned long long)self->forgotten, (unsigned long long)self->names,
           (unsigned long long)self->names_forgotten, seconds_now() - begin);
    fflush(stdout);
}

/* False: it cannot go on. */
static bool rounds_go(struct powerloss *self, uint64_t rounds, double begin)
{
    bool first = true;
    while (self->rounds < rounds && !self->lost) {
        if (!round_go(self, first)) return false;
        self->rounds++;
        for (int i = 0; i < BANKS; i++) self->lost += !judged(self, &self->banks[i]);
        if (self->rounds % 10 == 0 && self->rounds < rounds) told(self, begin);
        first = self->rounds < rounds && !self->lost && prng_below(&self->prng, 8) == 0;
        if (first && (!mount_close(self) || banks_begin(self))) return false;
    }
    return true;
}

static int run(struct powerloss *self, uint64_t rounds)
{
    double begin = seconds_now();
    int rc = banks_begin(self);
    if (rc == SKIPPED)
        said("nothing can be mounted here: it needs /dev/fuse, and root or fusermount3 (Debian: fuse3)");
    else if (rc)
        said("no folders on the file system");
    if (rc) return rc;
    bool well = rounds_go(self, rounds, begin);
    if (!mount_close(self)) well = false;
    told(self, begin);
    if (!well) return 1;
    if (self->bug && !self->lost) said("the bug was not found");
    if (self->bug) return !self->lost;
    bool any = self->forgotten || self->names_forgotten;
    if (!any) said("nothing was forgotten, so nothing was tried");
    return self->lost || !any;
}

static bool work_make(struct powerloss *self, const char *program)
{
    const char *temporary = getenv("TMPDIR"), *slash = strrchr(program, '/');
    snprintf(self->work, sizeof self->work, "%.200s/cellar-powerloss-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(self->work)) return false;
    snprintf(self->kept, sizeof self->kept, "%s/kept", self->work);
    snprintf(self->mount, sizeof self->mount, "%s/mount", self->work);
    snprintf(self->build, sizeof self->build, "%.*s", slash ? (int)(slash - program) : 1, slash ? program : ".");
    for (int i = 0; i < BANKS; i++) {
        void *shared =
            mmap(NULL, sizeof *self->banks[i].witness, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) return false;
        self->banks[i].witness = shared;
    }
    return true;
}

static bool bug_choose(const char *bug)
{
#ifdef CELLAR_PLANTS
    return !strcmp(bug, "lies") || plant_choose(bug);
#else
    return !strcmp(bug, "lies");
#endif
}

int main(int count, char **arguments)
{
    struct powerloss self = {.bug = count > 3 ? arguments[3] : NULL};
    char command[300];
    if (count < 3 || (self.bug && !bug_choose(self.bug))) {
        fprintf(stderr, "usage: powerloss ROUNDS SEED [lies, or in a build with planted bugs one of these]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    prng_seed(&self.prng, strtoull(arguments[2], NULL, 10));
    if (!work_make(&self, arguments[0])) return said("no folder to work in"), 1;
    int rc = run(&self, strtoull(arguments[1], NULL, 10));
    if (rc == 1 && !self.bug)
        fprintf(stderr, "powerloss: seed %s; what is left: %s\n", arguments[2], self.work);
    else if (snprintf(command, sizeof command, "rm -rf '%s'", self.work), system(command))
        said("what is left cannot be removed");
    return rc;
}

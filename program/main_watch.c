#include "main_watch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define DRAW_NS 200000000 /* between two drawings of the line */
#define LINE_BYTES 256
#define EXIT_INTERRUPTED 2

struct main_watch {
    struct watch watch; /* first: handed out as this */
    const char *name;
    bool terminal;
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t began;
    bool up, running, drawn;
    struct watch_phase phase;
    uint64_t phase_start_ns, stopped_ns;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }
static uint64_t cpu_ns(void) { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

static void sleep_ns(uint64_t ns)
{
    const struct timespec duration = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    nanosleep(&duration, NULL);
}

/* SIGUSR1 only ends the thread itself. */
static void signals_watched(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGUSR1);
}

static void wipe(struct main_watch *self)
{
    if (self->drawn) fputs("\r\033[K", stderr);
    self->drawn = false;
}

/*
 * A line that is wider would wrap, and not be wiped. Each character takes one column: none of those that are drawn
 * takes two.
 */
static void cut_to_terminal(char *line)
{
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return;
    uint32_t columns = 0;
    for (char *c = line; *c; c++) {
        if ((*c & 0xc0) == 0x80) continue; /* within a character of UTF-8 */
        if (++columns == size.ws_col) {
            *c = 0;
            return;
        }
    }
}

static void draw(struct main_watch *self)
{
    char line[LINE_BYTES] = "";
    if (!self->running || !self->phase.draw) return;
    self->phase.draw(self->phase.arg, (double)(now_ns() - self->phase_start_ns) * 1e-9, line, sizeof(line));
    cut_to_terminal(line);
    fprintf(stderr, "\r%s\033[K", line);
    self->drawn = true;
}

static void interrupt(struct main_watch *self)
{
    bool second = __atomic_exchange_n(&self->watch.stop, 1, __ATOMIC_RELAXED);
    if (!second) self->stopped_ns = now_ns();
    if (self->running && self->phase.interruptible && !second) return;
    if (second && now_ns() - self->stopped_ns < self->phase.grace_ns) return; /* also after the phase, on the way out */
    wipe(self);
    fprintf(stderr, "%s: interrupted\n", self->name);
    fflush(NULL);
    _exit(EXIT_INTERRUPTED);
}

static void *serve(void *arg)
{
    struct main_watch *self = arg;
    const struct timespec period = {.tv_nsec = DRAW_NS};
    sigset_t set;
    signals_watched(&set);
    pthread_mutex_lock(&self->mutex);
    self->up = true;
    pthread_cond_signal(&self->began);
    pthread_mutex_unlock(&self->mutex);
    for (;;) {
        int number = self->terminal ? sigtimedwait(&set, NULL, &period) : sigwaitinfo(&set, NULL);
        if (number == SIGUSR1) return NULL;
        pthread_mutex_lock(&self->mutex);
        if (number > 0)
            interrupt(self);
        else if (self->terminal)
            draw(self);
        pthread_mutex_unlock(&self->mutex);
    }
}

static void begin(struct watch *watch, const struct watch_phase *phase)
{
    struct main_watch *self = (struct main_watch *)watch;
    pthread_mutex_lock(&self->mutex);
    self->phase = *phase;
    self->phase_start_ns = now_ns();
    self->running = true;
    pthread_mutex_unlock(&self->mutex);
}

static void end(struct watch *watch)
{
    struct main_watch *self = (struct main_watch *)watch;
    pthread_mutex_lock(&self->mutex);
    self->running = false;
    wipe(self);
    pthread_mutex_unlock(&self->mutex);
}

int main_watch_start(const char *name, struct watch **out)
{
    struct main_watch *self = calloc(1, sizeof(*self));
    if (!self) return -ENOMEM;
    self->watch = (struct watch){.now_ns = now_ns, .cpu_ns = cpu_ns, .pause = sleep_ns, .begin = begin, .end = end};
    self->name = name;
    self->terminal = isatty(STDERR_FILENO);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->began, NULL);
    sigset_t set;
    signals_watched(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int code = pthread_create(&self->thread, NULL, serve, self);
    if (code) {
        free(self);
        return -code;
    }
    /* Not before: a process forked while a thread begins inherits the sanitizers' locks that it holds, and hangs. */
    pthread_mutex_lock(&self->mutex);
    while (!self->up) pthread_cond_wait(&self->began, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
    *out = &self->watch;
    return 0;
}

void main_watch_stop(struct watch *watch)
{
    struct main_watch *self = (struct main_watch *)watch;
    pthread_kill(self->thread, SIGUSR1);
    pthread_join(self->thread, NULL);
    pthread_cond_destroy(&self->began);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

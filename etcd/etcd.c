#include "etcd.h"

#include "etcd_http.h"
#include "etcd_ruling.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY_BYTES 200
#define NAME_BYTES 120
#define TRIES_MS 6000 /* of one question */
#define REST_MS 100   /* between two tries */

enum state { FREE, ASKED, WORKED_ON, ANSWERED };

struct etcd {
    struct cellar_decider decider; /* first */
    struct etcd_http *http;        /* of the thread */
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t told;  /* a question, or the end */
    bool stop;
    enum state state;
    uint32_t cn; /* who asks */
    uint64_t from;
    bool reads;                /* nothing is to be moved */
    struct cellar_ruling to;   /* what was asked for; then the ruling after it */
    struct cellar_error error; /* code 0: it was answered */
    char key[KEY_BYTES], name[NAME_BYTES];
};

static struct etcd *etcd_of(const struct cellar_decider *decider) { return (struct etcd *)decider; }

/* ---- from the engine ---- */

static int begin(const struct cellar_decider *decider, uint32_t cn, uint64_t from, const struct cellar_ruling *to)
{
    struct etcd *etcd = etcd_of(decider);
    pthread_mutex_lock(&etcd->lock);
    bool busy = etcd->state == ASKED || etcd->state == WORKED_ON || (etcd->state == ANSWERED && etcd->cn != cn);
    if (etcd->state == ANSWERED) etcd->state = FREE; /* a compute node that has stopped does not hear its answer */
    if (!busy) {
        etcd->cn = cn;
        etcd->from = from;
        etcd->reads = !to;
        if (to) etcd->to = *to;
        etcd->state = ASKED;
        pthread_cond_signal(&etcd->told);
    }
    pthread_mutex_unlock(&etcd->lock);
    return busy ? CELLAR_EXISTS : 0;
}

static int end(const struct cellar_decider *decider, uint32_t cn, struct cellar_ruling *now, struct cellar_error *error)
{
    struct etcd *etcd = etcd_of(decider);
    int code = CELLAR_EXISTS;
    pthread_mutex_lock(&etcd->lock);
    if (etcd->state == FREE || etcd->cn != cn) {
        code = err_set(error, CELLAR_UNREACHABLE, "%s: the answer to a question was not waited for", etcd->name);
    } else if (etcd->state == ANSWERED) {
        etcd->state = FREE;
        *now = etcd->to;
        code = etcd->error.code ? err_set(error, etcd->error.code, "%s", etcd->error.text) : 0;
    }
    pthread_mutex_unlock(&etcd->lock);
    return code;
}

/* ---- the thread ---- */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* What the key says; none: epoch 0. */
static int look(struct etcd *etcd, struct cellar_ruling *now, uint64_t *revision, struct cellar_error *error)
{
    char *value;
    size_t bytes = 0;
    *now = (struct cellar_ruling){0};
    int code = etcd_http_read(etcd->http, &value, &bytes, revision, error);
    if (code == 0 && value && etcd_ruling_read(value, bytes, now))
        code = err_set(error, CELLAR_MISMATCH, "the key %s of etcd holds something else than decisions of Cellar",
                       etcd->key);
    free(value);
    return code;
}

/* One try. A swap whose reply was lost shows in what is read after it. */
static int try(struct etcd *etcd, bool reads, uint64_t from, const struct cellar_ruling *to, struct cellar_ruling *now,
               struct cellar_error *error)
{
    uint64_t revision;
    bool swapped;
    int code = look(etcd, now, &revision, error);
    if (code || reads || now->epoch != from) return code;
    char *text = etcd_ruling_text(to);
    if (!text) return err_set(error, CELLAR_NOMEM, "no memory to ask etcd");
    code = etcd_http_swap(etcd->http, revision, text, &swapped, error);
    free(text);
    if (code == 0 && swapped) *now = *to;
    return code || swapped ? code : look(etcd, now, &revision, error);
}

static bool is_stopped(struct etcd *etcd)
{
    pthread_mutex_lock(&etcd->lock);
    bool stop = etcd->stop;
    pthread_mutex_unlock(&etcd->lock);
    return stop;
}

/* Until the end, or so long. */
static void rest(struct etcd *etcd)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += REST_MS * 1000000l;
    if (until.tv_nsec >= 1000000000l) until.tv_sec++, until.tv_nsec -= 1000000000l;
    pthread_mutex_lock(&etcd->lock);
    if (!etcd->stop) pthread_cond_timedwait(&etcd->told, &etcd->lock, &until);
    pthread_mutex_unlock(&etcd->lock);
}

static int answer(struct etcd *etcd, bool reads, uint64_t from, const struct cellar_ruling *to,
                  struct cellar_ruling *now, struct cellar_error *error)
{
    uint64_t end_ms = now_ms() + TRIES_MS;
    int code;
    while ((code = try(etcd, reads, from, to, now, error)) == CELLAR_UNREACHABLE && now_ms() < end_ms &&
           !is_stopped(etcd))
        rest(etcd);
    return code;
}

static void *serve(void *arg)
{
    struct etcd *etcd = arg;
    pthread_mutex_lock(&etcd->lock);
    while (!etcd->stop) {
        if (etcd->state != ASKED) {
            pthread_cond_wait(&etcd->told, &etcd->lock);
            continue;
        }
        struct cellar_ruling to = etcd->to, now;
        struct cellar_error error = {0};
        uint64_t from = etcd->from;
        bool reads = etcd->reads;
        etcd->state = WORKED_ON;
        pthread_mutex_unlock(&etcd->lock);
        int code = answer(etcd, reads, from, &to, &now, &error);
        pthread_mutex_lock(&etcd->lock);
        etcd->to = now;
        etcd->error = error;
        etcd->error.code = code;
        etcd->state = ANSWERED;
    }
    pthread_mutex_unlock(&etcd->lock);
    return NULL;
}

/* ---- from open to close ---- */

static int name_it(struct etcd *etcd, const char *servers, const char *prefix, struct cellar_error *error)
{
    size_t length = strlen(prefix);
    while (length && prefix[length - 1] == '/') length--;
    if (length == 0 || length + sizeof "/ruling" > KEY_BYTES || strpbrk(prefix, " \t\n"))
        return err_set(error, CELLAR_INVALID,
                       "etcd: a prefix of 1 to %zu bytes without spaces names a cluster, such as /cellar/bank",
                       KEY_BYTES - sizeof "/ruling");
    snprintf(etcd->key, sizeof etcd->key, "%.*s/ruling", (int)length, prefix);
    snprintf(etcd->name, sizeof etcd->name, "etcd (%.60s, prefix %.*s)", servers, (int)(length < 40 ? length : 40),
             prefix);
    return 0;
}

/* Which register: that key of that etcd. Also the first reading: what is there must be a ruling. */
static int place_it(struct etcd *etcd, struct cellar_error *error)
{
    struct cellar_ruling now;
    uint64_t revision, cluster;
    unsigned char text[sizeof cluster + KEY_BYTES], sum[crypto_generichash_BYTES];
    int code = look(etcd, &now, &revision, error);
    if (code) return code;
    cluster = etcd_http_cluster(etcd->http);
    memset(text, 0, sizeof text);
    memcpy(text, &cluster, sizeof cluster);
    memcpy(text + sizeof cluster, etcd->key, strlen(etcd->key));
    crypto_generichash(sum, sizeof sum, text, sizeof text, NULL, 0);
    memcpy(&etcd->decider.place, sum, sizeof etcd->decider.place);
    if (etcd->decider.place == 0) etcd->decider.place = 1;
    etcd->decider.drawn = randombytes_random();
    return 0;
}

static int start(struct etcd *etcd, struct cellar_error *error)
{
    pthread_mutex_init(&etcd->lock, NULL);
    pthread_cond_init(&etcd->told, NULL);
    if (pthread_create(&etcd->thread, NULL, serve, etcd) == 0) return 0;
    return err_set(error, CELLAR_SYSTEM, "no thread for etcd");
}

int etcd_open(const char *servers, const char *prefix, struct etcd **out, struct cellar_error *error)
{
    struct etcd *etcd = calloc(1, sizeof *etcd);
    *out = NULL;
    if (!etcd) return err_set(error, CELLAR_NOMEM, "no memory for etcd");
    int code = sodium_init() < 0 ? err_set(error, CELLAR_SYSTEM, "libsodium cannot be used") : 0;
    if (code == 0) code = name_it(etcd, servers, prefix, error);
    if (code == 0) code = etcd_http_open(servers, etcd->key, &etcd->http, error);
    if (code == 0) code = etcd_http_version(etcd->http, error);
    etcd->decider = (struct cellar_decider){.name = etcd->name, .begin = begin, .end = end};
    if (code == 0) code = place_it(etcd, error);
    if (code == 0) code = start(etcd, error);
    if (code) {
        etcd_http_close(etcd->http);
        free(etcd);
        return code;
    }
    *out = etcd;
    return 0;
}

void etcd_close(struct etcd *etcd)
{
    if (!etcd) return;
    etcd_http_stop(etcd->http);
    pthread_mutex_lock(&etcd->lock);
    etcd->stop = true;
    pthread_cond_broadcast(&etcd->told);
    pthread_mutex_unlock(&etcd->lock);
    pthread_join(etcd->thread, NULL);
    etcd_http_close(etcd->http);
    pthread_cond_destroy(&etcd->told);
    pthread_mutex_destroy(&etcd->lock);
    free(etcd);
}

const struct cellar_decider *etcd_decider(const struct etcd *etcd) { return &etcd->decider; }

#include "chaos_compute.h"

#include "chaos_witness.h"
#include "etcd.h"
#include "prng.h"

#include <stdio.h>
#include <unistd.h>

#define LANES 4
#define PACE_NS 1000000 /* a run is to last, not to fill the pool */
#define CENTS_MAX 100
#define ABORTED_OF 16 /* one transfer of so many is given up by its client */

struct lane {
    struct chaos_bank_transfer transfer;
    bool busy;
};

struct compute {
    struct chaos_bank bank;
    struct cellar_queue *queue;
    struct watch *watch;
    struct cellar_error *error;
    struct prng prng;
    int witness;
    uint64_t next_number;
    uint32_t busy;
    struct lane lanes[LANES];
};

static void draw(struct compute *compute, struct chaos_bank_transfer *transfer)
{
    uint32_t from = (uint32_t)prng_below(&compute->prng, CHAOS_BANK_ACCOUNTS);
    uint32_t to = (uint32_t)prng_below(&compute->prng, CHAOS_BANK_ACCOUNTS - 1);
    *transfer = (struct chaos_bank_transfer){
        .bank = &compute->bank,
        .receipt = {.number = compute->next_number++,
                    .cents = (int64_t)prng_between(&compute->prng, 1, CENTS_MAX),
                    .from = from,
                    .to = to + (to >= from)},
        .aborted = prng_below(&compute->prng, ABORTED_OF) == 0,
    };
}

static int say(struct compute *compute, enum chaos_witness_kind kind, const struct chaos_bank_transfer *transfer,
               int result)
{
    const struct chaos_witness_line line = {.kind = kind,
                                            .code = result,
                                            .at_ns = compute->watch->now_ns(),
                                            .receipt = transfer->receipt,
                                            .aborted = transfer->aborted};
    return chaos_witness_write(compute->witness, &line, compute->error);
}

static int begin(struct compute *compute, struct lane *lane)
{
    draw(compute, &lane->transfer);
    int code = say(compute, CHAOS_WITNESS_TRIED, &lane->transfer, 0);
    if (code == 0) code = cellar_proc_submit(compute->queue, compute->bank.transfer, &lane->transfer, NULL, lane);
    if (code != 0) return code;
    lane->busy = true;
    compute->busy++;
    return 0;
}

/* FENCED when this compute node may do nothing more. */
static int reap(struct compute *compute)
{
    struct cellar_completion ended[LANES];
    int count = cellar_proc_reap(compute->queue, ended, LANES, PACE_NS);
    int code = count < 0 ? count : 0, fenced = 0;
    for (int i = 0; i < count && code == 0; i++) {
        struct lane *lane = ended[i].user;
        code = say(compute, CHAOS_WITNESS_TOLD, &lane->transfer, ended[i].result.code);
        lane->busy = false;
        compute->busy--;
        if (ended[i].result.code == CELLAR_FENCED) fenced = CELLAR_FENCED;
    }
    return code ? code : fenced;
}

static int work(struct compute *compute)
{
    int code = 0;
    while (code == 0 && !__atomic_load_n(&compute->watch->stop, __ATOMIC_RELAXED)) {
        for (uint32_t i = 0; i < LANES && code == 0; i++)
            if (!compute->lanes[i].busy) code = begin(compute, &compute->lanes[i]);
        if (code == 0) code = reap(compute);
        compute->watch->pause(PACE_NS);
    }
    while (compute->busy > 0 && (code == 0 || code == CELLAR_FENCED)) {
        int last = reap(compute);
        if (last != 0 && last != CELLAR_FENCED) code = last;
    }
    return code;
}

static void log_line(void *arg, enum cellar_log_level level, const char *text)
{
    (void)arg;
    if (level >= CELLAR_LOG_INFO) fprintf(stderr, "%s\n", text);
}

int chaos_compute_run(const struct chaos_cluster *cluster, uint32_t cn, struct watch *watch, struct cellar_error *error)
{
    char sockets[CHAOS_CLUSTER_SOCKETS], path[CHAOS_CLUSTER_PATH], urls[CHAOS_CLUSTER_ETCD_URLS];
    struct compute compute = {.watch = watch, .error = error};
    struct engine_config config = chaos_cluster_config(cluster, cn, chaos_cluster_sockets(cluster, sockets));
    config.log = log_line;
    chaos_cluster_path(cluster, CHAOS_CLUSTER_COMPUTE, cn, "witness", path);
    int code = chaos_witness_open(path, cn, &compute.witness, &compute.next_number, error);
    if (code != 0) return code;
    prng_seed(&compute.prng, compute.next_number);
    struct etcd *etcd;
    code = etcd_attach(chaos_cluster_etcd_urls(cluster, urls), NULL, &etcd, &config.decider, error);
    if (code == 0) code = chaos_bank_open(&compute.bank, &config, cluster->bytes, error);
    if (code == 0) {
        code = err_last(error, cellar_proc_queue_open(compute.bank.db, LANES, NULL, NULL, &compute.queue));
        if (code == 0) code = work(&compute);
        cellar_close(compute.bank.db);
    }
    etcd_close(etcd);
    close(compute.witness);
    return code;
}

/*
 * peer_report.c - medians of what interleaved rounds have given. A round's ratio is that of two best rates, each of the
 * round's best number of clients; its deviation is the median of the distances from the median.
 */
#include "peer_report.h"

#include "json_file.h"
#include "machine.h"
#include "style.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 1000

struct peer_result *peer_report_at(const struct peer_comparison *all, uint32_t work, uint32_t peer, uint32_t count,
                                   uint32_t round)
{
    return &all->results[((work * all->peer_count + peer) * all->count_count + count) * all->rounds + round];
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, uint32_t count)
{
    if (!count) return 0;
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

enum figure { TPS, P50, P99, CPU, RETRIES, MEMORY, FILES, LOAD };

static double figure_of(const struct peer_result *result, enum figure figure)
{
    switch (figure) {
    case TPS:
        return result->tps;
    case P50:
        return result->p50_ns;
    case P99:
        return result->p99_ns;
    case CPU:
        return result->cpu_ns;
    case RETRIES:
        return result->ended ? (double)result->retries / (double)(result->ended + result->retries) : 0;
    case MEMORY:
        return (double)result->memory_bytes;
    case FILES:
        return (double)result->files_bytes;
    default:
        return result->load_s;
    }
}

static double median_of(const struct peer_comparison *all, uint32_t work, uint32_t peer, uint32_t count,
                        enum figure figure)
{
    double values[ROUNDS_MAX];
    uint32_t found = 0;
    for (uint32_t round = 0; round < all->rounds; round++) {
        const struct peer_result *result = peer_report_at(all, work, peer, count, round);
        if (result->done) values[found++] = figure_of(result, figure);
    }
    return median(values, found);
}

/* The number of clients with the best median. */
static uint32_t best_count(const struct peer_comparison *all, uint32_t work, uint32_t peer)
{
    uint32_t best = 0;
    for (uint32_t count = 1; count < all->count_count; count++)
        if (median_of(all, work, peer, count, TPS) > median_of(all, work, peer, best, TPS)) best = count;
    return best;
}

static double best_in_round(const struct peer_comparison *all, uint32_t work, uint32_t peer, uint32_t round)
{
    double best = 0;
    for (uint32_t count = 0; count < all->count_count; count++) {
        const struct peer_result *result = peer_report_at(all, work, peer, count, round);
        if (result->done && result->tps > best) best = result->tps;
    }
    return best;
}

struct ratio {
    double median, deviation, low, high;
};

static struct ratio ratio_of(const struct peer_comparison *all, uint32_t work, uint32_t peer)
{
    double ratios[ROUNDS_MAX], distances[ROUNDS_MAX];
    uint32_t found = 0;
    for (uint32_t round = 0; round < all->rounds; round++) {
        double base = best_in_round(all, work, all->base, round);
        if (base > 0) ratios[found++] = best_in_round(all, work, peer, round) / base;
    }
    struct ratio ratio = {.median = median(ratios, found)};
    for (uint32_t i = 0; i < found; i++) distances[i] = fabs(ratios[i] - ratio.median);
    if (found) ratio.low = ratios[0], ratio.high = ratios[found - 1];
    ratio.deviation = median(distances, found);
    return ratio;
}

static const char *verdict_of(const struct peer_comparison *all, uint32_t work, uint32_t peer)
{
    for (uint32_t count = 0; count < all->count_count; count++)
        for (uint32_t round = 0; round < all->rounds; round++) {
            const struct peer_result *result = peer_report_at(all, work, peer, count, round);
            if (result->done && !result->holds) return result->wrong;
        }
    return NULL;
}

bool peer_report_holds(const struct peer_comparison *all)
{
    for (uint32_t work = 0; work < all->work_count; work++)
        for (uint32_t peer = 0; peer < all->peer_count; peer++)
            if (verdict_of(all, work, peer)) return false;
    return true;
}

/* ---- for people ---- */

static void print_row(const struct peer_comparison *all, uint32_t work, uint32_t peer)
{
    char rate[STYLE_BYTES], p50[STYLE_BYTES], p99[STYLE_BYTES], cpu[STYLE_BYTES], retries[STYLE_BYTES],
        memory[STYLE_BYTES], files[STYLE_BYTES];
    uint32_t best = best_count(all, work, peer);
    struct ratio ratio = ratio_of(all, work, peer);
    const char *wrong = verdict_of(all, work, peer);
    printf("  %-20s %7" PRIu32 " %11s %7.2f +- %-5.2f %9s %9s %9s %9s %11s %11s  %s\n", all->peers[peer]->ops->title,
           all->counts[best], style_count(rate, (uint64_t)median_of(all, work, peer, best, TPS)), ratio.median,
           ratio.deviation, style_us(p50, median_of(all, work, peer, best, P50)),
           style_us(p99, median_of(all, work, peer, best, P99)), style_us(cpu, median_of(all, work, peer, best, CPU)),
           style_percent(retries, median_of(all, work, peer, best, RETRIES)),
           style_bytes(memory, median_of(all, work, peer, best, MEMORY)),
           style_bytes(files, median_of(all, work, peer, best, FILES)), wrong ? wrong : "ok");
}

void peer_report_print(const struct peer_comparison *all)
{
    for (uint32_t work = 0; work < all->work_count; work++) {
        char records[STYLE_BYTES];
        printf("%s%s: %s records, theta %g; %s\n", work ? "\n" : "", all->works[work].name,
               style_count(records, all->records[work]), all->works[work].theta,
               all->durable ? "each transaction is durable when it ends" : "in memory");
        printf("  %-20s %7s %11s %16s %9s %9s %9s %9s %11s %11s  %s\n", "", "clients", "txn/s",
               all->base < all->peer_count ? all->peers[all->base]->name : "", "p50 us", "p99 us", "cpu us", "retried",
               "memory", "files", "check");
        for (uint32_t peer = 0; peer < all->peer_count; peer++) print_row(all, work, peer);
    }
}

/* ---- JSON ---- */

static json_t *count_json(const struct peer_comparison *all, uint32_t work, uint32_t peer, uint32_t count)
{
    json_t *rounds = json_array();
    for (uint32_t round = 0; round < all->rounds; round++) {
        const struct peer_result *result = peer_report_at(all, work, peer, count, round);
        if (result->done) json_array_append_new(rounds, json_real(result->tps));
    }
    return json_pack(
        "{s:i,s:f,s:o,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "clients", (int)all->counts[count], "tps",
        median_of(all, work, peer, count, TPS), "tps_of_rounds", rounds, "p50_us",
        median_of(all, work, peer, count, P50) * 1e-3, "p99_us", median_of(all, work, peer, count, P99) * 1e-3,
        "cpu_us", median_of(all, work, peer, count, CPU) * 1e-3, "retried", median_of(all, work, peer, count, RETRIES),
        "memory_bytes", median_of(all, work, peer, count, MEMORY), "files_bytes",
        median_of(all, work, peer, count, FILES), "load_s", median_of(all, work, peer, count, LOAD));
}

static json_t *peer_json(const struct peer_comparison *all, uint32_t work, uint32_t peer)
{
    const struct peer_ops *ops = all->peers[peer]->ops;
    const char *wrong = verdict_of(all, work, peer);
    json_t *by_clients = json_array();
    uint32_t best = best_count(all, work, peer);
    for (uint32_t count = 0; count < all->count_count; count++)
        if (peer_report_at(all, work, peer, count, 0)->done)
            json_array_append_new(by_clients, count_json(all, work, peer, count));
    json_t *json = json_pack("{s:s,s:s,s:s,s:s,s:s,s:i,s:f,s:o,s:b,s:s}", "name", all->peers[peer]->name, "title",
                             ops->title, "version", ops->version, "isolation", ops->isolation, "setting",
                             all->durable ? ops->durable : ops->memory, "best_clients", (int)all->counts[best], "tps",
                             median_of(all, work, peer, best, TPS), "by_clients", by_clients, "holds", wrong == NULL,
                             "wrong", wrong ? wrong : "");
    if (json && all->base < all->peer_count) {
        struct ratio ratio = ratio_of(all, work, peer);
        json_object_set_new(json, "ratio",
                            json_pack("{s:s,s:f,s:f,s:f,s:f}", "to", all->peers[all->base]->name, "median",
                                      ratio.median, "deviation", ratio.deviation, "low", ratio.low, "high",
                                      ratio.high));
    }
    return json;
}

int peer_report_json(const struct peer_comparison *all, const char *path, struct cellar_error *error)
{
    struct machine machine;
    json_t *works = json_array();
    machine_read(&machine);
    for (uint32_t work = 0; work < all->work_count; work++) {
        json_t *peers = json_array();
        for (uint32_t peer = 0; peer < all->peer_count; peer++)
            json_array_append_new(peers, peer_json(all, work, peer));
        json_array_append_new(works, json_pack("{s:s,s:f,s:I,s:o}", "name", all->works[work].name, "theta",
                                               all->works[work].theta, "records", (json_int_t)all->records[work],
                                               "peers", peers));
    }
    json_t *root = json_pack("{s:s,s:i,s:b,s:i,s:f,s:I,s:s,s:o}", "cpu", machine.cpu, "cores", (int)machine.cores,
                             "durable", all->durable, "rounds", (int)all->rounds, "seconds", all->seconds, "txns",
                             (json_int_t)all->txns, "folder", all->folder, "works", works);
    int rc = root ? json_file_write(root, path, error) : err_set(error, CELLAR_NOMEM, "no memory for the report");
    json_decref(root);
    return rc;
}

/* metrics.c - Prometheus' text format, over libmicrohttpd's own thread. */
#include "metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CELLAR_MICROHTTPD
#include <microhttpd.h>

#define PAGE_BYTES 4096

struct metrics {
    struct MHD_Daemon *daemon;
    uint32_t node;
    uint64_t values[METRICS_VALUES]; /* atomically */
};

static const struct {
    const char *name, *type, *help;
} described[METRICS_VALUES] = {
    [METRICS_BYTES] = {"cellar_memnode_bytes", "gauge", "Memory that is offered"},
    [METRICS_CNS] = {"cellar_memnode_compute_nodes", "gauge", "Compute nodes attached"},
    [METRICS_QUEUE_PAIRS] = {"cellar_memnode_queue_pairs", "gauge", "Connections, those of processes included"},
    [METRICS_ADMITTED] = {"cellar_memnode_admitted_total", "counter", "Requests granted"},
    [METRICS_REFUSED] = {"cellar_memnode_refused_total", "counter", "Requests turned away"},
    [METRICS_FENCED] = {"cellar_memnode_fenced_total", "counter", "Compute nodes fenced"},
    [METRICS_NATIVE] = {"cellar_memnode_native_masked_cas", "gauge", "1: the device executes masked atomics itself"},
    [METRICS_WIDE] = {"cellar_memnode_wide_atomics", "gauge", "1: and those on 16 bytes, too"},
    [METRICS_HUGE_PAGES] = {"cellar_memnode_huge_pages", "gauge", "1: the memory is of reserved huge pages"},
    [METRICS_UPTIME_S] = {"cellar_memnode_uptime_seconds", "counter", "Since it began to serve"},
};

static size_t write_page(const struct metrics *metrics, char *page)
{
    size_t at = 0;
    for (uint32_t i = 0; i < METRICS_VALUES && at < PAGE_BYTES; i++)
        at += (size_t)snprintf(page + at, PAGE_BYTES - at,
                               "# HELP %s %s\n# TYPE %s %s\n%s{node=\"%" PRIu32 "\"} %" PRIu64 "\n", described[i].name,
                               described[i].help, described[i].name, described[i].type, described[i].name,
                               metrics->node, __atomic_load_n(&metrics->values[i], __ATOMIC_RELAXED));
    return at < PAGE_BYTES ? at : PAGE_BYTES - 1;
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **state)
{
    char page[PAGE_BYTES] = "only /metrics is here\n";
    bool found = strcmp(url, "/metrics") == 0, allowed = strcmp(method, "GET") == 0;
    (void)version, (void)upload, (void)upload_bytes, (void)state;
    size_t bytes = found ? write_page(arg, page) : strlen(page);
    struct MHD_Response *response = MHD_create_response_from_buffer(bytes, page, MHD_RESPMEM_MUST_COPY);
    if (!response) return MHD_NO;
    unsigned status = !allowed ? MHD_HTTP_METHOD_NOT_ALLOWED : found ? MHD_HTTP_OK : MHD_HTTP_NOT_FOUND;
    (void)MHD_add_response_header(response, "Content-Type", "text/plain; version=0.0.4");
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

int metrics_open(uint16_t port, uint32_t node, struct metrics **out, struct cellar_error *error)
{
    struct sockaddr_in local = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct metrics *metrics = calloc(1, sizeof *metrics);

    *out = NULL;
    if (!metrics) return err_set(error, CELLAR_ERR_NOMEM, "no memory for metrics");
    metrics->node = node;
    metrics->daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, answer, metrics, MHD_OPTION_SOCK_ADDR,
                         &local, MHD_OPTION_CONNECTION_LIMIT, 16u, MHD_OPTION_CONNECTION_TIMEOUT, 10u, MHD_OPTION_END);
    if (!metrics->daemon) {
        free(metrics);
        return err_set(error, CELLAR_ERR_SYSTEM, "cannot serve metrics at port %u: %s; choose another --metrics", port,
                       strerror(errno));
    }
    *out = metrics;
    return 0;
}

void metrics_set(struct metrics *metrics, enum metrics_value value, uint64_t to)
{
    if (metrics) __atomic_store_n(&metrics->values[value], to, __ATOMIC_RELAXED);
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics) return;
    MHD_stop_daemon(metrics->daemon);
    free(metrics);
}
#else
int metrics_open(uint16_t port, uint32_t node, struct metrics **out, struct cellar_error *error)
{
    (void)port, (void)node;
    *out = NULL;
    return err_set(error, CELLAR_ERR_UNSUPPORTED,
                   "this build has no metrics; install libmicrohttpd-dev, and build anew");
}

void metrics_set(struct metrics *metrics, enum metrics_value value, uint64_t to)
{
    (void)metrics, (void)value, (void)to;
}

void metrics_close(struct metrics *metrics) { (void)metrics; }
#endif

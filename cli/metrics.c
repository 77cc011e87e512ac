/* metrics.c - over libmicrohttpd's own thread. */
#include "metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CELLAR_MICROHTTPD
#include <microhttpd.h>

struct metrics {
    struct MHD_Daemon *daemon;
    metrics_page_fn page;
    void *arg;
};

static enum MHD_Result answer(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **state)
{
    const struct metrics *metrics = arg;
    char page[METRICS_PAGE_BYTES] = "only /metrics is here\n";
    bool found = strcmp(url, "/metrics") == 0, allowed = strcmp(method, "GET") == 0;
    (void)version, (void)upload, (void)upload_bytes, (void)state;
    size_t bytes = found ? metrics->page(metrics->arg, page, sizeof page) : strlen(page);
    if (bytes >= sizeof page) bytes = sizeof page - 1;
    struct MHD_Response *response = MHD_create_response_from_buffer(bytes, page, MHD_RESPMEM_MUST_COPY);
    if (!response) return MHD_NO;
    unsigned status = !allowed ? MHD_HTTP_METHOD_NOT_ALLOWED : found ? MHD_HTTP_OK : MHD_HTTP_NOT_FOUND;
    (void)MHD_add_response_header(response, "Content-Type", "text/plain; version=0.0.4");
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

int metrics_open(uint16_t port, metrics_page_fn page, void *arg, struct metrics **out, struct cellar_error *error)
{
    struct sockaddr_in local = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct metrics *metrics = calloc(1, sizeof *metrics);

    *out = NULL;
    if (!metrics) return err_set(error, CELLAR_NOMEM, "no memory for metrics");
    metrics->page = page;
    metrics->arg = arg;
    metrics->daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, answer, metrics, MHD_OPTION_SOCK_ADDR,
                         &local, MHD_OPTION_CONNECTION_LIMIT, 16u, MHD_OPTION_CONNECTION_TIMEOUT, 10u, MHD_OPTION_END);
    if (!metrics->daemon) {
        free(metrics);
        return err_set(error, CELLAR_SYSTEM, "cannot serve metrics at port %u: %s; choose another --metrics", port,
                       strerror(errno));
    }
    *out = metrics;
    return 0;
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics) return;
    MHD_stop_daemon(metrics->daemon);
    free(metrics);
}
#else
int metrics_open(uint16_t port, metrics_page_fn page, void *arg, struct metrics **out, struct cellar_error *error)
{
    (void)port, (void)page, (void)arg;
    *out = NULL;
    return err_set(error, CELLAR_UNSUPPORTED, "this build has no metrics; install libmicrohttpd-dev, and build anew");
}

void metrics_close(struct metrics *metrics) { (void)metrics; }
#endif

/*
 * rest.c - a service like those that answer REST requests: threads that each have a connection.
 *
 *     cc rest.c -pthread $(pkg-config --cflags --libs cellar) -o rest && ./rest
 *
 * A request is a line, "PUT /stock/apples 5", "GET /stock/apples", "TAKE /stock/apples 2" or "DELETE /stock/apples"; an
 * answer is a number as HTTP has them, and perhaps a value. Names are byte strings. Each request is one interactive
 * transaction on the thread that has it: no other thread is woken for it, and cellar_run makes it again when another
 * request came between. Connections are socket pairs here, so that the example needs no port.
 */
#define _POSIX_C_SOURCE 200809L

#include <cellar.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 4
#define REQUESTS 300 /* of each client */
#define NAME_MAX_BYTES 31
#define LINE_BYTES 128

struct good {
    CELLAR_KEY(NAME_MAX_BYTES) name;
    int64_t pieces;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct good, name),
                                                      CELLAR_COLUMN(struct good, pieces)};
enum { NAME, PIECES };

struct service {
    struct cellar *db;
    const struct cellar_table *stock;
};

struct request {
    const struct service *service;
    char method[8], name[NAME_MAX_BYTES + 1];
    int64_t pieces;
    int status;    /* the answer; set anew in each run */
    int64_t value; /* with status 200 */
};

static _Noreturn void ends(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* What is not there: PUT makes it, all else is 404. */
static int absent(struct cellar_txn *txn, struct request *request)
{
    struct good good = {.pieces = request->pieces};
    request->status = 404;
    if (strcmp(request->method, "PUT") != 0) return 0;
    int code = cellar_key_set(&good.name, sizeof good.name, request->name, strlen(request->name));
    request->status = 201;
    return code ? code : cellar_txn_add(txn, request->service->stock, &good, NULL);
}

static int present(struct cellar_txn *txn, struct request *request, uint64_t record)
{
    const struct cellar_table *stock = request->service->stock;
    int code = cellar_txn_get(txn, stock, record, PIECES, &request->value);
    request->status = 200;
    if (code || !strcmp(request->method, "GET")) return code;
    if (!strcmp(request->method, "DELETE")) return cellar_txn_remove(txn, stock, record);
    int64_t pieces = !strcmp(request->method, "PUT") ? request->pieces : request->value - request->pieces;
    if (pieces < 0) {
        request->status = 409;
        return 0;
    }
    request->value = pieces;
    return cellar_txn_put(txn, stock, record, PIECES, &pieces);
}

/* One request, one transaction. It may run several times, and has no effect but through the transaction and arg. */
static int handle(struct cellar_txn *txn, void *arg)
{
    struct request *request = arg;
    uint64_t record;
    int code = cellar_txn_find(txn, request->service->stock, request->name, (uint32_t)strlen(request->name), &record);
    if (code == CELLAR_NOT_FOUND) return absent(txn, request);
    return code ? code : present(txn, request, record);
}

static void answer(const struct service *service, const char *line, char *reply)
{
    struct request request = {.service = service};
    int fields = sscanf(line, "%7s /stock/%31s %" SCNd64, request.method, request.name, &request.pieces);
    int code = fields < 2 ? CELLAR_INVALID : cellar_run(service->db, handle, &request, NULL, NULL);
    if (code)
        snprintf(reply, LINE_BYTES, "%d %s", code == CELLAR_INVALID ? 400 : 500, cellar_strerror(code));
    else if (request.status == 200)
        snprintf(reply, LINE_BYTES, "200 %" PRId64, request.value);
    else
        snprintf(reply, LINE_BYTES, "%d", request.status);
}

/* ---- threads of the service ---- */

struct connection {
    const struct service *service;
    int server, client;
    pthread_t serves, asks;
    int64_t taken; /* by its client */
};

static void *serve(void *arg)
{
    const struct connection *connection = arg;
    char line[LINE_BYTES], reply[LINE_BYTES];
    ssize_t bytes;
    while ((bytes = recv(connection->server, line, sizeof line - 1, 0)) > 0) {
        line[bytes] = 0;
        answer(connection->service, line, reply);
        if (send(connection->server, reply, strlen(reply), 0) < 0) break;
    }
    return NULL;
}

/* ---- clients ---- */

/* The answer's status; *value if it has one. */
static int ask(const struct connection *connection, const char *line, int64_t *value)
{
    char reply[LINE_BYTES];
    int status = 0;
    if (send(connection->client, line, strlen(line), 0) < 0) ends("a request", "it cannot be sent");
    ssize_t bytes = recv(connection->client, reply, sizeof reply - 1, 0);
    reply[bytes > 0 ? bytes : 0] = 0;
    if (sscanf(reply, "%d %" SCNd64, &status, value) < 1) ends("an answer", reply);
    return status;
}

static void *buy(void *arg)
{
    struct connection *connection = arg;
    int64_t left;
    for (int i = 0; i < REQUESTS; i++) {
        int status = ask(connection, "TAKE /stock/apples 1", &left);
        if (status == 200) connection->taken++;
        if (status != 200 && status != 409) ends("taking", "neither taken nor sold out");
    }
    return NULL;
}

static void start(struct connection *connection, const struct service *service)
{
    int ends_of[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_of)) ends("a connection", "it cannot be made");
    *connection = (struct connection){.service = service, .server = ends_of[0], .client = ends_of[1]};
    if (pthread_create(&connection->serves, NULL, serve, connection)) ends("a thread", "it cannot be made");
}

static void stop(struct connection *connection)
{
    close(connection->client);
    pthread_join(connection->serves, NULL);
    close(connection->server);
}

int main(void)
{
    struct service service;
    struct connection connections[CONNECTIONS];
    int64_t left = 0, none, taken = 0;
    const struct cellar_schema schema = {.name = "stock",
                                         .row_bytes = sizeof(struct good),
                                         .columns = columns,
                                         .column_count = 2,
                                         .records_max = 1000,
                                         .key_bytes = NAME_MAX_BYTES};
    const int64_t pieces = CONNECTIONS * REQUESTS - 100; /* not enough for all */
    char line[LINE_BYTES];

    if (cellar_open(NULL, CELLAR_OPTIONS(.bytes = 16u << 20, .txns_max = CONNECTIONS), &service.db) ||
        cellar_table_create(service.db, &schema, &service.stock))
        ends("opening", cellar_last_error()->text);
    for (int i = 0; i < CONNECTIONS; i++) start(&connections[i], &service);
    snprintf(line, sizeof line, "PUT /stock/apples %" PRId64, pieces);
    bool right = ask(&connections[0], "GET /stock/apples", &none) == 404 && ask(&connections[0], line, &none) == 201 &&
                 ask(&connections[1], "nonsense", &none) == 400;
    for (int i = 0; i < CONNECTIONS; i++)
        if (pthread_create(&connections[i].asks, NULL, buy, &connections[i])) ends("a thread", "it cannot be made");
    for (int i = 0; i < CONNECTIONS; i++) {
        pthread_join(connections[i].asks, NULL);
        taken += connections[i].taken;
    }
    right = right && ask(&connections[0], "GET /stock/apples", &left) == 200 && left == 0 && taken == pieces &&
            ask(&connections[2], "DELETE /stock/apples", &none) == 200 &&
            ask(&connections[3], "GET /stock/apples", &none) == 404;
    for (int i = 0; i < CONNECTIONS; i++) stop(&connections[i]);
    cellar_close(service.db);
    printf("%" PRId64 " pieces, %" PRId64 " taken, %" PRId64 " left\n", pieces, taken, left);
    return right ? 0 : 1;
}

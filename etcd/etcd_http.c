#include "etcd_http.h"

#include <curl/curl.h>
#include <jansson.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS_MAX 16
#define URL_BYTES 200
#define ANSWER_MAX (256u << 10)
#define CONNECT_MS 1000L
#define REQUEST_MS 2000L
#define VERSION_MAJOR 3
#define VERSION_MINOR 4
#define BASE64 sodium_base64_VARIANT_ORIGINAL

struct etcd_http {
    CURL *curl;
    struct curl_slist *headers;
    char servers[SERVERS_MAX][URL_BYTES];
    uint32_t count, last; /* last: which one answered */
    char *key;            /* base64 */
    uint64_t cluster;
    char answer[ANSWER_MAX];
    size_t bytes;
    char why[CURL_ERROR_SIZE];
    atomic_bool stop;
};

/* ---- servers ---- */

static int take_server(struct etcd_http *http, const char *text, size_t length, struct cellar_error *error)
{
    bool known = !strncmp(text, "http://", 7) || !strncmp(text, "https://", 8);
    if (http->count == SERVERS_MAX) return err_set(error, CELLAR_INVALID, "etcd: more than %d servers", SERVERS_MAX);
    while (length && text[length - 1] == '/') length--;
    if (!known || length >= URL_BYTES || length < 9)
        return err_set(error, CELLAR_INVALID, "etcd: '%.*s' is no server: http://ADDRESS:PORT, or https", (int)length,
                       text);
    snprintf(http->servers[http->count++], URL_BYTES, "%.*s", (int)length, text);
    return 0;
}

static int take_servers(struct etcd_http *http, const char *servers, struct cellar_error *error)
{
    int code = 0;
    for (const char *at = servers; code == 0; at++) {
        size_t length = strcspn(at, ",");
        code = take_server(http, at, length, error);
        at += length;
        if (!*at) break;
    }
    return code;
}

/* ---- one request ---- */

static size_t take_answer(char *bytes, size_t size, size_t count, void *arg)
{
    struct etcd_http *http = arg;
    size_t more = size * count;
    if (more > ANSWER_MAX - 1 - http->bytes) return 0; /* no server of ours says so much */
    memcpy(http->answer + http->bytes, bytes, more);
    http->bytes += more;
    http->answer[http->bytes] = 0;
    return more;
}

static int is_stopped(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&((struct etcd_http *)arg)->stop);
}

/* What a server says of an error: a sentence in JSON. */
static const char *complaint(const struct etcd_http *http, char *text, size_t bytes, long status)
{
    json_t *root = json_loadb(http->answer, http->bytes, 0, NULL);
    const char *said = json_string_value(json_object_get(root, "error"));
    if (!said) said = json_string_value(json_object_get(root, "message"));
    if (said)
        snprintf(text, bytes, "%.120s", said);
    else
        snprintf(text, bytes, "HTTP status %ld", status);
    json_decref(root);
    return text;
}

/* To one server; body NULL: GET. */
static int request(struct etcd_http *http, uint32_t server, const char *path, const char *body, json_t **out,
                   struct cellar_error *error)
{
    char url[URL_BYTES + 40], said[128];
    long status = 0;
    snprintf(url, sizeof url, "%s%s", http->servers[server], path);
    http->bytes = 0;
    http->answer[0] = http->why[0] = 0;
    curl_easy_setopt(http->curl, CURLOPT_URL, url);
    if (body)
        curl_easy_setopt(http->curl, CURLOPT_POSTFIELDS, body);
    else
        curl_easy_setopt(http->curl, CURLOPT_HTTPGET, 1L);
    CURLcode failed = curl_easy_perform(http->curl);
    if (failed)
        return err_set(error, CELLAR_UNREACHABLE, "etcd at %.80s: %.100s", http->servers[server],
                       http->why[0] ? http->why : curl_easy_strerror(failed));
    curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return err_set(error, CELLAR_UNREACHABLE, "etcd at %.80s: %s", http->servers[server],
                       complaint(http, said, sizeof said, status));
    *out = json_loadb(http->answer, http->bytes, 0, NULL);
    if (json_is_object(*out)) return 0;
    json_decref(*out);
    return err_set(error, CELLAR_UNREACHABLE, "what answers at %.80s is not etcd", http->servers[server]);
}

/* To any of them. */
static int request_any(struct etcd_http *http, const char *path, const char *body, json_t **out,
                       struct cellar_error *error)
{
    int code = err_set(error, CELLAR_UNREACHABLE, "etcd: it is being closed");
    for (uint32_t i = 0; i < http->count && !atomic_load(&http->stop); i++) {
        uint32_t server = (http->last + i) % http->count;
        code = request(http, server, path, body, out, error);
        if (code == 0) http->last = server;
        if (code == 0) break;
    }
    return code;
}

/* ---- what is asked ---- */

int etcd_http_version(struct etcd_http *http, struct cellar_error *error)
{
    json_t *root;
    int major = 0, minor = 0, code = request_any(http, "/version", NULL, &root, error);
    if (code) return code;
    const char *version = json_string_value(json_object_get(root, "etcdcluster"));
    bool known = version && sscanf(version, "%d.%d", &major, &minor) == 2;
    bool serves = known && major == VERSION_MAJOR && minor >= VERSION_MINOR;
    if (version && !strcmp(version, "not_decided"))
        code = err_set(error, CELLAR_UNREACHABLE, "etcd at %.80s has no quorum yet", http->servers[http->last]);
    else if (!known)
        code = err_set(error, CELLAR_UNSUPPORTED, "what answers at %.80s is not etcd", http->servers[http->last]);
    else if (!serves)
        code = err_set(error, CELLAR_UNSUPPORTED, "etcd at %.80s is version %.20s: %d.%d or a later %d.x is needed",
                       http->servers[http->last], version, VERSION_MAJOR, VERSION_MINOR, VERSION_MAJOR);
    json_decref(root);
    return code;
}

static uint64_t number_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name)); /* the gateway writes 64 bits as text */
    return text ? strtoull(text, NULL, 10) : 0;
}

static int value_of(const struct etcd_http *http, const json_t *pair, char **value, size_t *bytes, uint64_t *revision,
                    struct cellar_error *error)
{
    const char *coded = json_string_value(json_object_get(pair, "value"));
    size_t length = coded ? strlen(coded) : 0;
    *revision = number_at(pair, "mod_revision");
    *value = malloc(length + 1);
    if (!*value) return err_set(error, CELLAR_NOMEM, "no memory for etcd's answer");
    if (*revision &&
        sodium_base642bin((unsigned char *)*value, length, coded ? coded : "", length, NULL, bytes, NULL, BASE64) == 0)
        return 0;
    free(*value);
    *value = NULL;
    return err_set(error, CELLAR_UNREACHABLE, "what answers at %.80s is not etcd", http->servers[http->last]);
}

int etcd_http_read(struct etcd_http *http, char **value, size_t *bytes, uint64_t *revision, struct cellar_error *error)
{
    json_t *root, *asked = json_pack("{s:s}", "key", http->key);
    char *body = json_dumps(asked, JSON_COMPACT);
    json_decref(asked);
    *value = NULL;
    *revision = 0;
    if (!body) return err_set(error, CELLAR_NOMEM, "no memory to ask etcd");
    int code = request_any(http, "/v3/kv/range", body, &root, error);
    free(body);
    if (code) return code;
    const json_t *pairs = json_object_get(root, "kvs");
    http->cluster = number_at(json_object_get(root, "header"), "cluster_id");
    if (json_array_size(pairs) > 0)
        code = value_of(http, json_array_get(pairs, 0), value, bytes, revision, error);
    else if (!http->cluster)
        code = err_set(error, CELLAR_UNREACHABLE, "what answers at %.80s is not etcd", http->servers[http->last]);
    json_decref(root);
    return code;
}

uint64_t etcd_http_cluster(const struct etcd_http *http) { return http->cluster; }

static char *base64_of(const char *text)
{
    size_t length = strlen(text), room = sodium_base64_encoded_len(length, BASE64);
    char *coded = malloc(room);
    return coded ? sodium_bin2base64(coded, room, (const unsigned char *)text, length, BASE64) : NULL;
}

int etcd_http_swap(struct etcd_http *http, uint64_t revision, const char *value, bool *swapped,
                   struct cellar_error *error)
{
    char text[24], *coded = base64_of(value);
    snprintf(text, sizeof text, "%llu", (unsigned long long)revision);
    json_t *asked = coded ? json_pack("{s:[{s:s, s:s, s:s, s:s}], s:[{s:{s:s, s:s}}]}", "compare", "key", http->key,
                                      "target", "MOD", "result", "EQUAL", "mod_revision", text, "success",
                                      "request_put", "key", http->key, "value", coded)
                          : NULL;
    char *body = asked ? json_dumps(asked, JSON_COMPACT) : NULL;
    json_t *root;
    json_decref(asked);
    free(coded);
    *swapped = false;
    if (!body) return err_set(error, CELLAR_NOMEM, "no memory to ask etcd");
    /* One server alone: a second one would be told of a swap that the first one may have made. */
    int code = request(http, http->last, "/v3/kv/txn", body, &root, error);
    free(body);
    if (code) {
        http->last = (http->last + 1) % http->count;
        return code;
    }
    *swapped = json_is_true(json_object_get(root, "succeeded"));
    json_decref(root);
    return 0;
}

/* ---- from open to close ---- */

static void set_up(struct etcd_http *http)
{
    CURL *curl = http->curl;
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, REQUEST_MS);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, http->why);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, http->headers);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* servers of the cluster, whatever the environment says */
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, http);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_stopped);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, http);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

int etcd_http_open(const char *servers, const char *key, struct etcd_http **out, struct cellar_error *error)
{
    struct etcd_http *http = calloc(1, sizeof *http);
    *out = http;
    if (!http) return err_set(error, CELLAR_NOMEM, "no memory for etcd");
    int code = take_servers(http, servers, error);
    if (code == 0 && curl_global_init(CURL_GLOBAL_DEFAULT))
        code = err_set(error, CELLAR_SYSTEM, "libcurl cannot be used");
    if (code == 0) {
        http->key = base64_of(key);
        http->headers = curl_slist_append(NULL, "Content-Type: application/json");
        http->curl = curl_easy_init();
        if (!http->key || !http->headers || !http->curl) code = err_set(error, CELLAR_NOMEM, "no memory for etcd");
    }
    if (code == 0) set_up(http);
    if (code) etcd_http_close(http);
    if (code) *out = NULL;
    return code;
}

void etcd_http_close(struct etcd_http *http)
{
    if (!http) return;
    if (http->curl) curl_easy_cleanup(http->curl);
    curl_slist_free_all(http->headers);
    free(http->key);
    free(http);
}

void etcd_http_stop(struct etcd_http *http) { atomic_store(&http->stop, true); }

/* cluster.c - reading and checking a cluster file. */
#include "cluster.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define MEMNODES_MAX 64
#define ETCD_MAX 16
#define ADDRESS_MAX 79

#define REFUSE(...) return err_set(error, CELLAR_INVALID, __VA_ARGS__)

/* Of 1 to `most` addresses, into a text with a comma between two; how many. */
static int take_list(const char *name, const json_t *list, size_t most, char *text, size_t bytes,
                     struct cellar_error *error)
{
    size_t count = json_array_size(list), at = 0;
    if (count < 1 || count > most) REFUSE("\"%s\" needs a list of 1 to %zu addresses", name, most);
    for (size_t i = 0; i < count; i++) {
        const char *address = json_string_value(json_array_get(list, i));
        if (!address || !*address || strlen(address) > ADDRESS_MAX || strpbrk(address, ", \t\n"))
            REFUSE("\"%s\": number %zu is no address", name, i);
        at += (size_t)snprintf(text + at, bytes - at, "%s%s", i ? "," : "", address);
    }
    return (int)count;
}

static int take_memnodes(const json_t *list, struct cluster *cluster, struct cellar_error *error)
{
    int count = take_list("memnodes", list, MEMNODES_MAX, cluster->memnodes, sizeof cluster->memnodes, error);
    if (count > 0) cluster->count = (uint32_t)count;
    return count < 0 ? count : 0;
}

static int take_etcd(const json_t *list, struct cluster *cluster, struct cellar_error *error)
{
    int count = take_list("etcd", list, ETCD_MAX, cluster->etcd, sizeof cluster->etcd, error);
    return count < 0 ? count : 0;
}

static int take(const char *name, const json_t *value, struct cluster *cluster, struct cellar_error *error)
{
    if (strcmp(name, "memnodes") == 0) return take_memnodes(value, cluster, error);
    if (strcmp(name, "etcd") == 0) return take_etcd(value, cluster, error);
    if (strcmp(name, "prefix") == 0) {
        const char *prefix = json_string_value(value);
        if (!prefix || !*prefix || strlen(prefix) >= sizeof cluster->prefix) REFUSE("\"prefix\" needs a key of etcd");
        snprintf(cluster->prefix, sizeof cluster->prefix, "%s", prefix);
        return 0;
    }
    if (strcmp(name, "secret") == 0) {
        const char *path = json_string_value(value);
        if (!path || !*path || strlen(path) >= sizeof cluster->secret) REFUSE("\"secret\" needs the path of a file");
        snprintf(cluster->secret, sizeof cluster->secret, "%s", path);
        return 0;
    }
    if (strcmp(name, "replicas") == 0) {
        json_int_t replicas = json_integer_value(value);
        if (!json_is_integer(value) || replicas < 0 || replicas >= MEMNODES_MAX)
            REFUSE("\"replicas\" needs a number from 0 to %d", MEMNODES_MAX - 1);
        cluster->replicas = (uint32_t)replicas;
        cluster->has_replicas = true;
        return 0;
    }
    REFUSE("it knows no \"%.40s\": memnodes, secret, replicas, etcd, prefix", name);
}

static int take_all(json_t *root, struct cluster *cluster, struct cellar_error *error)
{
    const char *name;
    json_t *value;
    int code = 0;
    if (!json_is_object(root)) REFUSE("it is no object {...}");
    json_object_foreach(root, name, value) if (code == 0) code = take(name, value, cluster, error);
    if (code) return code;
    if (cluster->count == 0) REFUSE("\"memnodes\" is missing");
    if (cluster->prefix[0] && !cluster->etcd[0]) REFUSE("\"prefix\" is of no use without \"etcd\"");
    return 0;
}

int cluster_read(const char *path, struct cluster *cluster, struct cellar_error *error)
{
    json_error_t where;
    struct cellar_error inner = {0};
    *cluster = (struct cluster){.count = 0};
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        return err_set(error, CELLAR_INVALID, "cluster file %.120s, line %d: %.100s", path, where.line, where.text);
    int code = take_all(root, cluster, &inner);
    json_decref(root);
    return code ? err_set(error, CELLAR_INVALID, "cluster file %.120s: %.150s", path, inner.text) : 0;
}

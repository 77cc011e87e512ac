/* cluster.c - reading and checking a cluster file. */
#include "cluster.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define MEMNODES_MAX 64
#define ADDRESS_MAX 79

#define REFUSE(...) return err_set(error, CELLAR_ERR_INVALID, __VA_ARGS__)

static int take_memnodes(const json_t *list, struct cluster *cluster, struct cellar_error *error)
{
    size_t count = json_array_size(list), at = 0;
    if (count < 1 || count > MEMNODES_MAX) REFUSE("\"memnodes\" needs a list of 1 to %d addresses", MEMNODES_MAX);
    for (size_t i = 0; i < count; i++) {
        const char *address = json_string_value(json_array_get(list, i));
        if (!address || !*address || strlen(address) > ADDRESS_MAX || strpbrk(address, ", \t\n"))
            REFUSE("\"memnodes\": number %zu is no address", i);
        at += (size_t)snprintf(cluster->memnodes + at, sizeof cluster->memnodes - at, "%s%s", i ? "," : "", address);
    }
    cluster->count = (uint32_t)count;
    return 0;
}

static int take(const char *name, const json_t *value, struct cluster *cluster, struct cellar_error *error)
{
    if (strcmp(name, "memnodes") == 0) return take_memnodes(value, cluster, error);
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
    REFUSE("it knows no \"%.40s\": memnodes, secret, replicas", name);
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
    return 0;
}

int cluster_read(const char *path, struct cluster *cluster, struct cellar_error *error)
{
    json_error_t where;
    struct cellar_error inner = {0};
    *cluster = (struct cluster){.count = 0};
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        return err_set(error, CELLAR_ERR_INVALID, "cluster file %.120s, line %d: %.100s", path, where.line, where.text);
    int code = take_all(root, cluster, &inner);
    json_decref(root);
    return code ? err_set(error, CELLAR_ERR_INVALID, "cluster file %.120s: %.150s", path, inner.text) : 0;
}

#include "etcd_ruling.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 1
#define HEX_BYTES 17

char *etcd_ruling_text(const struct cellar_ruling *ruling)
{
    char cluster[HEX_BYTES], configuration[HEX_BYTES], cn[8];
    json_t *dead = json_object();
    snprintf(cluster, sizeof cluster, "%016llx", (unsigned long long)ruling->cluster);
    snprintf(configuration, sizeof configuration, "%016llx", (unsigned long long)ruling->configuration);
    for (uint32_t i = 0; i < CELLAR_CNS_MAX; i++) {
        snprintf(cn, sizeof cn, "%u", i);
        if (ruling->dead[i]) json_object_set_new(dead, cn, json_integer((json_int_t)ruling->dead[i]));
    }
    json_t *root = json_pack("{s:i, s:I, s:s, s:s, s:o}", "cellar", FORMAT, "epoch", (json_int_t)ruling->epoch,
                             "cluster", cluster, "configuration", configuration, "dead", dead);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    return text;
}

/* A number without sign of at most that many digits. */
static bool number_of(const char *text, int base, size_t digits, uint64_t *number)
{
    static const char all[] = "0123456789abcdef";
    char allowed[sizeof all], *end;
    snprintf(allowed, sizeof allowed, "%.*s", base, all);
    if (!text || !*text || strlen(text) > digits || strspn(text, allowed) != strlen(text)) return false;
    errno = 0;
    *number = strtoull(text, &end, base);
    return errno == 0 && !*end;
}

static bool read_dead(json_t *dead, struct cellar_ruling *ruling)
{
    const char *name;
    json_t *life;
    bool good = json_is_object(dead);
    json_object_foreach(dead, name, life)
    {
        uint64_t cn = CELLAR_CNS_MAX;
        good = good && number_of(name, 10, 3, &cn) && cn < CELLAR_CNS_MAX && json_integer_value(life) > 0;
        if (good) ruling->dead[cn] = (uint64_t)json_integer_value(life);
    }
    return good;
}

int etcd_ruling_read(const char *text, size_t bytes, struct cellar_ruling *ruling)
{
    int format = 0;
    json_int_t epoch = 0;
    const char *cluster = NULL, *configuration = NULL;
    json_t *dead = NULL, *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    *ruling = (struct cellar_ruling){0};
    bool good =
        root && json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:I, s:s, s:s, s:o}", "cellar", &format, "epoch", &epoch,
                               "cluster", &cluster, "configuration", &configuration, "dead", &dead) == 0;
    good = good && format == FORMAT && epoch > 0 && number_of(cluster, 16, 16, &ruling->cluster) && ruling->cluster &&
           number_of(configuration, 16, 16, &ruling->configuration) && read_dead(dead, ruling);
    ruling->epoch = (uint64_t)epoch;
    json_decref(root);
    return good ? 0 : CELLAR_MISMATCH;
}

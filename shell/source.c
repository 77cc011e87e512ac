#include "source.h"

#include "command.h"
#include "etcd.h"
#include "pool_file.h"

#include <string.h>
#include <unistd.h>

#define LOG_BYTES (1u << 20) /* a batch of rows that are loaded must fit into half of it */
#define LOG_BYTES_LEAST (64u << 10)

const char *const source_fabrics[] = {"shm", "verbs", NULL};

static int words_count(const char *const *names)
{
    int count = 0;
    while (names[count]) count++;
    return count;
}

static int source_check(const struct options *options, uint64_t given, const struct source *source,
                        struct cellar_error *error)
{
    static const char *const of_memnodes[] = {"cn", "replicas", "fabric", "secret", "etcd", "etcd-prefix"};
    for (uint32_t i = 0; !source->memnodes && i < sizeof of_memnodes / sizeof *of_memnodes; i++)
        if (options_given(options, given, of_memnodes[i]))
            return err_set(error, CELLAR_INVALID, "--%s is for --memnodes: a pool file needs none", of_memnodes[i]);
    if (source->create_bytes && source->memnodes)
        return err_set(error, CELLAR_INVALID, "--create is for a pool file: memory nodes are there");
    if (source->secret_path && strcmp(source->fabric, "verbs") != 0)
        return err_set(error, CELLAR_INVALID, "--secret is for --fabric verbs, not %s", source->fabric);
    return 0;
}

int source_parse(const struct options *options, int count, char *const *arguments, const char *const *names,
                 const char **words, void *into, struct source *source, struct cellar_error *error)
{
    uint64_t given;
    int there = 0, wanted = words_count(names);
    source->fabric = source_fabrics[0];
    source->command = options->program;
    while (there < count && arguments[there][0] != '-') there++;
    int code = options_parse(options, count - there, arguments + there, into, &given, error);
    if (code) return code;
    int first = source->memnodes == NULL;
    if (first && there == 0)
        return err_set(error, CELLAR_INVALID, "name a pool file, or --memnodes A,B (see %s --help)", options->program);
    if (there > first + wanted)
        return err_set(error, CELLAR_INVALID, "unexpected argument '%.60s'%s", arguments[first + wanted],
                       first ? "" : ": --memnodes stands for POOL");
    if (there < first + wanted)
        return err_set(error, CELLAR_INVALID, "%s is missing (see %s --help)", names[there - first], options->program);
    if (first) source->pool_path = arguments[0];
    for (int i = 0; i < wanted; i++) words[i] = arguments[first + i];
    code = source_check(options, given, source, error);
    return code || !first ? code : options_spare(options, given, into, source->pool_path, error);
}

static void log_line(void *arg, enum cellar_log_level level, const char *text)
{
    const struct source *source = arg;
    if (level >= CELLAR_LOG_WARNING) fprintf(stderr, "%s: %s\n", source->command, text);
}

int source_open(struct source *source, enum source_use use, struct cellar **out, struct cellar_error *error)
{
    uint64_t bytes = source->create_bytes;
    int code = source->pool_path && !bytes ? pool_file_look("", source->pool_path, &bytes, error) : 0;
    if (code) return code;
    if (source->create_bytes && access(source->pool_path, F_OK) == 0)
        return err_set(error, CELLAR_EXISTS, "--create: %.200s is there already", source->pool_path);
    struct engine_config config = {.fabric = source->fabric,
                                   .memnodes = source->memnodes,
                                   .secret_path = source->secret_path,
                                   .pool_path = source->pool_path,
                                   .pool_bytes = bytes,
                                   .pool_private = source->pool_path && use == SOURCE_LOOK,
                                   .cn_index = source->memnodes ? source->cn : 0,
                                   .replicas = source->replicas,
                                   .coros = 1,
                                   .sessions = 1,
                                   .log_bytes = use == SOURCE_LOOK ? LOG_BYTES_LEAST : LOG_BYTES,
                                   .existing = !source->create_bytes,
                                   .log = log_line,
                                   .log_arg = source};
    code = etcd_attach(source->etcd_servers, source->etcd_prefix, &source->etcd, &config.decider, error);
    if (code) return code;
    return pool_file_open(&config, out, error);
}

int source_end(const struct source *source, struct cellar *db, int code, const struct cellar_error *error)
{
    cellar_close(db);
    etcd_close(source->etcd);
    if (code >= 0) return COMMAND_OK;
    fprintf(stderr, "%s: %s\n", source->command, error->code ? error->text : cellar_strerror(code));
    return COMMAND_ERROR;
}

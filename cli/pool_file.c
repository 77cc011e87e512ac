#include "pool_file.h"

#include "db_open.h"
#include "mode.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int pool_file_look(const char *option, const char *path, uint64_t *bytes, struct cellar_error *error)
{
    struct stat status;
    if (stat(path, &status) != 0) return err_set(error, CELLAR_INVALID, "%s%.200s: %s", option, path, strerror(errno));
    if (S_ISDIR(status.st_mode)) return 0; /* a durable folder knows its size itself */
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return err_set(error, CELLAR_INVALID, "%s%.200s: %s", option, path,
                       S_ISREG(status.st_mode) ? "an empty file, not a pool" : "no regular file");
    *bytes = (uint64_t)status.st_size;
    return 0;
}

int pool_file_open(const struct engine_config *config, struct cellar **out, struct cellar_error *error)
{
    struct cellar_error other;
    struct engine_config locks = *config;
    int code = db_open(config, out, error);
    if (code != CELLAR_MISMATCH) return code;
    const struct mode *mode = mode_table;
    while (mode->name && !mode->locks) mode++;
    if (!mode->name) return code;
    locks.cc = (enum cellar_lab_cc)(mode - mode_table);
    int again = db_open(&locks, out, &other);
    if (again == CELLAR_MISMATCH || again == CELLAR_UNSUPPORTED) return code; /* it is not that */
    if (again && error) *error = other;
    return again;
}

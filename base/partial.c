#include "partial.h"
#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int partial_open(struct partial *partial, const char *path, struct cellar_error *error)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return err_set(error, CELLAR_INVALID, "%.120s is there already, and no regular file", path);
    if (snprintf(partial->name, sizeof partial->name, "%s.partial", path) >= (int)sizeof partial->name)
        return err_set(error, CELLAR_INVALID, "%.120s: the name is too long", path);
    int fd = descriptor_high(open(partial->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    partial->file = descriptor_stream(fd, "w");
    if (partial->file) return 0;
    int cause = errno;
    if (access(partial->name, F_OK) == 0)
        return err_set(error, CELLAR_SYSTEM, "%.120s, which is in the way: %s", partial->name, strerror(cause));
    return err_set(error, CELLAR_SYSTEM, "%.120s: no file can be made in its folder: %s", path, strerror(cause));
}

void partial_drop(struct partial *partial)
{
    fclose(partial->file);
    unlink(partial->name);
}

int partial_accept(const char *path, struct cellar_error *error)
{
    struct partial partial;
    int code = partial_open(&partial, path, error);
    if (code == 0) partial_drop(&partial);
    return code;
}

int partial_end(struct partial *partial, const char *path, struct cellar_error *error)
{
    errno = 0;
    bool failed = ferror(partial->file) != 0;
    failed = fclose(partial->file) != 0 || failed;
    if (!failed && rename(partial->name, path) == 0) return 0;
    int cause = errno ? errno : EIO;
    unlink(partial->name);
    return err_set(error, CELLAR_SYSTEM, "%.120s: %s", path, strerror(cause));
}

#include "chaos_witness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CN_SHIFT 56
#define LIFE_SHIFT 40
#define LIVES_MAX 0xffffu

static int refused(struct cellar_error *error, const char *path)
{
    return err_set(error, CELLAR_SYSTEM, "witness %.150s: %s", path, strerror(errno));
}

int chaos_witness_open(const char *path, uint32_t cn, int *file, uint64_t *first_number, struct cellar_error *error)
{
    struct chaos_witness_line *lines = NULL;
    uint64_t at = 0, count = 0, life = 0;
    *file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (*file < 0) return refused(error, path);
    int code = chaos_witness_read(path, &at, &lines, &count, error);
    for (uint64_t i = 0; i < count; i++) life = (lines[i].receipt.number >> LIFE_SHIFT) & LIVES_MAX;
    free(lines);
    if (code == 0 && life == LIVES_MAX)
        code = err_set(error, CELLAR_FULL, "witness %.150s: compute node %u has had all its lives", path, cn);
    /* A line that was cut by a death would put all later ones out of step. */
    if (code == 0 && ftruncate(*file, (off_t)at) != 0) code = refused(error, path);
    if (code != 0) close(*file);
    *first_number = (uint64_t)cn << CN_SHIFT | (life + 1) << LIFE_SHIFT;
    return code;
}

int chaos_witness_write(int file, const struct chaos_witness_line *line, struct cellar_error *error)
{
    if (write(file, line, sizeof(*line)) == (ssize_t)sizeof(*line)) return 0;
    return err_set(error, CELLAR_SYSTEM, "the witness cannot be written: %s", strerror(errno));
}

int chaos_witness_read(const char *path, uint64_t *at, struct chaos_witness_line **lines, uint64_t *count,
                       struct cellar_error *error)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno == ENOENT ? 0 : refused(error, path); /* its compute node has not begun */
    int code = fstat(file, &status) == 0 ? 0 : refused(error, path);
    uint64_t end = code == 0 ? (uint64_t)status.st_size : 0;
    uint64_t more = end > *at ? (end - *at) / sizeof(**lines) : 0;
    if (code == 0 && more > 0) {
        struct chaos_witness_line *grown = realloc(*lines, (*count + more) * sizeof(*grown));
        uint64_t bytes = more * sizeof(*grown);
        if (!grown) code = err_set(error, CELLAR_NOMEM, "no memory for %lu lines of a witness", more);
        if (grown) *lines = grown;
        if (grown && pread(file, grown + *count, bytes, (off_t)*at) != (ssize_t)bytes) code = refused(error, path);
        if (code == 0) *at += bytes, *count += more;
    }
    close(file);
    return code;
}

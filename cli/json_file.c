#include "json_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_text(const char *text, const char *path, struct cellar_error *error)
{
    bool standard = !strcmp(path, "-");
    FILE *file = standard ? stdout : fopen(path, "w");
    if (!file) return err_set(error, CELLAR_SYSTEM, "cannot write %.100s: %s", path, strerror(errno));
    bool failed = fprintf(file, "%s\n", text) < 0;
    failed |= standard ? fflush(file) != 0 : fclose(file) != 0;
    return failed ? err_set(error, CELLAR_SYSTEM, "cannot write %.100s: %s", path, strerror(errno)) : 0;
}

int json_file_check_as(const char *option, const char *path, struct cellar_error *error)
{
    if (!path || !strcmp(path, "-")) return 0;
    bool there = access(path, F_OK) == 0;
    FILE *file = fopen(path, "a");
    if (!file || fclose(file) != 0)
        return err_set(error, CELLAR_INVALID, "%s %.200s: %s", option, path, strerror(errno));
    if (!there) (void)remove(path);
    return 0;
}

int json_file_check(const char *path, struct cellar_error *error) { return json_file_check_as("--json", path, error); }

int json_file_write(const json_t *root, const char *path, struct cellar_error *error)
{
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    int code = text ? write_text(text, path, error) : err_set(error, CELLAR_NOMEM, "no memory for the JSON report");
    free(text);
    return code;
}

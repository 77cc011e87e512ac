#include "options.h"

#include "must.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int invalid_value(const struct option_def *def, const char *value, const char *wanted,
                         struct cellar_error *error)
{
    return err_set(error, CELLAR_INVALID, "--%s needs %s, not '%.60s'", def->name, wanted, value);
}

static int out_of_range(const struct option_def *def, const char *value, struct cellar_error *error)
{
    if (def->max > 0)
        return err_set(error, CELLAR_INVALID, "--%s must be from %.15g to %.15g, not %.60s", def->name, def->min,
                       def->max, value);
    return err_set(error, CELLAR_INVALID, "--%s must be at least %.15g and fit in 64 bits, not %.60s", def->name,
                   def->min, value);
}

static bool in_range(const struct option_def *def, double value)
{
    return value >= def->min && (def->max == 0 || value <= def->max);
}

/* A decimal number; with `suffixes`, K, M or G may follow. */
static int parse_number(const struct option_def *def, const char *text, bool suffixes, uint64_t *value,
                        struct cellar_error *error)
{
    const char *wanted = suffixes ? "a size such as 65536, 64K, 512M or 2G" : "a whole number";
    if (!isdigit((unsigned char)text[0])) return invalid_value(def, text, wanted, error);
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (errno == ERANGE) return out_of_range(def, text, error);
    uint32_t shift = 0;
    if (suffixes && *end != 0) {
        shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : *end == 'G' || *end == 'g' ? 30 : 0;
        if (shift) end++;
    }
    if (*end != 0) return invalid_value(def, text, wanted, error);
    if (*value > UINT64_MAX >> shift) return out_of_range(def, text, error);
    *value <<= shift;
    return in_range(def, (double)*value) ? 0 : out_of_range(def, text, error);
}

static int parse_real(const struct option_def *def, const char *text, double *value, struct cellar_error *error)
{
    /* strtod would also take blanks, "inf", "nan" and hexadecimal */
    if (strspn(text, "0123456789.eE+-") != strlen(text) || !text[0]) return invalid_value(def, text, "a number", error);
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end != 0 || !isfinite(*value)) return invalid_value(def, text, "a number", error);
    return in_range(def, *value) ? 0 : out_of_range(def, text, error);
}

static void append(char *text, size_t bytes, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, bytes - used, "%s", more);
}

static int parse_choice(const struct option_def *def, const char *text, const char **value, struct cellar_error *error)
{
    char list[160] = "";
    for (uint32_t i = 0; def->choices[i]; i++) {
        if (!strcmp(text, def->choices[i])) {
            *value = def->choices[i];
            return 0;
        }
        if (i) append(list, sizeof(list), ", ");
        append(list, sizeof(list), def->choices[i]);
    }
    return err_set(error, CELLAR_INVALID, "--%s knows no '%.60s'; it takes one of: %s", def->name, text, list);
}

static int parse_value(const struct option_def *def, const char *text, void *field, struct cellar_error *error)
{
    uint64_t number = 0;
    int code;
    switch (def->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case OPTION_COUNT:
        code = parse_number(def, text, false, &number, error);
        if (code == 0 && number > UINT32_MAX) code = out_of_range(def, text, error);
        if (code == 0) *(uint32_t *)field = (uint32_t)number;
        return code;
    case OPTION_NUMBER:
        return parse_number(def, text, false, field, error);
    case OPTION_SIZE:
        return parse_number(def, text, true, field, error);
    case OPTION_REAL:
        return parse_real(def, text, field, error);
    case OPTION_TEXT:
        if (!text[0]) return err_set(error, CELLAR_INVALID, "--%s needs a value that is not empty", def->name);
        *(const char **)field = text;
        return 0;
    case OPTION_CHOICE:
        return parse_choice(def, text, field, error);
    }
    must(!"an option kind");
    return CELLAR_INVALID;
}

static const struct option_def *find(const struct options *options, const char *name, size_t bytes)
{
    for (uint32_t i = 0; i < options->count; i++)
        if (strlen(options->defs[i].name) == bytes && !memcmp(options->defs[i].name, name, bytes))
            return &options->defs[i];
    return NULL;
}

/* What stands behind its name in the help: of a choice, all that there is to choose from. */
static const char *argument_of(const struct option_def *def, char *choices, size_t bytes)
{
    if (def->kind != OPTION_CHOICE) return def->argument;
    choices[0] = 0;
    for (uint32_t i = 0; def->choices[i]; i++) {
        if (i) append(choices, bytes, "|");
        append(choices, bytes, def->choices[i]);
    }
    return choices;
}

static int value_missing(const struct option_def *def, struct cellar_error *error)
{
    char choices[96];
    return err_set(error, CELLAR_INVALID, "--%s needs a value: --%s %s", def->name, def->name,
                   argument_of(def, choices, sizeof(choices)));
}

/* Parses the option at arguments[*at] and moves *at behind it. */
static int parse_one(const struct options *options, int count, char *const *arguments, int *at, void *into,
                     uint64_t *given, struct cellar_error *error)
{
    const char *argument = arguments[(*at)++];
    if (strncmp(argument, "--", 2) != 0 || !argument[2])
        return err_set(error, CELLAR_INVALID, "unexpected argument '%.60s' (options start with --; see %s --help)",
                       argument, options->program);
    const char *name = argument + 2, *equals = strchr(name, '=');
    const size_t bytes = equals ? (size_t)(equals - name) : strlen(name);
    const struct option_def *def = find(options, name, bytes);
    int code = !def && options->unknown ? options->unknown(into, name, bytes, error) : 0;
    if (code < 0) return code;
    if (!def)
        return err_set(error, CELLAR_INVALID, "unknown option '%.60s' (see %s --help)", argument, options->program);
    if (def->absent) return err_set(error, CELLAR_UNSUPPORTED, "--%s is not built yet", def->name);
    uint64_t bit = 1ull << (def - options->defs);
    if (*given & bit) return err_set(error, CELLAR_INVALID, "--%s is given twice", def->name);
    *given |= bit;
    const char *value = equals ? equals + 1 : NULL;
    if (def->kind == OPTION_FLAG) {
        if (value) return err_set(error, CELLAR_INVALID, "--%s takes no value", def->name);
    } else if (!value) {
        if (*at >= count || !strncmp(arguments[*at], "--", 2)) return value_missing(def, error);
        value = arguments[(*at)++];
    }
    return parse_value(def, value, (char *)into + def->offset, error);
}

/* What takes a file takes FILE, or several: FILE[,FILE...]. */
static const char *file_given(const struct options *options, uint64_t given, const void *from, uint32_t at)
{
    const struct option_def *def = &options->defs[at];
    bool file = def->kind == OPTION_TEXT && def->argument && !strncmp(def->argument, "FILE", 4);
    return file && given >> at & 1 ? *(const char *const *)((const char *)from + def->offset) : NULL;
}

static bool same_file(const char *a, size_t a_bytes, const char *b)
{
    struct stat of_a, of_b;
    char path[PATH_MAX];
    if (strlen(b) == a_bytes && !memcmp(a, b, a_bytes)) return true;
    if (a_bytes >= sizeof path) return false;
    memcpy(path, a, a_bytes);
    path[a_bytes] = 0;
    return stat(path, &of_a) == 0 && stat(b, &of_b) == 0 && S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

/* No file can be two things: the later one would overwrite the earlier. */
static int files_differ(const struct options *options, uint64_t given, const void *from, struct cellar_error *error)
{
    for (uint32_t i = 0; i < options->count; i++) {
        const char *list = file_given(options, given, from, i);
        for (uint32_t j = 0; list && j < options->count; j++) {
            const char *one = j != i ? file_given(options, given, from, j) : NULL;
            for (const char *part = list; one && part; part = strchr(part, ',') ? strchr(part, ',') + 1 : NULL)
                if (same_file(part, strcspn(part, ","), one) || !strcmp(list, one))
                    return err_set(error, CELLAR_INVALID, "--%s and --%s cannot both go to '%.60s'",
                                   options->defs[i].name, options->defs[j].name, one);
        }
    }
    return 0;
}

int options_parse(const struct options *options, int count, char *const *arguments, void *into, uint64_t *given,
                  struct cellar_error *error)
{
    must(options->count <= OPTIONS_MAX);
    *given = 0;
    for (int i = 0; i < count; i++)
        if (!strcmp(arguments[i], "--help") || !strcmp(arguments[i], "-h")) return OPTIONS_HELP;
    for (int at = 0; at < count;) {
        int code = parse_one(options, count, arguments, &at, into, given, error);
        if (code < 0) return code;
    }
    return files_differ(options, *given, into, error);
}

/* Is its folder that one? */
static bool lies_in(const char *file, const char *folder)
{
    const char *slash = strrchr(file, '/');
    char parent[PATH_MAX];
    struct stat of_parent, of_folder;
    size_t bytes = slash ? (size_t)(slash - file) + 1 : 1;
    if (bytes >= sizeof parent) return false;
    memcpy(parent, slash ? file : ".", bytes);
    parent[bytes] = 0;
    return stat(folder, &of_folder) == 0 && S_ISDIR(of_folder.st_mode) && stat(parent, &of_parent) == 0 &&
           of_parent.st_dev == of_folder.st_dev && of_parent.st_ino == of_folder.st_ino;
}

int options_spare(const struct options *options, uint64_t given, const void *from, const char *path,
                  struct cellar_error *error)
{
    for (uint32_t i = 0; i < options->count; i++) {
        const char *file = file_given(options, given, from, i);
        if (file && (same_file(path, strlen(path), file) || lies_in(file, path)))
            return err_set(error, CELLAR_INVALID, "--%s cannot be '%.100s', which is, or is in, what is read",
                           options->defs[i].name, file);
    }
    return 0;
}

bool options_given(const struct options *options, uint64_t given, const char *name)
{
    return option_def_given(options->defs, options->count, given, name);
}

static void print_one(const struct option_def *def, FILE *out)
{
    char left[64], choices[96];
    const char *argument = argument_of(def, choices, sizeof(choices));
    snprintf(left, sizeof(left), "--%s%s%s", def->name, argument ? " " : "", argument ? argument : "");
    fprintf(out, "  %-26s %s", left, def->help);
    if (def->fallback) fprintf(out, " [%s]", def->fallback);
    fputc('\n', out);
}

void options_print_some(const struct option_def *defs, uint32_t count, FILE *out)
{
    for (uint32_t i = 0; i < count; i++) {
        if (defs[i].absent) continue;
        if (defs[i].group) fprintf(out, "\n%s\n", defs[i].group);
        print_one(&defs[i], out);
    }
}

static void value_append(const struct option_def *def, const void *field, char *text, size_t bytes)
{
    const char *word = def->kind == OPTION_TEXT || def->kind == OPTION_CHOICE ? *(const char *const *)field : NULL;
    char value[32] = "-";
    if (def->kind == OPTION_FLAG) snprintf(value, sizeof value, "%d", *(const bool *)field);
    if (def->kind == OPTION_COUNT) snprintf(value, sizeof value, "%" PRIu32, *(const uint32_t *)field);
    if (def->kind == OPTION_NUMBER || def->kind == OPTION_SIZE)
        snprintf(value, sizeof value, "%" PRIu64, *(const uint64_t *)field);
    if (def->kind == OPTION_REAL) snprintf(value, sizeof value, "%.17g", *(const double *)field);
    append(text, bytes, " ");
    append(text, bytes, word ? word : value);
}

void options_values(const struct option_def *defs, uint32_t count, const void *from, char *text, size_t bytes)
{
    text[0] = 0;
    for (uint32_t i = 0; i < count; i++) value_append(&defs[i], (const char *)from + defs[i].offset, text, bytes);
}

void options_print(const struct options *options, FILE *out)
{
    options_print_some(options->defs, options->count, out);
    fprintf(out, "  %-26s %s\n", "--help", "print this");
}

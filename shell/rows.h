/*
 * rows.h - rows of a table in a file: CSV (RFC 4180, with a line of names) or JSON lines (an object each). Both have
 * the same texts for values (value.h), so one leads back to the same bytes as the other.
 */
#pragma once

#include "options.h"
#include "relation.h"

#include <stdio.h>

enum rows_format { ROWS_CSV, ROWS_JSON };

extern const char *const rows_formats[]; /* their names, NULL-terminated */
/* clang-format off */
#define ROWS_FORMAT(at)                                                                                                \
    .name = "format", .help = "csv, or one JSON object a line",                                                        \
    .fallback = "json where FILE ends with .json or .jsonl, else csv", .kind = OPTION_CHOICE, .offset = at,            \
    .choices = rows_formats
/* clang-format on */
/* By name, or (NULL) by how the file's name ends: .json and .jsonl are JSON lines, all else CSV. */
enum rows_format rows_format_of(const char *name, const char *path);

/* The line of names, if the format has one. */
void rows_write_head(const struct relation *relation, enum rows_format format, FILE *out);
/* The relation's row and key. NOMEM; whether `out` took it, its error flag says. */
NODISCARD int rows_write(const struct relation *relation, enum rows_format format, FILE *out,
                         struct cellar_error *error);

struct rows_reader;
/* Reads the line of names. `name` is what messages call the file; it and the relation stay in use. */
NODISCARD int rows_reader_open(FILE *in, const char *name, enum rows_format format, struct relation *relation,
                               struct rows_reader **out, struct cellar_error *error);
void rows_reader_close(struct rows_reader *reader);
/* The next row, into the relation's row and key: 1; 0: there is none. Messages begin with file and line. */
NODISCARD int rows_read(struct rows_reader *reader, struct cellar_error *error);
/* The line at which the last row began. */
uint64_t rows_line(const struct rows_reader *reader);

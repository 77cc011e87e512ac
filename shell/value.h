/*
 * value.h - the bytes of a column as text, and back: printing and parsing lead to the same bytes. Numbers have the kind
 * of their type; bytes are text, unless the user says otherwise.
 */
#pragma once

#include "err.h"

#include <stdbool.h>

enum value_kind {
    VALUE_SIGNED,   /* 1, 2, 4 or 8 bytes */
    VALUE_UNSIGNED, /* likewise */
    VALUE_REAL,     /* 4 or 8 bytes; a NaN is shown by its bits */
    VALUE_TEXT,     /* UTF-8, zeros at its end left out; other bytes and backslashes as \x1b */
    VALUE_HEX,      /* two digits a byte, all of them */
    VALUE_KINDS
};

extern const char *const value_kind_names[VALUE_KINDS];
/* Has a column of so many bytes this kind? */
bool value_kind_fits(enum value_kind kind, uint32_t bytes);

/*
 * `text` has room for 4 characters a byte, and 32. one_line: newlines and tabs as \x0a, too. Returns the length; it is
 * terminated.
 */
uint32_t value_print(enum value_kind kind, const void *value, uint32_t bytes, bool one_line, char *text);
/* Strings of a length of their own, zeros at their end included. `text`: room for 4 characters a byte, and the end. */
uint32_t value_print_string(const void *value, uint32_t bytes, bool one_line, char *text);

/* INVALID, TOO_LARGE; the message says what is wrong with the text, and names neither file nor column. */
NODISCARD int value_parse(enum value_kind kind, const char *text, void *value, uint32_t bytes,
                          struct cellar_error *error);
/* Text to at most `capacity` bytes; their number in *bytes. */
NODISCARD int value_parse_string(const char *text, void *value, uint32_t capacity, uint32_t *bytes,
                                 struct cellar_error *error);
NODISCARD int value_parse_number(const char *text, uint64_t *number, struct cellar_error *error);

#include "value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const value_kind_names[VALUE_KINDS] = {"signed", "unsigned", "real", "text", "hex"};

bool value_kind_fits(enum value_kind kind, uint32_t bytes)
{
    if (kind == VALUE_REAL) return bytes == 4 || bytes == 8;
    return kind >= VALUE_TEXT || bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* ---- strings ---- */

/* How many bytes the character at `at` has, of `left`; 0: none begins here (RFC 3629). */
static uint32_t character_bytes(const uint8_t *at, uint32_t left)
{
    if (at[0] < 0x80) return 1;
    uint32_t bytes = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || left < bytes) return 0;
    for (uint32_t i = 1; i < bytes; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f)) return 0; /* too long, or a surrogate */
    if ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)) return 0;
    return bytes;
}

static bool shown_as_is(uint8_t byte, bool one_line)
{
    if (byte == '\n' || byte == '\t') return !one_line;
    return byte >= 0x20 && byte != 0x7f && byte != '\\';
}

uint32_t value_print_string(const void *value, uint32_t bytes, bool one_line, char *text)
{
    const uint8_t *from = value;
    char *to = text;
    for (uint32_t i = 0; i < bytes;) {
        uint32_t length = character_bytes(from + i, bytes - i);
        if (length && shown_as_is(from[i], one_line)) {
            memcpy(to, from + i, length);
            to += length;
            i += length;
        } else {
            to += sprintf(to, "\\x%02x", from[i++]);
        }
    }
    *to = 0;
    return (uint32_t)(to - text);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One escape, at its backslash: the byte, and how many characters it took; 0: none. */
static uint32_t escape_parse(const char *text, uint8_t *byte)
{
    if (text[1] == '\\') {
        *byte = '\\';
        return 2;
    }
    if (text[1] != 'x' || digit_of(text[2]) < 0 || digit_of(text[3]) < 0) return 0;
    *byte = (uint8_t)(digit_of(text[2]) * 16 + digit_of(text[3]));
    return 4;
}

int value_parse_string(const char *text, void *value, uint32_t capacity, uint32_t *bytes, struct cellar_error *error)
{
    uint8_t *to = value;
    uint32_t left = (uint32_t)strlen(text), taken;
    for (*bytes = 0; left; left -= taken, text += taken) {
        uint8_t escaped;
        uint32_t length = 1;
        if (*text == '\\') {
            taken = escape_parse(text, &escaped);
            if (!taken) return err_set(error, CELLAR_INVALID, "a backslash is written \\\\, a byte \\x1b");
        } else {
            taken = length = character_bytes((const uint8_t *)text, left);
            if (!taken) return err_set(error, CELLAR_INVALID, "invalid UTF-8: write other bytes as \\x1b");
        }
        if (*bytes + length > capacity)
            return err_set(error, CELLAR_TOO_LARGE, "longer than its %" PRIu32 " bytes", capacity);
        memcpy(to + *bytes, *text == '\\' ? (const void *)&escaped : text, length);
        *bytes += length;
    }
    return 0;
}

static uint32_t hex_print(const uint8_t *value, uint32_t bytes, char *text)
{
    for (uint32_t i = 0; i < bytes; i++) sprintf(text + 2 * (size_t)i, "%02x", value[i]);
    text[2 * (size_t)bytes] = 0;
    return 2 * bytes;
}

static int hex_parse(const char *text, uint8_t *value, uint32_t bytes, struct cellar_error *error)
{
    if (strlen(text) != 2 * (size_t)bytes)
        return err_set(error, CELLAR_INVALID, "%zu characters, where %" PRIu32 " hexadecimal digits are wanted",
                       strlen(text), 2 * bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        int high = digit_of(text[2 * (size_t)i]), low = digit_of(text[2 * (size_t)i + 1]);
        if (high < 0 || low < 0) return err_set(error, CELLAR_INVALID, "'%.40s' is not hexadecimal", text);
        value[i] = (uint8_t)(high * 16 + low);
    }
    return 0;
}

/* ---- numbers: in this host's order, least significant byte first ---- */

static uint64_t bits_of(const void *value, uint32_t bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, value, bytes);
    return bits;
}

static int64_t sign_extended(uint64_t bits, uint32_t bytes)
{
    unsigned unused = 64 - 8 * bytes;
    return (int64_t)(bits << unused) >> unused;
}

static uint32_t real_print(const void *value, uint32_t bytes, char *text)
{
    double number = 0;
    float narrow;
    if (bytes == 8) memcpy(&number, value, 8);
    if (bytes == 4) {
        memcpy(&narrow, value, 4);
        number = (double)narrow;
    }
    if (isnan(number)) return (uint32_t)sprintf(text, "0x%0*" PRIx64, 2 * (int)bytes, bits_of(value, bytes));
    return (uint32_t)sprintf(text, "%.*g", bytes == 4 ? 9 : 17, number);
}

static int real_parse(const char *text, void *value, uint32_t bytes, struct cellar_error *error)
{
    char *end;
    bool by_bits = text[0] == '0' && text[1] == 'x';
    errno = 0;
    uint64_t bits = by_bits ? strtoull(text, &end, 16) : 0;
    double number = by_bits ? 0 : strtod(text, &end);
    float narrow = (float)number;
    bool fits = by_bits ? errno != ERANGE && (bytes == 8 || bits <= UINT32_MAX)
                        : (errno != ERANGE || fabs(number) < 1) && (bytes == 8 || isinf(number) || !isinf(narrow));
    if (end == text || *end || strchr(" \t\n+", *text) || !fits)
        return err_set(error, CELLAR_INVALID, "'%.40s' is no number%s", text, *end || end == text ? "" : " that fits");
    if (by_bits)
        memcpy(value, &bits, bytes);
    else if (bytes == 8)
        memcpy(value, &number, bytes);
    else
        memcpy(value, &narrow, bytes);
    return 0;
}

int value_parse_number(const char *text, uint64_t *number, struct cellar_error *error)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (digit_of(*text) < 0 || *end)
        return err_set(error, CELLAR_INVALID, "'%.40s' is no whole number from 0 on", text);
    if (errno == ERANGE) return err_set(error, CELLAR_TOO_LARGE, "%.40s is more than 64 bits hold", text);
    return 0;
}

static int whole_parse(const char *text, bool is_signed, void *value, uint32_t bytes, struct cellar_error *error)
{
    uint64_t number;
    bool negative = *text == '-';
    int code = value_parse_number(text + negative, &number, error);
    if (code == CELLAR_INVALID)
        return err_set(error, CELLAR_INVALID, *text ? "'%.40s' is no whole number" : "empty%s: a number is wanted",
                       *text ? text : "");
    uint64_t largest = (UINT64_MAX >> (64 - 8 * bytes)) >> is_signed;
    if (negative && !is_signed && number) return err_set(error, CELLAR_INVALID, "'%.40s' is below zero", text);
    if (code || number > largest + (negative && is_signed))
        return err_set(error, CELLAR_TOO_LARGE, "%.40s does not fit into %" PRIu32 " bytes", text, bytes);
    if (negative) number = -number;
    memcpy(value, &number, bytes);
    return 0;
}

/* ---- any ---- */

uint32_t value_print(enum value_kind kind, const void *value, uint32_t bytes, bool one_line, char *text)
{
    switch (kind) {
    case VALUE_SIGNED:
        return (uint32_t)sprintf(text, "%" PRId64, sign_extended(bits_of(value, bytes), bytes));
    case VALUE_UNSIGNED:
        return (uint32_t)sprintf(text, "%" PRIu64, bits_of(value, bytes));
    case VALUE_REAL:
        return real_print(value, bytes, text);
    case VALUE_HEX:
        return hex_print(value, bytes, text);
    default:
        while (bytes && ((const uint8_t *)value)[bytes - 1] == 0) bytes--;
        return value_print_string(value, bytes, one_line, text);
    }
}

int value_parse(enum value_kind kind, const char *text, void *value, uint32_t bytes, struct cellar_error *error)
{
    uint32_t used;
    if (kind == VALUE_REAL) return real_parse(text, value, bytes, error);
    if (kind == VALUE_HEX) return hex_parse(text, value, bytes, error);
    if (kind != VALUE_TEXT) return whole_parse(text, kind == VALUE_SIGNED, value, bytes, error);
    int code = value_parse_string(text, value, bytes, &used, error);
    if (code == 0) memset((uint8_t *)value + used, 0, bytes - used);
    return code;
}

/*
 * history_line.c - the two kinds of lines of which a history has many, in exactly the form that history_write gives
 * them.
 */
#include "history_line.h"

#include "layout.h"

#include <string.h>

struct cursor {
    const char *at, *end;
};

/* ---- pieces ---- */

static bool text_skip(struct cursor *cursor, const char *text)
{
    size_t bytes = strlen(text);
    if ((size_t)(cursor->end - cursor->at) < bytes || memcmp(cursor->at, text, bytes) != 0) return false;
    cursor->at += bytes;
    return true;
}

static inline bool char_skip(struct cursor *cursor, char c)
{
    if (cursor->at == cursor->end || *cursor->at != c) return false;
    cursor->at++;
    return true;
}

/* Decimal digits; false where there is none, or the number has more than 64 bits. Nineteen digits never have. */
static inline bool decimal_read(struct cursor *cursor, uint64_t *number)
{
    const char *const first = cursor->at, *const end = cursor->end, *at = first;
    uint64_t value = 0, digit;

    for (; at < end && (digit = (unsigned char)(*at - '0')) < 10; at++) {
        if (at - first < 19)
            value = value * 10 + digit;
        else if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *number = value;
    cursor->at = at;
    return at > first;
}

/* JSON's whole numbers: no zeros before others. */
static inline bool number_read(struct cursor *cursor, uint64_t max, uint64_t *number)
{
    const char *first = cursor->at;
    return decimal_read(cursor, number) && (*first != '0' || cursor->at == first + 1) && *number <= max;
}

/* Of a hexadecimal digit its value and one more; 0: it is none. */
static const uint8_t hexadecimal[256] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

static inline bool hexadecimal_read(struct cursor *cursor, uint64_t *number)
{
    const char *const first = cursor->at, *const end = cursor->end, *at = first;
    uint64_t value = 0, digit;

    for (; at < end && (digit = hexadecimal[(unsigned char)*at]) != 0; at++) {
        if (value >> 60) return false;
        value = value << 4 | (digit - 1);
    }
    *number = value;
    cursor->at = at;
    return at > first;
}

/* A number of that base in quotes. */
static inline bool quoted_read(struct cursor *cursor, unsigned base, uint64_t *number)
{
    return char_skip(cursor, '"') && (base == 10 ? decimal_read(cursor, number) : hexadecimal_read(cursor, number)) &&
           char_skip(cursor, '"');
}

static bool part_read(struct cursor *cursor, char part, uint64_t *value)
{
    switch (part) {
    case 't':
        return number_read(cursor, UINT32_MAX, value);
    case 'k':
        return quoted_read(cursor, 10, value);
    case 'c':
        return number_read(cursor, HISTORY_PRESENCE, value);
    case 'e':
        return number_read(cursor, UINT16_MAX, value);
    case 's':
        return number_read(cursor, LAYOUT_TS_MAX, value);
    default:
        return quoted_read(cursor, 16, value);
    }
}

/* ---- lists ---- */

/* parts: 't' table, 'k' key, 'c' cell, 'e' EN, 's' TS, 'd' digest. */
struct list {
    const char *begin, *parts;
    enum history_kind kind;
};

static const struct list lists[] = {
    {",\"read\":[", "tkcesd", HISTORY_READ},     {",\"absent\":[", "tks", HISTORY_ABSENT},
    {",\"insert\":[", "tk", HISTORY_INSERT},     {",\"delete\":[", "tk", HISTORY_DELETE},
    {",\"write\":[", "tkcesesd", HISTORY_WRITE}, {",\"range\":[", "tkks", HISTORY_RANGE},
};

void history_line_access(enum history_kind kind, const uint64_t values[HISTORY_LINE_VALUES],
                         struct history_access *access)
{
    *access = (struct history_access){
        .kind = (uint8_t)kind, .cell = HISTORY_PRESENCE, .table_id = (uint32_t)values[0], .key = values[1]};
    if (kind == HISTORY_ABSENT) access->version = values[2];
    if (kind == HISTORY_RANGE) {
        access->over = values[2];
        access->version = values[3];
    }
    if (kind != HISTORY_READ && kind != HISTORY_WRITE) return;
    access->cell = (uint16_t)values[2];
    access->version = layout_version_of((uint16_t)values[3], values[4]);
    access->digest = values[kind == HISTORY_WRITE ? 7 : 5];
    if (kind == HISTORY_WRITE) access->over = layout_version_of((uint16_t)values[5], values[6]);
}

static bool entry_read(struct cursor *cursor, const struct list *list, struct history_access *access)
{
    uint64_t values[HISTORY_LINE_VALUES];
    for (uint32_t i = 0; list->parts[i]; i++)
        if (!char_skip(cursor, i ? ',' : '[') || !part_read(cursor, list->parts[i], &values[i])) return false;
    history_line_access(list->kind, values, access);
    return char_skip(cursor, ']') && (list->kind != HISTORY_WRITE || access->cell != HISTORY_PRESENCE);
}

/* The entries behind `begin`, one at least, and the list's end. */
static bool entries_read(struct cursor *cursor, const struct list *list, struct history_access *accesses,
                         uint32_t *count)
{
    do {
        if (!entry_read(cursor, list, &accesses[*count])) return false;
        ++*count;
    } while (char_skip(cursor, ','));
    return char_skip(cursor, ']');
}

/* ---- lines ---- */

static bool outcome_read(struct cursor *cursor, uint32_t *outcome)
{
    if (text_skip(cursor, "\"committed\""))
        *outcome = HISTORY_COMMITTED;
    else if (text_skip(cursor, "\"failed\""))
        *outcome = HISTORY_FAILED;
    else if (text_skip(cursor, "\"indeterminate\""))
        *outcome = HISTORY_INDETERMINATE;
    else if (text_skip(cursor, "\"aborted\""))
        *outcome = HISTORY_ABORTED;
    else
        return false;
    return true;
}

static bool head_read(struct cursor *cursor, struct history_txn *txn)
{
    uint64_t cn, coordinator;
    *txn = (struct history_txn){0};
    if (!text_skip(cursor, "{\"txn\":") || !number_read(cursor, INT64_MAX, &txn->id)) return false;
    if (!text_skip(cursor, ",\"cn\":") || !number_read(cursor, UINT32_MAX, &cn)) return false;
    if (!text_skip(cursor, ",\"coordinator\":") || !number_read(cursor, UINT32_MAX, &coordinator)) return false;
    if (!text_skip(cursor, ",\"begin\":") || !number_read(cursor, INT64_MAX, &txn->begin_ns)) return false;
    if (!text_skip(cursor, ",\"end\":") || !number_read(cursor, INT64_MAX, &txn->end_ns)) return false;
    if (!text_skip(cursor, ",\"outcome\":") || !outcome_read(cursor, &txn->outcome)) return false;
    if (!text_skip(cursor, ",\"ts\":") || !number_read(cursor, LAYOUT_TS_MAX, &txn->ts)) return false;
    txn->cn = (uint32_t)cn;
    txn->coordinator = (uint32_t)coordinator;
    return txn->begin_ns <= txn->end_ns;
}

bool history_line_txn(const char *line, size_t bytes, struct history_txn *txn, struct history_access *accesses)
{
    struct cursor cursor = {line, line + bytes};
    if (!head_read(&cursor, txn)) return false;
    for (uint32_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (text_skip(&cursor, lists[i].begin) && !entries_read(&cursor, &lists[i], accesses, &txn->count))
            return false;
    for (uint32_t i = 0; i < txn->count; i++)
        if (accesses[i].kind == HISTORY_INSERT || accesses[i].kind == HISTORY_DELETE) accesses[i].version = txn->ts;
    return text_skip(&cursor, "}") && cursor.at == cursor.end;
}

bool history_line_states(const char *line, size_t bytes, const char *begin, struct history_access *accesses,
                         uint32_t *count)
{
    const struct list states = {begin, "tkcesd", HISTORY_READ};
    struct cursor cursor = {line, line + bytes};
    *count = 0;
    if (!text_skip(&cursor, states.begin) || !entries_read(&cursor, &states, accesses, count)) return false;
    return text_skip(&cursor, "}") && cursor.at == cursor.end;
}

#include "rowkey.h"

#include "printed.h"
#include "schema.h"

#include <inttypes.h>
#include <stdio.h>

#define PRINTED_BYTES 48 /* of a string: the rest is cut off */

bool rowkey_lay_out(struct rowkey *key)
{
    uint32_t at = 0;
    key->wide = false;
    if (key->count > ROWKEY_PARTS_MAX) return false;
    for (uint32_t i = 0; i < key->count; i++) {
        struct rowkey_part *part = &key->parts[i];
        bool is_bytes = part->type == CELLAR_BYTES;
        if (!schema_type_sane(part->type, part->bytes) || part->bytes > CELLAR_KEY_BYTES_MAX) return false;
        part->at = (uint16_t)at;
        at += part->bytes;
        if (is_bytes && !rowkey_is_open(key, part)) at += ROWKEY_LENGTH_BYTES;
        key->wide = key->wide || is_bytes;
    }
    if (at > CELLAR_KEY_BYTES_MAX) return false;
    key->bytes = (uint16_t)at;
    key->wide = key->wide || at > sizeof(uint64_t);
    for (uint32_t i = 0; i < key->count; i++) {
        struct rowkey_part *part = &key->parts[i];
        part->shift = key->wide ? 0 : (uint8_t)((at - part->at - part->bytes) * 8);
    }
    return true;
}

/* ---- ranks ---- */

static uint64_t sign_of(uint32_t bytes) { return 1ull << (bytes * 8 - 1); }
static uint64_t mask_of(uint32_t bytes) { return UINT64_MAX >> (64 - bytes * 8); }
/* Of an infinity, without its sign: what is above is NaN. */
static uint64_t infinity_of(uint32_t bytes) { return bytes == 4 ? 0x7f800000u : 0x7ff0000000000000u; }

uint64_t rowkey_float_rank(uint32_t bytes, uint64_t bits)
{
    uint64_t sign = sign_of(bytes), rest = bits & ~sign;
    if (rest > infinity_of(bytes)) return mask_of(bytes);
    if (rest == 0) return sign;
    return bits & sign ? ~bits & mask_of(bytes) : bits | sign;
}

static uint64_t float_of(uint32_t bytes, uint64_t rank)
{
    uint64_t sign = sign_of(bytes);
    return rank & sign ? rank & ~sign : ~rank & mask_of(bytes);
}

/* The value of a number that has that rank. */
static void unrank(uint32_t type, uint32_t bytes, uint64_t rank, void *value)
{
    if (type == CELLAR_INT) rank ^= sign_of(bytes);
    if (type == CELLAR_FLOAT) rank = float_of(bytes, rank);
    memcpy(value, &rank, bytes);
}

/* ---- bytes ---- */

static bool is_ranked(uint32_t type) { return type != CELLAR_FIXED && type != CELLAR_BYTES; }

static uint64_t big_endian_get(const uint8_t *from, uint32_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < bytes; i++) number = number << 8 | from[i];
    return number;
}

static void big_endian_put(uint64_t number, uint32_t bytes, uint8_t *to)
{
    for (uint32_t i = bytes; i-- > 0; number >>= 8) to[i] = (uint8_t)number;
}

uint32_t rowkey_field_put(uint32_t type, uint32_t bytes, const void *field, uint8_t *to)
{
    struct cellar_bytes text;
    if (is_ranked(type)) big_endian_put(rowkey_rank(type, bytes, field), bytes, to);
    if (type == CELLAR_FIXED) memcpy(to, field, bytes);
    if (type != CELLAR_BYTES) return bytes;
    memcpy(&text, field, sizeof text);
    if (text.bytes) memcpy(to, text.data, text.bytes);
    memset(to + text.bytes, 0, bytes - text.bytes);
    big_endian_put(text.bytes, ROWKEY_LENGTH_BYTES, to + bytes);
    return bytes + ROWKEY_LENGTH_BYTES;
}

bool rowkey_field_take(uint32_t type, uint32_t bytes, const uint8_t *from, void *field)
{
    if (is_ranked(type)) unrank(type, bytes, big_endian_get(from, bytes), field);
    if (type == CELLAR_FIXED) memcpy(field, from, bytes);
    if (type != CELLAR_BYTES) return true;
    struct cellar_bytes text = {from, big_endian_get(from + bytes, ROWKEY_LENGTH_BYTES)};
    memcpy(field, &text, sizeof text);
    return text.bytes <= bytes;
}

uint32_t rowkey_pack(const struct rowkey *key, const struct rowkey_part *part, const void *value, uint8_t *packed)
{
    uint8_t *to = packed + part->at;
    if (!rowkey_is_open(key, part)) return part->at + rowkey_field_put(part->type, part->bytes, value, to);
    struct cellar_bytes text;
    memcpy(&text, value, sizeof text);
    if (text.bytes) memcpy(to, text.data, text.bytes);
    return part->at + (uint32_t)text.bytes;
}

static struct cellar_bytes text_of(const struct rowkey *key, const struct rowkey_part *part, const uint8_t *packed,
                                   uint32_t bytes)
{
    const uint8_t *from = packed + part->at;
    bool open = rowkey_is_open(key, part);
    return (struct cellar_bytes){from,
                                 open ? bytes - part->at : big_endian_get(from + part->bytes, ROWKEY_LENGTH_BYTES)};
}

void rowkey_take(const struct rowkey *key, const struct rowkey_part *part, const uint8_t *packed, uint32_t bytes,
                 void *value)
{
    struct cellar_bytes text = {packed + part->at, bytes - part->at};
    if (rowkey_is_open(key, part))
        memcpy(value, &text, sizeof text);
    else
        (void)!rowkey_field_take(part->type, part->bytes, text.data, value);
}

/* A float whose value has another form, too, is of that form; what follows a text is zero. */
static bool part_sane(const struct rowkey *key, const struct rowkey_part *part, const uint8_t *packed, uint32_t bytes)
{
    const uint8_t *from = packed + part->at;
    if (part->type == CELLAR_FLOAT) {
        uint64_t rank = big_endian_get(from, part->bytes);
        return rowkey_float_rank(part->bytes, float_of(part->bytes, rank)) == rank;
    }
    if (part->type != CELLAR_BYTES || rowkey_is_open(key, part)) return true;
    struct cellar_bytes text = text_of(key, part, packed, bytes);
    if (text.bytes > part->bytes) return false;
    for (uint32_t i = (uint32_t)text.bytes; i < part->bytes; i++)
        if (from[i]) return false;
    return true;
}

bool rowkey_sane(const struct rowkey *key, const uint8_t *packed, uint32_t bytes)
{
    const struct rowkey_part *last = &key->parts[key->count - 1];
    bool open = rowkey_is_open(key, last);
    if (bytes > key->bytes || bytes < (open ? last->at : key->bytes)) return false;
    for (uint32_t i = 0; i < key->count; i++)
        if (!part_sane(key, &key->parts[i], packed, bytes)) return false;
    return true;
}

/* ---- numbers ---- */

bool rowkey_covers(const struct rowkey *key)
{
    bool exact = true;
    for (uint32_t i = 0; i < key->count; i++) exact = exact && key->parts[i].type != CELLAR_FLOAT;
    return key->count == 0 || key->wide || (key->bytes == sizeof(uint64_t) && exact);
}

bool rowkey_has(const struct rowkey *key, uint64_t number)
{
    uint8_t packed[sizeof number];
    if (key->count == 0 || key->wide) return true;
    if (key->bytes < sizeof number && number >> key->bytes * 8) return false;
    big_endian_put(number, key->bytes, packed);
    return rowkey_sane(key, packed, key->bytes);
}

/* ---- to be read ---- */

static void text_print(const void *data, size_t bytes, char *text, size_t capacity)
{
    uint32_t shown = bytes < PRINTED_BYTES ? (uint32_t)bytes : PRINTED_BYTES;
    char printed[4 * PRINTED_BYTES + 1];
    (void)printed_bytes(printed, sizeof printed, data, shown);
    snprintf(text, capacity, "%s%s", printed, bytes > shown ? "..." : "");
}

static void float_print(uint32_t bytes, uint64_t bits, char *text, size_t capacity)
{
    float single;
    double value;
    memcpy(&single, &bits, sizeof single);
    memcpy(&value, &bits, sizeof value);
    if (bytes == sizeof single)
        snprintf(text, capacity, "%.9g", (double)single);
    else
        snprintf(text, capacity, "%.17g", value);
}

static void part_print(const struct rowkey *key, const struct rowkey_part *part, const uint8_t *packed, uint32_t bytes,
                       char *text, size_t capacity)
{
    struct cellar_bytes value = {packed + part->at, part->bytes};
    uint64_t number = 0;
    if (part->type == CELLAR_BYTES) value = text_of(key, part, packed, bytes);
    if (!is_ranked(part->type)) {
        text_print(value.data, value.bytes, text, capacity);
        return;
    }
    rowkey_take(key, part, packed, bytes, &number);
    if (part->type == CELLAR_FLOAT) float_print(part->bytes, number, text, capacity);
    if (part->type == CELLAR_UINT) snprintf(text, capacity, "%" PRIu64, number);
    number = (number ^ sign_of(part->bytes)) - sign_of(part->bytes); /* all 64 bits have its sign */
    if (part->type == CELLAR_INT) snprintf(text, capacity, "%" PRId64, (int64_t)number);
}

void rowkey_print(const struct rowkey *key, const uint8_t *packed, uint32_t bytes, char *text, size_t capacity)
{
    size_t length = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < key->count && length + 1 < capacity; i++) {
        length += (size_t)snprintf(text + length, capacity - length, "%s%s ", i ? ", " : "", key->parts[i].name);
        if (length + 1 >= capacity) return;
        part_print(key, &key->parts[i], packed, bytes, text + length, capacity - length);
        length += strlen(text + length);
    }
}

void rowkey_number_take(const struct rowkey *key, const struct rowkey_part *part, uint64_t number, void *value)
{
    uint8_t packed[sizeof number];
    big_endian_put(number, key->bytes, packed);
    rowkey_take(key, part, packed, key->bytes, value);
}

void rowkey_print_number(const struct rowkey *key, uint64_t number, char *text, size_t capacity)
{
    uint8_t packed[sizeof number];
    big_endian_put(number, key->bytes, packed);
    rowkey_print(key, packed, key->bytes, text, capacity);
}

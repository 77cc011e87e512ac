/*
 * db_keys.c - keys and values as an embedder makes and reads them (cellar.h; docs/keys.md, docs/values.md): tuples as
 * bytes. Pure functions.
 */
#include "bytekey.h"
#include "numbered.h"
#include "err.h"
#include "extent.h"
#include "printed.h"

#include <limits.h>
#include <string.h>

int cellar_key_set(void *key, size_t capacity, const void *text, size_t bytes)
{
    struct bytekey to = {.bytes = (uint16_t)bytes};
    if (!key || !text || bytes == 0) return err_last_code(CELLAR_INVALID);
    if (bytes > CELLAR_KEY_BYTES_MAX || capacity < BYTEKEY_HEAD_BYTES + bytes) return err_last_code(CELLAR_TOO_LARGE);
    memcpy(to.text, text, bytes);
    memcpy(key, &to, capacity < sizeof to ? capacity : sizeof to);
    return 0;
}

int cellar_value_set(void *value, size_t capacity, const void *data, size_t bytes)
{
    struct extent_value head = {.bytes = (uint32_t)bytes};
    if (bytes > UINT32_MAX || capacity < EXTENT_HEAD_BYTES || bytes > capacity - EXTENT_HEAD_BYTES)
        return err_last_code(CELLAR_TOO_LARGE);
    if (!value || (!data && bytes)) return err_last_code(CELLAR_INVALID);
    memset(value, 0, capacity);
    memcpy(value, &head, EXTENT_HEAD_BYTES);
    if (bytes) memcpy((uint8_t *)value + EXTENT_HEAD_BYTES, data, bytes);
    return 0;
}

/* ---- tuples ---- */

/*
 * A number is 8 bytes, most significant first, a signed one's with its sign bit turned over. Bytes stand as they are,
 * each 0 followed by 255, and end with two zeros: so no tuple's bytes begin with those of another of the same types,
 * and a shorter string comes first. All bytes of a descending part are turned over.
 */
struct packing {
    uint8_t *to;
    uint32_t capacity, bytes;
    uint8_t turn; /* 255 in a descending part */
};

static void byte_add(struct packing *packing, uint8_t byte)
{
    if (packing->bytes < packing->capacity) packing->to[packing->bytes] = byte ^ packing->turn;
    if (packing->bytes <= packing->capacity) packing->bytes++; /* one too many says enough, and never wraps */
}

static void number_add(struct packing *packing, uint64_t number)
{
    for (int shift = 56; shift >= 0; shift -= 8) byte_add(packing, (uint8_t)(number >> shift));
}

int cellar_key_pack(void *key, uint32_t capacity, const struct cellar_key_part *parts, uint32_t count)
{
    struct packing packing = {.to = key, .capacity = capacity < INT_MAX ? capacity : INT_MAX - 1};
    for (uint32_t i = 0; i < count; i++) {
        const struct cellar_key_part *part = &parts[i];
        packing.turn = part->descending ? 255 : 0;
        if ((uint32_t)part->sort > CELLAR_SORT_BYTES || (part->bytes && !part->data))
            return err_last_code(CELLAR_INVALID);
        if (part->sort != CELLAR_SORT_BYTES)
            number_add(&packing, part->number ^ (part->sort == CELLAR_SORT_SIGNED ? 1ull << 63 : 0));
        for (uint32_t k = 0; part->sort == CELLAR_SORT_BYTES && k < part->bytes && packing.bytes <= packing.capacity;
             k++) {
            uint8_t byte = ((const uint8_t *)part->data)[k];
            byte_add(&packing, byte);
            if (byte == 0) byte_add(&packing, 255);
        }
        for (int k = 0; part->sort == CELLAR_SORT_BYTES && k < 2; k++) byte_add(&packing, 0);
        if (packing.bytes > packing.capacity) return err_last_code(CELLAR_TOO_LARGE);
    }
    return (int)packing.bytes;
}

struct unpacking {
    const uint8_t *from;
    uint32_t bytes, at;
    uint8_t turn;
};

/* The next byte; -1: there is none. */
static int byte_take(struct unpacking *unpacking)
{
    if (unpacking->at == unpacking->bytes) return -1;
    return unpacking->from[unpacking->at++] ^ unpacking->turn;
}

static bool number_take(struct unpacking *unpacking, uint64_t *number)
{
    *number = 0;
    for (int i = 0; i < 8; i++) {
        int byte = byte_take(unpacking);
        if (byte < 0) return false;
        *number = *number << 8 | (uint64_t)byte;
    }
    return true;
}

/* Into `to`; false: it does not end, or not there. */
static bool string_take(struct unpacking *unpacking, uint8_t *to, uint32_t capacity, uint32_t *bytes)
{
    *bytes = 0;
    for (;;) {
        int byte = byte_take(unpacking);
        int after = byte == 0 ? byte_take(unpacking) : 255;
        if (byte < 0 || (after != 255 && after != 0)) return false;
        if (byte == 0 && after == 0) return true;
        if (*bytes == capacity) return false;
        to[(*bytes)++] = (uint8_t)byte;
    }
}

int cellar_key_unpack(const void *key, uint32_t bytes, struct cellar_key_part *parts, uint32_t count, void *strings,
                      uint32_t capacity)
{
    struct unpacking unpacking = {.from = key, .bytes = bytes};
    uint8_t *to = strings;
    for (uint32_t i = 0; i < count; i++) {
        struct cellar_key_part *part = &parts[i];
        unpacking.turn = part->descending ? 255 : 0;
        if ((uint32_t)part->sort > CELLAR_SORT_BYTES) return err_last_code(CELLAR_INVALID);
        if (part->sort == CELLAR_SORT_BYTES) {
            if (!string_take(&unpacking, to, capacity, &part->bytes)) return err_last_code(CELLAR_INVALID);
            part->data = to;
            to += part->bytes;
            capacity -= part->bytes;
        } else if (!number_take(&unpacking, &part->number)) {
            return err_last_code(CELLAR_INVALID);
        } else if (part->sort == CELLAR_SORT_SIGNED) {
            part->number ^= 1ull << 63;
        }
    }
    return unpacking.at == bytes ? 0 : err_last_code(CELLAR_INVALID);
}

uint32_t cellar_key_print(char *text, uint32_t capacity, const void *key, uint32_t bytes)
{
    return printed_bytes(text, capacity, key, bytes);
}

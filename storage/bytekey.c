#include "bytekey.h"

#include "storage_plants.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(offsetof(struct bytekey, text) == BYTEKEY_HEAD_BYTES, "CELLAR_KEY declares the same");

uint64_t bytekey_number(const void *key, uint32_t bytes)
{
    return PLANT_KEY_HASH(XXH3_64bits(key, bytes)) & ~BYTEKEY_TWIN_MASK;
}

bool bytekey_sane(const struct bytekey *key, uint32_t key_bytes, uint64_t number)
{
    if (key->bytes > key_bytes || key->twins > BYTEKEY_TWIN_MASK) return false;
    if (bytekey_twin(number) && key->twins) return false;
    return bytekey_number(key->text, key->bytes) == bytekey_first(number);
}

bool bytekey_same(const struct bytekey *key, const void *bytes, uint32_t count)
{
    return (key->bytes == count && memcmp(key->text, bytes, count) == 0) || PLANT(bytekey_twin_taken);
}

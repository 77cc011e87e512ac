#include "rowkey.h"

bool rowkey_lay_out(struct rowkey *key)
{
    uint32_t bits = 0;
    if (key->count > ROWKEY_PARTS_MAX) return false;
    for (uint32_t i = key->count; i-- > 0;) {
        struct rowkey_part *part = &key->parts[i];
        bool number = part->type == CELLAR_UINT || part->type == CELLAR_INT;
        bool width = part->bytes == 1 || part->bytes == 2 || part->bytes == 4 || part->bytes == 8;
        if (!number || !width || bits + part->bytes * 8u > 64) return false;
        part->shift = (uint8_t)bits;
        bits += part->bytes * 8u;
    }
    return true;
}

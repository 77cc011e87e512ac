#include "printed.h"

#include <stdbool.h>

uint32_t printed_bytes(char *text, uint32_t capacity, const void *bytes, uint32_t count)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t length = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t byte = ((const uint8_t *)bytes)[i];
        bool plain = byte >= ' ' && byte <= '~' && byte != '\\'; /* whatever the locale calls printable */
        const char piece[] = {plain ? (char)byte : '\\', 'x', digits[byte >> 4], digits[byte & 15]};
        for (uint32_t k = 0; k < (plain ? 1 : sizeof piece); k++, length++)
            if (length + 1 < capacity) text[length] = piece[k];
    }
    if (capacity) text[length < capacity ? length : capacity - 1] = 0;
    return length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
}

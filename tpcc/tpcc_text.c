#include "tpcc_text.h"

#include "must.h"

#include <string.h>

#define PAIR_BITS 12
#define PAIRS_A_NUMBER 5 /* of the 64 random bits, 60 are used */

void tpcc_text_init(struct tpcc_text *text)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789xz";
    _Static_assert(sizeof(alphabet) == 65, "six bits choose a character");
    for (uint32_t i = 0; i < 4096; i++) {
        text->pairs[i][0] = alphabet[i & 63];
        text->pairs[i][1] = alphabet[i >> 6];
    }
}

void tpcc_text_fill(const struct tpcc_text *text, struct prng *prng, char *to, uint32_t bytes)
{
    while (bytes > 0) {
        uint64_t random = prng_next(prng);
        char ten[2 * PAIRS_A_NUMBER];
        for (uint32_t i = 0; i < PAIRS_A_NUMBER; i++, random >>= PAIR_BITS)
            memcpy(ten + 2 * i, text->pairs[random & ((1u << PAIR_BITS) - 1)], 2);
        if (bytes < sizeof(ten)) {
            memcpy(to, ten, bytes);
            return;
        }
        memcpy(to, ten, sizeof(ten));
        to += sizeof(ten);
        bytes -= (uint32_t)sizeof(ten);
    }
}

uint32_t tpcc_text_random(const struct tpcc_text *text, struct prng *prng, char *to, uint32_t low, uint32_t bytes)
{
    uint32_t length = (uint32_t)prng_between(prng, low, bytes);
    tpcc_text_fill(text, prng, to, length);
    memset(to + length, 0, bytes - length);
    return length;
}

void tpcc_text_digits(struct prng *prng, char *to, uint32_t bytes)
{
    must(bytes <= 16);
    uint64_t number = prng_below(prng, 10000000000000000ull);
    for (uint32_t i = 0; i < bytes; i++, number /= 10) to[i] = (char)('0' + number % 10);
}

void tpcc_text_data(const struct tpcc_text *text, struct prng *prng, char to[50])
{
    uint32_t length = tpcc_text_random(text, prng, to, 26, 50);
    if (prng_below(prng, 10) == 0) memcpy(to + prng_between(prng, 0, length - 8), "ORIGINAL", 8);
}

void tpcc_text_last_name(uint32_t number, char to[16])
{
    static const char *const syllables[10] = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                              "ESE", "ANTI",  "CALLY", "ATION", "EING"};
    const uint32_t digits[3] = {number / 100 % 10, number / 10 % 10, number % 10};
    memset(to, 0, 16);
    for (uint32_t i = 0, at = 0; i < 3; i++) {
        size_t bytes = strlen(syllables[digits[i]]);
        memcpy(to + at, syllables[digits[i]], bytes);
        at += (uint32_t)bytes;
    }
}

/*
 * Horspool's search: looks at each eighth character at first, and steps by how far the last place of that character in
 * the pattern is from its end. Of random text it looks at about seven characters of the fifty.
 */
bool tpcc_text_is_original(const char data[50])
{
    static const uint8_t step[256] = {['O'] = 7, ['R'] = 6, ['I'] = 3, ['G'] = 4, ['N'] = 2, ['A'] = 1};
    for (uint32_t last = 7; last < 50;) {
        uint8_t character = (uint8_t)data[last];
        if (character == 'L' && memcmp(data + last - 7, "ORIGINAL", 8) == 0) return true;
        last += step[character] ? step[character] : 8;
    }
    return false;
}

/* Decimal digits of a number and one character after them; returns where the text goes on. */
static char *append_number(char *to, uint64_t number, char after)
{
    char digits[20];
    uint32_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) *to++ = digits[--count];
    *to++ = after;
    return to;
}

void tpcc_text_prepend(const struct tpcc_note *note, char *data, uint32_t bytes)
{
    char text[100]; /* five 32-bit numbers, one of 64 bits, a sign, the point and six characters between */
    must(bytes >= sizeof(text));
    char *end = append_number(text, note->c_id, ' ');
    end = append_number(end, note->c_d_id, ' ');
    end = append_number(end, note->c_w_id, ' ');
    end = append_number(end, note->d_id, ' ');
    end = append_number(end, note->w_id, ' ');
    end = append_number(end, (uint64_t)note->h_amount / 100, '.');
    *end++ = (char)('0' + note->h_amount / 10 % 10);
    *end++ = (char)('0' + note->h_amount % 10);
    *end++ = ' ';
    uint32_t length = (uint32_t)(end - text);
    memmove(data + length, data, bytes - length);
    memcpy(data, text, length);
}

void tpcc_text_history(const char w_name[10], const char d_name[10], char to[24])
{
    size_t w_bytes = strnlen(w_name, 10), d_bytes = strnlen(d_name, 10);
    memset(to, 0, 24);
    memcpy(to, w_name, w_bytes);
    memset(to + w_bytes, ' ', 4);
    memcpy(to + w_bytes + 4, d_name, d_bytes);
}

/* hmac.c - SHA-256 in one pass over memory, and HMAC on top of it. */
#include "hmac.h"
#include "must.h"

#include <string.h>

#define BLOCK 64
#define MESSAGE_MAX 512

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

static uint32_t load_big(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void compress(uint32_t state[8], const uint8_t block[BLOCK])
{
    uint32_t w[64], s[8];

    for (int i = 0; i < 16; i++) w[i] = load_big(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t low = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t high = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t sum1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25), choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t sum0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t first = s[7] + sum1 + choice + round_constants[i] + w[i];
        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += first;
        s[0] = first + sum0 + majority;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

void hmac_sha256(const void *bytes, size_t count, uint8_t digest[HMAC_BYTES])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t tail[2 * BLOCK] = {0};
    const uint8_t *at = bytes;
    size_t left = count;

    for (; left >= BLOCK; at += BLOCK, left -= BLOCK) compress(state, at);
    if (left > 0) memcpy(tail, at, left);
    tail[left] = 0x80;
    size_t tail_bytes = left + 9 > BLOCK ? 2 * BLOCK : BLOCK;
    for (int i = 0; i < 8; i++) tail[tail_bytes - 1 - (size_t)i] = (uint8_t)((uint64_t)count * 8 >> 8 * i);
    for (size_t i = 0; i < tail_bytes; i += BLOCK) compress(state, tail + i);
    for (int i = 0; i < 32; i++) digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void hmac(const void *key, size_t key_bytes, const void *bytes, size_t count, uint8_t digest[HMAC_BYTES])
{
    uint8_t block[BLOCK] = {0}, inner[BLOCK + MESSAGE_MAX], outer[BLOCK + HMAC_BYTES];

    must(count <= MESSAGE_MAX);
    if (key_bytes > BLOCK)
        hmac_sha256(key, key_bytes, block);
    else if (key_bytes > 0)
        memcpy(block, key, key_bytes);
    for (int i = 0; i < BLOCK; i++) {
        inner[i] = block[i] ^ 0x36;
        outer[i] = block[i] ^ 0x5c;
    }
    if (count > 0) memcpy(inner + BLOCK, bytes, count);
    hmac_sha256(inner, BLOCK + count, outer + BLOCK);
    hmac_sha256(outer, sizeof outer, digest);
}

bool hmac_equal(const void *a, const void *b, size_t count)
{
    const uint8_t *x = a, *y = b;
    uint8_t differs = 0;

    for (size_t i = 0; i < count; i++) differs |= x[i] ^ y[i];
    return differs == 0;
}

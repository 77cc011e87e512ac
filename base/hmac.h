/*
 * hmac.h - HMAC-SHA-256 (FIPS 180-4, RFC 2104): how the two ends of a connection prove that they know a secret. Small and slow: a few
 * calls for each connection, never on a transaction's path.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HMAC_BYTES 32

void hmac_sha256(const void *bytes, size_t count, uint8_t digest[HMAC_BYTES]);
/* Of `count` bytes, at most 512, under a key of any length. */
void hmac(const void *key, size_t key_bytes, const void *bytes, size_t count, uint8_t digest[HMAC_BYTES]);
/* Compares in the same time whatever differs. */
bool hmac_equal(const void *a, const void *b, size_t count);

/*
 * history_digest.h - the digest by which histories know a value: equal bytes, equal digest, on every machine.
 */
#pragma once

#include "record.h"

/* xxh3 of the bytes; never 0. */
uint64_t history_digest(const void *value, uint32_t bytes);
/*
 * Of a cell's value in a record's image: all its columns with the padding between and behind them, which is zero; as
 * a log entry has it.
 */
uint64_t history_digest_cell(const struct schema *schema, const uint8_t *image, uint32_t cell);

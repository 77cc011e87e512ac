/*
 * docs.h - what tests of values of variable length share: a table `docs` with two such columns, and a session.
 */
#pragma once

#include "engine_config.h"
#include "numbered.h"
#include "prng.h"
#include "sessions.h"

#include <stdlib.h>

#define DOCS_ROOM 24

struct doc {
    uint64_t stamp;
    CELLAR_VALUE(DOCS_ROOM) text;
    CELLAR_VALUE(8) blob;
};
static const struct cellar_schema_column doc_columns[] = {
    CELLAR_COLUMN(struct doc, stamp), CELLAR_COLUMN(struct doc, text), CELLAR_COLUMN(struct doc, blob)};
enum { DOC_STAMP, DOC_TEXT, DOC_BLOB, DOC_COLUMNS };

struct docs {
    struct api api;
    const struct cellar_table *table;
    struct session *session;
    uint8_t *want, *got; /* CELLAR_VALUE_BYTES_MAX + 1 */
};

static inline bool docs_possible(const struct api_variant *variant)
{
    return sessions_possible(variant) && variant->cc != CELLAR_LAB_CC_MOTOR;
}

static inline struct cellar_schema docs_schema(void)
{
    return (struct cellar_schema){.name = "docs",
                                  .row_bytes = sizeof(struct doc),
                                  .columns = doc_columns,
                                  .column_count = DOC_COLUMNS,
                                  .records_max = 100,
                                  .variable = CELLAR_BIT(DOC_TEXT) | CELLAR_BIT(DOC_BLOB)};
}

static inline bool docs_open_with(struct docs *docs, const struct api_variant *variant, struct engine_config config)
{
    if (!docs_possible(variant)) return false;
    struct cellar_schema schema = docs_schema();
    config.log_bytes = 8 << 20;
    config.pool_bytes = 128 << 20;
    config.coros = 1;
    api_open_with(&docs->api, variant, config);
    MUST(&docs->api.error, db_table_create(docs->api.db, &schema, &docs->table, &docs->api.error));
    docs->session = sessions_opened(&docs->api);
    docs->want = malloc(CELLAR_VALUE_BYTES_MAX + 1);
    docs->got = malloc(CELLAR_VALUE_BYTES_MAX + 1);
    assert_true(docs->want && docs->got);
    return true;
}

static inline bool docs_open(struct docs *docs, const struct api_variant *variant)
{
    return docs_open_with(docs, variant, (struct engine_config){0});
}

static inline void docs_close(struct docs *docs)
{
    session_close(docs->session);
    api_close(&docs->api);
    free(docs->want);
    free(docs->got);
}

/* Bytes that follow from a seed; so a piece of another value shows. */
static inline void docs_fill(uint8_t *bytes, uint64_t count, uint64_t seed)
{
    struct prng prng;
    prng_seed(&prng, seed);
    for (uint64_t i = 0; i < count; i += 8) {
        uint64_t word = prng_next(&prng);
        memcpy(bytes + i, &word, count - i < 8 ? count - i : 8);
    }
}

static inline struct doc docs_row(uint64_t stamp)
{
    struct doc doc = {.stamp = stamp};
    if (cellar_value_set(&doc.text, sizeof doc.text, "short", 5)) abort();
    if (cellar_value_set(&doc.blob, sizeof doc.blob, "", 0)) abort();
    memset(doc.text.head + 5, 0x77, DOCS_ROOM - 5); /* no affair of the caller's */
    doc.text.sum = 9;
    return doc;
}

static inline void docs_insert(struct docs *docs, uint64_t key)
{
    struct doc doc = docs_row(key);
    struct cellar_txn *txn = sessions_begun(docs->session);
    assert_code(cellar_txn_insert(txn, docs->table, key, &doc), 0);
    assert_code(session_commit(txn, NULL), 0);
}

/* The text gets so many bytes, which follow from that. */
static inline void docs_put(struct docs *docs, uint64_t key, size_t bytes)
{
    struct cellar_txn *txn = sessions_begun(docs->session);
    docs_fill(docs->want, bytes, bytes);
    assert_code(cellar_txn_put_bytes(txn, docs->table, key, DOC_TEXT, docs->want, bytes), 0);
    assert_code(session_commit(txn, NULL), 0);
}

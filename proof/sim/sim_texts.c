#include "sim_texts.h"

#include "db_schema.h"
#include "sim_cells.h"

#include <stdio.h>
#include <string.h>

#define KEYS 4
#define HEAD_BYTES 16 /* whose it is, and how long */

struct text_row {
    uint64_t stamp;
    CELLAR_VALUE(24) text;
};
enum { TEXT_STAMP, TEXT_TEXT };

int sim_texts_make(struct cellar *db, const struct cellar_table **table, struct cellar_error *error)
{
    static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct text_row, stamp),
                                                          CELLAR_COLUMN(struct text_row, text)};
    const struct cellar_schema schema = {.name = "texts",
                                         .row_bytes = sizeof(struct text_row),
                                         .columns = columns,
                                         .column_count = 2,
                                         .records_max = KEYS,
                                         .variable = CELLAR_BIT(TEXT_TEXT),
                                         .long_bytes = KEYS * SIM_TEXTS_BYTES_MAX};
    return db_table_create(db, &schema, table, error);
}

/* ---- values ---- */

static uint64_t word_of(uint64_t id, uint64_t bytes, uint64_t i)
{
    return i == 0 ? id : i == 1 ? bytes : sim_cells_mix(sim_cells_mix(id, bytes), i);
}

static void text_make(struct sim_texts *texts, uint32_t key, uint64_t bytes)
{
    uint64_t id = sim_cells_identity(texts->writer, 0, key, 0);
    for (uint64_t at = 0, i = 0; at < bytes; at += 8, i++) {
        uint64_t word = word_of(id, bytes, i);
        memcpy(texts->bytes + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
}

static bool text_sound(const struct sim_texts *texts, uint32_t key, uint64_t bytes)
{
    uint64_t id;
    if (bytes == 0) return true;
    if (bytes < HEAD_BYTES) return false;
    memcpy(&id, texts->bytes, sizeof id);
    bool sound = (uint32_t)id == (uint32_t)sim_cells_identity(0, 0, key, 0);
    for (uint64_t at = 0, i = 0; at < bytes && sound; at += 8, i++) {
        uint64_t word = word_of(id, bytes, i);
        sound = memcmp(texts->bytes + at, &word, bytes - at < 8 ? bytes - at : 8) == 0;
    }
    return sound;
}

static bool once_in(struct sim_texts *texts, uint32_t count) { return prng_below(texts->prng, count) == 0; }

/* In the row, in few extents, in many; where all of it must fit the ring, so that old and new pieces do. */
static uint64_t length_draw(struct sim_texts *texts)
{
    static const uint32_t most[] = {HEAD_BYTES, 60, 600, 3000, SIM_TEXTS_BYTES_MAX};
    uint64_t at = texts->large ? 4 : prng_below(texts->prng, sizeof most / sizeof *most);
    uint64_t bytes = prng_between(texts->prng, HEAD_BYTES, most[at]);
    if (texts->large) bytes = SIM_TEXTS_BYTES_MAX - bytes / 8;
    if (texts->ring_only && bytes > texts->half_bytes / 24) bytes = texts->half_bytes / 24;
    return at == 0 && once_in(texts, 3) ? 0 : bytes;
}

/* ---- steps ---- */

/* *digest: of what it has. */
static int look(struct sim_texts *texts, uint32_t key, uint64_t *digest)
{
    size_t bytes;
    int code =
        cellar_txn_get_bytes(texts->txn, texts->table, key, TEXT_TEXT, texts->bytes, SIM_TEXTS_BYTES_MAX, &bytes);
    if (code) return code;
    *digest = bytes;
    for (uint64_t at = 0; at + 8 <= bytes; at += 8) {
        uint64_t word;
        memcpy(&word, texts->bytes + at, sizeof word);
        *digest = sim_cells_mix(*digest, word);
    }
    if (!text_sound(texts, key, bytes))
        snprintf(texts->complaint, sizeof texts->complaint, "texts, key %u: %zu bytes that no client wrote so", key,
                 bytes);
    return 0;
}

/* It is shown the same. */
static int look_again(struct sim_texts *texts, uint32_t key, uint64_t digest)
{
    uint64_t again;
    int code = look(texts, key, &again);
    if (code == CELLAR_NOT_FOUND || (code == 0 && again != digest))
        snprintf(texts->contradiction, sizeof texts->contradiction, "texts, key %u: it does not read the same twice",
                 key);
    return code;
}

/* Bytes that no client may ever see. */
static int change_mind(struct sim_texts *texts, uint32_t key, uint64_t digest)
{
    uint64_t bytes = length_draw(texts);
    int savepoint = cellar_savepoint(texts->txn);
    if (savepoint < 0) return savepoint;
    memset(texts->bytes, 0xee, bytes);
    int code = cellar_txn_put_bytes(texts->txn, texts->table, key, TEXT_TEXT, texts->bytes, bytes);
    if (code == 0) code = cellar_rollback_to(texts->txn, savepoint);
    return code ? code : look_again(texts, key, digest);
}

static int put(struct sim_texts *texts, uint32_t key)
{
    uint64_t digest, bytes = length_draw(texts);
    text_make(texts, key, bytes);
    int code = cellar_txn_put_bytes(texts->txn, texts->table, key, TEXT_TEXT, texts->bytes, bytes);
    if (code || !once_in(texts, 4)) return code;
    return (code = look(texts, key, &digest)) ? code : look_again(texts, key, digest);
}

static int insert(struct sim_texts *texts, uint32_t key)
{
    struct text_row row = {.stamp = texts->writer};
    int code = cellar_txn_insert(texts->txn, texts->table, key, &row);
    return code ? code : put(texts, key);
}

uint32_t sim_texts_begin(struct sim_texts *texts, struct cellar_txn *txn, struct prng *prng, uint32_t writer)
{
    texts->txn = txn;
    texts->prng = prng;
    texts->writer = writer;
    texts->complaint[0] = texts->contradiction[0] = 0;
    texts->large = once_in(texts, 4);
    texts->key = (uint32_t)prng_below(prng, KEYS);
    return texts->large ? KEYS : (uint32_t)prng_between(prng, 1, 3);
}

int sim_texts_step(struct sim_texts *texts)
{
    uint64_t digest;
    uint32_t key = texts->key;
    texts->key = (key + 1) % KEYS;
    int code = look(texts, key, &digest);
    if (code == CELLAR_NOT_FOUND) return insert(texts, key);
    if (code == 0 && once_in(texts, 6)) code = look_again(texts, key, digest);
    if (code == 0 && once_in(texts, 6)) code = change_mind(texts, key, digest);
    if (code || (!texts->large && once_in(texts, 3))) return code;
    return once_in(texts, 8) ? cellar_txn_delete(texts->txn, texts->table, key) : put(texts, key);
}

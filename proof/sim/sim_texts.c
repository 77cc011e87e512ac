#include "sim_texts.h"

#include "bulk.h"
#include "db_define.h"
#include "sim_cells.h"

#include <stdio.h>
#include <string.h>

#undef cellar_get
#undef cellar_put
#undef cellar_insert
#undef cellar_delete

#define KEYS 4
#define ROWS (KEYS * SIM_TEXTS_BYTES_MAX / 4096) /* of 4 KiB each, as a table counts on (db_define.c) */
#define HEAD_BYTES 16                            /* whose it is, and how long */

struct text_row {
    uint64_t key, stamp;
    struct cellar_bytes text;
};
enum { KEY, STAMP, TEXT };

int sim_texts_make(struct cellar *db, const struct cellar_table **table, struct cellar_error *error)
{
    static const struct cellar_column columns[] = {{CELLAR_FIELD(struct text_row, key), .flags = CELLAR_KEY},
                                                   {CELLAR_FIELD(struct text_row, stamp)},
                                                   {CELLAR_FIELD(struct text_row, text)}};
    return db_table_open(db, CELLAR_TABLE(struct text_row, columns, .name = "texts", .rows = ROWS), 0, table, error);
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

static bool text_sound(const struct cellar_bytes *text, uint32_t key)
{
    const uint64_t bytes = text->bytes;
    uint64_t id;
    if (bytes == 0) return true;
    if (bytes < HEAD_BYTES || bytes > SIM_TEXTS_BYTES_MAX) return false;
    memcpy(&id, text->data, sizeof id);
    bool sound = (uint32_t)id == (uint32_t)sim_cells_identity(0, 0, key, 0);
    for (uint64_t at = 0, i = 0; at < bytes && sound; at += 8, i++) {
        uint64_t word = word_of(id, bytes, i);
        sound = memcmp((const uint8_t *)text->data + at, &word, bytes - at < 8 ? bytes - at : 8) == 0;
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
    struct text_row row = {.key = key};
    int code = cellar_get(texts->txn, texts->table, CELLAR_COL(TEXT), 0, &row, sizeof row);
    if (code) return code;
    *digest = row.text.bytes;
    for (uint64_t at = 0; at + 8 <= row.text.bytes; at += 8) {
        uint64_t word;
        memcpy(&word, (const uint8_t *)row.text.data + at, sizeof word);
        *digest = sim_cells_mix(*digest, word);
    }
    if (!text_sound(&row.text, key))
        snprintf(texts->complaint, sizeof texts->complaint, "texts, key %u: %zu bytes that no client wrote so", key,
                 row.text.bytes);
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

static int text_put(struct sim_texts *texts, uint32_t key, uint64_t bytes, uint64_t columns)
{
    const struct text_row row = {key, texts->writer, {texts->bytes, bytes}};
    return cellar_put(texts->txn, texts->table, columns, &row, sizeof row);
}

/* Bytes that no client may ever see. */
static int change_mind(struct sim_texts *texts, uint32_t key, uint64_t digest)
{
    uint64_t bytes = length_draw(texts);
    int savepoint = cellar_savepoint(texts->txn);
    if (savepoint < 0) return savepoint;
    memset(texts->bytes, 0xee, bytes);
    int code = text_put(texts, key, bytes, CELLAR_COL(TEXT));
    if (code == 0) code = cellar_rollback_to(texts->txn, savepoint);
    return code ? code : look_again(texts, key, digest);
}

static int put(struct sim_texts *texts, uint32_t key, uint64_t columns)
{
    uint64_t digest, bytes = length_draw(texts);
    text_make(texts, key, bytes);
    int code = text_put(texts, key, bytes, columns);
    if (code || !once_in(texts, 4)) return code;
    return (code = look(texts, key, &digest)) ? code : look_again(texts, key, digest);
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
    if (code == CELLAR_NOT_FOUND) return put(texts, key, CELLAR_ALL);
    if (code == 0 && once_in(texts, 6)) code = look_again(texts, key, digest);
    if (code == 0 && once_in(texts, 6)) code = change_mind(texts, key, digest);
    if (code || (!texts->large && once_in(texts, 3))) return code;
    if (!once_in(texts, 8)) return put(texts, key, CELLAR_COL(TEXT));
    return cellar_delete(texts->txn, texts->table, &(const struct text_row){.key = key}, sizeof(struct text_row));
}

/* ---- what is left ---- */

static int row_check(void *arg, uint64_t number, const void *shown)
{
    struct cellar_error *error = arg;
    const struct text_row *row = shown;
    (void)number;
    if (row->key < KEYS && text_sound(&row->text, (uint32_t)row->key)) return 0;
    return err_set(error, CELLAR_CORRUPT, "texts, key %llu is left with %zu bytes that no client wrote so",
                   (unsigned long long)row->key, row->text.bytes);
}

int sim_texts_check(struct cellar_lab_client *self, const struct cellar_table *table, struct cellar_error *error)
{
    return db_scan_rows(self, table, row_check, error, error);
}

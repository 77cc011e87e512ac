/*
 * db_result.c - what became of a call, in one line (cellar.h). Written when it is asked for: a call only keeps what
 * it is about.
 */
#include "db_result.h"

#include "db.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *why_text(uint32_t why)
{
    static const char *const texts[] = {
#define X(name, text) [WHY_##name] = text,
        WHY_MAP(X)
#undef X
    };
    return why < sizeof texts / sizeof *texts ? texts[why] : "";
}

static void limit_print(const struct cellar_detail *detail, char *text, size_t bytes)
{
    bool is_value = detail->why == WHY_REFERENCE || detail->why == WHY_RETURNED || detail->why == WHY_LOCK;
    text[0] = 0;
    if (is_value)
        snprintf(text, bytes, ": %" PRId64, (int64_t)detail->limit);
    else if (detail->limit)
        snprintf(text, bytes, ", %" PRIu64, detail->limit);
}

/* The record's key; of a wide one the number is a hash, which says nothing. */
static void key_print(const struct table *table, uint64_t number, char *text, size_t bytes)
{
    char columns[CELLAR_NAME_BYTES * 4];
    if (table->key.count && !table->key.wide) {
        rowkey_print_number(&table->key, number, columns, sizeof columns);
        snprintf(text, bytes, ", %s", columns);
    } else if (!table->key.wide) {
        snprintf(text, bytes, ", key %" PRIu64, number);
    }
}

static void column_print(const struct cellar_detail *detail, char *text, size_t bytes)
{
    const struct schema *schema = &detail->table->table->schema;
    if (detail->column < 0 && detail->why != WHY_NO_COLUMN) return;
    if ((uint32_t)detail->column < schema->column_count)
        snprintf(text, bytes, ", column %s", schema->columns[detail->column].name);
    else
        snprintf(text, bytes, ", column %d", detail->column);
}

static void record_print(const struct cellar_detail *detail, char *text, size_t bytes)
{
    text[0] = 0;
    if (!detail->table) return;
    const struct table *table = detail->table->table;
    snprintf(text, bytes, "table %s", table->name);
    key_print(table, detail->key, text + strlen(text), bytes - strlen(text));
    column_print(detail, text + strlen(text), bytes - strlen(text));
}

void cellar_proc_error(const struct cellar_result *result, struct cellar_error *error)
{
    static const struct cellar_detail none = {.column = -1};
    const struct cellar_detail *detail = result->code ? &result->detail : &none;
    char record[6 * CELLAR_NAME_BYTES], limit[32];
    record_print(detail, record, sizeof record);
    limit_print(detail, limit, sizeof limit);
    const char *why = why_text(detail->why);
    error->code = result->code;
    snprintf(error->text, sizeof error->text, "%s%s%s%s%s%s", cellar_strerror(result->code), record[0] ? ": " : "",
             record, why[0] ? ": " : "", why, limit);
}

/* ---- the thread's last error ---- */

struct about {
    int code;
    struct cellar_detail detail;
};
_Static_assert(sizeof(struct about) <= ERR_ABOUT_BYTES, "a copy of it is kept");

static void about_write(const void *kept, struct cellar_error *error)
{
    const struct about *about = kept;
    const struct cellar_result result = {.code = about->code, .detail = about->detail};
    cellar_proc_error(&result, error);
}

struct about_key {
    int code;
    uint32_t bytes;
    const struct table *table;
    uint8_t packed[CELLAR_KEY_BYTES_MAX];
};
_Static_assert(sizeof(struct about_key) <= ERR_ABOUT_BYTES, "a copy of it is kept");

static void about_key_write(const void *kept, struct cellar_error *error)
{
    const struct about_key *about = kept;
    const struct table *table = about->table;
    char key[sizeof error->text] = "";
    if (about->bytes) rowkey_print(&table->key, about->packed, about->bytes, key, sizeof key);
    (void)err_set(error, about->code, "%s: table %s%s%s", cellar_strerror(about->code), table->name, key[0] ? ", " : "",
                  key);
}

int db_result_key_failed(int code, const struct table *table, const void *packed, uint32_t bytes)
{
    struct about_key about = {.code = code, .bytes = bytes, .table = table};
    memcpy(about.packed, packed, bytes);
    return err_last_about(code, about_key_write, &about, offsetof(struct about_key, packed) + bytes);
}

int db_result_failed(int code, const struct cellar_detail *detail)
{
    struct about about = {.code = code, .detail = *detail};
    return err_last_about(code, about_write, &about, sizeof about);
}

/*
 * db_result.c - what became of a call, in one line (cellar.h). Written when it is asked for: a call only keeps what
 * it is about.
 */
#include "db_result.h"

#include "db.h"

#include <inttypes.h>
#include <stdio.h>

static const char *why_text(uint32_t why)
{
    static const char *const texts[] = {
#define X(name, text) [CELLAR_WHY_##name] = text,
        CELLAR_WHY_MAP(X)
#undef X
    };
    return why < sizeof texts / sizeof *texts ? texts[why] : "";
}

static void limit_print(const struct cellar_detail *detail, char *text, size_t bytes)
{
    bool is_value =
        detail->why == CELLAR_WHY_REFERENCE || detail->why == CELLAR_WHY_RETURNED || detail->why == CELLAR_WHY_LOCK;
    text[0] = 0;
    if (is_value)
        snprintf(text, bytes, ": %" PRId64, (int64_t)detail->limit);
    else if (detail->limit)
        snprintf(text, bytes, ", %" PRIu64, detail->limit);
}

static void record_print(const struct cellar_detail *detail, char *text, size_t bytes)
{
    text[0] = 0;
    if (!detail->table) return;
    int length = snprintf(text, bytes, "table %s, key %" PRIu64, detail->table->table->name, detail->key);
    const struct schema *schema = &detail->table->table->schema;
    if (detail->column < 0 && detail->why != CELLAR_WHY_NO_COLUMN) return;
    if ((uint32_t)detail->column < schema->column_count)
        snprintf(text + length, bytes - (size_t)length, ", column %s", schema->columns[detail->column].name);
    else
        snprintf(text + length, bytes - (size_t)length, ", column %d", detail->column);
}

void cellar_proc_error(const struct cellar_result *result, struct cellar_error *error)
{
    static const struct cellar_detail none = {.column = -1};
    const struct cellar_detail *detail = result->code ? &result->detail : &none;
    char record[2 * CELLAR_NAME_BYTES + 48], limit[32];
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

int db_result_failed(int code, const struct cellar_detail *detail)
{
    struct about about = {.code = code, .detail = *detail};
    return err_last_about(code, about_write, &about, sizeof about);
}

/* history_write.c - a history into a file, line by line, under a checksum. */
#include "history_file.h"
#include "history_journal.h"
#include "history_line.h"
#include "layout.h"
#include "partial.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define STATES_PER_LINE 1000

struct writer {
    FILE *file;
    XXH3_state_t *checksum;
    bool failed;
    uint32_t used;
    char buffer[1 << 16];
};

static void flush(struct writer *writer)
{
    XXH3_64bits_update(writer->checksum, writer->buffer, writer->used);
    if (fwrite(writer->buffer, 1, writer->used, writer->file) != writer->used) writer->failed = true;
    writer->used = 0;
}

/* Adds text of at most a few hundred bytes, and leaves room for a number behind it. */
static void put_text(struct writer *writer, const char *text)
{
    size_t bytes = strlen(text);

    if (writer->used > sizeof writer->buffer - 1024) flush(writer);
    memcpy(writer->buffer + writer->used, text, bytes);
    writer->used += (uint32_t)bytes;
}

/* The same, formatted. */
__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format, ...)
{
    va_list arguments;

    if (writer->used > sizeof writer->buffer - 1024) flush(writer);
    va_start(arguments, format);
    int length = vsnprintf(writer->buffer + writer->used, sizeof writer->buffer - writer->used, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof writer->buffer - writer->used)
        writer->failed = true;
    else
        writer->used += (uint32_t)length;
}

/* ---- lines ---- */

static void put_header(struct writer *writer, const struct history *history)
{
    put(writer, "{\"cellar_history\":2,\"tables\":{");
    for (uint32_t i = 0; i < history->table_count; i++) {
        json_t *name = json_string(history->tables[i].name); /* NULL where it is no UTF-8 */
        char *text = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
        put(writer, "%s\"%u\":%s", i ? "," : "", history->tables[i].table_id, text ? text : "\"?\"");
        free(text);
        json_decref(name);
    }
    put(writer, "},\"cells\":{");
    for (uint32_t i = 0, any = 0; i < history->table_count; i++)
        if (history->tables[i].cells)
            put(writer, "%s\"%u\":%u", any++ ? "," : "", history->tables[i].table_id, history->tables[i].cells);
    put(writer, "},\"clock_error_ns\":%" PRIu64 ",\"nodes_lost\":%s", history->clock_error_ns,
        history->nodes_lost ? "true" : "false");
    if (history->no_epochs) put(writer, ",\"no_epochs\":true");
    if (history->final_all) put(writer, ",\"final_all\":true");
    if (history->parts)
        put(writer, ",\"part\":%u,\"parts\":%u,\"run\":\"%" PRIx64 "\"", history->part, history->parts, history->run);
    put(writer, "}\n");
}

/* `lead`, then the number. */
static void put_number(struct writer *writer, const char *lead, uint64_t number)
{
    char digits[20];
    uint32_t first = sizeof digits;

    put_text(writer, lead);
    do digits[--first] = (char)('0' + number % 10);
    while (number /= 10);
    memcpy(writer->buffer + writer->used, digits + first, sizeof digits - first);
    writer->used += (uint32_t)sizeof digits - first;
}

/* A digest, in quotes. */
static void put_digest(struct writer *writer, uint64_t digest)
{
    int shift = 60;

    put_text(writer, ",\"");
    while (shift > 0 && !(digest >> shift)) shift -= 4;
    for (; shift >= 0; shift -= 4) writer->buffer[writer->used++] = "0123456789abcdef"[digest >> shift & 15];
    put_text(writer, "\"");
}

static void put_version(struct writer *writer, uint64_t version)
{
    put_number(writer, ",", layout_version_en(version));
    put_number(writer, ",", layout_version_ts(version));
}

/* Table and key, with which each entry begins. */
static void put_key(struct writer *writer, uint32_t table_id, uint64_t key)
{
    put_number(writer, "[", table_id);
    put_number(writer, ",\"", key);
    put_text(writer, "\"");
}

static void put_access(struct writer *writer, const struct history_access *access)
{
    put_key(writer, access->table_id, access->key);
    switch ((enum history_kind)access->kind) {
    case HISTORY_READ:
    case HISTORY_WRITE:
        put_number(writer, ",", access->cell);
        put_version(writer, access->version);
        if (access->kind == HISTORY_WRITE) put_version(writer, access->over);
        put_digest(writer, access->digest);
        break;
    case HISTORY_ABSENT:
        put_number(writer, ",", layout_version_ts(access->version));
        break;
    case HISTORY_RANGE:
        put_number(writer, ",\"", access->over);
        put_number(writer, "\",", layout_version_ts(access->version));
        break;
    case HISTORY_INSERT:
    case HISTORY_DELETE:
        break;
    }
    put_text(writer, "]");
}

static void put_accesses(struct writer *writer, const struct history *history, const struct history_txn *txn,
                         enum history_kind kind, const char *name)
{
    bool any = false;

    for (uint64_t i = txn->first; i < txn->first + txn->count; i++) {
        if (history->accesses[i].kind != kind) continue;
        if (!any) {
            put_text(writer, ",\"");
            put_text(writer, name);
            put_text(writer, "\":[");
        } else {
            put_text(writer, ",");
        }
        put_access(writer, &history->accesses[i]);
        any = true;
    }
    if (any) put_text(writer, "]");
}

static void put_txn(struct writer *writer, const struct history *history, const struct history_txn *txn)
{
    static const char *const outcomes[] = {[HISTORY_COMMITTED] = "committed",
                                           [HISTORY_FAILED] = "failed",
                                           [HISTORY_INDETERMINATE] = "indeterminate",
                                           [HISTORY_ABORTED] = "aborted"};

    put_number(writer, "{\"txn\":", txn->id);
    put_number(writer, ",\"cn\":", txn->cn);
    put_number(writer, ",\"coordinator\":", txn->coordinator);
    put_number(writer, ",\"begin\":", txn->begin_ns);
    put_number(writer, ",\"end\":", txn->end_ns);
    put_text(writer, ",\"outcome\":\"");
    put_text(writer, outcomes[txn->outcome]);
    put_number(writer, "\",\"ts\":", txn->ts);
    put_accesses(writer, history, txn, HISTORY_READ, "read");
    put_accesses(writer, history, txn, HISTORY_ABSENT, "absent");
    put_accesses(writer, history, txn, HISTORY_INSERT, "insert");
    put_accesses(writer, history, txn, HISTORY_DELETE, "delete");
    put_accesses(writer, history, txn, HISTORY_WRITE, "write");
    put_accesses(writer, history, txn, HISTORY_RANGE, "range");
    put_text(writer, "}\n");
}

static void put_states(struct writer *writer, const char *begin, const struct history_final *states, uint64_t count)
{
    for (uint64_t i = 0; i < count || i == 0; i += STATES_PER_LINE) {
        put_text(writer, begin);
        for (uint64_t j = i; j < i + STATES_PER_LINE && j < count; j++) {
            if (j > i) put_text(writer, ",");
            put_key(writer, states[j].table_id, states[j].key);
            put_number(writer, ",", states[j].cell);
            put_version(writer, states[j].version);
            put_digest(writer, states[j].digest);
            put_text(writer, "]");
        }
        put(writer, "]}\n");
    }
}

static void put_end(struct writer *writer, const struct history *history)
{
    flush(writer);
    put(writer, "{\"end\":true,\"txns\":%" PRIu64 ",\"checksum\":\"%016" PRIx64 "\"}\n", history->txn_count,
        (uint64_t)XXH3_64bits_digest(writer->checksum));
    flush(writer);
}

/* ---- the file ---- */

/* JSON's integers, as jansson has them, end at 2^63. */
static bool writable(const struct history *history)
{
    bool fits = history->clock_error_ns <= INT64_MAX;
    for (uint64_t i = 0; i < history->txn_count && fits; i++) {
        const struct history_txn *txn = &history->txns[i];
        fits = (txn->id | txn->begin_ns | txn->end_ns) <= INT64_MAX && txn->outcome < HISTORY_OUTCOMES;
    }
    return fits;
}

/* 0, or the error number of what failed. */
static int write_to(FILE *file, const struct history *history)
{
    struct writer *writer = calloc(1, sizeof *writer);
    XXH3_state_t *checksum = XXH3_createState();
    int code = ENOMEM;

    if (writer && checksum) {
        writer->file = file;
        writer->checksum = checksum;
        XXH3_64bits_reset(checksum);
        errno = 0;
        put_header(writer, history);
        if (history->has_loaded) put_states(writer, HISTORY_LINE_LOADED, history->loaded, history->loaded_count);
        for (uint64_t i = 0; i < history->txn_count; i++) put_txn(writer, history, &history->txns[i]);
        if (history->has_final) put_states(writer, HISTORY_LINE_FINALS, history->finals, history->final_count);
        put_end(writer, history);
        if (fflush(file) || fsync(fileno(file))) writer->failed = true;
        code = !writer->failed ? 0 : errno ? errno : EIO;
    }
    XXH3_freeState(checksum);
    free(writer);
    return code;
}

int history_write(const struct history *history, const char *path, struct cellar_error *error)
{
    char journal[HISTORY_JOURNAL_PATH_BYTES];
    struct partial partial;

    if (!writable(history))
        return err_set(error, CELLAR_INVALID, "%.120s: an id or a time of the history is too large", path);
    int code = partial_open(&partial, path, error);
    if (code) return code;
    int cause = write_to(partial.file, history);
    if (cause) {
        partial_drop(&partial);
        return err_set(error, CELLAR_SYSTEM, "%.120s: %s", path, strerror(cause));
    }
    code = partial_end(&partial, path, error);
    if (code == 0 && !history_journal_name(path, journal, NULL)) unlink(journal);
    return code;
}

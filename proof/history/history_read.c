/*
 * history_read.c - a history out of a file. Its writer may have been mistaken, cut short, or another program: types
 * and ranges of all fields are checked, their meaning is history_check's business. Fields that are not known are
 * passed over, so that later versions of the format can add some.
 */
#include "history_journal.h"
#include "history_line.h"
#include "history_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_BYTES_MAX (16u << 20)
#define SLICES_MAX 1024

int history_reader_refuse(struct history_reader *reader, const char *format, ...)
{
    char text[160];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return err_set(reader->error, CELLAR_CORRUPT, "%.100s:%" PRIu64 ": %s", reader->path, reader->line_number, text);
}

int history_reader_no_memory(struct history_reader *reader)
{
    return err_set(reader->error, CELLAR_NOMEM, "%.100s:%" PRIu64 ": no memory for a history of this size",
                   reader->path, reader->line_number);
}

/* ---- lines ---- */

/* More of the file after what is left of the buffer. */
static int refill(struct history_reader *reader)
{
    memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
    reader->end -= reader->start;
    reader->start = 0;
    if (reader->end == reader->capacity) {
        if (reader->capacity >= LINE_BYTES_MAX)
            return history_reader_refuse(reader, "a line of more than %u MiB: not a history of Cellar",
                                         LINE_BYTES_MAX >> 20);
        char *larger = realloc(reader->buffer, reader->capacity * 2);
        if (!larger) return history_reader_no_memory(reader);
        reader->buffer = larger;
        reader->capacity *= 2;
    }
    errno = 0;
    size_t bytes = fread(reader->buffer + reader->end, 1, reader->capacity - reader->end, reader->file);
    if (!bytes && ferror(reader->file))
        return err_set(reader->error, CELLAR_SYSTEM, "%.100s: %s", reader->path, strerror(errno));
    reader->end += bytes;
    reader->at_end = bytes == 0;
    __atomic_fetch_add(reader->bytes_read, bytes, __ATOMIC_RELAXED);
    return 0;
}

/* The next line without its newline: 1, 0 at the end of the file, or an error. It is valid until the next call. */
static int line_next(struct history_reader *reader, const char **line, size_t *bytes)
{
    size_t seen = 0;

    reader->line_number++;
    for (;;) {
        size_t left = reader->end - reader->start;
        const char *from = reader->buffer + reader->start;
        const char *newline = left > seen ? memchr(from + seen, '\n', left - seen) : NULL;
        if (newline || (reader->at_end && left)) {
            *line = from;
            *bytes = newline ? (size_t)(newline - from) : left;
            reader->broken_off = !newline;
            reader->start += *bytes + (newline != NULL);
            return 1;
        }
        if (reader->at_end) return 0;
        seen = left;
        int rc = refill(reader);
        if (rc) return rc;
    }
}

/* ---- keeping what a line says ---- */

int history_reader_room(struct history_reader *reader, size_t count)
{
    if (count <= reader->access_capacity) return 0;
    size_t room = reader->access_capacity * 2 > count ? reader->access_capacity * 2 : count;
    struct history_access *larger = realloc(reader->accesses, room * sizeof *larger);
    if (!larger) return history_reader_no_memory(reader);
    reader->accesses = larger;
    reader->access_capacity = room;
    return 0;
}

/* No cell lies beyond those that its table has, and no range ends before it begins. */
static int accesses_accept(struct history_reader *reader, uint32_t count)
{
    uint32_t table_id = 0, cells = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct history_access *access = &reader->accesses[i];
        if (access->kind == HISTORY_RANGE && access->over < access->key)
            return history_reader_refuse(reader, "a range of table %u ends before it begins", access->table_id);
        if (access->cell == HISTORY_PRESENCE) continue;
        if (access->table_id != table_id) cells = history_table_cells(reader->history, access->table_id);
        table_id = access->table_id;
        if (cells && access->cell >= cells)
            return history_reader_refuse(reader, "cell %u of table %u, which has %u", access->cell, table_id, cells);
    }
    return 0;
}

static int slice_failed(struct history_reader *reader, int rc)
{
    if (rc == CELLAR_NOMEM) return history_reader_no_memory(reader);
    return rc ? err_set(reader->error, CELLAR_SYSTEM, "%.100s: its slices could not be written: %s", reader->path,
                        strerror(errno))
              : 0;
}

static int txn_slice(struct history_reader *reader, const struct history_txn *txn)
{
    struct history_txn bare = *txn;

    for (uint32_t i = 0; i < txn->count && !reader->ranges; i++)
        reader->ranges = reader->accesses[i].kind == HISTORY_RANGE;
    if (reader->ranges) return CELLAR_UNSUPPORTED;
    bare.count = 0;
    if (history_txn_add(reader->history, &bare, NULL)) return history_reader_no_memory(reader);
    return slice_failed(
        reader, history_slices_txn(reader->slices, reader->history->txn_count - 1, reader->accesses, txn->count));
}

int history_reader_txn(struct history_reader *reader, const struct history_txn *txn)
{
    if (reader->stage == HISTORY_STAGE_LOADED) reader->txns_line = reader->line_number;
    reader->stage = HISTORY_STAGE_TXNS;
    int rc = accesses_accept(reader, txn->count);
    if (rc) return rc;
    if (reader->slices) return txn_slice(reader, txn);
    return history_txn_add(reader->history, txn, reader->accesses) ? history_reader_no_memory(reader) : 0;
}

int history_reader_states(struct history_reader *reader, bool final)
{
    struct history *history = reader->history;

    if (final) reader->stage = HISTORY_STAGE_FINALS;
    *(final ? &history->has_final : &history->has_loaded) = true;
    int rc = accesses_accept(reader, reader->access_count);
    for (uint32_t i = 0; i < reader->access_count && !rc; i++) {
        const struct history_access *access = &reader->accesses[i];
        const struct history_final state = {access->table_id, access->cell, access->key, access->version,
                                            access->digest};
        rc = reader->slices ? slice_failed(reader, history_slices_state(reader->slices, final, &state))
             : final        ? history_final_add(history, &state)
                            : history_loaded_add(history, &state);
        if (rc == CELLAR_NOMEM) rc = history_reader_no_memory(reader);
    }
    return rc;
}

/* ---- one line ---- */

/* A line in the form that history_write gives it: 1; 0: it is another; or an error. */
static int line_read_quickly(struct history_reader *reader, const char *line, size_t bytes)
{
    struct history_txn txn;
    if (reader->stage == HISTORY_STAGE_HEADER || reader->stage == HISTORY_STAGE_END) return 0;
    int rc = history_reader_room(reader, bytes / HISTORY_LINE_ACCESS_BYTES + 1);
    if (rc) return rc;
    if (reader->stage <= HISTORY_STAGE_TXNS && history_line_txn(line, bytes, &txn, reader->accesses))
        rc = history_reader_txn(reader, &txn);
    else if (history_line_states(line, bytes, HISTORY_LINE_FINALS, reader->accesses, &reader->access_count))
        rc = history_reader_states(reader, true);
    else if (reader->stage == HISTORY_STAGE_LOADED &&
             history_line_states(line, bytes, HISTORY_LINE_LOADED, reader->accesses, &reader->access_count))
        rc = history_reader_states(reader, false);
    else
        return 0;
    return rc ? rc : 1;
}

static int line_parse(struct history_reader *reader, const char *line, size_t bytes)
{
    json_error_t where;
    uint64_t checksum =
        XXH3_64bits_digest(reader->checksum); /* of the lines before: the last line says what it must be */
    json_t *object = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &where);
    int rc = 0;

    if (json_is_object(object))
        rc = history_reader_object(reader, object, checksum);
    else if (reader->stage == HISTORY_STAGE_HEADER)
        rc = history_reader_refuse(reader,
                                   "not a history of Cellar: its first line must begin with {\"cellar_history\":2");
    else if (reader->broken_off && reader->stage != HISTORY_STAGE_END)
        reader->history->torn = true;
    else
        rc = history_reader_refuse(reader, "not a JSON object (byte %d of the line)", where.position);
    json_decref(object);
    return rc;
}

static int line_read(struct history_reader *reader, const char *line, size_t bytes)
{
    int rc = line_read_quickly(reader, line, bytes);
    rc = rc == 0 ? line_parse(reader, line, bytes) : rc < 0 ? rc : 0;
    XXH3_64bits_update(reader->checksum, line, bytes);
    XXH3_64bits_update(reader->checksum, "\n", 1);
    return rc;
}

/* ---- the file ---- */

struct numbered {
    uint64_t id, line;
};

static int numbered_compare(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* Transactions are lines one after the other. */
static int ids_check(struct history_reader *reader)
{
    const struct history *history = reader->history;
    int rc = 0;

    struct numbered *ids = malloc((history->txn_count + 1) * sizeof *ids);
    if (!ids) return history_reader_no_memory(reader);
    for (uint64_t i = 0; i < history->txn_count; i++)
        ids[i] = (struct numbered){history->txns[i].id, i + reader->txns_line};
    qsort(ids, history->txn_count, sizeof *ids, numbered_compare);
    for (uint64_t i = 1; i < history->txn_count && !rc; i++) {
        if (ids[i].id != ids[i - 1].id) continue;
        reader->line_number = ids[i].line;
        rc = history_reader_refuse(reader, "transaction %" PRIu64 " was in line %" PRIu64 " already", ids[i].id,
                                   ids[i - 1].line);
    }
    free(ids);
    return rc;
}

static int lines_read(struct history_reader *reader)
{
    const char *line = NULL;
    size_t bytes = 0;
    int rc;

    while ((rc = line_next(reader, &line, &bytes)) > 0) {
        rc = line_read(reader, line, bytes);
        if (rc) return rc;
    }
    if (rc) return rc;
    reader->line_number--;
    if (reader->line_number == 0)
        return err_set(reader->error, CELLAR_CORRUPT, "%.100s: the file is empty", reader->path);
    if (reader->stage != HISTORY_STAGE_END) {
        reader->history->torn = true;
        reader->history->torn_line = reader->line_number;
        reader->history->has_final = false;
    }
    return ids_check(reader);
}

/* A user who asks for the history of a run that has died may not know where to look. */
static int not_opened(const char *path, int code, struct cellar_error *error)
{
    char journal[HISTORY_JOURNAL_PATH_BYTES];
    bool recording = code == ENOENT && history_journal_name(path, journal, NULL) == 0 && history_journal_is(journal);
    return err_set(error, CELLAR_SYSTEM,
                   recording ? "%.100s: %s; but its process left %.80s" HISTORY_JOURNAL_SUFFIX : "%.100s: %s", path,
                   strerror(code), path);
}

static int file_read(struct history_reader *reader)
{
    int rc;

    reader->file = fopen(reader->path, "r");
    if (!reader->file) return not_opened(reader->path, errno, reader->error);
    reader->capacity = 1 << 16;
    reader->buffer = malloc(reader->capacity);
    reader->checksum = XXH3_createState();
    if (reader->buffer && reader->checksum) {
        XXH3_64bits_reset(reader->checksum);
        rc = lines_read(reader);
    } else {
        rc = history_reader_no_memory(reader);
    }
    if (rc) history_free(reader->history);
    XXH3_freeState(reader->checksum);
    free(reader->buffer);
    free(reader->accesses);
    fclose(reader->file);
    return rc;
}

int history_read_watched(struct history *history, const char *path, uint64_t *bytes_read, struct cellar_error *error)
{
    struct history_reader reader = {.path = path, .bytes_read = bytes_read, .error = error, .history = history};

    if (history_journal_is(path)) return history_journal_read(history, path, error);
    return file_read(&reader);
}

/* Into how many slices, each of a quarter of the memory: the rest is for transactions and their graph. 1: none. */
static uint32_t slices_needed(const char *path, uint64_t memory_bytes)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || history_journal_is(path)) return 1;
    uint64_t bytes = (uint64_t)status.st_size + (uint64_t)status.st_size / 4;
    if (bytes <= memory_bytes) return 1;
    uint64_t count = bytes / (memory_bytes / 4 + 1) + 1;
    return count < SLICES_MAX ? (uint32_t)count : SLICES_MAX;
}

int history_read_slices(struct history *history, const char *path, uint64_t memory_bytes,
                        struct history_slices **slices, uint64_t *bytes_read, struct cellar_error *error)
{
    uint64_t before = __atomic_load_n(bytes_read, __ATOMIC_RELAXED);
    uint32_t count = slices_needed(path, memory_bytes);

    *slices = NULL;
    if (count == 1) return history_read_watched(history, path, bytes_read, error);
    int rc = history_slices_open(count, slices, error);
    if (rc) return rc;
    struct history_reader reader = {
        .path = path, .bytes_read = bytes_read, .error = error, .history = history, .slices = *slices};
    rc = file_read(&reader);
    if (rc == 0) return 0;
    history_slices_close(*slices);
    *slices = NULL;
    if (!reader.ranges) return rc;
    __atomic_store_n(bytes_read, before, __ATOMIC_RELAXED);
    return history_read_watched(history, path, bytes_read, error);
}

int history_read(struct history *history, const char *path, struct cellar_error *error)
{
    uint64_t bytes_read = 0;
    return history_read_watched(history, path, &bytes_read, error);
}

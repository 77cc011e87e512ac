/*
 * history_slices.c - for each slice three streams in one file: accesses with the number of their transaction, finals,
 * and what was loaded.
 */
#include "history_slices.h"

#include "pwrite_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES (24u << 10)

/* What belongs to a slice, piece by piece: those that are full are in the file. */
struct stream {
    uint8_t *buffer;
    uint32_t used;
    uint64_t bytes;   /* in the file */
    uint64_t *pieces; /* where each begins; all have BUFFER_BYTES */
    uint32_t piece_count, piece_capacity;
};

enum { STREAM_ACCESSES, STREAM_FINALS, STREAM_LOADED, STREAMS };

struct sliced_access {
    struct history_access access;
    uint64_t txn;
};

_Static_assert(BUFFER_BYTES % sizeof(struct sliced_access) == 0 && BUFFER_BYTES % sizeof(struct history_final) == 0,
               "whole entries in a piece");

struct history_slices {
    int file;
    uint64_t end; /* of the file */
    uint32_t count;
    uint64_t accesses;
    struct stream (*streams)[STREAMS];
};

/* ---- birth and death ---- */

int history_slices_open(uint32_t count, struct history_slices **out, struct cellar_error *error)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    struct history_slices *slices = calloc(1, sizeof *slices);

    *out = NULL;
    if (!slices || !(slices->streams = calloc(count, sizeof *slices->streams))) {
        free(slices);
        return err_set(error, CELLAR_NOMEM, "no memory for a history in %u slices", count);
    }
    slices->count = count;
    snprintf(path, sizeof path, "%.480s/cellar-history-XXXXXX", folder && *folder ? folder : "/var/tmp");
    slices->file = mkstemp(path);
    if (slices->file < 0) {
        int code = errno;
        history_slices_close(slices);
        return err_set(error, CELLAR_SYSTEM, "%.120s: %s; TMPDIR may name a folder with room", path, strerror(code));
    }
    unlink(path);
    *out = slices;
    return 0;
}

void history_slices_close(struct history_slices *slices)
{
    if (!slices) return;
    if (slices->file >= 0) close(slices->file);
    for (uint32_t i = 0; i < slices->count * STREAMS; i++) {
        free(slices->streams[i / STREAMS][i % STREAMS].buffer);
        free(slices->streams[i / STREAMS][i % STREAMS].pieces);
    }
    free(slices->streams);
    free(slices);
}

uint32_t history_slices_count(const struct history_slices *slices) { return slices->count; }

uint64_t history_slices_accesses(const struct history_slices *slices) { return slices->accesses; }

/* ---- putting down ---- */

static int piece_flush(struct history_slices *slices, struct stream *stream)
{
    if (stream->piece_count == stream->piece_capacity) {
        uint32_t room = stream->piece_capacity ? 2 * stream->piece_capacity : 16;
        uint64_t *larger = realloc(stream->pieces, room * sizeof *larger);
        if (!larger) return CELLAR_NOMEM;
        stream->pieces = larger;
        stream->piece_capacity = room;
    }
    if (pwrite_all(slices->file, stream->buffer, BUFFER_BYTES, (off_t)slices->end)) return CELLAR_SYSTEM;
    stream->pieces[stream->piece_count++] = slices->end;
    slices->end += BUFFER_BYTES;
    stream->bytes += BUFFER_BYTES;
    stream->used = 0;
    return 0;
}

static int put(struct history_slices *slices, struct stream *stream, const void *entry, uint32_t bytes)
{
    if (!stream->buffer && !(stream->buffer = malloc(BUFFER_BYTES))) return CELLAR_NOMEM;
    memcpy(stream->buffer + stream->used, entry, bytes);
    stream->used += bytes;
    return stream->used == BUFFER_BYTES ? piece_flush(slices, stream) : 0;
}

static struct stream *streams_of(struct history_slices *slices, uint32_t table_id, uint64_t key)
{
    uint64_t hash = (key ^ (uint64_t)table_id << 40) * 0x9e3779b97f4a7c15ull;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull;
    return slices->streams[(hash >> 32) % slices->count];
}

int history_slices_txn(struct history_slices *slices, uint64_t txn, const struct history_access *accesses,
                       uint32_t count)
{
    int rc = 0;
    for (uint32_t i = 0; i < count && rc == 0; i++) {
        const struct sliced_access entry = {accesses[i], txn};
        struct stream *streams = streams_of(slices, accesses[i].table_id, accesses[i].key);
        rc = put(slices, &streams[STREAM_ACCESSES], &entry, sizeof entry);
    }
    slices->accesses += count;
    return rc;
}

int history_slices_state(struct history_slices *slices, bool final, const struct history_final *state)
{
    struct stream *streams = streams_of(slices, state->table_id, state->key);
    return put(slices, &streams[final ? STREAM_FINALS : STREAM_LOADED], state, sizeof *state);
}

/* ---- loading ---- */

/* Entries of a piece, `bytes` of them. */
typedef int (*take_fn)(struct history *slice, const uint8_t *entries, uint32_t bytes);

static int take_accesses(struct history *slice, const uint8_t *entries, uint32_t bytes)
{
    const struct sliced_access *entry = (const void *)entries;
    for (uint32_t i = 0; i < bytes / sizeof *entry; i++) {
        struct history_txn *txn = &slice->txns[entry[i].txn];
        if (!txn->count++) txn->first = slice->access_count;
        slice->accesses[slice->access_count++] = entry[i].access;
    }
    return 0;
}

static int take_finals(struct history *slice, const uint8_t *entries, uint32_t bytes)
{
    const struct history_final *entry = (const void *)entries;
    int rc = 0;
    for (uint32_t i = 0; i < bytes / sizeof *entry && rc == 0; i++) rc = history_final_add(slice, &entry[i]);
    return rc;
}

static int take_loaded(struct history *slice, const uint8_t *entries, uint32_t bytes)
{
    const struct history_final *entry = (const void *)entries;
    int rc = 0;
    for (uint32_t i = 0; i < bytes / sizeof *entry && rc == 0; i++) rc = history_loaded_add(slice, &entry[i]);
    return rc;
}

static int stream_load(const struct history_slices *slices, const struct stream *stream, struct history *slice,
                       take_fn take)
{
    uint8_t *piece = malloc(BUFFER_BYTES);
    int rc = piece ? 0 : CELLAR_NOMEM;

    for (uint32_t i = 0; i < stream->piece_count && rc == 0; i++) {
        ssize_t got = pread(slices->file, piece, BUFFER_BYTES, (off_t)stream->pieces[i]);
        rc = got == BUFFER_BYTES ? take(slice, piece, BUFFER_BYTES) : CELLAR_SYSTEM;
    }
    if (rc == 0) rc = take(slice, stream->buffer, stream->used);
    free(piece);
    return rc;
}

/* All transactions, and room for what they did there. */
static int slice_prepare(const struct stream *accesses, const struct history *whole, struct history *slice)
{
    uint64_t room = (accesses->bytes + accesses->used) / sizeof(struct sliced_access);

    history_free(slice);
    slice->has_final = whole->has_final;
    slice->final_all = whole->final_all;
    slice->has_loaded = whole->has_loaded;
    slice->torn = whole->torn;
    slice->torn_line = whole->torn_line;
    slice->no_epochs = whole->no_epochs;
    slice->nodes_lost = whole->nodes_lost;
    slice->clock_error_ns = whole->clock_error_ns;
    slice->txns = malloc((whole->txn_count + 1) * sizeof *slice->txns);
    slice->accesses = malloc((room + 1) * sizeof *slice->accesses);
    if (!slice->txns || !slice->accesses) return CELLAR_NOMEM;
    slice->txn_count = slice->txn_capacity = whole->txn_count;
    slice->access_capacity = room;
    for (uint64_t i = 0; i < whole->txn_count; i++) {
        slice->txns[i] = whole->txns[i];
        slice->txns[i].first = slice->txns[i].count = 0;
    }
    int rc = 0;
    for (uint32_t i = 0; i < whole->table_count && rc == 0; i++)
        rc = history_table_add(slice, whole->tables[i].table_id, whole->tables[i].cells, whole->tables[i].name);
    return rc;
}

int history_slices_load(struct history_slices *slices, uint32_t number, const struct history *whole,
                        struct history *slice, struct cellar_error *error)
{
    const struct stream *streams = slices->streams[number];

    int rc = slice_prepare(&streams[STREAM_ACCESSES], whole, slice);
    if (rc == 0) rc = stream_load(slices, &streams[STREAM_ACCESSES], slice, take_accesses);
    if (rc == 0) rc = stream_load(slices, &streams[STREAM_FINALS], slice, take_finals);
    if (rc == 0) rc = stream_load(slices, &streams[STREAM_LOADED], slice, take_loaded);
    if (rc == CELLAR_NOMEM) err_set(error, CELLAR_NOMEM, "no memory for a slice of the history");
    if (rc == CELLAR_SYSTEM)
        err_set(error, CELLAR_SYSTEM, "a slice of the history could not be read back: %s", strerror(errno));
    return rc;
}

/*
 * history_journal.h - what a recorder takes down while a run lasts: in memory, or in a file that is mapped, so that it outlives a process that dies in
 * whatever way.
 *
 * A journal is made of chunks, each filled by one thread alone. What lies below a chunk's `used` is whole; a record comes first, `used` behind it.
 * The file is for this program on this machine (history_read reads it, too); docs/history.md describes the form for others.
 */
#pragma once

#include "history.h"

struct history_journal;

enum history_chunk_kind {
    HISTORY_CHUNK_TXNS = 1, /* struct history_txn, each with its accesses behind it */
    HISTORY_CHUNK_LOADED,   /* history_snapshot.h */
};

struct history_chunk {
    uint64_t magic;
    uint64_t kind;          /* enum history_chunk_kind */
    uint64_t bytes, used;   /* of data */
    struct history_chunk *next; /* its owner's; means nothing in a file */
    uint64_t data[];
};

/* With which the name of a journal ends, behind that of the history that is to become of it. */
#define HISTORY_JOURNAL_SUFFIX ".recording"

/* `path` NULL: in memory. `like`: tables, part, parts, run, no_epochs of the history. SYSTEM, NOMEM. */
NODISCARD int history_journal_open(const char *path, const struct history *like, struct history_journal **out,
                                   struct cellar_error *error);
/* A chunk with room for `bytes` or more; NULL: no memory or no space. From any thread. */
struct history_chunk *history_journal_chunk(struct history_journal *journal, enum history_chunk_kind kind,
                                            uint64_t bytes);
/* That much of the chunk is whole: for whoever reads it when this process is dead. */
static inline void history_journal_used(struct history_chunk *chunk, uint64_t used)
{
    __atomic_store_n(&chunk->used, used, __ATOMIC_RELEASE);
}
void history_journal_release(struct history_journal *journal, struct history_chunk *chunk);
/* The file goes: what it held is elsewhere, or of no use. Chunks are the caller's to release. NULL is allowed. */
void history_journal_close(struct history_journal *journal);

/* Does a file begin as a journal does? */
bool history_journal_is(const void *bytes, uint64_t count);
/*
 * What a process that died left: its transactions, those that had not ended as indeterminate, and what was loaded. It has no final versions. CORRUPT: no
 * journal of this program, in one line; SYSTEM; NOMEM.
 */
NODISCARD int history_journal_read(struct history *history, const char *path, struct cellar_error *error);

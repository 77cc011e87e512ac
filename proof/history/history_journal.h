/*
 * history_journal.h - what a recorder takes down while a run lasts: in memory, or in a file that is mapped, so that
 * it outlives a process that dies in whatever way.
 *
 * A journal is made of chunks, each filled by one thread alone. What lies below a chunk's `used` is whole: a
 * transaction is written first, then `used` is raised. So what a process has put down before it dies is in the file,
 * without a call to the system for each transaction; only a new chunk costs some. The file is for this program on
 * this machine (history_read reads it, too); docs/history.md describes the form for others.
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
    uint64_t kind;              /* enum history_chunk_kind */
    uint64_t bytes, used;       /* of data */
    struct history_chunk *next; /* its owner's; means nothing in a file */
    uint64_t data[];
};

/* With which the name of a journal ends, after that of the history that is to become of it. */
#define HISTORY_JOURNAL_SUFFIX ".recording"
#define HISTORY_JOURNAL_PATH_BYTES 4096

/* FILE.recording, of that history's FILE. INVALID: the name is too long. */
NODISCARD int history_journal_name(const char *path, char journal[HISTORY_JOURNAL_PATH_BYTES],
                                   struct cellar_error *error);

/* `path` NULL: in memory. `like`: tables, part, parts, run, no_epochs of the history. SYSTEM, NOMEM. */
NODISCARD int history_journal_open(const char *path, const struct history *like, struct history_journal **out,
                                   struct cellar_error *error);
/*
 * A chunk with room for `bytes` or more, larger than `last`, the one that its owner has filled (or NULL); NULL: no
 * memory or no space. From any thread.
 */
struct history_chunk *history_journal_chunk(struct history_journal *journal, enum history_chunk_kind kind,
                                            uint64_t bytes, const struct history_chunk *last);
/*
 * That much of the chunk is whole: for the process that reads it when this one is dead, which sees this thread's
 * stores in their order.
 */
static inline void history_journal_used(struct history_chunk *chunk, uint64_t used)
{
    __atomic_store_n(&chunk->used, used, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* what was taken back is overwritten afterwards only */
}
void history_journal_release(struct history_journal *journal, struct history_chunk *chunk);
/*
 * The file stays: its name is the caller's to remove, once what it held is elsewhere. Chunks are the caller's to
 * release. NULL is allowed.
 */
void history_journal_close(struct history_journal *journal);

/* Is the file at that path a journal? */
bool history_journal_is(const char *path);
/*
 * What a process that died left: its transactions, those that had not ended as indeterminate, and what was loaded. It
 * has no final versions. CORRUPT: no journal of this program, in one line; SYSTEM; NOMEM.
 */
NODISCARD int history_journal_read(struct history *history, const char *path, struct cellar_error *error);

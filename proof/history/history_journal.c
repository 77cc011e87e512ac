/*
 * history_journal.c - chunks in memory, or each a mapping of a file of its own place; and the reading of a file that
 * was left.
 */
#include "history_journal.h"

#include "history_snapshot.h"
#include "history_touched.h"
#include "layout.h"
#include "pwrite_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x314a48524c4c4543ull /* of the file: "CELLRHJ1" */
#define CHUNK_MAGIC 0x4b4e554843484a31ull
#define PAGE 4096u
#define CHUNK_BYTES_MIN (16u << 10) /* of a coordinator's first chunk; each is twice the one before, up to */
#define CHUNK_BYTES_MAX (1u << 20)
#define TABLES_MAX 64

/* The first page of the file. */
struct head {
    uint64_t magic, txn_bytes, access_bytes;
    uint64_t no_epochs, part, parts, run, table_count;
    struct history_name tables[TABLES_MAX];
};
_Static_assert(sizeof(struct head) <= PAGE, "one page");

struct history_journal {
    int file;     /* -1: in memory */
    uint64_t end; /* of the file: where the next chunk goes; atomically */
};

/* ---- writing ---- */

static int head_write(const struct history_journal *journal, const struct history *like)
{
    struct head *head = calloc(1, PAGE);
    if (!head) return ENOMEM;
    *head = (struct head){.magic = MAGIC,
                          .txn_bytes = sizeof(struct history_txn),
                          .access_bytes = sizeof(struct history_access),
                          .no_epochs = like->no_epochs,
                          .part = like->part,
                          .parts = like->parts,
                          .run = like->run};
    while (head->table_count < like->table_count && head->table_count < TABLES_MAX) {
        head->tables[head->table_count] = like->tables[head->table_count];
        head->table_count++;
    }
    int code = pwrite_all(journal->file, head, PAGE, 0);
    free(head);
    return code;
}

int history_journal_name(const char *path, char journal[HISTORY_JOURNAL_PATH_BYTES], struct cellar_error *error)
{
    int length = snprintf(journal, HISTORY_JOURNAL_PATH_BYTES, "%s" HISTORY_JOURNAL_SUFFIX, path);
    if (length > 0 && length < HISTORY_JOURNAL_PATH_BYTES) return 0;
    return err_set(error, CELLAR_INVALID, "%.120s: the name is too long", path);
}

int history_journal_open(const char *path, const struct history *like, struct history_journal **out,
                         struct cellar_error *error)
{
    struct history_journal *journal = calloc(1, sizeof *journal);

    *out = NULL;
    if (!journal) return err_set(error, CELLAR_NOMEM, "no memory for a history");
    *journal = (struct history_journal){.file = -1, .end = PAGE};
    if (path) {
        journal->file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        int code = journal->file < 0 ? errno : head_write(journal, like);
        if (code) {
            history_journal_close(journal);
            return err_set(error, CELLAR_SYSTEM, "%.120s: %s", path, strerror(code));
        }
    }
    *out = journal;
    return 0;
}

/* The space is taken at once: a store to a mapping without one would end the process. */
static void *map(struct history_journal *journal, uint64_t bytes)
{
    uint64_t at = __atomic_fetch_add(&journal->end, bytes, __ATOMIC_RELAXED);
    if (posix_fallocate(journal->file, (off_t)at, (off_t)bytes)) return NULL;
    void *chunk = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, journal->file, (off_t)at);
    return chunk == MAP_FAILED ? NULL : chunk;
}

struct history_chunk *history_journal_chunk(struct history_journal *journal, enum history_chunk_kind kind,
                                            uint64_t bytes, const struct history_chunk *last)
{
    uint64_t all = last ? 2 * (sizeof *last + last->bytes) : CHUNK_BYTES_MIN;
    if (all > CHUNK_BYTES_MAX) all = CHUNK_BYTES_MAX;
    if (all < sizeof(struct history_chunk) + bytes) all = sizeof(struct history_chunk) + bytes;
    all = (all + PAGE - 1) / PAGE * PAGE;
    struct history_chunk *chunk = journal->file < 0 ? malloc(all) : map(journal, all);

    if (!chunk) return NULL;
    *chunk = (struct history_chunk){.kind = kind, .bytes = all - sizeof *chunk};
    __atomic_store_n(&chunk->magic, CHUNK_MAGIC, __ATOMIC_RELEASE);
    return chunk;
}

void history_journal_release(struct history_journal *journal, struct history_chunk *chunk)
{
    if (journal->file < 0)
        free(chunk);
    else
        munmap(chunk, sizeof *chunk + chunk->bytes);
}

void history_journal_close(struct history_journal *journal)
{
    if (!journal) return;
    if (journal->file >= 0) close(journal->file);
    free(journal);
}

/* ---- reading ---- */

bool history_journal_is(const char *path)
{
    uint64_t magic = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is = file >= 0 && read(file, &magic, sizeof magic) == sizeof magic && magic == MAGIC;
    if (file >= 0) close(file);
    return is;
}

static bool access_valid(const struct history_access *access)
{
    if (access->kind == HISTORY_WRITE) return access->cell < CELLAR_CELLS_MAX;
    if (access->kind == HISTORY_READ) return access->cell < CELLAR_CELLS_MAX || access->cell == HISTORY_PRESENCE;
    return access->kind <= HISTORY_RANGE && access->cell == HISTORY_PRESENCE;
}

static bool txn_valid(const struct history_txn *txn, const struct history_access *accesses, uint64_t bytes)
{
    bool valid = txn->outcome < HISTORY_OUTCOMES && txn->end_ns >= txn->begin_ns && txn->end_ns <= INT64_MAX &&
                 txn->ts <= LAYOUT_TS_MAX && txn->count <= bytes / sizeof *accesses;
    for (uint32_t i = 0; valid && i < txn->count; i++) valid = access_valid(&accesses[i]);
    return valid;
}

static int txns_read(struct history *history, const struct history_chunk *chunk, uint64_t used)
{
    const uint8_t *at = (const uint8_t *)chunk->data, *end = at + used;
    int rc = 0;

    while (rc == 0 && at < end) {
        const struct history_txn *txn = (const void *)at;
        const struct history_access *accesses = (const void *)(txn + 1);
        if ((uint64_t)(end - at) < sizeof *txn || !txn_valid(txn, accesses, (uint64_t)(end - at) - sizeof *txn))
            return CELLAR_CORRUPT;
        rc = history_txn_add(history, txn, accesses);
        at += sizeof *txn + txn->count * sizeof *accesses;
    }
    return rc;
}

/* All chunks of that kind; `touched`: the records of which HISTORY_CHUNK_LOADED is asked. */
static int chunks_read(struct history *history, const uint8_t *bytes, uint64_t count, enum history_chunk_kind kind,
                       const struct history_touched *touched)
{
    int rc = 0;

    for (uint64_t at = PAGE; rc == 0 && at + sizeof(struct history_chunk) <= count;) {
        const struct history_chunk *chunk = (const void *)(bytes + at);
        if (chunk->magic != CHUNK_MAGIC) { /* taken, and not yet begun when the process died */
            at += PAGE;
            continue;
        }
        uint64_t used = chunk->used;
        if (chunk->bytes % 8 || chunk->bytes > count - at - sizeof *chunk || used > chunk->bytes) return CELLAR_CORRUPT;
        if (chunk->kind == kind)
            rc = kind == HISTORY_CHUNK_TXNS ? txns_read(history, chunk, used)
                                            : history_snapshot_read(chunk->data, used, touched, history);
        at += sizeof *chunk + chunk->bytes;
    }
    return rc;
}

static int ended_compare(const void *left, const void *right)
{
    const struct history_txn *a = left, *b = right;
    if (a->end_ns != b->end_ns) return a->end_ns < b->end_ns ? -1 : 1;
    if (a->coordinator != b->coordinator) return a->coordinator < b->coordinator ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

static int all_read(struct history *history, const uint8_t *bytes, uint64_t count)
{
    const struct head *head = (const void *)bytes;
    int rc = 0;

    if (count < PAGE || head->magic != MAGIC || head->txn_bytes != sizeof(struct history_txn) ||
        head->access_bytes != sizeof(struct history_access) || head->table_count > TABLES_MAX ||
        head->parts > HISTORY_PARTS_MAX || (head->parts && head->part >= head->parts))
        return CELLAR_CORRUPT;
    history->no_epochs = head->no_epochs != 0;
    history->part = (uint32_t)head->part;
    history->parts = (uint32_t)head->parts;
    history->run = head->run;
    history->died = 1;
    for (uint64_t i = 0; i < head->table_count && rc == 0; i++) {
        const struct history_name *table = &head->tables[i];
        if (!memchr(table->name, 0, sizeof table->name) || table->cells > CELLAR_CELLS_MAX) return CELLAR_CORRUPT;
        rc = history_table_add(history, table->table_id, table->cells, table->name);
    }
    if (rc == 0) rc = chunks_read(history, bytes, count, HISTORY_CHUNK_TXNS, NULL);
    if (rc) return rc;
    if (history->txn_count) qsort(history->txns, history->txn_count, sizeof *history->txns, ended_compare);
    for (uint64_t i = 0; i < history->txn_count; i++) history->txns[i].id = i;
    struct history_touched touched = {0};
    rc = history_touched_collect(&touched, history);
    if (rc == 0) rc = chunks_read(history, bytes, count, HISTORY_CHUNK_LOADED, &touched);
    history_touched_free(&touched);
    history->has_loaded = rc == 0;
    return rc;
}

int history_journal_read(struct history *history, const char *path, struct cellar_error *error)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;

    if (file >= 0 && fstat(file, &status) == 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    int code = errno;
    if (file >= 0) close(file);
    if (bytes == MAP_FAILED) return err_set(error, CELLAR_SYSTEM, "%.100s: %s", path, strerror(code));
    int rc = all_read(history, bytes, (uint64_t)status.st_size);
    munmap(bytes, (size_t)status.st_size);
    if (rc == 0) return 0;
    history_free(history);
    return err_set(error, rc,
                   rc == CELLAR_NOMEM ? "%.100s: no memory for a history of this size"
                                      : "%.100s: a recording that is damaged, or of another build of this program",
                   path);
}

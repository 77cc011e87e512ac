/*
 * wal.c - writes the log. A group is gathered in a buffer of blocks, stamped, written and synced; only then the next
 * one begins. Each opening begins a file of its own: what a torn tail left behind is never written over, and its head
 * says how many groups of the file before it count.
 */
#include "durable_plants.h"
#include "lazy.h"
#include "must.h"
#include "wal_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE "write-ahead log: "

struct wal {
    struct wal_config config;
    struct wal_file files[WAL_FILES_MAX]; /* the last one is written */
    uint32_t file_count, spare;           /* the first so many of them are not needed */
    uint64_t first;                       /* number of the first file that this opening has made */
    int file;                             /* -1: none is open */
    uint64_t index;                       /* of its next block */
    uint64_t group;                       /* number of the one under way */
    uint8_t *blocks;                      /* lazy memory, for the longest group */
    uint32_t filled;                      /* bytes of payload in them */
    bool written;                         /* ... are in the file, not synced */
    uint64_t bytes;                       /* written */
    bool failed;
    struct cellar_error why;
};

static uint32_t blocks_for(uint32_t bytes) { return bytes ? (bytes + WAL_PAYLOAD - 1) / WAL_PAYLOAD : 1; }

static uint64_t blocks_bytes(uint32_t count) { return (uint64_t)count * WAL_BLOCK; }

/* Of the longest group. */
static uint32_t bytes_most(const struct wal_config *config)
{
    return config->group_most > config->group_bytes ? config->group_most : config->group_bytes;
}

static bool is_longer(const struct wal *wal, uint32_t bytes) { return bytes > wal->config.group_bytes; }

static struct wal_block *block_at(uint8_t *blocks, uint32_t i)
{
    return (struct wal_block *)(void *)(blocks + (uint64_t)i * WAL_BLOCK);
}

/* The log is at its end: nothing is written after a write or a sync that failed (disk.h). */
static int fail(struct wal *wal, const char *what, int rc, struct cellar_error *error)
{
    wal->failed = true;
    (void)err_set(&wal->why, CELLAR_SYSTEM, LINE "%s: %s; the log is at its end", what, strerror(rc));
    if (error) *error = wal->why;
    return CELLAR_SYSTEM;
}

static struct wal_file *file_last(struct wal *wal) { return &wal->files[wal->file_count - 1]; }

static void stamp(struct wal *wal, struct wal_block *block, struct wal_block as)
{
    *block = as;
    block->magic = WAL_MAGIC;
    block->file = file_last(wal)->number;
    block->salt = wal_salt(&wal->config);
    block->checksum = wal_checksum(block);
}

static int blocks_write(struct wal *wal, const uint8_t *blocks, uint32_t count, uint64_t index)
{
    struct disk *disk = wal->config.disk;
    wal->bytes += blocks_bytes(count);
    return disk->ops->write(disk, wal->file, blocks, blocks_bytes(count), index * WAL_BLOCK);
}

static int file_sync(struct wal *wal)
{
    struct disk *disk = wal->config.disk;
    return disk->ops->sync(disk, wal->file);
}

static void file_close(struct wal *wal)
{
    if (wal->file >= 0) wal->config.disk->ops->close(wal->config.disk, wal->file);
    wal->file = -1;
}

/* ---- groups ---- */

/* Spreads bytes over the payloads of blocks, from payload byte `at` on. */
static void payload_put(uint8_t *blocks, uint32_t at, const uint8_t *from, uint32_t bytes)
{
    while (bytes) {
        uint32_t within = at % WAL_PAYLOAD, room = WAL_PAYLOAD - within, part = bytes < room ? bytes : room;
        memcpy((uint8_t *)(block_at(blocks, at / WAL_PAYLOAD) + 1) + within, from, part);
        at += part;
        from += part;
        bytes -= part;
    }
}

static void group_stamp(struct wal *wal, uint8_t *blocks, uint32_t bytes, uint64_t group, uint64_t index, int flags)
{
    uint32_t count = blocks_for(bytes);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t used = i + 1 < count ? WAL_PAYLOAD : bytes - i * WAL_PAYLOAD;
        struct wal_block *block = block_at(blocks, i);
        memset((uint8_t *)(block + 1) + used, 0, WAL_PAYLOAD - used);
        stamp(wal, block,
              (struct wal_block){.kind = WAL_GROUP,
                                 .flags = (uint16_t)(flags | (i ? 0 : WAL_FIRST) | (i + 1 < count ? 0 : WAL_LAST)),
                                 .used = used,
                                 .index = (uint32_t)(index + i),
                                 .group = group});
    }
}

/* ---- files ---- */

/* How long a file is whose first group has so many blocks. */
static uint64_t file_bytes_for(const struct wal_config *config, uint32_t blocks)
{
    uint64_t bytes = WAL_BLOCK + blocks_bytes(blocks);
    return bytes > config->file_bytes ? bytes : config->file_bytes;
}

/* As how many files of the usual length it counts. */
static uint32_t files_of(const struct wal *wal, const struct wal_file *file)
{
    return (uint32_t)((file->bytes + wal->config.file_bytes - 1) / wal->config.file_bytes);
}

static int head_write(struct wal *wal, uint64_t previous, bool carried)
{
    uint8_t block[WAL_BLOCK] __attribute__((aligned(8))) = {0};
    struct wal_head head = {.version = WAL_VERSION,
                            .node = wal->config.node,
                            .fingerprint = wal->config.fingerprint,
                            .directory = {wal->config.directory[0], wal->config.directory[1]},
                            .file_bytes = file_last(wal)->bytes,
                            .previous = previous,
                            .carried = carried};
    memcpy(block + sizeof(struct wal_block), &head, sizeof head);
    stamp(wal, block_at(block, 0), (struct wal_block){.kind = WAL_HEAD, .used = sizeof head, .group = previous + 1});
    return blocks_write(wal, block, 1, 0);
}

/* What a file is called while it is made of another one. */
static void part_name(const char *name, char part[DISK_NAME_MAX])
{
    size_t length = strlen(name);
    memcpy(part, name, length);
    memcpy(part + length, ".part", sizeof ".part");
}

static void file_forget(struct wal *wal, uint32_t i)
{
    memmove(wal->files + i, wal->files + i + 1, (--wal->file_count - i) * sizeof *wal->files);
}

static int file_create(struct wal *wal, const char *name, uint64_t bytes, struct cellar_error *error)
{
    struct disk *disk = wal->config.disk;
    if (wal->file_count == WAL_FILES_MAX) return err_set(error, CELLAR_FULL, LINE "%d files", WAL_FILES_MAX);
    int rc = disk->ops->create(disk, name, bytes, true);
    if (rc == ENOSPC || rc == EDQUOT || rc == EFBIG)
        return err_set(error, CELLAR_FULL, LINE "no space for another file of %llu bytes: %s",
                       (unsigned long long)bytes, strerror(rc));
    return rc ? fail(wal, "making a file", rc, error) : 0;
}

/*
 * The oldest file that is not needed becomes the next one. Its groups name another file, and count no more; its head is
 * gone from the disk before it has the new name.
 */
static int spare_take(struct wal *wal, const char *name, struct cellar_error *error)
{
    static const uint8_t zeros[WAL_BLOCK];
    struct disk *disk = wal->config.disk;
    char old[DISK_NAME_MAX], part[DISK_NAME_MAX];
    uint64_t bytes;
    int file;
    wal_name(wal->files[0].number, old);
    part_name(name, part);
    wal->spare--;
    file_forget(wal, 0);
    int rc = disk->ops->rename(disk, old, part);
    if (!rc) rc = disk->ops->open(disk, part, &file, &bytes);
    if (rc) return fail(wal, "taking a file again", rc, error);
    rc = PLANT(wal_spare_headed) ? 0 : disk->ops->write(disk, file, zeros, sizeof zeros, 0);
    if (!rc) rc = disk->ops->sync(disk, file);
    disk->ops->close(disk, file);
    if (!rc) rc = disk->ops->rename(disk, part, name);
    return rc ? fail(wal, "taking a file again", rc, error) : 0;
}

/* Makes the next file, of so many bytes, and opens it in place of the one before it. */
static int file_make(struct wal *wal, uint64_t number, uint64_t bytes, struct cellar_error *error)
{
    struct disk *disk = wal->config.disk;
    char name[DISK_NAME_MAX];
    wal_name(number, name);
    bool again = wal->spare && wal->files[0].bytes == bytes;
    int rc = again ? spare_take(wal, name, error) : file_create(wal, name, bytes, error);
    if (rc) return rc;
    file_close(wal);
    if ((rc = disk->ops->open(disk, name, &wal->file, &bytes))) {
        wal->file = -1;
        return fail(wal, "opening a file", rc, error);
    }
    wal->files[wal->file_count++] =
        (struct wal_file){.number = number, .first = wal->group, .last = wal->group - 1, .bytes = bytes};
    wal->index = 1;
    return 0;
}

/* The head is durable before a group in the file is written: a whole group shows that heads before it were whole. */
static int file_next(struct wal *wal, uint32_t blocks, struct cellar_error *error)
{
    const struct wal_file next = {.bytes = file_bytes_for(&wal->config, blocks)};
    if (wal_files(wal) + files_of(wal, &next) > wal->config.files_max)
        return err_set(error, CELLAR_FULL, LINE "%u of %u files are in use", wal_files(wal), wal->config.files_max);
    int rc = file_make(wal, file_last(wal)->number + 1, next.bytes, error);
    if (rc) return rc;
    rc = head_write(wal, wal->group - 1, false);
    if (!rc && !PLANT(wal_head_unsynced)) rc = file_sync(wal);
    return rc ? fail(wal, "beginning a file", rc, error) : 0;
}

/* A file that may have been removed before. */
static int file_remove(struct wal *wal, const char *name, struct cellar_error *error)
{
    int rc = wal->config.disk->ops->remove(wal->config.disk, name);
    return rc && rc != ENOENT ? fail(wal, "removing a file that does not count", rc, error) : 0;
}

/* What was cut short: files of openings that never returned, and one that was being taken again. */
static int left_remove(struct wal *wal, struct wal_scan *scan, uint64_t number, struct cellar_error *error)
{
    char name[DISK_NAME_MAX], part[DISK_NAME_MAX];
    int rc = 0;
    for (; scan->left && !rc; scan->left--) {
        wal_name(scan->files[scan->file_count + scan->left - 1].number, name);
        rc = file_remove(wal, name, error);
    }
    wal_name(number, name);
    part_name(name, part);
    return rc ? rc : file_remove(wal, part, error);
}

static int copy_write(struct wal *wal, const struct wal_scan *scan)
{
    uint32_t bytes = (uint32_t)scan->last_bytes, count = blocks_for(bytes);
    uint8_t *blocks = lazy_map(blocks_bytes(count));
    if (!blocks) return ENOMEM;
    payload_put(blocks, 0, scan->last, bytes);
    group_stamp(wal, blocks, bytes, scan->found.last, 1, WAL_COPY);
    int rc = blocks_write(wal, blocks, count, 1);
    lazy_unmap(blocks, blocks_bytes(count));
    wal->index += count;
    return rc;
}

/*
 * An opening's file begins with the last group found: it may be in a cache only, or in one that a failed sync has
 * emptied of all marks. Until head and copy are both whole, the file was not begun, and the group counts where it was.
 */
static int file_first(struct wal *wal, struct wal_scan *scan, struct cellar_error *error)
{
    uint32_t before = wal->file_count;
    uint64_t number = before ? wal->files[before - 1].number + 1 : 1;
    bool carried = scan->found.last >= scan->found.first && !PLANT(wal_tail_trusted);
    carried = carried && !(scan->copied && PLANT(wal_copy_trusted));
    uint32_t blocks = carried ? blocks_for((uint32_t)scan->last_bytes) : 1;
    int rc = left_remove(wal, scan, number, error);
    if (!rc) rc = file_make(wal, number, file_bytes_for(&wal->config, blocks), error);
    if (rc) return rc;
    wal->first = number;
    rc = carried ? copy_write(wal, scan) : 0;
    if (!rc) rc = head_write(wal, scan->found.last - carried, carried);
    if (!rc) rc = file_sync(wal);
    if (rc) return fail(wal, "beginning a file", rc, error);
    if (carried && before) wal->files[wal->file_count - 2].last--;
    return 0;
}

/* INV-DURABLE-21: what the new file has made needless is gone when the opening returns; the new one is durable now. */
static int superseded_remove(struct wal *wal, struct cellar_error *error)
{
    for (uint32_t i = wal->file_count - 1; i-- > 0;) {
        char name[DISK_NAME_MAX];
        if (wal->files[i].last >= wal->files[i].first) continue;
        wal_name(wal->files[i].number, name);
        int rc = file_remove(wal, name, error);
        if (rc) return rc;
        file_forget(wal, i);
    }
    return 0;
}

/* The last group, where it was found: it may not have been synced yet. */
static int found_sync(struct wal *wal, struct cellar_error *error)
{
    struct disk *disk = wal->config.disk;
    char name[DISK_NAME_MAX];
    uint64_t bytes;
    int file;
    if (!wal->file_count) return 0;
    wal_name(wal->files[wal->file_count - 1].number, name);
    int rc = disk->ops->open(disk, name, &file, &bytes);
    if (rc) return fail(wal, "opening a file", rc, error);
    rc = disk->ops->sync(disk, file);
    disk->ops->close(disk, file);
    return rc ? fail(wal, "fdatasync", rc, error) : 0;
}

/*
 * Space for an opening's file. What says that files are not needed may be in the last group, which is not copied yet;
 * and if that is a copy itself, the file before it may have the only one.
 */
static int space_make(struct wal *wal, const struct wal_scan *scan, struct cellar_error *error)
{
    uint64_t from = wal->config.from, last = scan->found.last;
    int rc = found_sync(wal, error);
    return rc ? rc : wal_free(wal, scan->copied && from >= last ? last - 1 : from, error);
}

/* Files are freed when the copy is on the disk; before that only where there is no space. */
static int first_begin(struct wal *wal, struct wal_scan *scan, struct cellar_error *error)
{
    int rc = file_first(wal, scan, error);
    bool frees = !wal->config.keeps;
    if (rc == CELLAR_FULL && frees) {
        rc = space_make(wal, scan, error);
        if (!rc) rc = file_first(wal, scan, error);
    }
    if (!rc) rc = superseded_remove(wal, error);
    return rc || !frees ? rc : wal_free(wal, wal->config.from, error);
}

/* ---- the log ---- */

static void wal_release(struct wal *wal)
{
    file_close(wal);
    lazy_unmap(wal->blocks, blocks_bytes(blocks_for(bytes_most(&wal->config))));
    free(wal);
}

int wal_open(const struct wal_config *config, wal_visit *visit, void *arg, struct wal **made, struct wal_found *found,
             struct cellar_error *error)
{
    *made = NULL;
    struct wal_scan *scan = malloc(sizeof *scan);
    struct wal *wal = calloc(1, sizeof *wal);
    int rc = 0;
    if (!scan || !wal) {
        free(scan);
        free(wal);
        return err_set(error, CELLAR_NOMEM, "no memory for a log");
    }
    wal->config = *config;
    wal->file = -1;
    wal->first = UINT64_MAX;
    rc = wal_scan(config, visit, arg, scan, error);
    if (!rc && scan->last_bytes > WAL_GROUP_MAX)
        rc = err_set(error, CELLAR_INVALID, LINE "its last group has %llu bytes", (unsigned long long)scan->last_bytes);
    if (!rc && !(wal->blocks = lazy_map(blocks_bytes(blocks_for(bytes_most(config))))))
        rc = err_set(error, CELLAR_NOMEM, "no memory for a group of the log");
    if (!rc) {
        memcpy(wal->files, scan->files, scan->file_count * sizeof *wal->files);
        wal->file_count = scan->file_count;
        wal->group = scan->found.last + 1;
        rc = first_begin(wal, scan, error);
    }
    if (found) *found = scan->found;
    free(scan->last);
    free(scan);
    if (rc)
        wal_release(wal);
    else
        *made = wal;
    return rc;
}

bool wal_room(const struct wal *wal, uint32_t bytes)
{
    must(bytes <= bytes_most(&wal->config));
    if (wal->written) return false;
    return wal->filled == 0 || (!is_longer(wal, wal->filled) && bytes <= wal->config.group_bytes - wal->filled);
}

bool wal_append(struct wal *wal, const void *from, uint32_t bytes)
{
    uint32_t most = bytes_most(&wal->config);
    must(bytes <= most);
    if (wal->written || bytes > most - wal->filled) return false;
    payload_put(wal->blocks, wal->filled, from, bytes);
    wal->filled += bytes;
    return true;
}

uint32_t wal_pending(const struct wal *wal) { return wal->filled; }

uint32_t wal_files(const struct wal *wal)
{
    uint32_t files = 0;
    for (uint32_t i = wal->spare; i < wal->file_count; i++) files += files_of(wal, &wal->files[i]);
    return files;
}

uint64_t wal_written(const struct wal *wal) { return wal->bytes; }

static int group_sync(struct wal *wal, struct cellar_error *error)
{
    uint32_t count = blocks_for(wal->filled);
    if (!wal->written) {
        if (wal->index + count > file_last(wal)->bytes / WAL_BLOCK) {
            int rc = file_next(wal, count, error);
            if (rc) return rc;
        }
        group_stamp(wal, wal->blocks, wal->filled, wal->group, wal->index, 0);
        int rc = blocks_write(wal, wal->blocks, count, wal->index);
        if (rc) return fail(wal, "writing", rc, error);
        wal->written = true;
    }
    int rc = PLANT(wal_acked_unsynced) ? 0 : file_sync(wal);
    if (rc) return fail(wal, "fdatasync", rc, error);
    wal->index += count;
    file_last(wal)->last = wal->group++;
    if (is_longer(wal, wal->filled)) lazy_drop(wal->blocks, blocks_bytes(count));
    wal->filled = 0;
    wal->written = false;
    return 0;
}

int wal_sync(struct wal *wal, uint64_t *group, struct cellar_error *error)
{
    *group = wal->group - 1;
    if (wal->failed && !PLANT(wal_sync_retried)) {
        if (error) *error = wal->why;
        return CELLAR_SYSTEM;
    }
    int rc = wal->filled ? group_sync(wal, error) : 0;
    *group = wal->group - 1;
    return rc;
}

/*
 * How many of the files that are not needed go. Those of earlier openings, and of longer groups, may have another
 * length, and are not kept for use again, nor is one before them: a reader takes a gap for damage.
 */
static uint32_t files_to_remove(const struct wal *wal)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < wal->spare; i++) {
        const struct wal_file *file = &wal->files[i];
        bool fits = file->number >= wal->first && file->bytes == wal->config.file_bytes;
        if (!fits || wal->file_count - i > wal->config.files_kept) count = i + 1;
    }
    return count;
}

int wal_free(struct wal *wal, uint64_t below, struct cellar_error *error)
{
    struct disk *disk = wal->config.disk;
    while (wal->spare + 1 < wal->file_count && wal->files[wal->spare].last < below + PLANT(wal_freed_early))
        wal->spare++;
    for (uint32_t left = files_to_remove(wal); left; left--) {
        char name[DISK_NAME_MAX];
        wal_name(wal->files[0].number, name);
        int rc = disk->ops->remove(disk, name);
        if (rc) return err_set(error, CELLAR_SYSTEM, LINE "removing %s: %s", name, strerror(rc));
        wal->spare--;
        file_forget(wal, 0);
    }
    return 0;
}

int wal_close(struct wal *wal, struct cellar_error *error)
{
    if (!wal) return 0;
    uint64_t group;
    int rc = wal_sync(wal, &group, error);
    if (!rc) rc = group_sync(wal, error);
    wal_release(wal);
    return rc;
}

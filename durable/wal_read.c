/*
 * wal_read.c - reads a log whose bytes may be anything. What is whole counts; where it ends, all that lies behind is
 * looked at: whole blocks of a later group show that this one was synced, so the place is damage and no torn tail.
 */
#include "durable_plants.h"
#include "must.h"
#include "wal_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define LINE "write-ahead log: "
#define GROUPS_MAX (1ull << 62)
#define FILE_BYTES_MAX (1ull << 32)

struct scanned {
    uint64_t number, bytes;
    int file;
    bool open, headed, begun; /* its head is whole; and so is its first group */
    struct wal_head head;
};

struct scanner {
    const struct wal_config *config;
    wal_visit *visit;
    void *arg;
    struct cellar_error *error;
    struct wal_scan *scan;
    struct scanned *files;
    uint32_t count;
    uint8_t *group; /* being read */
    uint64_t bytes, capacity, last_capacity;
    union {
        struct wal_block header;
        uint8_t bytes[WAL_BLOCK];
    } block;
};

/* ---- names, blocks ---- */

void wal_name(uint64_t number, char name[DISK_NAME_MAX])
{
    static const char digits[] = "0123456789abcdef";
    memcpy(name, "wal-", 4);
    for (int i = 0; i < 16; i++) name[4 + i] = digits[number >> (60 - 4 * i) & 15];
    name[20] = 0;
}

/* 0: not the name of a file of the log. */
static uint64_t name_number(const char *name)
{
    char same[DISK_NAME_MAX];
    uint64_t number = strncmp(name, "wal-", 4) ? 0 : strtoull(name + 4, NULL, 16);
    wal_name(number, same);
    return strcmp(name, same) ? 0 : number;
}

uint64_t wal_salt(const struct wal_config *config)
{
    uint64_t of[4] = {config->directory[0], config->directory[1], config->fingerprint, config->node};
    return XXH3_64bits(of, sizeof of);
}

uint64_t wal_checksum(const struct wal_block *block)
{
    struct wal_block header = *block;
    header.checksum = 0;
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, &header, sizeof header);
    XXH3_64bits_update(&state, block + 1, WAL_PAYLOAD);
    return XXH3_64bits_digest(&state);
}

static int refused(const struct scanner *scanner, const struct scanned *file, int rc)
{
    char name[DISK_NAME_MAX];
    wal_name(file->number, name);
    return err_set(scanner->error, CELLAR_SYSTEM, LINE "%s: %s", name, strerror(rc));
}

static int broken(const struct scanner *scanner, const struct scanned *file, uint64_t index, const char *why)
{
    char name[DISK_NAME_MAX];
    wal_name(file->number, name);
    return err_set(scanner->error, CELLAR_CORRUPT, LINE "%s, offset %" PRIu64 ": %s", name, index * WAL_BLOCK, why);
}

/* Reads a block into scanner->block; *whole: it is what was written at this place, of whatever kind and group. */
static int block_read(struct scanner *scanner, const struct scanned *file, uint64_t index, bool *whole)
{
    const struct disk *disk = scanner->config->disk;
    const struct wal_block *block = &scanner->block.header;
    int rc = disk->ops->read(scanner->config->disk, file->file, scanner->block.bytes, WAL_BLOCK, index * WAL_BLOCK);
    if (rc) return refused(scanner, file, rc);
    *whole = block->magic == WAL_MAGIC && block->used <= WAL_PAYLOAD &&
             (wal_checksum(block) == block->checksum || PLANT(wal_checksum_ignored));
    if (*whole && block->kind == WAL_GROUP && !PLANT(wal_place_unlooked))
        *whole = block->index == index && block->file == file->number && block->salt == wal_salt(scanner->config);
    return 0;
}

static uint64_t blocks_of(const struct scanned *file) { return file->bytes / WAL_BLOCK; }

/* ---- heads ---- */

static int head_judge(struct scanner *scanner, struct scanned *file)
{
    const struct wal_config *config = scanner->config;
    const struct wal_block *block = &scanner->block.header;
    const struct wal_head *head = &file->head;
    char name[DISK_NAME_MAX];
    wal_name(file->number, name);
    memcpy(&file->head, scanner->block.bytes + sizeof *block, sizeof file->head);
    if (head->version != WAL_VERSION)
        return err_set(scanner->error, CELLAR_MISMATCH, LINE "%s has format %u, and this build reads format %u", name,
                       head->version, WAL_VERSION);
    if (head->fingerprint != config->fingerprint)
        return err_set(scanner->error, CELLAR_MISMATCH, LINE "%s was written by a build with another layout", name);
    if (memcmp(head->directory, config->directory, sizeof head->directory) || head->node != config->node)
        return err_set(scanner->error, CELLAR_MISMATCH, LINE "%s belongs to another pool or memory node", name);
    if (block->kind != WAL_HEAD || block->index != 0 || block->file != file->number ||
        block->group != head->previous + 1 || head->previous >= GROUPS_MAX || head->carried > 1)
        return broken(scanner, file, 0, "this is no head of this file");
    if (file->bytes != head->file_bytes)
        return broken(scanner, file, blocks_of(file), "the file has not the length that its head names");
    return 0;
}

/* Reads one whole group into scanner->group. *whole false: *index is the block where it is not. */
static int group_read(struct scanner *scanner, const struct scanned *file, uint64_t group, uint64_t *index, bool *whole)
{
    const struct wal_block *block = &scanner->block.header;
    scanner->bytes = 0;
    for (bool first = true;; first = false) {
        *whole = false;
        if (*index >= blocks_of(file)) return 0;
        int rc = block_read(scanner, file, *index, whole);
        if (rc) return rc;
        bool last = block->flags & WAL_LAST;
        *whole = *whole && block->kind == WAL_GROUP && block->group == group && !(block->flags & WAL_FIRST) == !first &&
                 (last || block->used == WAL_PAYLOAD);
        if (!*whole && PLANT(wal_torn_accepted) && !first) return *whole = true, 0;
        if (!*whole) return 0;
        if (scanner->capacity - scanner->bytes < block->used) {
            uint64_t capacity = 2 * scanner->capacity + WAL_BLOCK;
            uint8_t *more = realloc(scanner->group, capacity);
            if (!more) return err_set(scanner->error, CELLAR_NOMEM, "no memory for a group of the log");
            scanner->group = more;
            scanner->capacity = capacity;
        }
        if (block->used) memcpy(scanner->group + scanner->bytes, block + 1, block->used);
        scanner->bytes += block->used;
        ++*index;
        if (last) return 0;
    }
}

/* What lies behind: whole blocks of `group` itself; and of later ones, which show that this one was synced. */
static int behind_look(struct scanner *scanner, const struct scanned *file, uint64_t index, uint64_t group, bool *same,
                       bool *later)
{
    bool whole = false;
    *same = *later = false;
    for (; index < blocks_of(file) && !*later; index++) {
        int rc = block_read(scanner, file, index, &whole);
        if (rc) return rc;
        if (!whole || scanner->block.header.kind != WAL_GROUP) continue;
        *same = *same || scanner->block.header.group == group;
        *later = scanner->block.header.group > group && !PLANT(wal_hole_is_tail);
    }
    return 0;
}

/* Of the log's very first file, whose beginning was cut short, nothing but the head can have been written. */
static int nothing_behind_head(struct scanner *scanner, const struct scanned *file)
{
    static const uint8_t zeros[WAL_BLOCK];
    bool whole = false;
    for (uint64_t index = 1; index < blocks_of(file); index++) {
        int rc = block_read(scanner, file, index, &whole);
        if (rc) return rc;
        if (memcmp(scanner->block.bytes, zeros, WAL_BLOCK))
            return broken(scanner, file, 0, "the head is no head of a log, and there are bytes behind it");
    }
    return 0;
}

/* A file is begun when its head is whole, and its first group is. If it is not, nothing that counts is in it. */
static int file_begun(struct scanner *scanner, struct scanned *file)
{
    bool whole = false;
    if (file->bytes % WAL_BLOCK || blocks_of(file) < 2)
        return broken(scanner, file, blocks_of(file), "the file is cut off: it was made of whole blocks");
    int rc = block_read(scanner, file, 0, &whole);
    if (rc || !whole) return rc;
    if ((rc = head_judge(scanner, file))) return rc;
    uint64_t index = 1;
    file->headed = true;
    return group_read(scanner, file, file->head.previous + 1, &index, &file->begun);
}

/* A first file whose groups are still to come, since those before it were freed, has but its head: it is begun, too. */
static int heads_read(struct scanner *scanner)
{
    struct scanned *first = scanner->files;
    bool begun = false;
    for (uint32_t i = 0; i < scanner->count; i++) {
        int rc = file_begun(scanner, &first[i]);
        if (rc) return rc;
        begun = begun || first[i].begun;
    }
    if (begun || !scanner->count) return 0;
    first->begun = first->headed && !first->head.carried;
    if (first->begun) return 0;
    if (first->headed || first->number != 1)
        return broken(scanner, first, first->headed, "the file's beginning is broken, and files before it are missing");
    return nothing_behind_head(scanner, first);
}

/* ---- groups ---- */

static int group_show(struct scanner *scanner, uint64_t group)
{
    struct wal_scan *scan = scanner->scan;
    uint8_t *spare = scan->last;
    uint64_t spare_capacity = scanner->last_capacity;
    scan->last = scanner->group;
    scan->last_bytes = scanner->bytes;
    scanner->last_capacity = scanner->capacity;
    scanner->group = spare;
    scanner->capacity = spare_capacity;
    scan->found.last = group;
    return scanner->visit ? scanner->visit(scanner->arg, group, scan->last, scan->last_bytes) : 0;
}

/* Refuses a log that lacks a group which a later head takes for granted; names the file that lacks it. */
static int gap_refuse(const struct scanner *scanner, const struct scanned *file, uint64_t at)
{
    const struct scanned *next = file + 1;
    if (!next->begun)
        return broken(scanner, next, next->headed, "the file's beginning is broken, and later files go on");
    if (next->number != file->number + 1) return broken(scanner, next, 0, "the file before this one is missing");
    return broken(scanner, file, at, "a group is not whole, and later files go on");
}

/* The groups of a file up to `limit`; of the last file (limit UINT64_MAX) as far as they go. *end: the block behind. */
static int file_walk(struct scanner *scanner, const struct scanned *file, uint64_t limit, uint64_t *end)
{
    uint64_t group = file->head.previous + 1, index = 1;
    bool whole = true, same, later;
    if (limit < file->head.previous)
        return broken(scanner, file, 0, "the file's first group is behind that of the file after it");
    for (; group <= limit; group++) {
        uint64_t at = *end = index;
        int rc = group_read(scanner, file, group, &at, &whole);
        if (rc) return rc;
        if (!whole) {
            if ((rc = behind_look(scanner, file, index, group, &same, &later))) return rc;
            if (later) return broken(scanner, file, at, "a group is not whole, and later ones are there");
            if (limit != UINT64_MAX) return gap_refuse(scanner, file, at);
            scanner->scan->found.torn = same;
            return 0;
        }
        index = at;
        if ((rc = group_show(scanner, group))) return rc;
    }
    *end = index;
    return 0;
}

/* A copy is written before the head; all else is after it. The group itself may be lost: no sync had covered it. */
static int copies_look(struct scanner *scanner, const struct scanned *file)
{
    bool whole = false;
    for (uint64_t index = 1; index < blocks_of(file); index++) {
        int rc = block_read(scanner, file, index, &whole);
        if (rc) return rc;
        if (whole && scanner->block.header.kind == WAL_GROUP && !(scanner->block.header.flags & WAL_COPY))
            return broken(scanner, file, 0, "the file's beginning is broken, and groups follow");
    }
    return 0;
}

/* In a file that was not begun there may be parts of its first group; if the head is not whole, of a copy only. */
static int unbegun_look(struct scanner *scanner, const struct scanned *file)
{
    struct wal_found *found = &scanner->scan->found;
    bool same, later;
    if (!file->headed) return copies_look(scanner, file);
    if (found->last < file->head.previous)
        return broken(scanner, file, 0, "groups that are in the files before this one are missing");
    int rc = behind_look(scanner, file, 1, file->head.previous + 1, &same, &later);
    if (rc) return rc;
    found->torn = found->torn || (!file->head.carried && same);
    return later ? broken(scanner, file, 1, "the file's beginning is broken, and groups follow") : 0;
}

/* How many of the first `count` files there are up to the last one that was begun. */
static uint32_t begun_count(const struct scanner *scanner, uint32_t count)
{
    while (count && !scanner->files[count - 1].begun) count--;
    return count;
}

/*
 * INV-DURABLE-21. Where a file has nothing but a copy, and the file before it begins with the same copy, the opening
 * that made it never returned: it would have removed that one.
 */
static int never_returned(struct scanner *scanner, const struct scanned *before, const struct scanned *file,
                          bool *never)
{
    bool same, later;
    *never = false;
    if (!file->head.carried) return 0;
    if (before->head.previous != file->head.previous && !PLANT(wal_copy_removed)) return 0;
    int rc = behind_look(scanner, file, 1, file->head.previous + 1, &same, &later);
    *never = !later;
    return rc;
}

/* *count: files up to the last one that counts. Those behind it were cut short, or their openings were. */
static int last_find(struct scanner *scanner, uint32_t *count)
{
    const struct scanned *files = scanner->files;
    bool never = true;
    int rc = 0;
    *count = begun_count(scanner, scanner->count);
    for (uint32_t before; never && !rc && *count && (before = begun_count(scanner, *count - 1)) > 0;) {
        rc = never_returned(scanner, &files[before - 1], &files[*count - 1], &never);
        if (!rc && never) *count = before;
    }
    return rc;
}

/* Up to which group those of file i count: what begins with the next file that was begun counts there. */
static uint64_t limit_of(const struct scanner *scanner, uint32_t i, uint32_t count)
{
    for (i++; i < count; i++)
        if (scanner->files[i].begun) return scanner->files[i].head.previous;
    return UINT64_MAX;
}

static int counted_walk(struct scanner *scanner, uint32_t count)
{
    struct wal_scan *scan = scanner->scan;
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct scanned *file = &scanner->files[i];
        uint64_t end = 1;
        if (file->begun && !any) scan->found = (struct wal_found){file->head.previous + 1, file->head.previous, false};
        any = any || file->begun;
        uint64_t first = scan->found.last + 1;
        int rc = file->begun ? file_walk(scanner, file, limit_of(scanner, i, count), &end) : 0;
        if (rc) return rc;
        scan->files[scan->file_count++] = (struct wal_file){file->number, first, scan->found.last, file->bytes, end};
        scan->copied = file->begun && file->head.carried && first == scan->found.last;
    }
    return 0;
}

static int needed_check(const struct scanner *scanner)
{
    const struct wal_found *found = &scanner->scan->found;
    const struct scanned *file = scanner->files;
    uint64_t from = scanner->config->from;
    if (found->first <= from && found->last + 1 >= from) return 0;
    if (found->first > from && scanner->count && !file->begun)
        return broken(scanner, file, file->headed, "the file's beginning is broken, and later files go on");
    return err_set(scanner->error, CELLAR_CORRUPT,
                   LINE "group %" PRIu64 " is needed, and there are %" PRIu64 " to %" PRIu64, from, found->first,
                   found->last);
}

static int groups_walk(struct scanner *scanner)
{
    struct wal_scan *scan = scanner->scan;
    uint32_t count;
    scan->found = (struct wal_found){1, 0, false};
    int rc = last_find(scanner, &count);
    if (!rc) rc = counted_walk(scanner, count);
    for (uint32_t i = count; i < scanner->count && !rc; i++) {
        if (!scanner->files[i].begun) rc = unbegun_look(scanner, &scanner->files[i]);
        scan->files[scan->file_count + scan->left++].number = scanner->files[i].number;
    }
    return rc ? rc : needed_check(scanner);
}

/* ---- files ---- */

static int file_add(void *arg, const char *name)
{
    struct scanner *scanner = arg;
    uint64_t number = name_number(name);
    if (!number) return 0;
    if (scanner->count == WAL_FILES_MAX)
        return err_set(scanner->error, CELLAR_CORRUPT, LINE "there are more than %d files", WAL_FILES_MAX);
    scanner->files[scanner->count++] = (struct scanned){.number = number};
    return 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t left = ((const struct scanned *)a)->number, right = ((const struct scanned *)b)->number;
    return (left > right) - (left < right);
}

static int files_open(struct scanner *scanner)
{
    struct disk *disk = scanner->config->disk;
    int rc = disk->ops->list(disk, file_add, scanner);
    if (rc < 0) return rc;
    if (rc) return err_set(scanner->error, CELLAR_SYSTEM, LINE "its folder: %s", strerror(rc));
    if (scanner->count) qsort(scanner->files, scanner->count, sizeof *scanner->files, by_number);
    for (uint32_t i = 0; i < scanner->count; i++) {
        struct scanned *file = &scanner->files[i];
        char name[DISK_NAME_MAX];
        wal_name(file->number, name);
        if ((rc = disk->ops->open(disk, name, &file->file, &file->bytes))) return refused(scanner, file, rc);
        file->open = true;
    }
    return 0;
}

int wal_config_check(const struct wal_config *config, struct cellar_error *error)
{
    uint64_t blocks = ((uint64_t)config->group_bytes + WAL_PAYLOAD - 1) / WAL_PAYLOAD;
    if (!config->disk || !config->group_bytes || config->file_bytes % WAL_BLOCK || !config->from)
        return err_set(error, CELLAR_INVALID, LINE "no disk, no group, or files of %" PRIu64 " bytes",
                       config->file_bytes);
    if (blocks > config->file_bytes / WAL_BLOCK - 1 || config->file_bytes < WAL_BLOCK ||
        config->file_bytes > FILE_BYTES_MAX)
        return err_set(error, CELLAR_INVALID, LINE "a group of %u bytes does not fit into files of %" PRIu64 " bytes",
                       config->group_bytes, config->file_bytes);
    if (config->group_most > WAL_GROUP_MAX)
        return err_set(error, CELLAR_INVALID, LINE "a group of %u bytes", config->group_most);
    if (config->files_max < 2 || config->files_max > WAL_FILES_MAX)
        return err_set(error, CELLAR_INVALID, LINE "%u files: 2 to %d are possible", config->files_max, WAL_FILES_MAX);
    return 0;
}

int wal_scan(const struct wal_config *config, wal_visit *visit, void *arg, struct wal_scan *scan,
             struct cellar_error *error)
{
    *scan = (struct wal_scan){0};
    int rc = wal_config_check(config, error);
    if (rc) return rc;
    struct scanner *scanner = calloc(1, sizeof *scanner);
    if (scanner) scanner->files = calloc(WAL_FILES_MAX, sizeof *scanner->files);
    if (!scanner || !scanner->files) {
        free(scanner);
        return err_set(error, CELLAR_NOMEM, "no memory to read a log");
    }
    scanner->config = config;
    scanner->visit = visit;
    scanner->arg = arg;
    scanner->error = error;
    scanner->scan = scan;
    rc = files_open(scanner);
    if (!rc) rc = heads_read(scanner);
    if (!rc) rc = groups_walk(scanner);
    for (uint32_t i = 0; i < scanner->count; i++)
        if (scanner->files[i].open) config->disk->ops->close(config->disk, scanner->files[i].file);
    free(scanner->group);
    free(scanner->files);
    free(scanner);
    return rc;
}

int wal_read(const struct wal_config *config, wal_visit *visit, void *arg, struct wal_found *found,
             struct cellar_error *error)
{
    struct wal_scan *scan = malloc(sizeof *scan);
    if (!scan) return err_set(error, CELLAR_NOMEM, "no memory to read a log");
    int rc = wal_scan(config, visit, arg, scan, error);
    if (found) *found = scan->found;
    free(scan->last);
    free(scan);
    return rc;
}

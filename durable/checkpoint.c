/* checkpoint.c - writing and reading the two files of a folder. */
#include "checkpoint.h"

#include "durable_plants.h"
#include "must.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define PIECES_MAX (1ull << 48)

_Static_assert(sizeof(struct checkpoint) == 104 && sizeof(struct checkpoint_piece) == 16, "checkpoint");

union block {
    struct checkpoint head;
    uint8_t bytes[CHECKPOINT_BLOCK];
};

struct checkpoint_writer {
    struct disk *disk;
    uint32_t slot;
    int file;
    uint64_t pieces, pieces_max;
    struct checkpoint_piece *table; /* of whole blocks */
};

static void name_of(uint32_t slot, char name[DISK_NAME_MAX])
{
    snprintf(name, DISK_NAME_MAX, "checkpoint-%u", slot + 1);
}

static uint64_t table_bytes(uint64_t pieces)
{
    uint64_t bytes = pieces * sizeof(struct checkpoint_piece);
    return (bytes + CHECKPOINT_BLOCK - 1) / CHECKPOINT_BLOCK * CHECKPOINT_BLOCK;
}

static uint64_t piece_at(uint64_t pieces_max, uint64_t piece)
{
    return CHECKPOINT_BLOCK + table_bytes(pieces_max) + piece * CHECKPOINT_PIECE;
}

static uint64_t checksum_of(const union block *block)
{
    union block copy = *block;
    copy.head.checksum = 0;
    return XXH3_64bits(&copy, sizeof copy);
}

static int refused(struct cellar_error *error, uint32_t slot, int rc)
{
    bool full = rc == ENOSPC || rc == EDQUOT || rc == EFBIG;
    return err_set(error, full ? CELLAR_FULL : CELLAR_SYSTEM, "checkpoint-%u: %s", slot + 1, strerror(rc));
}

static int damaged(struct cellar_error *error, uint32_t slot, uint64_t offset, const char *what)
{
    return err_set(error, CELLAR_CORRUPT, "checkpoint-%u, offset %" PRIu64 ": %s", slot + 1, offset, what);
}

/* ---- reading ---- */

static int file_open(struct disk *disk, uint32_t slot, int *file, uint64_t *bytes)
{
    char name[DISK_NAME_MAX];
    name_of(slot, name);
    return disk->ops->open(disk, name, file, bytes);
}

int checkpoint_look(struct disk *disk, const uint64_t folder[2], uint32_t slot, struct checkpoint *found, bool *broken,
                    struct cellar_error *error)
{
    static const union block zeros;
    union block block;
    uint64_t bytes;
    int file, rc = file_open(disk, slot, &file, &bytes);
    *broken = false;
    if (rc == ENOENT) return CELLAR_NOT_FOUND;
    if (rc) return refused(error, slot, rc);
    rc = bytes < sizeof block ? CELLAR_NOT_FOUND : disk->ops->read(disk, file, &block, sizeof block, 0);
    disk->ops->close(disk, file);
    if (rc > 0) return refused(error, slot, rc);
    if (rc || block.head.magic != CHECKPOINT_MAGIC || block.head.checksum != checksum_of(&block)) {
        *broken = rc || memcmp(&block, &zeros, sizeof block) != 0;
        return CELLAR_NOT_FOUND;
    }
    *found = block.head;
    if (found->version != CHECKPOINT_VERSION)
        return err_set(error, CELLAR_MISMATCH, "checkpoint-%u has format %u, and this build reads format %u", slot + 1,
                       found->version, CHECKPOINT_VERSION);
    if (memcmp(found->folder, folder, sizeof found->folder))
        return err_set(error, CELLAR_MISMATCH, "checkpoint-%u belongs to another folder", slot + 1);
    if (found->pieces > found->pieces_max || found->pieces_max > PIECES_MAX / CHECKPOINT_PIECE ||
        bytes < piece_at(found->pieces_max, found->pieces_max))
        return damaged(error, slot, 0, "the file has not the length that its head names");
    return 0;
}

static int pieces_read(struct disk *disk, int file, uint32_t slot, const struct checkpoint *found,
                       const struct checkpoint_piece *table, uint8_t *piece, checkpoint_see *see, void *arg,
                       struct cellar_error *error)
{
    for (uint64_t i = 0; i < found->pieces; i++) {
        uint64_t at = piece_at(found->pieces_max, i);
        int rc = disk->ops->read(disk, file, piece, CHECKPOINT_PIECE, at);
        if (rc) return refused(error, slot, rc);
        if (XXH3_64bits(piece, CHECKPOINT_PIECE) != table[i].sum) return damaged(error, slot, at, "a piece is damaged");
        if ((rc = see(arg, table[i].offset, piece))) return rc;
    }
    return 0;
}

int checkpoint_read(struct disk *disk, uint32_t slot, const struct checkpoint *found, checkpoint_see *see, void *arg,
                    struct cellar_error *error)
{
    uint64_t bytes, table_size = found->pieces * sizeof(struct checkpoint_piece);
    int file, rc = file_open(disk, slot, &file, &bytes);
    if (rc) return refused(error, slot, rc);
    uint8_t *piece = malloc(CHECKPOINT_PIECE);
    struct checkpoint_piece *table = malloc(table_size ? table_size : 1);
    if (!piece || !table)
        rc = err_set(error, CELLAR_NOMEM, "no memory to read a checkpoint");
    else if ((rc = disk->ops->read(disk, file, table, table_size, CHECKPOINT_BLOCK)))
        rc = refused(error, slot, rc);
    else if (XXH3_64bits(table, table_size) != found->sums)
        rc = damaged(error, slot, CHECKPOINT_BLOCK, "the table of pieces is damaged");
    else
        rc = pieces_read(disk, file, slot, found, table, piece, see, arg, error);
    disk->ops->close(disk, file);
    free(piece);
    free(table);
    return rc;
}

int checkpoint_remove(struct disk *disk, uint32_t slot, struct cellar_error *error)
{
    char name[DISK_NAME_MAX];
    name_of(slot, name);
    int rc = disk->ops->remove(disk, name);
    return rc && rc != ENOENT ? refused(error, slot, rc) : 0;
}

/* ---- writing ---- */

/* The file of that slot, with room: the one that is there, if it has, and not far too much of it. */
static int file_make(struct checkpoint_writer *writer, struct cellar_error *error)
{
    struct disk *disk = writer->disk;
    static const union block zeros;
    char name[DISK_NAME_MAX];
    uint64_t bytes, wanted = piece_at(writer->pieces_max, writer->pieces_max);
    name_of(writer->slot, name);
    int rc = disk->ops->open(disk, name, &writer->file, &bytes);
    if (rc && rc != ENOENT) return refused(error, writer->slot, rc);
    if (!rc && bytes >= wanted && bytes <= 4 * wanted) {
        rc = disk->ops->write(disk, writer->file, &zeros, sizeof zeros, 0);
        if (!rc) rc = disk->ops->sync(disk, writer->file);
        return rc ? refused(error, writer->slot, rc) : 0;
    }
    if (!rc) disk->ops->close(disk, writer->file);
    writer->file = -1;
    rc = rc ? 0 : checkpoint_remove(disk, writer->slot, error);
    if (rc) return rc;
    rc = disk->ops->create(disk, name, wanted, false);
    if (!rc) rc = disk->ops->open(disk, name, &writer->file, &bytes);
    return rc ? refused(error, writer->slot, rc) : 0;
}

int checkpoint_begin(struct disk *disk, uint32_t slot, uint64_t pieces_max, struct checkpoint_writer **out,
                     struct cellar_error *error)
{
    struct checkpoint_writer *writer = calloc(1, sizeof *writer);
    *out = NULL;
    if (!writer) return err_set(error, CELLAR_NOMEM, "no memory for a checkpoint");
    *writer = (struct checkpoint_writer){.disk = disk, .slot = slot, .file = -1, .pieces_max = pieces_max};
    writer->table = calloc(1, table_bytes(pieces_max) + CHECKPOINT_BLOCK);
    int rc = writer->table ? file_make(writer, error) : err_set(error, CELLAR_NOMEM, "no memory for a checkpoint");
    if (rc)
        checkpoint_drop(writer);
    else
        *out = writer;
    return rc;
}

int checkpoint_add(struct checkpoint_writer *writer, uint64_t offset, const uint8_t *bytes, struct cellar_error *error)
{
    if (!bytes[0] && memcmp(bytes, bytes + 1, CHECKPOINT_PIECE - 1) == 0) return 0;
    must(writer->pieces < writer->pieces_max);
    writer->table[writer->pieces] = (struct checkpoint_piece){offset, XXH3_64bits(bytes, CHECKPOINT_PIECE)};
    uint64_t at = piece_at(writer->pieces_max, writer->pieces++);
    int rc = writer->disk->ops->write(writer->disk, writer->file, bytes, CHECKPOINT_PIECE, at);
    return rc ? refused(error, writer->slot, rc) : 0;
}

int checkpoint_sync(struct checkpoint_writer *writer, struct cellar_error *error)
{
    struct disk *disk = writer->disk;
    int rc = disk->ops->write(disk, writer->file, writer->table, table_bytes(writer->pieces), CHECKPOINT_BLOCK);
    if (!rc) rc = disk->ops->sync(disk, writer->file);
    return rc ? refused(error, writer->slot, rc) : 0;
}

int checkpoint_end(struct checkpoint_writer *writer, const struct checkpoint *head, struct cellar_error *error)
{
    struct disk *disk = writer->disk;
    union block block = {.head = *head};
    block.head.magic = CHECKPOINT_MAGIC;
    block.head.version = CHECKPOINT_VERSION;
    block.head.pieces = writer->pieces;
    block.head.pieces_max = writer->pieces_max;
    block.head.sums = XXH3_64bits(writer->table, writer->pieces * sizeof *writer->table);
    block.head.checksum = checksum_of(&block);
    int rc = disk->ops->write(disk, writer->file, &block, sizeof block, 0);
    if (!rc && !PLANT(checkpoint_head_unsynced)) rc = disk->ops->sync(disk, writer->file);
    uint32_t slot = writer->slot;
    checkpoint_drop(writer);
    return rc ? refused(error, slot, rc) : 0;
}

uint64_t checkpoint_added(const struct checkpoint_writer *writer) { return writer->pieces * CHECKPOINT_PIECE; }

void checkpoint_drop(struct checkpoint_writer *writer)
{
    if (!writer) return;
    if (writer->file >= 0) writer->disk->ops->close(writer->disk, writer->file);
    free(writer->table);
    free(writer);
}

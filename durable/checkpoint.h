/*
 * checkpoint.h - a memory node's bytes in a file: pieces of its memory, copied while transactions run. A folder has two
 * such files, which are written in turn; docs/durability.md draws the bytes.
 *
 * INV-DURABLE-10: a checkpoint names the word as it was when its copying had ended, and counts when the cut is not
 * below
 *                 that. Its head is written when all the rest is on the disk, and made zero before the rest changes.
 */
#pragma once

#include "disk.h"
#include "err.h"

#define CHECKPOINT_FILES 2
#define CHECKPOINT_PIECE 65536
#define CHECKPOINT_MAGIC 0x54504b43u /* "CKPT" read as a little-endian word */
#define CHECKPOINT_VERSION 2
#define CHECKPOINT_BLOCK 4096

/* The first bytes of the file's first block; zeros follow. */
struct checkpoint {
    uint32_t magic, version;
    uint64_t folder[2];   /* whose it is */
    uint64_t life;        /* in which it was made */
    uint64_t begin;       /* all that belongs to epochs up to this one was in the memory when copying began */
    uint64_t last;        /* nothing of later epochs can be in it */
    uint64_t group;       /* entries of later epochs than `begin` are in no group of the log before this one */
    uint64_t incarnation; /* the largest that was in use */
    uint64_t loads;       /* loads that were over in this life when copying began: docs/durability.md */
    uint64_t pieces;      /* not zero */
    uint64_t pieces_max;  /* for which the file has room */
    uint64_t sums;        /* xxh3 of the table of pieces */
    uint64_t checksum;    /* xxh3 of the block, this field taken as zero */
};

/* A row of the table, which begins at the second block and is followed by the pieces, in order. */
struct checkpoint_piece {
    uint64_t offset; /* in the memory node */
    uint64_t sum;    /* xxh3 of the piece's bytes */
};

/*
 * What the head of file `slot` (0 or 1) says. NOT_FOUND: there is none, or it is not whole; *broken: it has bytes then,
 * as power leaves it that fails amid its writing, or damage. MISMATCH: of another folder or version; SYSTEM.
 */
NODISCARD int checkpoint_look(struct disk *disk, const uint64_t folder[2], uint32_t slot, struct checkpoint *found,
                              bool *broken, struct cellar_error *error);
/* Shows its pieces, each once its sum was compared. CORRUPT with file and offset; or what `see` returns. */
typedef int checkpoint_see(void *arg, uint64_t offset, const uint8_t *bytes);
NODISCARD int checkpoint_read(struct disk *disk, uint32_t slot, const struct checkpoint *found, checkpoint_see *see,
                              void *arg, struct cellar_error *error);
/* It counts never again. */
NODISCARD int checkpoint_remove(struct disk *disk, uint32_t slot, struct cellar_error *error);

struct checkpoint_writer;
/* Begins file `slot`, whose former content is void from now on, with room for so many pieces. FULL, NOMEM, SYSTEM. */
NODISCARD int checkpoint_begin(struct disk *disk, uint32_t slot, uint64_t pieces_max, struct checkpoint_writer **out,
                               struct cellar_error *error);
/* CHECKPOINT_PIECE bytes; nothing if all are zero. */
NODISCARD int checkpoint_add(struct checkpoint_writer *writer, uint64_t offset, const uint8_t *bytes,
                             struct cellar_error *error);
/* All that was added, and its table, are on the disk on return. */
NODISCARD int checkpoint_sync(struct checkpoint_writer *writer, struct cellar_error *error);
/*
 * After that: the head. All of it is on the disk on return; of `head` the caller sets folder to loads. The writer
 * is gone in any case.
 */
NODISCARD int checkpoint_end(struct checkpoint_writer *writer, const struct checkpoint *head,
                             struct cellar_error *error);
/* Bytes of the pieces that were added. */
uint64_t checkpoint_added(const struct checkpoint_writer *writer);
/* Gives it up. NULL is allowed. */
void checkpoint_drop(struct checkpoint_writer *writer);

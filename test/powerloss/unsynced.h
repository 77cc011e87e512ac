/*
 * unsynced.h - files and folders of which it is known what was synced: what forgetful.c shows, and what is left of it
 * when the power fails.
 *
 * What was synced lies in a folder of the machine's: the bytes of each file under its number, and the names in a file
 * `names`, which is written at the end. What was not lies in memory, in order: of files writes, as whole sectors, and
 * sizes; of folders changes of names. A sync of a file says nothing of its name, and a sync of a folder nothing of the
 * bytes in its files.
 *
 * Functions that return an int return 0 or an errno. Nothing is freed before the program ends.
 */
#pragma once

#include "prng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define UNSYNCED_SECTOR 512
#define UNSYNCED_NAME_MAX 64

struct unsynced_node;

struct unsynced_entry {
    char name[UNSYNCED_NAME_MAX + 1];
    struct unsynced_node *node; /* NULL: the name is gone */
};

struct unsynced_names {
    struct unsynced_entry *entries; /* a place keeps its name */
    size_t count;
};

struct unsynced_node {
    struct unsynced_node *next; /* of the tree, in no order */
    uint64_t number;
    mode_t mode;
    bool folder, reached;
    uint32_t links;
    struct timespec changed;
    int file;      /* what was synced of its bytes, and its size */
    uint64_t size; /* with what was not synced */
    struct unsynced_record *records, **records_end;
    struct unsynced_names now, synced; /* of a folder */
    struct unsynced_change *changes, **changes_end;
};

struct unsynced {
    int folder; /* of the machine's */
    uint64_t numbers;
    struct unsynced_node *root, *nodes;
};

/* What was not synced, and what of it is gone. */
struct unsynced_loss {
    uint64_t sectors, sectors_forgotten, names, names_forgotten;
};

/* From a folder that `unsynced_save` has left, or an empty one. */
int unsynced_load(struct unsynced *tree, const char *folder);
/* What was synced, or has survived. */
int unsynced_save(struct unsynced *tree);
int unsynced_make(struct unsynced *tree, bool folder, mode_t mode, struct unsynced_node **node);

/* *got may be less at the end of the file. */
int unsynced_read(struct unsynced_node *node, void *to, size_t bytes, uint64_t offset, size_t *got);
int unsynced_write(struct unsynced_node *node, const void *from, size_t bytes, uint64_t offset);
/* Zeros up to that size, if it is larger than the file. */
int unsynced_grow(struct unsynced_node *node, uint64_t size);

/* NULL: there is none. */
struct unsynced_node *unsynced_find(const struct unsynced_node *folder, const char *name);
/* At once: `gone` is no name any more, and `name` leads to the node. Either may be NULL. */
int unsynced_name(struct unsynced_node *folder, const char *gone, const char *name, struct unsynced_node *node);

/* All of a file's bytes and its size; all of a folder's names. */
int unsynced_sync(struct unsynced_node *node);

/*
 * The power fails. Of what was not synced each sector is as any of its writes has left it, or as it was, or (in some
 * failures) neither; each change of names is there, or not. How much of it survives is drawn for each file and folder,
 * from the seed and its number: it does not depend on what other files have.
 */
int unsynced_lose(struct unsynced *tree, uint64_t seed, struct unsynced_loss *loss);

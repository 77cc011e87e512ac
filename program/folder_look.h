/* folder_look.h - what `cellar check` and `cellar inspect` say of the files of a durable folder. It is only read. */
#pragma once

#include "durable.h"

#include <stdio.h>

struct folder_line {
    char name[DISK_NAME_MAX + 16]; /* with the folder of its memory node, where there are several */
    uint64_t bytes;
    char says[200];
};

struct folder_look {
    struct folder_line *lines; /* a file each, in the order of a reader's interest */
    uint32_t count;
    bool torn, open; /* a memory node's log ends in a torn tail; is not closed */
    char end[200];   /* where it ends: closed or not, and the cut */
};

/* What of it counts; no process has it in use meanwhile. Errors: as db_open; nothing is ever changed. */
NODISCARD int folder_look_open(const char *path, struct durable **durable, struct cellar_error *error);
/* All its files. CORRUPT with file and offset; others as cellar_open. To be freed in any case. */
NODISCARD int folder_look_read(const struct durable *durable, struct folder_look *look, struct cellar_error *error);
void folder_look_print(const struct folder_look *look, FILE *out);
void folder_look_free(struct folder_look *look);

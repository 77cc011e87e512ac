/*
 * history_reader.h - what the files that read a history's file share: history_read.c goes through its lines and keeps
 * what they say, history_read_json.c understands lines that are not as history_write gives them. No other file
 * includes it.
 */
#pragma once

#include "history_file.h"
#include "history_slices.h"

#include <jansson.h>
#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Lines come in this order. */
enum history_reader_stage {
    HISTORY_STAGE_HEADER,
    HISTORY_STAGE_LOADED,
    HISTORY_STAGE_TXNS,
    HISTORY_STAGE_FINALS,
    HISTORY_STAGE_END
};

struct history_reader {
    const char *path;
    FILE *file;
    uint64_t *bytes_read;
    struct cellar_error *error;
    struct history *history;
    struct history_slices *slices; /* NULL: all goes into the history */
    bool ranges;                   /* which cannot be judged in slices: the file is to be read again */
    XXH3_state_t *checksum;
    enum history_reader_stage stage;
    uint64_t line_number, txns_line; /* of the first transaction */
    /* bytes [start, end) of the buffer are read and not yet used */
    char *buffer;
    size_t start, end, capacity;
    bool at_end;     /* of the file */
    bool broken_off; /* the line did not end in a newline */
    /* of one transaction */
    struct history_access *accesses;
    uint32_t access_count;
    size_t access_capacity;
};

/* "FILE:LINE: what is wrong": CORRUPT */
int history_reader_refuse(struct history_reader *reader, const char *format, ...) CELLAR_PRINTF(2, 3);
int history_reader_no_memory(struct history_reader *reader);
/* Room for so many accesses of one line. */
NODISCARD int history_reader_room(struct history_reader *reader, size_t count);
/* Keeps a transaction; its accesses are those of the reader. */
NODISCARD int history_reader_txn(struct history_reader *reader, const struct history_txn *txn);
/* Keeps the accesses of the line, which are versions of the pool at rest. */
NODISCARD int history_reader_states(struct history_reader *reader, bool final);
/* (history_read_json.c) Reads and keeps one line. `checksum`: of the lines before it. */
NODISCARD int history_reader_object(struct history_reader *reader, const json_t *object, uint64_t checksum);

/*
 * survey.h - what the files of a folder at rest have, file by file: for people who look at one. All of it is read, also
 * what an opening passes over: the checkpoint that does not count, blocks behind the end of the log, names of others.
 */
#pragma once

#include "checkpoint.h"
#include "folder.h"
#include "journal.h"

/* A file of the log. */
struct survey_log {
    uint64_t number, bytes;
    bool begun;           /* else an opening removes it: no group of it counts */
    uint64_t first, last; /* its groups that count; none: last is first - 1 */
    uint64_t end;         /* offset behind the last of them */
    uint64_t left;        /* blocks behind that, of a file that was begun, which are not zero */
    uint64_t items;       /* entries and pages, in groups that count */
    uint64_t life_first, life_last, epoch_first, epoch_last; /* of all its items; 0: it has none */
};

enum survey_head { SURVEY_HEAD_NONE, SURVEY_HEAD_WHOLE, SURVEY_HEAD_BLANK, SURVEY_HEAD_BROKEN };

struct survey_checkpoint {
    enum survey_head state; /* NONE: there is no such file. BLANK: it was being written */
    uint64_t bytes;
    struct checkpoint head; /* of WHOLE */
};

/* A file that is no folder's: an opening does not look at it. */
struct survey_other {
    char name[DISK_NAME_MAX];
};

struct survey {
    struct survey_log *logs; /* in order */
    uint32_t log_count, other_count;
    struct survey_checkpoint checkpoints[CHECKPOINT_FILES];
    struct survey_other *others;
    bool closed; /* the log's last group is the empty one of a clean close, ... */
    bool torn;   /* or something lies behind it, of a group that was never acknowledged */
};

/*
 * Reads all files of a folder: `wal` is of its log (with `from` as the checkpoint that counts has it), `memory_bytes`
 * of its memory node. CORRUPT: a file and an offset; also where nothing but a clean close shows the damage. Other
 * errors: as wal_read, checkpoint_look. The survey is the caller's to free, in any case.
 */
NODISCARD int survey_read(const struct wal_config *wal, const struct journal_cut *cut, uint64_t memory_bytes,
                          struct survey *survey, struct cellar_error *error);
void survey_free(struct survey *survey);

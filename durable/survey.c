/* survey.c - reads a folder at rest, file by file. */
#include "survey.h"

#include "must.h"
#include "wal_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct surveying {
    struct disk *disk;
    const struct wal_config *wal;
    const struct journal_cut *cut;
    uint64_t memory_bytes;
    struct survey *survey;
    struct cellar_error *error;
};

static const uint8_t zeros[WAL_BLOCK];

static int refused(const struct surveying *run, const char *name, int rc)
{
    return err_set(run->error, CELLAR_SYSTEM, "%s: %s", name, strerror(rc));
}

static int broken(const struct surveying *run, const char *name, uint64_t offset, const char *why)
{
    return err_set(run->error, CELLAR_CORRUPT, "%s, offset %" PRIu64 ": %s", name, offset, why);
}

/* ---- the log ---- */

static struct survey_log *log_new(struct surveying *run, uint64_t number)
{
    struct survey *survey = run->survey;
    struct survey_log *more = realloc(survey->logs, (survey->log_count + 1) * sizeof *more);
    if (!more) return NULL;
    survey->logs = more;
    more += survey->log_count++;
    *more = (struct survey_log){.number = number};
    return more;
}

static int logs_take(struct surveying *run, const struct wal_scan *scan)
{
    for (uint32_t i = 0; i < scan->file_count + scan->left; i++) {
        const struct wal_file *file = &scan->files[i];
        bool begun = i + 1 == scan->file_count || (i < scan->file_count && file->last >= file->first);
        struct survey_log *log = log_new(run, file->number);
        if (!log) return err_set(run->error, CELLAR_NOMEM, "no memory to read a log");
        log->begun = begun;
        if (!begun) continue;
        log->first = file->first;
        log->last = file->last;
        log->end = file->end * WAL_BLOCK;
    }
    run->survey->torn = scan->found.torn;
    run->survey->closed = scan->found.last >= scan->found.first && scan->last_bytes == 0 && !scan->found.torn;
    return 0;
}

/* NULL: none is. */
static const struct survey_log *last_begun(const struct survey *survey)
{
    const struct survey_log *log = survey->logs + survey->log_count;
    while (log > survey->logs && !log[-1].begun) log--;
    return log > survey->logs ? log - 1 : NULL;
}

/* Of the file that was written last all behind the end is as it was made, once the log was closed. */
static int left_judge(const struct surveying *run, const struct survey_log *log, const char *name, uint64_t at)
{
    if (log != last_begun(run->survey) || !run->survey->closed) return 0;
    return broken(run, name, at, "there are bytes behind the end of a log that was closed");
}

static int log_read(struct surveying *run, struct survey_log *log)
{
    uint8_t block[WAL_BLOCK];
    char name[DISK_NAME_MAX];
    int file;
    wal_name(log->number, name);
    int rc = run->disk->ops->open(run->disk, name, &file, &log->bytes);
    if (rc) return refused(run, name, rc);
    for (uint64_t at = log->end; rc == 0 && log->begun && at + WAL_BLOCK <= log->bytes; at += WAL_BLOCK) {
        rc = run->disk->ops->read(run->disk, file, block, sizeof block, at);
        if (rc) rc = refused(run, name, rc);
        if (rc || memcmp(block, zeros, sizeof block) == 0) continue;
        log->left++;
        rc = left_judge(run, log, name, at);
    }
    run->disk->ops->close(run->disk, file);
    return rc;
}

static int item_see(void *arg, const struct journal_item *item)
{
    struct survey *survey = arg;
    struct survey_log *log = survey->logs;
    while (log->last < item->group) log++;
    log->items += item->kind == JOURNAL_ENTRY;
    if (!log->life_first) log->life_first = item->life;
    if (!log->epoch_first || item->epoch < log->epoch_first) log->epoch_first = item->epoch;
    if (item->life > log->life_last) log->life_last = item->life;
    if (item->epoch > log->epoch_last) log->epoch_last = item->epoch;
    return 0;
}

static int logs_read(struct surveying *run)
{
    struct wal_scan *scan = malloc(sizeof *scan);
    if (!scan) return err_set(run->error, CELLAR_NOMEM, "no memory to read a log");
    int rc = wal_scan(run->wal, NULL, NULL, scan, run->error);
    if (rc == 0) rc = logs_take(run, scan);
    free(scan->last);
    free(scan);
    for (uint32_t i = 0; i < run->survey->log_count && rc == 0; i++) rc = log_read(run, &run->survey->logs[i]);
    const struct survey_log *last = last_begun(run->survey);
    run->survey->torn = run->survey->torn || (last && last->left);
    return rc ? rc : journal_items(run->wal, run->cut, item_see, run->survey, run->error);
}

/* ---- checkpoints ---- */

/* How long it is; NONE: there is no such file. */
static int bytes_read(struct surveying *run, const char *name, struct survey_checkpoint *checkpoint)
{
    int file, rc = run->disk->ops->open(run->disk, name, &file, &checkpoint->bytes);
    if (rc) return rc == ENOENT ? 0 : refused(run, name, rc);
    run->disk->ops->close(run->disk, file);
    checkpoint->state = SURVEY_HEAD_BLANK;
    return 0;
}

static int piece_see(void *arg, uint64_t offset, const uint8_t *bytes)
{
    const struct surveying *run = arg;
    (void)bytes;
    if (offset % CHECKPOINT_PIECE == 0 && offset < run->memory_bytes && run->memory_bytes - offset >= CHECKPOINT_PIECE)
        return 0;
    return err_set(run->error, CELLAR_CORRUPT, "a checkpoint has a piece at %#" PRIx64, offset);
}

/* A crash may have left a head half written; a clean close leaves none so. */
static int checkpoint_survey(struct surveying *run, uint32_t slot)
{
    struct survey_checkpoint *checkpoint = &run->survey->checkpoints[slot];
    char name[DISK_NAME_MAX];
    snprintf(name, sizeof name, "checkpoint-%u", slot + 1);
    bool damaged;
    int rc = bytes_read(run, name, checkpoint);
    if (rc || checkpoint->state == SURVEY_HEAD_NONE) return rc;
    rc = checkpoint_look(run->disk, run->wal->directory, slot, &checkpoint->head, &damaged, run->error);
    if (damaged) checkpoint->state = SURVEY_HEAD_BROKEN;
    if (damaged && run->survey->closed)
        return broken(run, name, 0, "its head is damaged: the log was closed, and it was whole then");
    if (rc == CELLAR_NOT_FOUND) return 0;
    if (rc) return rc;
    checkpoint->state = SURVEY_HEAD_WHOLE;
    return checkpoint_read(run->disk, slot, &checkpoint->head, piece_see, run, run->error);
}

/* ---- the folder ---- */

static int name_see(void *arg, const char *name)
{
    struct surveying *run = arg;
    struct survey *survey = run->survey;
    char same[DISK_NAME_MAX];
    bool ours = !strcmp(name, FOLDER_FILE) || !strcmp(name, "checkpoint-1") || !strcmp(name, "checkpoint-2");
    for (uint32_t i = 0; i < survey->log_count && !ours; i++) {
        wal_name(survey->logs[i].number, same);
        ours = !strcmp(name, same);
    }
    if (ours) return 0;
    struct survey_other *more = realloc(survey->others, (survey->other_count + 1) * sizeof *more);
    if (!more) return CELLAR_NOMEM;
    survey->others = more;
    snprintf(more[survey->other_count++].name, sizeof more->name, "%.*s", DISK_NAME_MAX - 1, name);
    return 0;
}

int survey_read(const struct wal_config *wal, const struct journal_cut *cut, uint64_t memory_bytes,
                struct survey *survey, struct cellar_error *error)
{
    struct surveying run = {wal->disk, wal, cut, memory_bytes, survey, error};
    *survey = (struct survey){0};
    int rc = logs_read(&run);
    for (uint32_t slot = 0; slot < CHECKPOINT_FILES && rc == 0; slot++) rc = checkpoint_survey(&run, slot);
    int listed = rc ? 0 : run.disk->ops->list(run.disk, name_see, &run);
    if (listed < 0) rc = err_set(error, listed, "no memory to list a folder");
    if (listed > 0) rc = refused(&run, "its folder", listed);
    return rc;
}

void survey_free(struct survey *survey)
{
    free(survey->logs);
    free(survey->others);
    *survey = (struct survey){0};
}

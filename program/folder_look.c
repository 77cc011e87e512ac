#include "folder_look.h"

#include "style.h"
#include "survey.h"
#include "wal_format.h"

#include <inttypes.h>
#include <stdlib.h>

int folder_look_open(const char *path, struct durable **durable, struct cellar_error *error)
{
    struct engine_config config = {.durable = path,
                                   .pool_private = true,
                                   .existing = true,
                                   .cc = CELLAR_LAB_CC_RECORD}; /* any mode that it may have */
    return durable_open(&config, durable, error);
}

static struct folder_line *line_new(struct folder_look *look, const char *name, uint64_t bytes)
{
    struct folder_line *line = &look->lines[look->count++];
    snprintf(line->name, sizeof line->name, "%s", name);
    line->bytes = bytes;
    return line;
}

static void head_tell(const struct folder *folder, struct folder_look *look)
{
    struct folder_line *line = line_new(look, FOLDER_FILE, FOLDER_BYTES);
    char bytes[STYLE_BYTES];
    snprintf(line->says, sizeof line->says,
             "folder %016" PRIx64 "%016" PRIx64 ", layouts %016" PRIx64 ", memory node %u of %s", folder->number[1],
             folder->number[0], folder->fingerprint, folder->node, style_bytes(bytes, (double)folder->memory_bytes));
}

static void log_tell(const struct survey_log *log, struct folder_look *look)
{
    char name[DISK_NAME_MAX];
    snprintf(name, sizeof name, "wal-%016" PRIx64, log->number);
    struct folder_line *line = line_new(look, name, log->bytes);
    char *text = line->says;
    size_t room = sizeof line->says;
    int used = 0;
    if (!log->begun)
        used = snprintf(text, room, "not begun: an opening was cut off, and the next one makes it anew");
    else if (log->last < log->first)
        used = snprintf(text, room, "no group counts");
    else
        used = snprintf(text, room, "groups %" PRIu64 " to %" PRIu64 " up to offset %" PRIu64, log->first, log->last,
                        log->end);
    if (log->life_first && log->life_first == log->life_last)
        used += snprintf(text + used, room - (size_t)used, "; life %" PRIu64, log->life_first);
    else if (log->life_first)
        used += snprintf(text + used, room - (size_t)used, "; lives %" PRIu64 " to %" PRIu64, log->life_first,
                         log->life_last);
    if (log->life_first)
        used += snprintf(text + used, room - (size_t)used,
                         ", epochs %" PRIu64 " to %" PRIu64 ", %" PRIu64 " entries and pages", log->epoch_first,
                         log->epoch_last, log->items);
    if (log->left)
        snprintf(text + used, room - (size_t)used, "; %" PRIu64 " blocks behind that do not count", log->left);
}

static void checkpoint_tell(const struct durable *durable, const struct survey_checkpoint *checkpoint, uint32_t slot,
                            struct folder_look *look)
{
    const struct checkpoint *head = &checkpoint->head;
    char name[DISK_NAME_MAX];
    if (checkpoint->state == SURVEY_HEAD_NONE) return;
    snprintf(name, sizeof name, "checkpoint-%u", slot + 1);
    struct folder_line *line = line_new(look, name, checkpoint->bytes);
    if (checkpoint->state != SURVEY_HEAD_WHOLE) {
        snprintf(line->says, sizeof line->says, "does not count: %s",
                 checkpoint->state == SURVEY_HEAD_BLANK ? "it was being written"
                                                        : "its head is damaged, or power failed as it was written");
        return;
    }
    bool counts = durable->found.pieces_max && durable->slot == slot;
    snprintf(line->says, sizeof line->says,
             "%s: life %" PRIu64 ", begin %" PRIu64 ", last %" PRIu64 ", log from group %" PRIu64
             ", incarnations to %" PRIu64 ", %" PRIu64 " pieces",
             counts ? "counts" : "does not count", head->life, head->begin, head->last, head->group, head->incarnation,
             head->pieces);
}

static void end_tell(const struct durable *durable, const struct survey *survey, struct folder_look *look)
{
    snprintf(look->end, sizeof look->end, "%s; what counts ends with epoch %" PRIu64 " of life %" PRIu64,
             survey->closed ? "closed"
             : survey->torn ? "not closed: a torn tail, of a group that was never acknowledged, is cut off"
                            : "not closed",
             durable->cut.epoch, durable->cut.life);
}

int folder_look_read(const char *path, const struct durable *durable, struct folder_look *look,
                     struct cellar_error *error)
{
    struct survey survey;
    struct cellar_error inner = {0};
    *look = (struct folder_look){0};
    int rc = survey_read(&durable->wal, &durable->cut, durable->folder.memory_bytes, &survey, &inner);
    if (rc) rc = err_set(error, rc, "%.100s: %.130s", path, inner.text);
    if (rc == 0) {
        look->lines = calloc(1 + survey.log_count + CHECKPOINT_FILES + survey.other_count, sizeof *look->lines);
        if (!look->lines) rc = err_set(error, CELLAR_NOMEM, "no memory to list a folder");
    }
    if (rc == 0) {
        head_tell(&durable->folder, look);
        for (uint32_t i = 0; i < survey.log_count; i++) log_tell(&survey.logs[i], look);
        for (uint32_t i = 0; i < CHECKPOINT_FILES; i++) checkpoint_tell(durable, &survey.checkpoints[i], i, look);
        for (uint32_t i = 0; i < survey.other_count; i++)
            snprintf(line_new(look, survey.others[i].name, 0)->says, sizeof look->lines->says,
                     "no file of a folder's: not looked at");
        end_tell(durable, &survey, look);
    }
    survey_free(&survey);
    return rc;
}

void folder_look_print(const struct folder_look *look, FILE *out)
{
    char bytes[STYLE_BYTES];
    for (uint32_t i = 0; i < look->count; i++)
        fprintf(out, "  %-20s %11s  %s\n", look->lines[i].name, style_bytes(bytes, (double)look->lines[i].bytes),
                look->lines[i].says);
    if (look->end[0]) fprintf(out, "  %s\n", look->end);
}

void folder_look_free(struct folder_look *look)
{
    free(look->lines);
    *look = (struct folder_look){0};
}

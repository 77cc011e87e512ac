#include "folder_look.h"

#include "style.h"
#include "survey.h"
#include "wal_format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int folder_look_open(const char *path, struct durable **durable, struct cellar_error *error)
{
    struct engine_config config = {.durable = path,
                                   .pool_private = true,
                                   .existing = true,
                                   .cc = CELLAR_LAB_CC_RECORD}; /* any mode that it may have */
    return durable_open(&config, durable, error);
}

static struct folder_line *line_new(struct folder_look *look, const struct durable_node *node, const char *name,
                                    uint64_t bytes)
{
    struct folder_line *line = &look->lines[look->count++];
    char folder[16] = "";
    if (node->durable->node_count > 1) snprintf(folder, sizeof folder, "node-%u/", node->number);
    snprintf(line->name, sizeof line->name, "%s%s", folder, name);
    line->bytes = bytes;
    return line;
}

static void head_tell(const struct durable_node *node, struct folder_look *look)
{
    const struct folder *folder = &node->folder;
    struct folder_line *line = line_new(look, node, FOLDER_FILE, FOLDER_BYTES);
    char bytes[STYLE_BYTES];
    int used = snprintf(line->says, sizeof line->says,
                        "folder %016" PRIx64 "%016" PRIx64 ", layouts %016" PRIx64 ", memory node %u of %s",
                        folder->number[1], folder->number[0], folder->fingerprint, folder->node,
                        style_bytes(bytes, (double)folder->memory_bytes));
    if (folder->nodes > 1)
        snprintf(line->says + used, sizeof line->says - (size_t)used, ", one of %u, with %u backup%s", folder->nodes,
                 folder->replicas, folder->replicas == 1 ? "" : "s");
}

static void log_tell(const struct durable_node *node, const struct survey_log *log, struct folder_look *look)
{
    char name[DISK_NAME_MAX];
    snprintf(name, sizeof name, "wal-%016" PRIx64, log->number);
    struct folder_line *line = line_new(look, node, name, log->bytes);
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

static void checkpoint_tell(const struct durable_node *node, const struct survey_checkpoint *checkpoint, uint32_t slot,
                            struct folder_look *look)
{
    const struct durable *durable = node->durable;
    const struct checkpoint *head = &checkpoint->head;
    char name[DISK_NAME_MAX];
    if (checkpoint->state == SURVEY_HEAD_NONE) return;
    snprintf(name, sizeof name, "checkpoint-%u", slot + 1);
    struct folder_line *line = line_new(look, node, name, checkpoint->bytes);
    if (checkpoint->state != SURVEY_HEAD_WHOLE) {
        snprintf(line->says, sizeof line->says, "does not count: %s",
                 checkpoint->state == SURVEY_HEAD_BLANK ? "it was being written"
                                                        : "its head is damaged, or power failed as it was written");
        return;
    }
    bool counts = durable->restores && durable->slot == slot;
    snprintf(line->says, sizeof line->says,
             "%s: life %" PRIu64 ", begin %" PRIu64 ", last %" PRIu64 ", log from group %" PRIu64
             ", incarnations to %" PRIu64 ", %" PRIu64 " pieces",
             counts ? "counts" : "does not count", head->life, head->begin, head->last, head->group, head->incarnation,
             head->pieces);
}

static void end_tell(const struct durable *durable, struct folder_look *look)
{
    snprintf(look->end, sizeof look->end, "%s; what counts ends with epoch %" PRIu64 " of life %" PRIu64,
             !look->open  ? "closed"
             : look->torn ? "not closed: a torn tail, of a group that was never acknowledged, is cut off"
                          : "not closed",
             durable->cut.epoch, durable->cut.life);
}

static int lines_room(struct folder_look *look, const struct survey *survey, struct cellar_error *error)
{
    size_t count = look->count + 1u + survey->log_count + CHECKPOINT_FILES + survey->other_count;
    struct folder_line *lines = realloc(look->lines, count * sizeof *lines);
    if (!lines) return err_set(error, CELLAR_NOMEM, "no memory to list a folder");
    memset(lines + look->count, 0, (count - look->count) * sizeof *lines);
    look->lines = lines;
    return 0;
}

static void node_tell(const struct durable_node *node, const struct survey *survey, struct folder_look *look)
{
    head_tell(node, look);
    for (uint32_t i = 0; i < survey->log_count; i++) log_tell(node, &survey->logs[i], look);
    for (uint32_t i = 0; i < CHECKPOINT_FILES; i++) checkpoint_tell(node, &survey->checkpoints[i], i, look);
    for (uint32_t i = 0; i < survey->other_count; i++)
        snprintf(line_new(look, node, survey->others[i].name, 0)->says, sizeof look->lines->says,
                 "no file of a folder's: not looked at");
    look->open = look->open || !survey->closed;
    look->torn = look->torn || survey->torn;
}

int folder_look_read(const struct durable *durable, struct folder_look *look, struct cellar_error *error)
{
    int rc = 0;
    *look = (struct folder_look){0};
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++) {
        const struct durable_node *node = &durable->nodes[i];
        struct survey survey;
        struct cellar_error inner = {0};
        rc = survey_read(&node->wal, &durable->cut, node->folder.memory_bytes, &survey, &inner);
        rc = durable_named(node, rc, &inner, error);
        if (rc == 0) rc = lines_room(look, &survey, error);
        if (rc == 0) node_tell(node, &survey, look);
        survey_free(&survey);
    }
    if (rc == 0) end_tell(durable, look);
    return rc;
}

void folder_look_print(const struct folder_look *look, FILE *out)
{
    char bytes[STYLE_BYTES];
    int width = 20;
    for (uint32_t i = 0; i < look->count; i++)
        if ((int)strlen(look->lines[i].name) > width) width = (int)strlen(look->lines[i].name);
    for (uint32_t i = 0; i < look->count; i++)
        fprintf(out, "  %-*s %11s  %s\n", width, look->lines[i].name, style_bytes(bytes, (double)look->lines[i].bytes),
                look->lines[i].says);
    if (look->end[0]) fprintf(out, "  %s\n", look->end);
}

void folder_look_free(struct folder_look *look)
{
    free(look->lines);
    *look = (struct folder_look){0};
}

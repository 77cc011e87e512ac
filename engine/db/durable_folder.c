/*
 * durable_folder.c - opening what a database is kept in: a folder of one memory node, or one for each, in one folder;
 * whose they are, and what of them counts.
 */
#include "db.h"
#include "db_config.h"
#include "db_plants.h"
#include "durable.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUP_BYTES ((4u << 20) + (64u << 10)) /* an entry in a ring takes half of that at most */
#define LOG_BYTES_MAX (8ull << 20)             /* of a coordinator's ring */
#define FILES 16                               /* that the log may have at least */
#define FILE_BYTES_MIN (8ull << 20)
#define FILE_BYTES_MAX (64ull << 20)
#define LOG_DEFAULT_MIN (256ull << 20) /* as large as the pool, within these: a checkpoint writes all of that */
#define LOG_DEFAULT_MAX (4ull << 30)
#define LOG_MIN (FILES / 2 * FILE_BYTES_MIN)
#define LOG_MAX (WAL_FILES_MAX / 2 * FILE_BYTES_MAX)
#define PATH_BYTES 4096
#define NODE_FOLDER "node-" /* and its number: a memory node's, where there are several */

_Static_assert(_Alignof(struct durable_node) <= _Alignof(max_align_t), "calloc's");

/* ---- what is asked for ---- */

static int shape_check(const struct engine_config *config, struct cellar_error *error)
{
    const char *fabric = config->fabric ? config->fabric : "shm";
    const struct mode *mode = mode_of(config->cc);
    if (strlen(config->durable) >= PATH_BYTES - sizeof NODE_FOLDER "255/" FOLDER_FILE)
        return err_set(error, CELLAR_INVALID, "durable: a path of so many bytes: %d at most", PATH_BYTES - 24);
    if (strcmp(fabric, "shm") || config->memnodes)
        return err_set(error, CELLAR_INVALID,
                       "durable: a folder keeps memory nodes of this process, on fabric shm, which are its own");
    if (mode && mode->undo)
        return err_set(error, CELLAR_UNSUPPORTED, "durable: mode %s logs what was there before, which cannot be redone",
                       mode->name);
    if (config->log_bytes > LOG_BYTES_MAX)
        return err_set(error, CELLAR_INVALID, "durable: log segments of %llu bytes: at most %llu",
                       (unsigned long long)config->log_bytes, (unsigned long long)LOG_BYTES_MAX);
    if (config->durable_bytes && (config->durable_bytes < LOG_MIN || config->durable_bytes > LOG_MAX))
        return err_set(error, CELLAR_INVALID, "durable: a log of %llu bytes: %llu to %llu",
                       (unsigned long long)config->durable_bytes, (unsigned long long)LOG_MIN,
                       (unsigned long long)LOG_MAX);
    return 0;
}

static struct durable_shape shape_of(uint64_t log_bytes, uint64_t memory_bytes)
{
    uint64_t bytes = log_bytes ? log_bytes : memory_bytes;
    if (!log_bytes && bytes < LOG_DEFAULT_MIN) bytes = LOG_DEFAULT_MIN;
    if (!log_bytes && bytes > LOG_DEFAULT_MAX) bytes = LOG_DEFAULT_MAX;
    uint64_t file_bytes = bytes / FILES;
    if (file_bytes < FILE_BYTES_MIN) file_bytes = FILE_BYTES_MIN;
    if (file_bytes > FILE_BYTES_MAX) file_bytes = FILE_BYTES_MAX;
    file_bytes -= file_bytes % CHECKPOINT_BLOCK;
    return (struct durable_shape){GROUP_BYTES, file_bytes, (uint32_t)(bytes / file_bytes)};
}

void durable_name(const struct durable_node *node, char *text, size_t bytes)
{
    const struct durable *durable = node->durable;
    if (durable->node_count == 1)
        snprintf(text, bytes, "%s", durable->path);
    else
        snprintf(text, bytes, "%s/" NODE_FOLDER "%u", durable->path, node->number);
}

int durable_named(const struct durable_node *node, int rc, const struct cellar_error *inner, struct cellar_error *error)
{
    char name[PATH_BYTES];
    if (rc == 0) return 0;
    durable_name(node, name, sizeof name);
    return err_set(error, rc, "%.100s: %.130s", name, inner->text);
}

/* ---- whose they are ---- */

/* None has a log: nothing was ever kept here, and their files may be of makings that were cut off. */
static bool unused(const struct durable *durable)
{
    for (uint32_t i = 0; i < durable->node_count; i++) {
        bool logged = false;
        if (folder_logged(durable->nodes[i].disk, &logged, NULL) || logged) return false;
    }
    return true;
}

static int folders_make(struct durable *durable, const struct engine_config *config, const uint64_t number[2],
                        struct cellar_error *error)
{
    for (uint32_t i = 0; i < durable->node_count; i++) {
        struct durable_node *node = &durable->nodes[i];
        struct cellar_error inner = {0};
        node->folder =
            (struct folder){.node = i,
                            .nodes = durable->node_count,
                            .replicas = config->replicas,
                            .pool = {number[0], number[1]},
                            .number = {number[0], number[1] + i},
                            .fingerprint = layout_fingerprint(),
                            .memory_bytes = config->pool_bytes ? config->pool_bytes : CONFIG_POOL_BYTES_DEFAULT};
        int rc = durable_named(node, folder_make(node->disk, &node->folder, &inner), &inner, error);
        if (rc) return rc;
    }
    return 0;
}

/* Of the first memory node whose folder says something: what all have in common. */
static const struct folder *folder_of(const struct durable *durable)
{
    return &durable->nodes[durable->lost == 0].folder;
}

/* Do all belong together, each in its place? */
static int together(const struct durable *durable, struct cellar_error *error)
{
    const struct folder *first = folder_of(durable);
    for (uint32_t i = 0; i < durable->node_count; i++) {
        if ((int32_t)i == durable->lost) continue;
        const struct durable_node *node = &durable->nodes[i];
        const struct folder *folder = &node->folder;
        char name[PATH_BYTES];
        durable_name(node, name, sizeof name);
        if (folder->nodes != durable->node_count)
            return err_set(error, CELLAR_MISMATCH, "durable: %.150s is of a pool of %u memory nodes, not %u", name,
                           folder->nodes, durable->node_count);
        if (folder->node != i || memcmp(folder->pool, first->pool, sizeof folder->pool))
            return err_set(error, CELLAR_MISMATCH, "durable: %.150s is memory node %u's of %s pool", name, folder->node,
                           folder->node == i ? "another" : "this or another");
        if (folder->memory_bytes != first->memory_bytes || folder->replicas != first->replicas ||
            folder->replicas >= folder->nodes)
            return err_set(error, CELLAR_CORRUPT, "durable: %.150s tells of a pool that this cannot be", name);
    }
    return 0;
}

static int asked(const struct engine_config *config, const struct folder *folder, struct cellar_error *error)
{
    if (config->pool_bytes && config->pool_bytes != folder->memory_bytes)
        return err_set(error, CELLAR_MISMATCH, "durable: %s keeps a pool of %llu bytes, and %llu were asked for",
                       config->durable, (unsigned long long)folder->memory_bytes,
                       (unsigned long long)config->pool_bytes);
    if (config->mns && config->replicas != folder->replicas)
        return err_set(error, CELLAR_MISMATCH, "durable: %s keeps %u backups of each byte, and %u were asked for",
                       config->durable, folder->replicas, config->replicas);
    return 0;
}

/* Before the first log is made: the process that made their files may have failed at a sync. */
static int folders_settle(struct durable *durable, struct cellar_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++) {
        struct durable_node *node = &durable->nodes[i];
        struct cellar_error inner = {0};
        rc = durable_named(node, folder_make(node->disk, &node->folder, &inner), &inner, error);
    }
    return rc;
}

/*
 * One is empty. It is filled if that is asked for: where a disk is not mounted, the folder that it is to be mounted on
 * is empty, too. Its own file is written when it is known in which life it is the first time.
 */
static int lost_use(struct durable *durable, const struct engine_config *config, uint32_t missing,
                    const uint64_t number[2], struct cellar_error *error)
{
    durable->lost = (int32_t)missing;
    struct folder *folder = &durable->nodes[missing].folder;
    const struct folder *first = folder_of(durable);
    if (first->replicas == 0)
        return err_set(error, CELLAR_CORRUPT, "%.100s/" NODE_FOLDER "%u is empty: what memory node %u kept is gone",
                       config->durable, missing, missing);
    if (config->lost != missing + 1 || durable->look)
        return err_set(error, CELLAR_CORRUPT,
                       "%.100s/" NODE_FOLDER "%u is empty: if its disk is lost, cellar replace --durable DIR --mn %u "
                       "fills it from backups",
                       config->durable, missing, missing);
    *folder = *first;
    folder->node = missing;
    folder->number[0] = number[0];
    folder->number[1] = number[1] + missing;
    return 0;
}

/* Empty ones get their numbers. */
static int folders_use(struct durable *durable, const struct engine_config *config, const uint64_t number[2],
                       struct cellar_error *error)
{
    uint32_t count = 0, missing = 0;
    for (uint32_t i = 0; i < durable->node_count; i++) {
        struct durable_node *node = &durable->nodes[i];
        struct cellar_error inner = {0};
        int rc = folder_read(node->disk, layout_fingerprint(), &node->folder, &inner);
        if (rc && rc != CELLAR_NOT_FOUND) return durable_named(node, rc, &inner, error);
        if (rc) missing = i;
        count += rc == 0;
    }
    bool fresh = unused(durable);
    if (count == 0 || (fresh && (count < durable->node_count || together(durable, NULL)))) {
        if (config->existing || durable->look)
            return err_set(error, CELLAR_NOT_FOUND, "%.100s: it has no pool", config->durable);
        return folders_make(durable, config, number, error);
    }
    if (count + 1 < durable->node_count)
        return err_set(error, CELLAR_CORRUPT, "%.100s: %u of its %u folders are empty: what they kept is gone",
                       config->durable, durable->node_count - count, durable->node_count);
    int rc = count < durable->node_count ? lost_use(durable, config, missing, number, error) : 0;
    if (rc == 0) rc = together(durable, error);
    if (rc == 0) rc = asked(config, folder_of(durable), error);
    return rc == 0 && fresh && !durable->look ? folders_settle(durable, error) : rc;
}

/* ---- which checkpoint counts ---- */

/* Its folder was made in a lost one's place, and has kept nothing yet. */
static bool is_blank(const struct durable_node *node, const struct journal_found *found)
{
    if (PLANT(durable_blank_counted)) return false;
    return node->folder.life && !found->life && !node->heads[0].pieces_max && !node->heads[1].pieces_max;
}

/* All logs, each from the group on that the checkpoint in this slot needs; CHECKPOINT_FILES: from their beginning. */
static int cut_look(struct durable *durable, uint32_t slot, struct cellar_error *error)
{
    struct journal_found found[FABRIC_NODES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < durable->node_count; i++) {
        struct durable_node *node = &durable->nodes[i];
        struct cellar_error inner = {0};
        bool part = slot < CHECKPOINT_FILES && node->heads[slot].pieces_max;
        node->wal.from = part ? node->heads[slot].group : 1;
        if ((int32_t)i == durable->lost) continue;
        int rc = durable_named(node, journal_look(&node->wal, &found[count], &inner), &inner, error);
        if (rc) return rc;
        count += !is_blank(node, &found[count]);
    }
    struct cellar_error inner = {0};
    int rc = journal_cut_of(found, count, &durable->cut, &inner);
    return rc ? err_set(error, rc, "%.100s: %.130s", durable->path, inner.text) : 0;
}

/* Those of a life before the last one that did not count were removed when the next one began (INV-DURABLE-12). */
static int counts(struct durable *durable, uint32_t slot, bool *does, struct cellar_error *error)
{
    const struct checkpoint *head = durable_counts(durable);
    int rc = cut_look(durable, slot, error);
    if (rc) return rc;
    if (head->life > durable->cut.life)
        return err_set(error, CELLAR_CORRUPT, "%.100s: a checkpoint is of life %llu, and the log's last one is %llu",
                       durable->path, (unsigned long long)head->life, (unsigned long long)durable->cut.life);
    *does = head->life < durable->cut.life || head->last <= durable->cut.epoch;
    return 0;
}

static bool later(const struct checkpoint *a, const struct checkpoint *b)
{
    return a->life != b->life ? a->life > b->life : a->last > b->last;
}

/* The memory node has none of what was copied in that life: its folder came later, or is to come. */
static bool came_later(const struct durable_node *node, uint64_t life)
{
    return (int32_t)node->number == node->durable->lost || node->folder.life > life;
}

/*
 * All memory nodes have their parts of it (INV-DURABLE-20), but for one whose folder came later: *filled, or -1. NULL:
 * it is not whole. Else one of the parts.
 */
static const struct checkpoint *whole_in(const struct durable *durable, uint32_t slot, int32_t *filled)
{
    const struct checkpoint *first = NULL;
    *filled = -1;
    for (uint32_t i = 0; i < durable->node_count && !first; i++)
        if (durable->nodes[i].heads[slot].pieces_max) first = &durable->nodes[i].heads[slot];
    for (uint32_t i = 0; i < durable->node_count && first && !PLANT(durable_parts_mixed); i++) {
        const struct durable_node *node = &durable->nodes[i];
        const struct checkpoint *head = &node->heads[slot];
        bool lacks = !head->pieces_max && came_later(node, first->life) && *filled < 0 && node->folder.replicas;
        bool part =
            head->pieces_max && head->life == first->life && head->begin == first->begin && head->last == first->last;
        if (lacks) *filled = (int32_t)i;
        if (!lacks && !part) return NULL;
    }
    return first;
}

/* The slot has a part of a later one, at whatever memory node. */
static bool has_later(const struct durable *durable, uint32_t slot, const struct checkpoint *than)
{
    bool any = false;
    for (uint32_t i = 0; i < durable->node_count; i++) {
        const struct checkpoint *head = &durable->nodes[i].heads[slot];
        any = any || (head->pieces_max && later(head, than));
    }
    return any;
}

static int heads_look(struct durable *durable, struct cellar_error *error)
{
    for (uint32_t i = 0; i < durable->node_count; i++) {
        struct durable_node *node = &durable->nodes[i];
        for (uint32_t slot = 0; slot < CHECKPOINT_FILES && (int32_t)i != durable->lost; slot++) {
            struct cellar_error inner = {0};
            struct checkpoint head = {0};
            int rc = checkpoint_look(node->disk, node->folder.number, slot, &head, &node->broken[slot], &inner);
            if (rc && rc != CELLAR_NOT_FOUND) return durable_named(node, rc, &inner, error);
            node->heads[slot] = rc ? (struct checkpoint){0} : head;
        }
    }
    return 0;
}

static int checkpoint_choose(struct durable *durable, struct cellar_error *error)
{
    int32_t filled[CHECKPOINT_FILES];
    bool does = false;
    int rc = heads_look(durable, error);
    if (rc) return rc;
    const struct checkpoint *whole[CHECKPOINT_FILES] = {whole_in(durable, 0, &filled[0]),
                                                        whole_in(durable, 1, &filled[1])};
    uint32_t newer = whole[1] && (!whole[0] || later(whole[1], whole[0]));
    for (uint32_t i = 0; i < CHECKPOINT_FILES; i++) {
        durable->slot = i ? 1 - newer : newer;
        if (!whole[durable->slot]) continue;
        durable->filled = filled[durable->slot];
        durable->beside = has_later(durable, 1 - durable->slot, whole[durable->slot]);
        rc = counts(durable, durable->slot, &does, error);
        durable->restores = rc == 0 && does;
        if (rc || does) return rc;
    }
    durable->filled = -1;
    rc = cut_look(durable, CHECKPOINT_FILES, error);
    if (rc == CELLAR_CORRUPT && durable->node_count > 1)
        rc = err_set(error, rc,
                     "%.100s: no checkpoint is there whole: the folders of its memory nodes are not of one "
                     "moment, or are damaged",
                     durable->path);
    if (rc == 0 && durable->cut.epoch)
        rc = err_set(error, CELLAR_CORRUPT, "%.100s: the log has epoch %llu, and no checkpoint is whole", durable->path,
                     (unsigned long long)durable->cut.epoch);
    return rc;
}

/* ---- opening ---- */

static int durable_new(const char *path, uint32_t nodes, struct durable **out, struct cellar_error *error)
{
    size_t bytes = (sizeof(struct durable) + 63) & ~(size_t)63;
    struct durable *durable = *out = aligned_alloc(64, bytes);
    if (durable) memset(durable, 0, bytes);
    if (durable) durable->nodes = calloc(nodes, sizeof *durable->nodes);
    if (!durable || !durable->nodes) return err_set(error, CELLAR_NOMEM, "no memory for a durable folder");
    durable->path = path;
    durable->node_count = nodes;
    durable->filled = durable->lost = -1;
    for (uint32_t i = 0; i < nodes; i++) {
        durable->nodes[i].durable = durable;
        durable->nodes[i].number = i;
    }
    return 0;
}

/*
 * That one is to be filled from now on (INV-DURABLE-25): its file says so until a checkpoint counts that has its part.
 * An opening that was cut off after this goes on by itself.
 */
static int filling_begin(struct durable *durable, const struct engine_config *config, struct cellar_error *error)
{
    struct cellar_error inner = {0};
    if (config->lost > durable->node_count)
        return err_set(error, CELLAR_INVALID, "memory node %u is unknown: there are %u, numbered from 0",
                       config->lost - 1, durable->node_count);
    struct durable_node *node = &durable->nodes[config->lost - 1];
    if (!durable->restores)
        return err_set(error, CELLAR_NOT_FOUND, "%.100s: no pool was ever whole in it", config->durable);
    if (durable->filled != (int32_t)node->number)
        return err_set(error, CELLAR_EXISTS,
                       "%.100s/" NODE_FOLDER "%u keeps memory node %u: only an empty folder is filled", config->durable,
                       node->number, node->number);
    if (durable->lost < 0) return 0;
    node->folder.life = durable->cut.life + 1;
    return durable_named(node, folder_make(node->disk, &node->folder, &inner), &inner, error);
}

/* What its disks have. given NULL: a shape of its own. */
static int disks_use(struct durable *durable, const uint64_t number[2], const struct durable_shape *given,
                     struct engine_config *config, struct cellar_error *error)
{
    int rc = folders_use(durable, config, number, error);
    if (rc) return rc;
    const struct folder *first = folder_of(durable);
    struct durable_shape shape = given ? *given : shape_of(config->durable_bytes, first->memory_bytes);
    durable->files = shape.files;
    durable->log_most = shape.files * shape.file_bytes;
    for (uint32_t i = 0; i < durable->node_count; i++) {
        struct durable_node *node = &durable->nodes[i];
        node->wal = (struct wal_config){.disk = node->disk,
                                        .directory = {node->folder.number[0], node->folder.number[1]},
                                        .fingerprint = node->folder.fingerprint,
                                        .group_bytes = shape.group_bytes,
                                        .group_most = journal_entry_bytes((uint32_t)durable_entry_most(durable)),
                                        .file_bytes = shape.file_bytes,
                                        .files_max = WAL_FILES_MAX,
                                        .files_kept = shape.files,
                                        .from = 1,
                                        .keeps = durable->node_count > 1};
    }
    rc = checkpoint_choose(durable, error);
    if (rc == 0 && config->lost) rc = filling_begin(durable, config, error);
    if (rc) return rc;
    config->pool_bytes = first->memory_bytes;
    config->mns = first->nodes;
    config->replicas = first->replicas;
    return 0;
}

/* `durable` is freed where it does not open. */
static int opened(struct durable *durable, int rc, struct durable **out)
{
    if (rc)
        durable_free(durable);
    else
        *out = durable;
    return rc;
}

int durable_open_on(struct disk *const *disks, const uint64_t number[2], const struct durable_shape *shape,
                    struct engine_config *config, struct durable **out, struct cellar_error *error)
{
    struct durable *durable;
    uint32_t nodes = config->mns ? config->mns : 1;
    *out = NULL;
    int rc = durable_new(config->durable, nodes, &durable, error);
    for (uint32_t i = 0; i < nodes && rc == 0; i++) durable->nodes[i].disk = disks[i];
    if (rc == 0) rc = disks_use(durable, number, shape, config, error);
    return opened(durable, rc, out);
}

static int disk_open(const char *path, const struct engine_config *config, struct disk_real **real,
                     struct cellar_error *error)
{
    if (config->pool_private) return disk_real_look(path, real, error);
    int rc = disk_real_make(path, config->existing, error);
    return rc ? rc : disk_real_open(path, real, error);
}

static int other_see(void *arg, const char *name)
{
    size_t prefix = strlen(NODE_FOLDER);
    bool node = strncmp(name, NODE_FOLDER, prefix) == 0 && strspn(name + prefix, "0123456789") == strlen(name + prefix);
    *(bool *)arg = *(bool *)arg || (!node && strcmp(name, "lost+found"));
    return 0;
}

/* The folder that those of several memory nodes lie in; it has nothing else. */
static int around_open(struct durable *durable, const struct engine_config *config, struct cellar_error *error)
{
    bool others = false;
    int rc = disk_open(config->durable, config, &durable->around, error);
    if (rc) return rc;
    struct disk *disk = disk_real_disk(durable->around);
    if (disk->ops->list(disk, other_see, &others))
        return err_set(error, CELLAR_SYSTEM, "%.100s: it cannot be listed", config->durable);
    return others ? err_set(error, CELLAR_INVALID, "%.100s: durable folder: it is not empty, and no folder of Cellar's",
                            config->durable)
                  : 0;
}

/* Of how many memory nodes one is, by its own folder; 0: it was not used yet. */
static int node_look(const char *path, const char *name, uint32_t *nodes, struct cellar_error *error)
{
    struct disk_real *real;
    struct folder folder;
    struct cellar_error inner = {0};
    int rc = disk_real_look(name, &real, error);
    if (rc == CELLAR_EXISTS) rc = err_set(error, rc, "%s is in use by another process", path);
    if (rc) return rc;
    rc = folder_read(disk_real_disk(real), layout_fingerprint(), &folder, &inner);
    disk_real_close(real);
    *nodes = rc ? 0 : folder.nodes;
    return rc && rc != CELLAR_NOT_FOUND ? err_set(error, rc, "%.100s: %.130s", name, inner.text) : 0;
}

/* How many memory nodes the folder has, by the first of their folders that was used; 0: none was. */
static int nodes_look(const char *path, uint32_t *nodes, struct cellar_error *error)
{
    char name[PATH_BYTES];
    int rc = 0;
    snprintf(name, sizeof name, "%s/" FOLDER_FILE, path);
    *nodes = access(name, F_OK) == 0;
    for (uint32_t i = 0; i < FABRIC_NODES_MAX && !*nodes && rc == 0; i++) {
        snprintf(name, sizeof name, "%s/" NODE_FOLDER "%u", path, i);
        if (!disk_real_is_folder(name)) continue;
        rc = node_look(path, name, nodes, error);
    }
    return rc;
}

/* Those that were asked for, or, where none were, those that there are. */
static int nodes_count(const struct engine_config *config, uint32_t *nodes, struct cellar_error *error)
{
    uint32_t there;
    int rc = nodes_look(config->durable, &there, error);
    *nodes = there ? there : config->mns ? config->mns : 1;
    if (rc == 0 && config->mns && config->mns != *nodes)
        rc = err_set(error, CELLAR_MISMATCH, "durable: %s keeps %u memory nodes, and %u were asked for",
                     config->durable, *nodes, config->mns);
    if (rc == 0 && *nodes > FABRIC_NODES_MAX)
        rc = err_set(error, CELLAR_CORRUPT, "durable: %s keeps %u memory nodes", config->durable, *nodes);
    return rc;
}

static int disks_open(struct durable *durable, const struct engine_config *config, struct cellar_error *error)
{
    int rc = durable->node_count > 1 ? around_open(durable, config, error) : 0;
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++) {
        struct durable_node *node = &durable->nodes[i];
        char name[PATH_BYTES];
        durable_name(node, name, sizeof name);
        rc = disk_open(name, config, &node->real, error);
        if (rc == 0) node->disk = disk_real_disk(node->real);
    }
    return rc;
}

int durable_open(struct engine_config *config, struct durable **out, struct cellar_error *error)
{
    struct durable *durable;
    uint64_t number[2];
    uint32_t nodes;
    *out = NULL;
    config->existing = config->existing || config->lost; /* what is filled is there */
    int rc = shape_check(config, error);
    if (rc == 0) rc = nodes_count(config, &nodes, error);
    if (rc) return rc;
    rc = durable_new(config->durable, nodes, &durable, error);
    if (rc == 0) durable->look = config->pool_private;
    if (rc == 0) rc = disks_open(durable, config, error);
    uint32_t made = config->lost && config->lost <= nodes ? config->lost - 1 : 0; /* a folder that is new */
    if (rc == 0) rc = disk_real_number(durable->nodes[made].real, number, error);
    if (rc == 0) rc = disks_use(durable, number, NULL, config, error);
    return opened(durable, rc, out);
}

void durable_free(struct durable *durable)
{
    if (!durable) return;
    for (uint32_t i = 0; i < durable->node_count; i++) {
        struct durable_node *node = &durable->nodes[i];
        (void)!journal_end(node->journal, NULL);
        disk_real_close(node->real);
        free(node->areas);
    }
    replay_free(&durable->replay);
    epochs_close(&durable->epochs);
    disk_real_close(durable->around);
    free(durable->nodes);
    free(durable);
}

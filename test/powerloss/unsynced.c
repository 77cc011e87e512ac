#include "unsynced.h"

#include "pwrite_all.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT 1
#define NAMES "names"
#define SECTOR UNSYNCED_SECTOR
#define PERMILLE 1000

/* A write of whole sectors; without bytes the file has got another size. */
struct unsynced_record {
    struct unsynced_record *next;
    uint64_t offset, size;
    size_t bytes;
    uint8_t data[];
};

struct unsynced_change {
    struct unsynced_change *next;
    char gone[UNSYNCED_NAME_MAX + 1], name[UNSYNCED_NAME_MAX + 1];
    struct unsynced_node *node;
};

static uint64_t sector_below(uint64_t offset) { return offset - offset % SECTOR; }
static uint64_t sector_above(uint64_t offset) { return sector_below(offset + SECTOR - 1); }

/* ---- names ---- */

static struct unsynced_entry *entry_of(const struct unsynced_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (!strcmp(names->entries[i].name, name)) return &names->entries[i];
    return NULL;
}

static int entry_set(struct unsynced_names *names, const char *name, struct unsynced_node *node)
{
    struct unsynced_entry *entry = entry_of(names, name);
    if (!entry) {
        struct unsynced_entry *more = realloc(names->entries, (names->count + 1) * sizeof *more);
        if (!more) return ENOMEM;
        names->entries = more;
        entry = &more[names->count++];
        snprintf(entry->name, sizeof entry->name, "%s", name);
    }
    entry->node = node;
    return 0;
}

static int change_apply(struct unsynced_names *names, const struct unsynced_change *change)
{
    int rc = change->gone[0] ? entry_set(names, change->gone, NULL) : 0;
    return !rc && change->name[0] ? entry_set(names, change->name, change->node) : rc;
}

struct unsynced_node *unsynced_find(const struct unsynced_node *folder, const char *name)
{
    const struct unsynced_entry *entry = entry_of(&folder->now, name);
    return entry ? entry->node : NULL;
}

static void links_count(struct unsynced_node *folder, const char *name, int more)
{
    struct unsynced_node *node = name ? unsynced_find(folder, name) : NULL;
    if (!node) return;
    node->links += (uint32_t)more;
    clock_gettime(CLOCK_REALTIME, &node->changed);
}

int unsynced_name(struct unsynced_node *folder, const char *gone, const char *name, struct unsynced_node *node)
{
    struct unsynced_change *change = calloc(1, sizeof *change);
    if (!change) return ENOMEM;
    if (gone) snprintf(change->gone, sizeof change->gone, "%s", gone);
    if (name) snprintf(change->name, sizeof change->name, "%s", name);
    change->node = node;
    links_count(folder, gone, -1);
    links_count(folder, name, -1);
    int rc = change_apply(&folder->now, change);
    if (rc) return rc;
    links_count(folder, name, 1);
    *folder->changes_end = change;
    folder->changes_end = &change->next;
    clock_gettime(CLOCK_REALTIME, &folder->changed);
    return 0;
}

/* ---- bytes ---- */

static void record_add(struct unsynced_node *node, struct unsynced_record *record)
{
    *node->records_end = record;
    node->records_end = &record->next;
    clock_gettime(CLOCK_REALTIME, &node->changed);
}

static void overlay(uint8_t *to, size_t bytes, uint64_t offset, const struct unsynced_record *record)
{
    uint64_t begin = record->offset > offset ? record->offset : offset;
    uint64_t end = record->offset + record->bytes, wanted = offset + bytes;
    if (wanted < end) end = wanted;
    if (begin < end) memcpy(to + (begin - offset), record->data + (begin - record->offset), end - begin);
}

/* Also behind the end, where there are zeros. */
static int bytes_now(const struct unsynced_node *node, uint8_t *to, size_t bytes, uint64_t offset)
{
    ssize_t got = pread(node->file, to, bytes, (off_t)offset);
    if (got < 0) return errno;
    memset(to + got, 0, bytes - (size_t)got);
    for (const struct unsynced_record *record = node->records; record; record = record->next)
        overlay(to, bytes, offset, record);
    return 0;
}

int unsynced_read(struct unsynced_node *node, void *to, size_t bytes, uint64_t offset, size_t *got)
{
    uint64_t left = offset < node->size ? node->size - offset : 0;
    *got = bytes < left ? bytes : left;
    return bytes_now(node, to, *got, offset);
}

int unsynced_grow(struct unsynced_node *node, uint64_t size)
{
    if (size <= node->size) return 0;
    struct unsynced_record *record = calloc(1, sizeof *record);
    if (!record) return ENOMEM;
    record->size = node->size = size;
    record_add(node, record);
    return 0;
}

/* A disk writes sectors, so a part of one comes with the rest. */
int unsynced_write(struct unsynced_node *node, const void *from, size_t bytes, uint64_t offset)
{
    uint64_t begin = sector_below(offset), end = sector_above(offset + bytes);
    struct unsynced_record *record = malloc(sizeof *record + (end - begin));
    if (!record) return ENOMEM;
    *record = (struct unsynced_record){.offset = begin, .bytes = end - begin};
    bool whole = begin == offset && end == offset + bytes;
    int rc = whole ? 0 : bytes_now(node, record->data, record->bytes, begin);
    if (!rc) rc = unsynced_grow(node, offset + bytes);
    if (rc) {
        free(record);
        return rc;
    }
    memcpy(record->data + (offset - begin), from, bytes);
    record_add(node, record);
    return 0;
}

/* ---- syncs, and the loss ---- */

static void records_free(struct unsynced_node *node)
{
    for (struct unsynced_record *record = node->records, *next; record; record = next) {
        next = record->next;
        free(record);
    }
    node->records = NULL;
    node->records_end = &node->records;
}

static void changes_free(struct unsynced_node *folder)
{
    for (struct unsynced_change *change = folder->changes, *next; change; change = next) {
        next = change->next;
        free(change);
    }
    folder->changes = NULL;
    folder->changes_end = &folder->changes;
}

int unsynced_sync(struct unsynced_node *node)
{
    int rc = 0;
    for (const struct unsynced_record *record = node->records; record && !rc; record = record->next)
        rc = pwrite_all(node->file, record->data, record->bytes, (off_t)record->offset);
    if (!rc && node->records && ftruncate(node->file, (off_t)node->size)) rc = errno;
    for (const struct unsynced_change *change = node->changes; change && !rc; change = change->next)
        rc = change_apply(&node->synced, change);
    if (rc) return rc;
    records_free(node);
    changes_free(node);
    return 0;
}

/* Nothing, half, as it comes, nearly all. */
static uint64_t share_draw(struct prng *prng)
{
    uint64_t as_it_comes = prng_below(prng, PERMILLE + 1);
    uint64_t shares[] = {0, PERMILLE / 2, as_it_comes, PERMILLE - 20};
    return shares[prng_below(prng, sizeof shares / sizeof *shares)];
}

static bool survives(struct prng *prng, uint64_t share) { return prng_below(prng, PERMILLE) < share; }

static int sector_lose(struct unsynced_node *node, struct unsynced_record *record, size_t at, struct prng *prng,
                       uint64_t share, bool garbles, struct unsynced_loss *loss)
{
    bool there = survives(prng, share);
    loss->sectors++;
    loss->sectors_forgotten += !there;
    if (!there && !(garbles && survives(prng, PERMILLE / 20))) return 0;
    for (size_t i = 0; i < SECTOR && !there; i++) record->data[at + i] = (uint8_t)prng_next(prng);
    return pwrite_all(node->file, record->data + at, SECTOR, (off_t)(record->offset + at));
}

static int file_lose(struct unsynced_node *node, struct prng *prng, bool garbles, struct unsynced_loss *loss)
{
    struct stat about;
    uint64_t share = share_draw(prng);
    if (!node->records) return 0;
    int rc = fstat(node->file, &about) ? errno : 0;
    for (struct unsynced_record *record = node->records; record && !rc; record = record->next) {
        for (size_t at = 0; at < record->bytes && !rc; at += SECTOR)
            rc = sector_lose(node, record, at, prng, share, garbles, loss);
        if (!record->bytes && survives(prng, share)) about.st_size = (off_t)record->size;
    }
    if (!rc && ftruncate(node->file, about.st_size)) rc = errno;
    records_free(node);
    return rc;
}

static int names_lose(struct unsynced_node *folder, struct prng *prng, struct unsynced_loss *loss)
{
    int rc = 0;
    uint64_t share = share_draw(prng);
    for (const struct unsynced_change *change = folder->changes; change && !rc; change = change->next) {
        bool there = survives(prng, share);
        loss->names++;
        loss->names_forgotten += !there;
        if (there) rc = change_apply(&folder->synced, change);
    }
    changes_free(folder);
    return rc;
}

int unsynced_lose(struct unsynced *tree, uint64_t seed, struct unsynced_loss *loss)
{
    int rc = 0;
    struct prng prng;
    prng_seed(&prng, seed);
    bool garbles = prng_below(&prng, 4) == 0;
    *loss = (struct unsynced_loss){0};
    for (struct unsynced_node *node = tree->nodes; node && !rc; node = node->next) {
        prng_seed_stream(&prng, seed, node->number);
        rc = node->folder ? names_lose(node, &prng, loss) : file_lose(node, &prng, garbles, loss);
    }
    return rc;
}

/* ---- from and to the machine's folder ---- */

static int node_add(struct unsynced *tree, uint64_t number, bool folder, mode_t mode, struct unsynced_node **made)
{
    char name[32];
    struct unsynced_node *node = calloc(1, sizeof *node);
    if (!node) return ENOMEM;
    *node = (struct unsynced_node){.number = number, .mode = mode, .folder = folder, .file = -1, .next = tree->nodes};
    node->records_end = &node->records;
    node->changes_end = &node->changes;
    clock_gettime(CLOCK_REALTIME, &node->changed);
    snprintf(name, sizeof name, "%" PRIu64, number);
    if (!folder) {
        struct stat about;
        node->file = openat(tree->folder, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (node->file < 0 || fstat(node->file, &about)) return errno;
        node->size = (uint64_t)about.st_size;
    }
    tree->nodes = *made = node;
    return 0;
}

int unsynced_make(struct unsynced *tree, bool folder, mode_t mode, struct unsynced_node **node)
{
    return node_add(tree, ++tree->numbers, folder, mode, node);
}

static struct unsynced_node *node_of(const struct unsynced *tree, uint64_t number)
{
    struct unsynced_node *node = tree->nodes;
    while (node && node->number != number) node = node->next;
    return node;
}

static int name_load(struct unsynced *tree, const char *line)
{
    char kind, name[UNSYNCED_NAME_MAX + 1];
    unsigned mode;
    uint64_t number, parent;
    if (sscanf(line, "%c %o %" SCNu64 " %" SCNu64 " %64s", &kind, &mode, &number, &parent, name) != 5) return EINVAL;
    struct unsynced_node *node = node_of(tree, number), *folder = node_of(tree, parent);
    int rc = !folder ? EINVAL : node ? 0 : node_add(tree, number, kind == 'd', mode, &node);
    if (!rc) rc = entry_set(&folder->now, name, node);
    if (!rc) rc = entry_set(&folder->synced, name, node);
    if (!rc) node->links++;
    return rc;
}

int unsynced_load(struct unsynced *tree, const char *folder)
{
    char line[256];
    *tree = (struct unsynced){.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .numbers = ROOT};
    if (tree->folder < 0) return errno;
    int rc = node_add(tree, ROOT, true, S_IFDIR | 0755, &tree->root);
    if (rc) return rc;
    int names = openat(tree->folder, NAMES, O_RDONLY | O_CLOEXEC);
    if (names < 0) return errno == ENOENT ? 0 : errno;
    FILE *file = fdopen(names, "r");
    rc = file && fscanf(file, "%" SCNu64 "\n", &tree->numbers) == 1 ? 0 : EINVAL;
    while (!rc && fgets(line, sizeof line, file)) rc = name_load(tree, line);
    if (file) fclose(file);
    return rc;
}

/* A folder comes before what is in it. */
static void names_save(struct unsynced_node *folder, FILE *file)
{
    for (size_t i = 0; i < folder->synced.count; i++) {
        const struct unsynced_entry *entry = &folder->synced.entries[i];
        struct unsynced_node *node = entry->node;
        if (!node) continue;
        node->reached = true;
        fprintf(file, "%c %o %" PRIu64 " %" PRIu64 " %s\n", node->folder ? 'd' : 'f', (unsigned)node->mode,
                node->number, folder->number, entry->name);
        if (node->folder) names_save(node, file);
    }
}

int unsynced_save(struct unsynced *tree)
{
    int names = openat(tree->folder, NAMES, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *file = names < 0 ? NULL : fdopen(names, "w");
    if (!file) return errno;
    fprintf(file, "%" PRIu64 "\n", tree->numbers);
    names_save(tree->root, file);
    if (fclose(file)) return errno;
    for (const struct unsynced_node *node = tree->nodes; node; node = node->next) {
        char name[32];
        snprintf(name, sizeof name, "%" PRIu64, node->number);
        if (!node->folder && !node->reached && unlinkat(tree->folder, name, 0)) return errno;
    }
    return 0;
}

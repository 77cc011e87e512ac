/*
 * journal.c - items in the groups of a log. Lives are marked at their beginning, and the mark has the cut of the life
 * before; so the log is read twice: first its marks, then its entries, each judged by the cut of its own life.
 */
#include "journal.h"

#include "durable_plants.h"
#include "must.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Followed by `bytes` of payload, rounded up to 8 with zeros: of CLOSED 8, an epoch that all nodes have published. */
struct item {
    uint32_t bytes;
    uint16_t kind;
    uint16_t pad;   /* zero */
    uint64_t life;  /* LIFE: the one that begins */
    uint64_t epoch; /* LIFE: the cut of the life before */
};
_Static_assert(sizeof(struct item) == 24, "item");

struct journal {
    struct wal *wal;
    uint64_t life, closed, closing; /* on the disk; added */
    uint64_t group;                 /* the last one on the disk */
};

/* A life that has begun, and the cut of the one before it. */
struct begun {
    uint64_t life, cut;
};

struct reading {
    struct journal_found found;
    bool sure;           /* a mark was read, or the log's very first group: from then on nothing is unknown */
    struct begun *lives; /* of the marks, in order */
    uint32_t life_count, life_capacity;
    const struct journal_cut *cut; /* the second time */
    journal_visit *visit;
    bool all; /* it sees all items, not only entries that count */
    void *arg;
    struct cellar_error *error;
};

static uint32_t round_up(uint32_t bytes) { return (bytes + 7) & ~7u; }

uint32_t journal_entry_bytes(uint32_t count) { return (uint32_t)sizeof(struct item) + round_up(count); }

/* ---- reading ---- */

static int wrong(const struct reading *reading, uint64_t group, const char *why)
{
    return err_set(reading->error, CELLAR_CORRUPT, "log of a memory node, group %" PRIu64 ": %s", group, why);
}

static int life_begins(struct reading *reading, uint64_t group, const struct item *item)
{
    struct journal_found *found = &reading->found;
    bool again = item->life == found->life && item->epoch == found->cut && found->closed == found->cut;
    /* A log that was begun in a lost one's place has nothing of what its first life goes on from. */
    bool first = found->life == 0;
    if (!again && (item->life <= found->life || (reading->sure && !first && item->epoch > found->closed)))
        return wrong(reading, group, "a life that cannot begin here");
    if (reading->life_count == reading->life_capacity) {
        uint32_t capacity = 2 * reading->life_capacity + 16;
        struct begun *more = realloc(reading->lives, capacity * sizeof *more);
        if (!more) return err_set(reading->error, CELLAR_NOMEM, "no memory to read a log");
        reading->lives = more;
        reading->life_capacity = capacity;
    }
    reading->lives[reading->life_count++] = (struct begun){item->life, item->epoch};
    found->life = item->life;
    found->cut = found->closed = item->epoch;
    reading->sure = true;
    return 0;
}

static int closed_read(struct reading *reading, uint64_t group, const struct item *item)
{
    struct journal_found *found = &reading->found;
    uint64_t known;
    memcpy(&known, item + 1, sizeof known);
    if (known >= item->epoch) return wrong(reading, group, "an epoch that was on all disks before this one had it");
    if (known > found->known) found->known = known;
    found->closed = item->epoch;
    reading->sure = true;
    return 0;
}

static int mark_read(struct reading *reading, uint64_t group, const struct item *item)
{
    struct journal_found *found = &reading->found;
    int rc = 0;
    reading->sure = reading->sure || group == 1;
    /* What came before was freed: the log begins amid a life, whose mark is gone. */
    if (!reading->sure && !found->life && item->kind != JOURNAL_LIFE) found->life = item->life;
    if (item->kind == JOURNAL_LIFE) {
        rc = life_begins(reading, group, item);
    } else if (!found->life || item->life != found->life)
        return wrong(reading, group, "an item of another life");
    else if (item->epoch <= found->closed)
        return wrong(reading, group, "an item of an epoch that was closed");
    else if (item->kind == JOURNAL_CLOSED)
        rc = closed_read(reading, group, item);
    if (item->epoch > found->last) found->last = item->epoch;
    return rc;
}

/* What is left of a life: up to the cut that the next one begins with. */
static uint64_t cut_of_life(const struct reading *reading, uint64_t life)
{
    if (life >= reading->cut->life) return PLANT(journal_cut_ignored) ? UINT64_MAX : reading->cut->epoch;
    if (PLANT(journal_life_ignored)) return reading->cut->epoch;
    for (uint32_t i = 0; i < reading->life_count; i++)
        if (reading->lives[i].life > life) return reading->lives[i].cut;
    return reading->cut->epoch;
}

/* The second time. */
static int item_show(const struct reading *reading, uint64_t group, const struct item *item)
{
    const uint8_t *bytes = (const uint8_t *)(item + 1);
    bool counts = item->kind == JOURNAL_ENTRY && item->epoch <= cut_of_life(reading, item->life);
    const struct journal_item shown = {
        group, (enum journal_kind)item->kind, counts, item->life, item->epoch, bytes, item->bytes};
    return reading->visit && (counts || reading->all) ? reading->visit(reading->arg, &shown) : 0;
}

static int group_read(void *arg, uint64_t group, const uint8_t *bytes, uint64_t count)
{
    struct reading *reading = arg;
    while (count) {
        const struct item *item = (const struct item *)(const void *)bytes;
        if (count < sizeof *item || item->bytes > count - sizeof *item ||
            round_up(item->bytes) > count - sizeof *item || item->pad || item->kind < JOURNAL_ENTRY ||
            item->kind > JOURNAL_LIFE || (item->kind == JOURNAL_LIFE && item->bytes) ||
            (item->kind == JOURNAL_CLOSED && item->bytes != sizeof(uint64_t)))
            return wrong(reading, group, "this is no item of a log");
        int rc = reading->cut ? item_show(reading, group, item) : mark_read(reading, group, item);
        if (rc) return rc;
        uint64_t whole = sizeof *item + round_up(item->bytes);
        bytes += whole;
        count -= whole;
    }
    return 0;
}

int journal_look(const struct wal_config *config, struct journal_found *found, struct cellar_error *error)
{
    struct reading reading = {.error = error};
    int rc = wal_read(config, group_read, &reading, NULL, error);
    free(reading.lives);
    *found = reading.found;
    return rc;
}

/* Reads it twice: its marks, then what they say of its items. */
static int shown(struct reading *reading, const struct wal_config *config, const struct journal_cut *cut)
{
    int rc = wal_read(config, group_read, reading, NULL, reading->error);
    reading->cut = cut;
    if (!rc) rc = wal_read(config, group_read, reading, NULL, reading->error);
    free(reading->lives);
    return rc;
}

int journal_items(const struct wal_config *config, const struct journal_cut *cut, journal_visit *visit, void *arg,
                  struct cellar_error *error)
{
    return shown(&(struct reading){.visit = visit, .all = true, .arg = arg, .error = error}, config, cut);
}

int journal_show(const struct wal_config *config, const struct journal_cut *cut, journal_visit *visit, void *arg,
                 struct cellar_error *error)
{
    return shown(&(struct reading){.visit = visit, .arg = arg, .error = error}, config, cut);
}

/*
 * If power failed amid a recovery some nodes have the mark of the new life, with the cut, and others are still in the
 * life before: what they have closed gives the same cut, and no node can have closed an epoch of the new life.
 */
int journal_cut_of(const struct journal_found *nodes, uint32_t count, struct journal_cut *cut,
                   struct cellar_error *error)
{
    must(count > 0);
    *cut = (struct journal_cut){nodes[0].life, UINT64_MAX, 0};
    uint64_t newest = nodes[0].life, known = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i].life < cut->life) cut->life = nodes[i].life;
        if (nodes[i].life > newest) newest = nodes[i].life;
        if (nodes[i].closed < cut->epoch) cut->epoch = nodes[i].closed;
        if (nodes[i].last > cut->last) cut->last = nodes[i].last;
        if (nodes[i].known > known) known = nodes[i].known;
    }
    if (newest > cut->life + 1)
        return err_set(error, CELLAR_CORRUPT, "logs of memory nodes: one has begun life %" PRIu64 ", another %" PRIu64,
                       newest, cut->life);
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i].life > cut->life && (nodes[i].cut != cut->epoch || nodes[i].closed != nodes[i].cut))
            return err_set(error, CELLAR_CORRUPT,
                           "logs of memory nodes: one goes on from epoch %" PRIu64 " to %" PRIu64
                           ", and another one has no such life and ends with %" PRIu64,
                           nodes[i].cut, nodes[i].closed, cut->epoch);
    if (known > cut->epoch && !PLANT(journal_known_ignored))
        return err_set(error, CELLAR_CORRUPT,
                       "logs of memory nodes: epoch %" PRIu64 " was on all disks, and one ends with %" PRIu64, known,
                       cut->epoch);
    return 0;
}

/* ---- writing ---- */

static bool item_add(struct journal *journal, enum journal_kind kind, uint64_t epoch, const void *bytes, uint32_t count)
{
    static const uint8_t zeros[8];
    struct item item = {.bytes = count, .kind = (uint16_t)kind, .life = journal->life, .epoch = epoch};
    /* All of it, or nothing. */
    if (!wal_room(journal->wal, journal_entry_bytes(count))) return false;
    bool added = wal_append(journal->wal, &item, sizeof item) && wal_append(journal->wal, bytes, count) &&
                 wal_append(journal->wal, zeros, round_up(count) - count);
    must(added);
    return true;
}

bool journal_entry(struct journal *journal, uint64_t epoch, const void *bytes, uint32_t count)
{
    must(epoch > journal->closing);
    return item_add(journal, JOURNAL_ENTRY, epoch, bytes, count);
}

bool journal_close_epoch(struct journal *journal, uint64_t epoch, uint64_t known)
{
    must(epoch > journal->closing && known < epoch);
    if (!item_add(journal, JOURNAL_CLOSED, epoch, &known, sizeof known)) return false;
    journal->closing = epoch;
    return true;
}

int journal_sync(struct journal *journal, struct cellar_error *error)
{
    int rc = wal_sync(journal->wal, &journal->group, error);
    if (!rc) journal->closed = journal->closing;
    return rc;
}

uint64_t journal_life(const struct journal *journal) { return journal->life; }

uint64_t journal_group(const struct journal *journal) { return journal->group + 1; }

uint32_t journal_files(const struct journal *journal) { return wal_files(journal->wal); }

uint64_t journal_written(const struct journal *journal) { return wal_written(journal->wal); }

int journal_free(struct journal *journal, uint64_t below, struct cellar_error *error)
{
    return wal_free(journal->wal, below, error);
}

uint64_t journal_closed(const struct journal *journal)
{
    return PLANT(journal_published_early) ? journal->closing : journal->closed;
}

int journal_end(struct journal *journal, struct cellar_error *error)
{
    if (!journal) return 0;
    int rc = wal_close(journal->wal, error);
    free(journal);
    return rc;
}

/* The new life is on the disk before anything of it is. */
static int life_begin(struct journal *journal, struct cellar_error *error)
{
    if (!item_add(journal, JOURNAL_LIFE, journal->closed, "", 0))
        return err_set(error, CELLAR_INVALID, "log of a memory node: groups have no room for a mark");
    return PLANT(journal_life_unsynced) ? 0 : journal_sync(journal, error);
}

int journal_begin(struct journal *journal, struct cellar_error *error)
{
    return PLANT(journal_begun_alone) ? 0 : life_begin(journal, error);
}

int journal_open(const struct wal_config *config, const struct journal_cut *cut, journal_visit *visit, void *arg,
                 struct journal **made, struct cellar_error *error)
{
    struct reading reading = {.error = error};
    struct journal_cut own = *cut;
    struct journal *journal = calloc(1, sizeof *journal);
    *made = NULL;
    if (!journal) return err_set(error, CELLAR_NOMEM, "no memory for a log");
    int rc = wal_read(config, group_read, &reading, NULL, error);
    if (PLANT(journal_cut_own)) own.epoch = reading.found.closed;
    reading.cut = &own;
    reading.visit = visit;
    reading.arg = arg;
    if (!rc) rc = wal_open(config, group_read, &reading, &journal->wal, NULL, error);
    journal->life = cut->life + 1;
    journal->closed = journal->closing = own.epoch;
    if (!rc && PLANT(journal_begun_alone)) rc = life_begin(journal, error);
    free(reading.lives);
    if (rc) {
        (void)!wal_close(journal->wal, NULL);
        free(journal);
        return rc;
    }
    *made = journal;
    return 0;
}

#include "sim_herds.h"

#include "bulk.h"
#include "db_define.h"

#include <stdio.h>

#undef cellar_put
#undef cellar_delete
#undef cellar_cursor_next

#define FEW 12
#define PAGE_MAX 512

struct beast {
    uint16_t herd, number;
    uint64_t mark;
};
enum { HERD, NUMBER, MARK };

int sim_herds_make(struct cellar *db, const struct cellar_table **table, struct cellar_error *error)
{
    static const struct cellar_column columns[] = {{CELLAR_FIELD(struct beast, herd), .flags = CELLAR_KEY},
                                                   {CELLAR_FIELD(struct beast, number), .flags = CELLAR_KEY},
                                                   {CELLAR_FIELD(struct beast, mark)}};
    static const struct cellar_index_def by_mark = {.name = "by_mark", .columns = "mark"};
    return db_table_open(db,
                         CELLAR_TABLE(struct beast, columns, .name = "herds", .rows = SIM_HERDS * SIM_HERDS_ROWS_MAX,
                                      .flags = CELLAR_ORDERED, .indexes = &by_mark, .index_count = 1),
                         CELLAR_ADD, table, error);
}

static bool once_in(struct sim_herds *herds, uint32_t count) { return prng_below(herds->prng, count) == 0; }

/* ---- marks ---- */

static uint64_t mark_of(uint32_t writer, uint32_t draw, uint32_t count)
{
    return (uint64_t)writer << 32 | (uint64_t)(draw & 0xffff) << 16 | count;
}
static uint32_t mark_count(uint64_t mark) { return (uint32_t)mark & 0xffff; }

/* Of rows that come in some order: how many of a herd, with which mark. Not two; and no more than there are. */
struct tally {
    struct herd herd;
    uint64_t numbers; /* their sum */
    bool mixed;
};

static void tally_add(struct tally *tally, const struct beast *beast)
{
    tally->mixed = tally->mixed || (tally->herd.count && tally->herd.mark != beast->mark);
    tally->herd.mark = beast->mark;
    tally->herd.count++;
    tally->numbers += beast->number;
}

/* Their numbers are 0 to count - 1, each once, if none is out of bounds. */
static bool tally_whole(const struct tally *tally)
{
    uint64_t count = tally->herd.count;
    return !tally->mixed && (count == 0 || mark_count(tally->herd.mark) == count) &&
           tally->numbers * 2 == count * (count ? count - 1 : 0);
}

/* ---- looking ---- */

/* By the key's order its own range, by the index both herds. */
static int scan_open(struct sim_herds *herds, bool by_mark, const struct beast *low, struct cellar_cursor **cursor)
{
    const struct cellar_scan scan = {.size = sizeof scan,
                                     .table = herds->table,
                                     .index = by_mark ? herds->by_mark : NULL,
                                     .flags = once_in(herds, 2) ? CELLAR_BACKWARD : 0,
                                     .from = low,
                                     .to = low,
                                     .from_columns = !by_mark,
                                     .to_columns = !by_mark,
                                     .row_bytes = sizeof *low};
    return cellar_cursor_open(herds->txn, &scan, cursor);
}

static int scan_all(struct sim_herds *herds, struct cellar_cursor *cursor, struct tally *tally)
{
    struct beast page[PAGE_MAX];
    int count, most;
    do {
        most = (int)prng_between(herds->prng, 1, PAGE_MAX);
        count = cellar_cursor_next(cursor, (uint32_t)most, page, sizeof *page);
        for (int i = 0; i < count; i++)
            if (page[i].herd == herds->herd) tally_add(tally, &page[i]);
    } while (count == most);
    return count < 0 ? count : 0;
}

static int look(struct sim_herds *herds, struct tally *tally)
{
    const struct beast low = {.herd = (uint16_t)herds->herd};
    struct cellar_cursor *cursor;
    *tally = (struct tally){.mixed = false};
    int code = scan_open(herds, once_in(herds, 3), &low, &cursor);
    if (code) return code;
    code = scan_all(herds, cursor, tally);
    cellar_cursor_close(cursor);
    return code;
}

static int look_first(struct sim_herds *herds)
{
    struct tally tally;
    int code = look(herds, &tally);
    if (code) return code;
    herds->seen = tally.herd;
    if (!tally_whole(&tally))
        snprintf(herds->complaint, sizeof herds->complaint, "herd %u: %u rows, the last one of mark %#llx", herds->herd,
                 tally.herd.count, (unsigned long long)tally.herd.mark);
    return 0;
}

/* What it has made where there was nothing it is shown, to the last row; what others may take away, if it commits. */
static int look_again(struct sim_herds *herds)
{
    struct tally tally;
    int code = look(herds, &tally);
    if (code) return code;
    bool same = tally_whole(&tally) && tally.herd.count == herds->seen.count &&
                (tally.herd.count == 0 || tally.herd.mark == herds->seen.mark);
    if (!same)
        snprintf(herds->own ? herds->contradiction : herds->complaint, SIM_HERDS_LINE_BYTES,
                 "herd %u: it is shown %u rows, mark %#llx, after %u of %#llx", herds->herd, tally.herd.count,
                 (unsigned long long)tally.herd.mark, herds->seen.count, (unsigned long long)herds->seen.mark);
    return 0;
}

/* ---- driving ---- */

static uint32_t count_draw(struct sim_herds *herds)
{
    if (once_in(herds, 4)) return 0;
    if (once_in(herds, 4)) return (uint32_t)prng_between(herds->prng, 1, FEW);
    return (uint32_t)prng_between(herds->prng, SIM_HERDS_ROWS_MAX / 2, SIM_HERDS_ROWS_MAX);
}

static int drive(struct sim_herds *herds)
{
    uint32_t count = count_draw(herds), draw = (uint32_t)prng_next(herds->prng);
    struct beast beast = {.herd = (uint16_t)herds->herd, .mark = mark_of(herds->writer, draw, count)};
    int code = 0;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        beast.number = (uint16_t)i;
        code = cellar_put(herds->txn, herds->table, CELLAR_ALL, &beast, sizeof beast);
    }
    for (uint32_t i = count; i < herds->seen.count && code == 0; i++) {
        beast.number = (uint16_t)i;
        code = cellar_delete(herds->txn, herds->table, &beast, sizeof beast);
    }
    herds->own = herds->seen.count == 0;
    herds->seen = (struct herd){count, beast.mark};
    return code;
}

uint32_t sim_herds_begin(struct sim_herds *herds, struct cellar_txn *txn, struct prng *prng, uint32_t writer)
{
    herds->by_mark = cellar_index_find(herds->table, "by_mark");
    herds->txn = txn;
    herds->prng = prng;
    herds->writer = writer;
    herds->complaint[0] = herds->contradiction[0] = 0;
    herds->step = 0;
    herds->own = false;
    herds->herd = (uint32_t)prng_below(prng, SIM_HERDS);
    return 1 + (uint32_t)prng_below(prng, 3);
}

int sim_herds_step(struct sim_herds *herds)
{
    static int (*const steps[])(struct sim_herds *) = {look_first, drive, look_again};
    return steps[herds->step++](herds);
}

/* ---- what is left ---- */

struct check {
    struct tally tallies[SIM_HERDS];
    struct cellar_error *error;
};

static int row_check(void *arg, uint64_t number, const void *shown)
{
    struct check *check = arg;
    const struct beast *beast = shown;
    (void)number;
    if (beast->herd >= SIM_HERDS || beast->number >= SIM_HERDS_ROWS_MAX)
        return err_set(check->error, CELLAR_CORRUPT, "herds: a row %u.%u, which no client has", beast->herd,
                       beast->number);
    tally_add(&check->tallies[beast->herd], beast);
    return 0;
}

int sim_herds_check(struct cellar_lab_client *self, const struct cellar_table *table, struct cellar_error *error)
{
    struct check check = {.error = error};
    int code = db_scan_rows(self, table, row_check, &check, error);
    for (uint32_t i = 0; i < SIM_HERDS && code == 0; i++)
        if (!tally_whole(&check.tallies[i]))
            code = err_set(error, CELLAR_CORRUPT, "herd %u is left with %u rows, one of them of mark %#llx", i,
                           check.tallies[i].herd.count, (unsigned long long)check.tallies[i].herd.mark);
    return code;
}

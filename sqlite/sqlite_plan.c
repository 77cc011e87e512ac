/* sqlite_plan.c - plans, their costs, and how they are noted for the time when they run. */
#include "sqlite_plan.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

#define WALK_COST 4.0 /* of finding a leaf, in rows; a little less where entries are as short as can be */
#define WALK_COST_KEYS 3.0

/* A constraint that a plan may use, by operator; -1: none. */
struct terms {
    int equal[SQLITE_DEFINE_COLUMNS + 1], low[SQLITE_DEFINE_COLUMNS + 1], high[SQLITE_DEFINE_COLUMNS + 1];
};

struct candidate {
    struct sqlite_plan plan;
    double rows, cost;
    bool one_row, sorted;
};

/* The column of the record's key has two names: its own, and rowid (-1), which is what the table without one has. */
static int column_of(const struct sqlite_define *define, int column)
{
    return column == define->key && !define->keyed ? -1 : column;
}

/* Of x IN (SELECT y) SQLite makes texts of numbers where x is a text, and '05' is 5 no longer. */
static bool is_list(sqlite3_index_info *info, int i)
{
#if SQLITE_VERSION_NUMBER >= 3038000
    return sqlite3_libversion_number() >= 3038000 && sqlite3_vtab_in(info, i, -1);
#else
    (void)info, (void)i;
    return false;
#endif
}

/* Values of a text column that is to be compared without regard to case, say, are not in the index's order. */
static bool is_usable(const struct sqlite_define *define, sqlite3_index_info *info, int i)
{
    int column = info->aConstraint[i].iColumn;
    if (!info->aConstraint[i].usable) return false;
    if (column < 0 || define->columns[column].type != SQLITE_TYPE_TEXT) return true;
    return sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0 && !is_list(info, i);
}

static void terms_read(struct terms *terms, const struct sqlite_define *define, sqlite3_index_info *info)
{
    memset(terms, -1, sizeof *terms);
    for (int i = 0; i < info->nConstraint; i++) {
        int at = column_of(define, info->aConstraint[i].iColumn) + 1;
        if (!is_usable(define, info, i)) continue;
        switch (info->aConstraint[i].op) {
        case SQLITE_INDEX_CONSTRAINT_EQ:
            terms->equal[at] = i;
            break;
        case SQLITE_INDEX_CONSTRAINT_GT:
        case SQLITE_INDEX_CONSTRAINT_GE:
            terms->low[at] = i;
            break;
        case SQLITE_INDEX_CONSTRAINT_LT:
        case SQLITE_INDEX_CONSTRAINT_LE:
            terms->high[at] = i;
            break;
        default:
            break;
        }
    }
}

/* Is it one of those that the plan has equal to a value? */
static bool is_fixed(const struct sqlite_index *index, uint32_t equals, int column)
{
    for (uint32_t i = 0; i < equals; i++)
        if (index->columns[i] == column) return true;
    return false;
}

/* Does the index give the order that is asked for, where its first columns equal values? Then from which end. */
static bool is_sorted(const struct sqlite_define *define, const struct sqlite_index *index, uint32_t equals,
                      const sqlite3_index_info *info, bool *backward)
{
    bool first = true;
    uint32_t at = equals;
    for (int i = 0; i < info->nOrderBy; i++) {
        int column = column_of(define, info->aOrderBy[i].iColumn);
        bool desc = info->aOrderBy[i].desc;
        if (is_fixed(index, equals, column)) continue;
        if (!index->count) { /* of keys: nothing is left to be sorted after them */
            *backward = desc;
            return column == -1 && !define->keyed;
        }
        if (at == index->count || index->columns[at] != column || !index->ordered[at]) return false;
        if (define->columns[column].is_key) return false; /* zeros at the end of keys have no order there */
        desc ^= index->descending[at++];
        if (!first && desc != *backward) return false;
        *backward = desc;
        first = false;
    }
    return true;
}

static struct candidate by_point(void)
{
    return (struct candidate){
        .plan = {.way = SQLITE_WAY_POINT, .equals = 1}, .rows = 1, .cost = 1, .one_row = true, .sorted = true};
}

static void narrow(struct candidate *candidate, const struct terms *terms, int column)
{
    candidate->plan.low = terms->low[column + 1] >= 0;
    candidate->plan.high = terms->high[column + 1] >= 0;
    if (candidate->plan.low) candidate->rows /= 4;
    if (candidate->plan.high) candidate->rows /= 4;
}

/* Have the index's entries all that the query looks at? A string key, by which rows are changed, it always may. */
static bool is_covered(const struct sqlite_define *define, const struct sqlite_index *index, uint64_t used)
{
    if (used == UINT64_MAX) return false;
    for (uint32_t i = 0; i < define->column_count; i++) {
        bool looked_at = (used >> (i < 63 ? i : 63) & 1) || (define->keyed && (int)i == define->key);
        if (looked_at && define->columns[i].number >= 0 && !index->has[i]) return false;
    }
    return true;
}

static struct candidate by_index(const struct sqlite_define *define, uint32_t number, const struct terms *terms,
                                 const sqlite3_index_info *info)
{
    const struct sqlite_index *index = &define->indexes[number];
    struct candidate candidate = {.plan = {.way = SQLITE_WAY_INDEX, .index = number}, .rows = (double)define->rows};
    uint32_t equals = 0;
    for (; equals < index->count && terms->equal[index->columns[equals] + 1] >= 0; equals++)
        candidate.rows /= index->unique ? 40 : 20;
    candidate.plan.equals = equals;
    candidate.one_row = index->unique && equals == index->count;
    if (candidate.one_row) candidate.rows = 1;
    if (!index->count && !define->keyed)
        narrow(&candidate, terms, -1);
    else if (equals < index->count && index->ordered[equals])
        narrow(&candidate, terms, index->columns[equals]);
    if (candidate.rows < 1) candidate.rows = 1;
    candidate.sorted = is_sorted(define, index, equals, info, &candidate.plan.backward);
    candidate.plan.covered = is_covered(define, index, info->colUsed);
    candidate.cost = (index->count ? WALK_COST : WALK_COST_KEYS) + (candidate.plan.covered ? 1 : 2) * candidate.rows;
    return candidate;
}

/* With what it costs SQLite to sort the rows. */
static double whole_cost(const struct candidate *candidate, const sqlite3_index_info *info)
{
    return candidate->cost + (info->nOrderBy && !candidate->sorted ? 2 * candidate->rows : 0);
}

static void use(sqlite3_index_info *info, int constraint, int *count)
{
    if (constraint >= 0) info->aConstraintUsage[constraint].argvIndex = ++*count;
}

/* LIMIT and OFFSET, where SQLite tells them (from 3.38 on): how many rows it will ask for. It counts them itself. */
static void limit_use(sqlite3_index_info *info, int *count)
{
#ifdef SQLITE_INDEX_CONSTRAINT_LIMIT
    static const unsigned char operators[] = {SQLITE_INDEX_CONSTRAINT_LIMIT, SQLITE_INDEX_CONSTRAINT_OFFSET};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < info->nConstraint; i++)
            if (info->aConstraint[i].op == operators[k] && info->aConstraint[i].usable) use(info, i, count);
#else
    (void)info, (void)count;
#endif
}

/*
 * Of an UPDATE SQLite says that it uses all columns, those of tables of fewer, too. It looks at few of them, and what
 * it does not look at another transaction may change: each is read when it is wanted.
 */
static cellar_cells cells_of(const struct sqlite_define *define, uint64_t used)
{
    cellar_cells cells = 0;
    if (used == UINT64_MAX && define->column_count < 64) return 0;
    for (uint32_t i = 0; i < define->column_count; i++)
        if (used >> (i < 63 ? i : 63) & 1) cells |= define->columns[i].cells;
    return cells;
}

#define EQUALS_POINT 15u /* in a plan's number: more columns than an index has */

/* A plan in 31 bits: SQLite keeps a number of it. */
static int number_of(const struct sqlite_plan *plan, cellar_cells cells)
{
    _Static_assert(CELLAR_CELLS_MAX <= 20 && CELLAR_INDEXES_MAX <= 8 && CELLAR_INDEX_COLUMNS_MAX < EQUALS_POINT,
                   "31 bits");
    const uint32_t equals = plan->way == SQLITE_WAY_POINT ? EQUALS_POINT : plan->equals;
    return (int)((uint32_t)plan->covered | plan->index << 1 | equals << 4 | (uint32_t)plan->low << 8 |
                 (uint32_t)plan->high << 9 | (uint32_t)plan->backward << 10 | cells << 11);
}

/* For people: what EXPLAIN QUERY PLAN shows. */
static char *text_of(const struct sqlite_define *define, const struct sqlite_plan *plan)
{
    const struct sqlite_index *index = &define->indexes[plan->index];
    if (plan->way == SQLITE_WAY_POINT) return sqlite3_mprintf("key=?");
    struct cellar_schema_index def;
    struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
    cellar_index_describe(index->index, &def, columns);
    char *text = sqlite3_mprintf("%s", def.name);
    for (uint32_t i = 0; i < plan->equals && text; i++)
        text = sqlite3_mprintf("%z %s=?", text, define->columns[index->columns[i]].name);
    const char *next =
        index->count ? plan->equals < index->count ? define->columns[index->columns[plan->equals]].name : "" : "key";
    if (plan->low && text) text = sqlite3_mprintf("%z %s>?", text, next);
    if (plan->high && text) text = sqlite3_mprintf("%z %s<?", text, next);
    if (plan->backward && text) text = sqlite3_mprintf("%z backward", text);
    return plan->covered && text ? sqlite3_mprintf("%z covering", text) : text;
}

int sqlite_plan_best(const struct sqlite_define *define, sqlite3_index_info *info)
{
    struct terms terms;
    int count = 0, key = define->keyed ? define->key : -1;
    terms_read(&terms, define, info);
    bool point = terms.equal[key + 1] >= 0;
    struct candidate best = point ? by_point() : by_index(define, 0, &terms, info);
    for (uint32_t i = 1; !point && i < define->index_count; i++) {
        struct candidate candidate = by_index(define, i, &terms, info);
        if (whole_cost(&candidate, info) < whole_cost(&best, info)) best = candidate;
    }
    const struct sqlite_plan *plan = &best.plan;
    const struct sqlite_index *index = &define->indexes[plan->index];
    if (point) use(info, terms.equal[key + 1], &count);
    for (uint32_t i = 0; !point && i < plan->equals; i++) use(info, terms.equal[index->columns[i] + 1], &count);
    int ranged = plan->equals < index->count ? index->columns[plan->equals] : -1;
    if (plan->low) use(info, terms.low[ranged + 1], &count);
    if (plan->high) use(info, terms.high[ranged + 1], &count);
    if (!point) limit_use(info, &count);
    info->idxNum = number_of(plan, cells_of(define, info->colUsed));
    info->idxStr = text_of(define, plan);
    if (!info->idxStr) return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->orderByConsumed = best.sorted;
    info->estimatedCost = best.cost;
    info->estimatedRows = (sqlite3_int64)best.rows;
    info->idxFlags = best.one_row ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    return SQLITE_OK;
}

void sqlite_plan_read(struct sqlite_plan *plan, int number)
{
    uint32_t bits = (uint32_t)number;
    bool point = (bits >> 4 & 15) == EQUALS_POINT;
    *plan = (struct sqlite_plan){.way = point ? SQLITE_WAY_POINT : SQLITE_WAY_INDEX,
                                 .index = bits >> 1 & 7,
                                 .equals = point ? 1 : bits >> 4 & 15,
                                 .low = bits >> 8 & 1,
                                 .high = bits >> 9 & 1,
                                 .backward = bits >> 10 & 1,
                                 .covered = bits & 1,
                                 .cells = bits >> 11};
}

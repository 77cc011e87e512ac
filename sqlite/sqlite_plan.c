/* sqlite_plan.c - plans, their costs, and how they are noted for the time when they run. */
#include "sqlite_plan.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

#define EQUALS_POINT 15u /* in a plan's number: more columns than are used of an index */
#define WALK_COST 4.0    /* of finding a leaf, in rows; a little less where entries are as short as can be */
#define WALK_COST_KEYS 3.0

/* Of each column a constraint that a plan may use, by operator; -1: none. */
struct terms {
    int equal[SQLITE_DEFINE_COLUMNS], low[SQLITE_DEFINE_COLUMNS], high[SQLITE_DEFINE_COLUMNS];
};

struct candidate {
    struct sqlite_plan plan;
    double rows, cost;
    bool sorted;
};

/* The column that is the rowid has two names: its own, and rowid (-1), which is what the table without one has. */
static int column_of(const struct sqlite_define *define, int column) { return column < 0 ? define->rowid : column; }

/* The packed key, which SQLite looks at to change rows, is in no order. */
static bool is_packed_key(const struct sqlite_define *define, int column)
{
    return define->rowid < 0 && column == (int)define->column_count;
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

/* A number beside TEXT, say, that stands in the statement: it bounds nothing (sqlite_value_bound). */
static bool is_boundless(const struct sqlite_column *column, sqlite3_index_info *info, int i)
{
#if SQLITE_VERSION_NUMBER >= 3038000
    sqlite3_value *value = NULL;
    if (column->type != SQLITE_TYPE_TEXT && column->type != SQLITE_TYPE_BLOB) return false;
    if (sqlite3_libversion_number() < 3038000 || sqlite3_vtab_rhs_value(info, i, &value) || !value) return false;
    int type = sqlite3_value_type(value);
    return type != SQLITE_NULL && type != (column->type == SQLITE_TYPE_TEXT ? SQLITE_TEXT : SQLITE_BLOB);
#else
    (void)column, (void)info, (void)i;
    return false;
#endif
}

/* Values of a text column that is to be compared without regard to case, say, are not in the index's order. */
static bool is_usable(const struct sqlite_define *define, sqlite3_index_info *info, int i)
{
    int column = info->aConstraint[i].iColumn;
    if (!info->aConstraint[i].usable || is_packed_key(define, column)) return false;
    if (column < 0) return true;
    if (is_boundless(&define->columns[column], info, i)) return false;
    if (define->columns[column].type != SQLITE_TYPE_TEXT) return true;
    return sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0 && !is_list(info, i);
}

static void terms_read(struct terms *terms, const struct sqlite_define *define, sqlite3_index_info *info)
{
    memset(terms, -1, sizeof *terms);
    for (int i = 0; i < info->nConstraint; i++) {
        int at = column_of(define, info->aConstraint[i].iColumn);
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
        if (at == index->count) return !index->index; /* of the key: nothing is left to be sorted after it */
        if (index->columns[at] != column || sqlite_value_is_unordered(&define->columns[column])) return false;
        if (at > equals && sqlite_value_is_halved(&define->columns[column])) return false;
        desc ^= index->descending[at++];
        if (!first && desc != *backward) return false;
        *backward = desc;
        first = false;
    }
    return true;
}

static void narrow(struct candidate *candidate, const struct terms *terms, int column)
{
    candidate->plan.low = terms->low[column] >= 0;
    candidate->plan.high = terms->high[column] >= 0;
    if (candidate->plan.low) candidate->rows /= 4;
    if (candidate->plan.high) candidate->rows /= 4;
}

/* Have the index's entries all that the query looks at? */
static bool is_covered(const struct sqlite_define *define, const struct sqlite_index *index, uint64_t used)
{
    if (used == UINT64_MAX) return false;
    for (uint32_t i = 0; i < define->column_count; i++)
        if ((used >> (i < 63 ? i : 63) & 1) && !(index->has >> define->columns[i].number & 1)) return false;
    return true;
}

bool sqlite_plan_is_of_one(const struct sqlite_plan *plan, const struct sqlite_define *define)
{
    const struct sqlite_index *index = &define->indexes[plan->index];
    return plan->way == SQLITE_WAY_POINT || (index->unique && plan->equals == index->count);
}

static struct candidate by_index(const struct sqlite_define *define, uint32_t number, const struct terms *terms,
                                 const sqlite3_index_info *info)
{
    const struct sqlite_index *index = &define->indexes[number];
    struct candidate candidate = {.plan = {.way = SQLITE_WAY_INDEX, .index = number}, .rows = (double)define->rows};
    uint32_t equals = 0;
    for (; equals < index->count && equals < EQUALS_POINT - 1 && terms->equal[index->columns[equals]] >= 0; equals++)
        candidate.rows /= index->unique ? 40 : 20;
    candidate.plan.equals = equals;
    if (sqlite_plan_is_of_one(&candidate.plan, define)) candidate.rows = 1;
    if (equals < index->count && !sqlite_value_is_unordered(&define->columns[index->columns[equals]]))
        narrow(&candidate, terms, index->columns[equals]);
    if (candidate.rows < 1) candidate.rows = 1;
    candidate.sorted = is_sorted(define, index, equals, info, &candidate.plan.backward);
    candidate.plan.covered = is_covered(define, index, info->colUsed);
    candidate.cost = (index->index ? WALK_COST : WALK_COST_KEYS) + (candidate.plan.covered ? 1 : 2) * candidate.rows;
    return candidate;
}

/* By its key, all of which equals values. */
static bool is_point(const struct sqlite_define *define, const struct terms *terms)
{
    for (uint32_t i = 0; i < define->key_count; i++)
        if (terms->equal[define->keys[i]] < 0) return false;
    return true;
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
static uint32_t units_of(const struct sqlite_define *define, uint64_t used)
{
    uint32_t units = 0;
    if (used == UINT64_MAX && define->column_count < 64) return 0;
    for (uint32_t i = 0; i < define->column_count; i++)
        if (used >> (i < 63 ? i : 63) & 1) units |= define->columns[i].units;
    return units;
}

/* A plan in 32 bits: SQLite keeps a number of it. */
static int number_of(const struct sqlite_plan *plan, uint32_t units)
{
    _Static_assert(CELLAR_CELLS_MAX <= 20 && CELLAR_INDEXES_MAX <= 8 && CELLAR_INDEX_COLUMNS_MAX < EQUALS_POINT,
                   "32 bits");
    const uint32_t equals = plan->way == SQLITE_WAY_POINT ? EQUALS_POINT : plan->equals;
    return (int)((uint32_t)plan->covered | plan->index << 1 | equals << 4 | (uint32_t)plan->low << 8 |
                 (uint32_t)plan->high << 9 | (uint32_t)plan->backward << 10 | units << 11 |
                 (uint32_t)plan->promises << 31);
}

static const char *name_of(const struct sqlite_define *define, int column)
{
    return column < (int)define->column_count ? define->columns[column].name : "rowid";
}

/* For people: what EXPLAIN QUERY PLAN shows. */
static char *text_of(const struct sqlite_define *define, const struct sqlite_plan *plan)
{
    const struct sqlite_index *index = &define->indexes[plan->index];
    if (plan->way == SQLITE_WAY_POINT) return sqlite3_mprintf("key=?");
    char *text = sqlite3_mprintf("%s", index->name);
    for (uint32_t i = 0; i < plan->equals && text; i++)
        text = sqlite3_mprintf("%z %s=?", text, name_of(define, index->columns[i]));
    const char *next = plan->equals < index->count ? name_of(define, index->columns[plan->equals]) : "";
    if (plan->low && text) text = sqlite3_mprintf("%z %s>?", text, next);
    if (plan->high && text) text = sqlite3_mprintf("%z %s<?", text, next);
    if (plan->backward && text) text = sqlite3_mprintf("%z backward", text);
    return plan->covered && text ? sqlite3_mprintf("%z covering", text) : text;
}

/* The values that the plan wants, in the order in which it has them. */
static void terms_use(const struct sqlite_define *define, const struct sqlite_plan *plan, const struct terms *terms,
                      sqlite3_index_info *info)
{
    const struct sqlite_index *index = &define->indexes[plan->index];
    bool point = plan->way == SQLITE_WAY_POINT;
    int count = 0, ranged = plan->equals < index->count ? index->columns[plan->equals] : 0;
    for (uint32_t i = 0; i < plan->equals; i++)
        use(info, terms->equal[point ? define->keys[i] : index->columns[i]], &count);
    if (plan->low) use(info, terms->low[ranged], &count);
    if (plan->high) use(info, terms->high[ranged], &count);
    if (!point) limit_use(info, &count);
}

int sqlite_plan_best(const struct sqlite_define *define, sqlite3_index_info *info)
{
    struct terms terms;
    terms_read(&terms, define, info);
    struct candidate best = {
        .plan = {.way = SQLITE_WAY_POINT, .equals = define->key_count}, .rows = 1, .cost = 1, .sorted = true};
    bool point = is_point(define, &terms);
    for (uint32_t i = 0; !point && i < define->index_count; i++) {
        struct candidate candidate = by_index(define, i, &terms, info);
        if (i == 0 || whole_cost(&candidate, info) < whole_cost(&best, info)) best = candidate;
    }
    bool one = sqlite_plan_is_of_one(&best.plan, define);
    best.plan.promises = one || (best.sorted && info->nOrderBy);
    terms_use(define, &best.plan, &terms, info);
    info->idxNum = number_of(&best.plan, units_of(define, info->colUsed));
    info->idxStr = text_of(define, &best.plan);
    if (!info->idxStr) return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->orderByConsumed = best.sorted;
    info->estimatedCost = best.cost;
    info->estimatedRows = (sqlite3_int64)best.rows;
    info->idxFlags = one ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    return SQLITE_OK;
}

void sqlite_plan_read(const struct sqlite_define *define, struct sqlite_plan *plan, int number)
{
    uint32_t bits = (uint32_t)number;
    bool point = (bits >> 4 & 15) == EQUALS_POINT;
    *plan = (struct sqlite_plan){.way = point ? SQLITE_WAY_POINT : SQLITE_WAY_INDEX,
                                 .index = bits >> 1 & 7,
                                 .equals = point ? define->key_count : bits >> 4 & 15,
                                 .low = bits >> 8 & 1,
                                 .high = bits >> 9 & 1,
                                 .backward = bits >> 10 & 1,
                                 .covered = bits & 1,
                                 .units = bits >> 11 & 0xfffff,
                                 .promises = bits >> 31};
}

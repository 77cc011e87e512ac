/*
 * history_merge.c - puts the parts of a history together: which belong to one run, transactions by end, states of the
 * pool once each.
 */
#include "history_merge.h"

#include <stdlib.h>
#include <string.h>

/* ---- do they belong together? ---- */

static bool same_tables(const struct history *a, const struct history *b)
{
    bool same = a->table_count == b->table_count;
    for (uint32_t i = 0; same && i < a->table_count; i++)
        same = a->tables[i].table_id == b->tables[i].table_id && a->tables[i].cells == b->tables[i].cells &&
               !strcmp(a->tables[i].name, b->tables[i].name);
    return same;
}

static int parts_match(const struct history *parts, uint32_t count, struct cellar_error *error)
{
    bool seen[HISTORY_PARTS_MAX] = {false};

    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].parts != count || count > HISTORY_PARTS_MAX)
            return err_set(error, CELLAR_INVALID,
                           parts[i].parts ? "a part of %u; %u files were given"
                                          : "no part of a run (%u); %u files were given",
                           parts[i].parts, count);
        if (seen[parts[i].part])
            return err_set(error, CELLAR_INVALID, "part %u of %u is there twice", parts[i].part, count);
        seen[parts[i].part] = true;
        bool same = parts[i].run == parts[0].run;
        if (!same || !same_tables(&parts[i], &parts[0]))
            return err_set(error, CELLAR_INVALID, "parts %u and %u are not of one run: their %s differ", parts[0].part,
                           parts[i].part, same ? "tables" : "run numbers");
    }
    return 0;
}

/* ---- transactions ---- */

struct ended {
    uint64_t end_ns;
    uint32_t part;
    uint64_t txn;
};

static int ended_compare(const void *left, const void *right)
{
    const struct ended *a = left, *b = right;
    if (a->end_ns != b->end_ns) return a->end_ns < b->end_ns ? -1 : 1;
    if (a->part != b->part) return a->part < b->part ? -1 : 1;
    return (a->txn > b->txn) - (a->txn < b->txn);
}

static int txns_merge(const struct history *parts, uint32_t count, struct history *whole)
{
    uint64_t all = 0, at = 0;
    int rc = 0;

    for (uint32_t i = 0; i < count; i++) all += parts[i].txn_count;
    struct ended *order = malloc((all + 1) * sizeof *order);
    if (!order) return CELLAR_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        for (uint64_t txn = 0; txn < parts[i].txn_count; txn++)
            order[at++] = (struct ended){parts[i].txns[txn].end_ns, i, txn};
    qsort(order, all, sizeof *order, ended_compare);
    for (at = 0; at < all && !rc; at++) {
        const struct history *part = &parts[order[at].part];
        struct history_txn txn = part->txns[order[at].txn];
        const struct history_access *accesses = txn.count ? part->accesses + txn.first : NULL;
        txn.id = at;
        rc = history_txn_add(whole, &txn, accesses);
    }
    free(order);
    return rc;
}

/* ---- finals ---- */

static int final_compare(const void *left, const void *right)
{
    const struct history_final *a = left, *b = right;
    if (a->table_id != b->table_id) return a->table_id < b->table_id ? -1 : 1;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->cell > b->cell) - (a->cell < b->cell);
}

/* Sorts states and keeps each once. */
static int states_merge(struct history *whole, struct history_final *states, uint64_t *count, const char *what,
                        struct cellar_error *error)
{
    char name[CELLAR_NAME_BYTES];
    uint64_t kept = 0;

    if (*count) qsort(states, *count, sizeof *states, final_compare);
    for (uint64_t i = 0; i < *count; i++) {
        const struct history_final *state = &states[i], *last = kept ? &states[kept - 1] : NULL;
        if (!last || final_compare(last, state)) {
            states[kept++] = *state;
        } else if (last->version != state->version || last->digest != state->digest) {
            return err_set(error, CELLAR_CORRUPT,
                           "the parts found different %s versions of %s[%llu]: they are not of one run, or were not "
                           "%s at rest",
                           what, history_table_name(whole, state->table_id, name), (unsigned long long)state->key,
                           *what == 'f' ? "written" : "begun");
        }
    }
    *count = kept;
    return 0;
}

static int finals_merge(const struct history *parts, uint32_t count, struct history *whole, struct cellar_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint64_t j = 0; j < parts[i].final_count && !rc; j++) rc = history_final_add(whole, &parts[i].finals[j]);
    return rc ? rc : states_merge(whole, whole->finals, &whole->final_count, "final", error);
}

static int loaded_merge(const struct history *parts, uint32_t count, struct history *whole, struct cellar_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint64_t j = 0; j < parts[i].loaded_count && !rc; j++) rc = history_loaded_add(whole, &parts[i].loaded[j]);
    return rc ? rc : states_merge(whole, whole->loaded, &whole->loaded_count, "loaded", error);
}

/* ---- all ---- */

static int merge(const struct history *parts, uint32_t count, struct history *whole, struct cellar_error *error)
{
    int rc = 0;

    whole->has_final = whole->has_loaded = true;
    for (uint32_t i = 0; i < count; i++) {
        whole->has_final = whole->has_final && (parts[i].has_final || parts[i].died);
        whole->final_all = whole->final_all || (parts[i].has_final && parts[i].final_all);
        whole->died += parts[i].died;
        whole->has_loaded = whole->has_loaded && parts[i].has_loaded;
        whole->torn = whole->torn || parts[i].torn;
        if (parts[i].torn) whole->torn_line = parts[i].torn_line;
        whole->no_epochs = whole->no_epochs || parts[i].no_epochs;
        whole->nodes_lost = whole->nodes_lost || parts[i].nodes_lost;
        if (parts[i].clock_error_ns > whole->clock_error_ns) whole->clock_error_ns = parts[i].clock_error_ns;
    }
    for (uint32_t i = 0; i < parts[0].table_count && !rc; i++)
        rc = history_table_add(whole, parts[0].tables[i].table_id, parts[0].tables[i].cells, parts[0].tables[i].name);
    if (!rc) rc = txns_merge(parts, count, whole);
    if (whole->died && !whole->final_all) whole->has_final = false; /* of what the dead wrote there may be none */
    if (!rc && whole->has_final) rc = finals_merge(parts, count, whole, error);
    if (!rc && whole->has_loaded) rc = loaded_merge(parts, count, whole, error);
    if (rc == CELLAR_NOMEM) err_set(error, CELLAR_NOMEM, "no memory for a history of %u parts", count);
    return rc;
}

int history_merge(struct history *parts, uint32_t count, struct history *whole, struct cellar_error *error)
{
    int rc = parts_match(parts, count, error);

    if (!rc) rc = merge(parts, count, whole, error);
    for (uint32_t i = 0; i < count; i++) history_free(&parts[i]);
    if (rc) history_free(whole);
    return rc;
}

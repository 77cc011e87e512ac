/*
 * history_items.h - a history arranged by what it touched: all accesses of one record together, those of each item in
 * the order of its versions. Transactions go by their rank, which is their place in the order of ids, so that no
 * answer depends on the order of the input.
 *
 * history_items.c arranges; history_scan.c and history_scan_presence.c apply the rules of docs/history.md to one
 * record and tell a sink what they found.
 */
#pragma once

#include "history_check.h"
#include "layout.h"

#define HISTORY_NONE UINT32_MAX

/* What makes one transaction come before another. In the order in which an explanation prefers them. */
enum history_edge { HISTORY_WW, HISTORY_WR, HISTORY_RW, HISTORY_REALTIME };

/* How a transaction takes part. */
enum history_part {
    HISTORY_VOID,     /* aborted: neither reads nor writes count */
    HISTORY_LEFT_OUT, /* indeterminate, and no transaction saw a version of it */
    HISTORY_SEEN,     /* indeterminate, and one did */
    HISTORY_READS,    /* failed: what it read counts */
    HISTORY_CERTAIN,
};

/*
 * In the order of visits of one version: its writer, those that meant to write it, its readers. What was loaded comes
 * first, at TS 0.
 */
enum history_role { HISTORY_LOADED, HISTORY_WRITES, HISTORY_MEANT, HISTORY_READING, HISTORY_AT_REST };

/* One access or state of the pool, as the scan of a record meets it; sorted by `place`, then `rest`. */
struct history_visit {
    uint64_t place; /* cell, the presence first (16 bits) | TS (48 bits; all ones: the pool at rest) */
    uint64_t rest;  /* EN (16 bits) | role (16 bits) | rank (32 bits) */
    uint32_t entry; /* an access; or, counted behind the accesses, a final; or, behind these, what was loaded */
};

static inline uint64_t history_visit_version(const struct history_visit *visit)
{
    return (visit->rest >> LAYOUT_TS_BITS << LAYOUT_TS_BITS) | (visit->place & LAYOUT_TS_MAX);
}
static inline uint64_t history_visit_ts(const struct history_visit *visit) { return visit->place & LAYOUT_TS_MAX; }
static inline uint32_t history_visit_rank(const struct history_visit *visit) { return (uint32_t)visit->rest; }
static inline enum history_role history_visit_role(const struct history_visit *visit)
{
    return (enum history_role)(visit->rest >> 32 & 0xffff);
}
static inline bool history_visit_is_write(const struct history_visit *visit)
{
    return history_visit_role(visit) == HISTORY_WRITES || history_visit_role(visit) == HISTORY_MEANT;
}
static inline bool history_visit_is_presence(const struct history_visit *visit)
{
    return visit->place >> LAYOUT_TS_BITS == 0;
}

struct history_items {
    const struct history *history;
    bool settled;
    uint32_t txn_count, record_count, final_count;
    uint64_t item_count;
    uint32_t *txn_of;             /* rank -> index in history->txns */
    uint8_t *parts;               /* rank -> enum history_part */
    uint32_t *rank_of;            /* access -> rank */
    uint32_t *record_of;          /* entry -> record */
    uint32_t *entries;            /* record by record */
    uint32_t *record_first;       /* record_count + 1: where its entries begin */
    uint8_t *uncertain;           /* record -> an indeterminate transaction wrote it */
    struct history_visit *visits; /* of the record being scanned */
    uint32_t visits_capacity;
};

/* The worst that can be said of one item, without a cycle; the first of them is what a verdict names. */
enum history_finding_kind {
    HISTORY_FOUND_TWICE,          /* a and b wrote the same version */
    HISTORY_FOUND_UNWRITTEN,      /* a read what no transaction wrote; b: what it should have seen */
    HISTORY_FOUND_FAILED,         /* a read what b, which failed, wrote */
    HISTORY_FOUND_VALUE,          /* a read other bytes than b wrote, or read */
    HISTORY_FOUND_OWN,            /* a read what its own transaction wrote, b */
    HISTORY_FOUND_ABSENT,         /* a found no record; b shows that there was one */
    HISTORY_FOUND_PRESENT,        /* a found a record; b shows that there was none */
    HISTORY_FOUND_NO_CYCLE,       /* what is worse than a cycle ends here */
    HISTORY_FOUND_OVER,           /* a overwrote another version than the one below it, b */
    HISTORY_FOUND_EN,             /* a's version does not follow the one it overwrote */
    HISTORY_FOUND_TS,             /* a's version has another timestamp than its transaction */
    HISTORY_FOUND_PARTIAL,        /* a inserts or deletes a record, but does not write all its cells */
    HISTORY_FOUND_OVERLAP,        /* a and b, transactions, ran at once on one coordinator */
    HISTORY_FOUND_FINAL_MISSING,  /* b is the last version, and the pool has none */
    HISTORY_FOUND_FINAL_VERSION,  /* the pool has a, and b is the last version */
    HISTORY_FOUND_FINAL_VALUE,    /* likewise, but the version is right and the bytes are not */
    HISTORY_FOUND_FINAL_PRESENCE, /* the pool has the record, or has not, against b */
    HISTORY_FOUND_NOTHING,
};

struct history_finding {
    enum history_finding_kind kind;
    uint32_t table_id;
    uint64_t key, place;
    uint32_t a, b; /* entries, or HISTORY_NONE; of HISTORY_FOUND_OVERLAP ranks */
};

/* What is told of edges and findings. */
struct history_sink {
    void *arg;
    /* An edge from one visit's transaction to another one's; never to itself. NULL: edges are not wanted */
    void (*edge)(void *arg, enum history_edge kind, const struct history_visit *from, const struct history_visit *to);
    void (*finding)(void *arg, const struct history_finding *finding);
};

/* Arranges. NOMEM, or TOO_LARGE beyond 2^30 transactions or 2^32 accesses. history_items_close is due in every case. */
NODISCARD int history_items_open(struct history_items *items, const struct history *history, bool settled);
void history_items_close(struct history_items *items);
/* The visits of one record, sorted: items->visits, and how many. NOMEM. */
NODISCARD int history_items_gather(struct history_items *items, uint32_t record, uint32_t *count);
/* The transaction, or access, or final behind a number. */
const struct history_txn *history_items_txn(const struct history_items *items, uint32_t rank);
const struct history_access *history_items_access(const struct history_items *items, uint32_t entry);
const struct history_final *history_items_state(const struct history_items *items, uint32_t entry);
/* Is it an access? Else a final, or what was loaded. */
bool history_items_is_access(const struct history_items *items, uint32_t entry);

/* Decides which indeterminate transactions take part. NOMEM. */
NODISCARD int history_scan_decide(struct history_items *items);
/* Applies the rules to single transactions. */
void history_txns_timestamps(const struct history_items *items, const struct history_sink *sink);
/* Applies those to the transactions of one coordinator. NOMEM. */
NODISCARD int history_txns_turns(const struct history_items *items, const struct history_sink *sink);
/* Applies the rules to one record. NOMEM. */
NODISCARD int history_scan_record(struct history_items *items, uint32_t record, const struct history_sink *sink);

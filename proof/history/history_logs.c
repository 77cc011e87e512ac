/*
 * history_logs.c - reads all logs on all replicas, holds each entry against its transaction, then the entries against
 * each other.
 */
#include "history_logs.h"

#include "coordinator.h"
#include "history_digest.h"
#include "loader_logs.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

/* A transaction that wrote, or may have. */
struct logged_txn {
    uint32_t cn, coordinator;
    uint64_t ts;
    uint32_t txn;      /* in the history */
    bool seen;         /* indeterminate: another transaction, or the pool, shows a version of it */
    uint64_t replicas; /* that have its entry: a bit each */
};

/* An entry as one replica has it. */
struct logged_entry {
    uint32_t cn, coordinator, replica;
    uint64_t at, bytes; /* in the ring, as an address of the primary */
    bool begins_half;   /* the first entry of a half of its ring: the one before it may be of any lap */
    uint64_t sequence, ts;
};

/* A version that an indeterminate transaction meant to write. */
struct logged_version {
    uint64_t key, version;
    uint32_t table_id, logged;
    uint16_t cell;
    /* another transaction committed the same one: then the one that meant it had no effect, or it cannot be told */
    bool taken;
};

struct logs {
    const struct history *history;
    struct cellar *db;
    uint64_t since_ns; /* begun earlier: of an opening before this one */
    struct cellar_error *error;
    struct logged_txn *txns; /* sorted by coordinator and TS */
    uint32_t txn_count;
    struct logged_entry *entries;
    uint64_t entry_count, entry_capacity;
    struct logged_version *versions; /* sorted */
    uint64_t version_count;
    uint64_t unread[LAYOUT_NODES_MAX]; /* replicas of that node's logs that could not be read: a bit each */
};

#define LOGS_ERROR(logs, ...) err_set((logs)->error, CELLAR_CORRUPT, __VA_ARGS__)
#define TEXT(number) ((unsigned long long)(number))
/* The name of a transaction, for messages. */
#define WHO "transaction %llu (compute node %u, coordinator %u, TS %llu)"
#define WHO_ARGS(logs, logged)                                                                                         \
    TEXT((logs)->history->txns[(logged)->txn].id), (logged)->cn, (logged)->coordinator, TEXT((logged)->ts)

static enum history_outcome outcome_of(const struct logs *logs, const struct logged_txn *logged)
{
    return (enum history_outcome)logs->history->txns[logged->txn].outcome;
}

/* ---- transactions ---- */

static int txn_compare(const void *left, const void *right)
{
    const struct logged_txn *a = left, *b = right;
    if (a->cn != b->cn) return a->cn < b->cn ? -1 : 1;
    if (a->coordinator != b->coordinator) return a->coordinator < b->coordinator ? -1 : 1;
    return (a->ts > b->ts) - (a->ts < b->ts);
}

static bool is_logged(const struct logs *logs, const struct history_txn *txn)
{
    return txn->ts && txn->outcome != HISTORY_FAILED && txn->begin_ns >= logs->since_ns;
}

static int txns_make(struct logs *logs)
{
    const struct history *history = logs->history;
    uint64_t count = 0;

    for (uint64_t i = 0; i < history->txn_count; i++) count += is_logged(logs, &history->txns[i]);
    if (count >= UINT32_MAX) return CELLAR_TOO_LARGE;
    logs->txns = malloc((count + 1) * sizeof *logs->txns);
    if (!logs->txns) return CELLAR_NOMEM;
    for (uint64_t i = 0; i < history->txn_count; i++) {
        const struct history_txn *txn = &history->txns[i];
        if (is_logged(logs, txn))
            logs->txns[logs->txn_count++] =
                (struct logged_txn){.cn = txn->cn, .coordinator = txn->coordinator, .ts = txn->ts, .txn = (uint32_t)i};
    }
    qsort(logs->txns, logs->txn_count, sizeof *logs->txns, txn_compare);
    return 0;
}

/* ---- one entry: is it what its transaction wrote? ---- */

/* The accesses of a transaction that its log entry must tell, one after the other. */
struct writes {
    const struct history_access *next, *end;
};

static const struct history_access *writes_next(struct writes *writes)
{
    while (writes->next < writes->end) {
        const struct history_access *access = writes->next++;
        bool read = access->kind == HISTORY_READ || access->kind == HISTORY_ABSENT || access->kind == HISTORY_RANGE;
        if (!read) return access;
    }
    return NULL;
}

static bool write_is(const struct history_access *access, const struct log_write_wire *write, enum history_kind kind,
                     uint32_t cell, uint64_t digest)
{
    return access && access->kind == kind && access->table_id == write->table_id && access->key == write->key &&
           access->cell == cell && access->digest == digest;
}

/* All cells of an insert or delete behind its presence; `value`: of the insert, cell by cell. */
static bool whole_matches(struct writes *writes, const struct log_write_wire *write, const struct schema *schema,
                          const uint8_t *value)
{
    enum history_kind kind = value ? HISTORY_INSERT : HISTORY_DELETE;

    if (!write_is(writes_next(writes), write, kind, HISTORY_PRESENCE, 0)) return false;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++) {
        uint32_t bytes = schema->cells[cell].padded_bytes;
        uint64_t digest = value ? history_digest(value, bytes) : 0;
        if (!write_is(writes_next(writes), write, HISTORY_WRITE, cell, digest)) return false;
        if (value) value += bytes;
    }
    return true;
}

/* What was there before says nothing of what was written, but where. */
static bool undo_is(const struct history_access *access, const struct log_write_wire *write, enum history_kind kind,
                    uint32_t cell)
{
    return access && write_is(access, write, kind, cell, access->digest);
}

static bool undo_matches(struct writes *writes, const struct log_write_wire *write, const struct schema *schema,
                         enum history_kind kind)
{
    if (!undo_is(writes_next(writes), write, kind, HISTORY_PRESENCE)) return false;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++)
        if (!undo_is(writes_next(writes), write, HISTORY_WRITE, cell)) return false;
    return write->value_bytes == schema->cell_count * sizeof(uint64_t);
}

static bool write_matches(const struct logs *logs, struct writes *writes, const struct log_write_wire *write)
{
    const struct catalog *catalog = logs->db->catalog;
    const uint8_t *value = (const uint8_t *)(write + 1);

    if (write->kind == LAYOUT_LOG_BUCKET) return write->value_bytes == LAYOUT_BUCKET_CELL_BYTES;
    if (write->kind == LAYOUT_LOG_UNDO_BUCKET) return write->value_bytes == 8 + LAYOUT_BUCKET_CELL_BYTES;
    if (write->table_id == 0 || write->table_id > LAYOUT_CATALOG_TABLES_MAX) return false;
    if (logs->history->passing && write->table_id >= logs->history->passing) return true;
    const struct table *table = catalog->tables[write->table_id - 1];
    if (!table) return false;
    const struct schema *schema = &table->schema;
    switch (write->kind) {
    case LAYOUT_LOG_CELL:
        return write->cell < schema->cell_count && write->value_bytes == schema->cells[write->cell].padded_bytes &&
               write_is(writes_next(writes), write, HISTORY_WRITE, write->cell,
                        history_digest(value, write->value_bytes));
    case LAYOUT_LOG_INSERT:
        return write->value_bytes == schema->value_bytes && whole_matches(writes, write, schema, value);
    case LAYOUT_LOG_UNDO_CELL:
        return write->cell < schema->cell_count &&
               write->value_bytes == sizeof(uint64_t) + schema->cells[write->cell].padded_bytes &&
               undo_is(writes_next(writes), write, HISTORY_WRITE, write->cell);
    case LAYOUT_LOG_UNDO_INSERT:
        return undo_matches(writes, write, schema, HISTORY_INSERT);
    case LAYOUT_LOG_UNDO_DELETE:
        return undo_matches(writes, write, schema, HISTORY_DELETE);
    default:
        return write->value_bytes == 0 && whole_matches(writes, write, schema, NULL);
    }
}

static int entry_judge(const struct logs *logs, const struct logged_txn *logged, const struct log_entry_wire *entry)
{
    const struct history_txn *txn = &logs->history->txns[logged->txn];
    struct writes writes = {logs->history->accesses + txn->first, logs->history->accesses + txn->first + txn->count};
    uint32_t number = 0;

    for (const struct log_write_wire *write = NULL; (write = logseg_next_write(entry, write)); number++)
        if (!write_matches(logs, &writes, write))
            return LOGS_ERROR(logs,
                              "the log entry of " WHO " tells another change than the transaction made: its number %u, "
                              "of kind %u, table %u, key %llu, cell %u",
                              WHO_ARGS(logs, logged), number, write->kind, write->table_id, TEXT(write->key),
                              write->cell);
    const struct history_access *missing = writes_next(&writes);
    if (!missing) return 0;
    return LOGS_ERROR(logs, "the log entry of " WHO " lacks its write of table %u, key %llu, cell %u",
                      WHO_ARGS(logs, logged), missing->table_id, TEXT(missing->key), missing->cell);
}

/* A ring ends where its coordinator says: there may be more of its last chunk. */
static bool begins_half(const struct logs *logs, uint64_t offset)
{
    return offset == 0 || offset == logseg_half(logs->db->config.log_bytes - sizeof(struct chunk_wire));
}

static int entry_keep(struct logs *logs, const struct loader_log *at, const struct log_entry_wire *entry)
{
    if (logs->entry_count == logs->entry_capacity) {
        uint64_t capacity = logs->entry_capacity ? 2 * logs->entry_capacity : 1024;
        struct logged_entry *entries = realloc(logs->entries, capacity * sizeof *entries);
        if (!entries) return err_set(logs->error, CELLAR_NOMEM, "no memory for what is in the logs");
        logs->entries = entries;
        logs->entry_capacity = capacity;
    }
    logs->entries[logs->entry_count++] = (struct logged_entry){.cn = at->cn,
                                                               .coordinator = at->coordinator,
                                                               .replica = at->replica,
                                                               .at = at->addr.bits,
                                                               .bytes = entry->bytes,
                                                               .begins_half = begins_half(logs, at->offset),
                                                               .sequence = entry->sequence,
                                                               .ts = entry->ts};
    return 0;
}

static int entry_seen(void *arg, const struct loader_log *at, const struct log_entry_wire *entry)
{
    struct logs *logs = arg;
    const struct logged_txn key = {.cn = at->cn, .coordinator = at->coordinator, .ts = entry->ts};

    if (entry->incarnation != logs->db->opening.incarnation) return 0; /* of an opening before this one */
    if (entry->cn != at->cn || entry->coordinator != at->coordinator)
        return LOGS_ERROR(
            logs, "an entry of compute node %u, coordinator %u is in the log of compute node %u, coordinator %u",
            entry->cn, entry->coordinator, at->cn, at->coordinator);
    const struct logged_txn *end = logs->txns + logs->txn_count;
    struct logged_txn *logged = bsearch(&key, logs->txns, logs->txn_count, sizeof key, txn_compare);
    /*
     * An attempt that ended after its log entry has left it there: nothing was changed, so no recoverer will need it.
     */
    if (!logged && mode_of(logs->db->config.cc)->undo) return entry_keep(logs, at, entry);
    if (!logged)
        return LOGS_ERROR(logs,
                          "the log of compute node %u, coordinator %u has an entry of sequence %llu, TS %llu (replica "
                          "%u) of no transaction that can have written",
                          at->cn, at->coordinator, TEXT(entry->sequence), TEXT(entry->ts), at->replica);
    /* A node that is lost may have chosen the same TS again for its next try. */
    while (logged > logs->txns && txn_compare(logged - 1, &key) == 0) logged--;
    while (logged + 1 < end && txn_compare(logged + 1, &key) == 0 && entry_judge(logs, logged, entry)) logged++;
    int rc = entry_judge(logs, logged, entry);
    if (rc) return rc;
    logged->replicas |= 1ull << at->replica;
    return entry_keep(logs, at, entry);
}

/* ---- the entries of one coordinator on one replica ---- */

static int by_place(const void *left, const void *right)
{
    const struct logged_entry *a = left, *b = right;
    if (a->cn != b->cn) return a->cn < b->cn ? -1 : 1;
    if (a->coordinator != b->coordinator) return a->coordinator < b->coordinator ? -1 : 1;
    if (a->replica != b->replica) return a->replica < b->replica ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static int by_sequence(const void *left, const void *right)
{
    const struct logged_entry *a = left, *b = right;
    if (a->cn != b->cn) return a->cn < b->cn ? -1 : 1;
    if (a->coordinator != b->coordinator) return a->coordinator < b->coordinator ? -1 : 1;
    if (a->replica != b->replica) return a->replica < b->replica ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

static bool same_ring(const struct logged_entry *a, const struct logged_entry *b)
{
    return a->cn == b->cn && a->coordinator == b->coordinator && a->replica == b->replica;
}

static int order_error(const struct logs *logs, const struct logged_entry *a, const struct logged_entry *b,
                       const char *what)
{
    return LOGS_ERROR(logs,
                      "the log of compute node %u, coordinator %u (replica %u): sequence %llu (TS %llu) %s sequence "
                      "%llu (TS %llu)",
                      a->cn, a->coordinator, a->replica, TEXT(a->sequence), TEXT(a->ts), what, TEXT(b->sequence),
                      TEXT(b->ts));
}

static bool worker_has_extent(const struct worker *worker, const struct logged_entry *entry)
{
    for (uint32_t i = 0; worker->cn == entry->cn && i < worker->coordinator_count; i++)
        if (worker->coordinators[i].cn_index == entry->coordinator)
            return worker->coordinators[i].txn && worker->coordinators[i].txn->log.extent_bytes;
    return false;
}

/* Has its coordinator an extent (docs/large.md)? Then any number of entries may have been there one after the other. */
static bool has_extent(const struct logs *logs, const struct logged_entry *entry)
{
    const struct cellar *db = logs->db;
    bool has = false;
    for (uint32_t i = 0; i < db->worker_count; i++) has = has || worker_has_extent(&db->workers[i], entry);
    for (uint32_t i = 0; i < db->config.sessions; i++)
        if (db->sessions[i] && db->sessions[i]->worker) has = has || worker_has_extent(db->sessions[i]->worker, entry);
    return has;
}

static int order_check(struct logs *logs)
{
    struct logged_entry *entries = logs->entries;

    if (logs->entry_count) qsort(entries, logs->entry_count, sizeof *entries, by_place);
    for (uint64_t i = 1; i < logs->entry_count; i++) {
        const struct logged_entry *a = &entries[i - 1], *b = &entries[i];
        uint64_t behind = a->at + (a->bytes + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE;
        bool gap = same_ring(a, b) && b->at == behind && !b->begins_half && b->sequence > a->sequence + 1;
        if (gap && !has_extent(logs, a)) return order_error(logs, a, b, "lies directly before");
    }
    if (logs->entry_count) qsort(entries, logs->entry_count, sizeof *entries, by_sequence);
    for (uint64_t i = 1; i < logs->entry_count; i++) {
        const struct logged_entry *a = &entries[i - 1], *b = &entries[i];
        if (same_ring(a, b) && (a->sequence == b->sequence || a->ts >= b->ts))
            return order_error(logs, a, b, "is there with");
    }
    return 0;
}

/* ---- what indeterminate transactions left elsewhere ---- */

static int version_compare(const void *left, const void *right)
{
    const struct logged_version *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    if (a->version != b->version) return a->version < b->version ? -1 : 1;
    if (a->table_id != b->table_id) return a->table_id < b->table_id ? -1 : 1;
    return (a->cell > b->cell) - (a->cell < b->cell);
}

static int versions_make(struct logs *logs)
{
    const struct history *history = logs->history;
    uint64_t count = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < logs->txn_count; i++) {
            if (outcome_of(logs, &logs->txns[i]) != HISTORY_INDETERMINATE) continue;
            const struct history_txn *txn = &history->txns[logs->txns[i].txn];
            for (uint32_t a = 0; a < txn->count; a++) {
                const struct history_access *access = &history->accesses[txn->first + a];
                if (access->kind != HISTORY_WRITE) continue;
                if (pass == 0)
                    count++;
                else
                    logs->versions[logs->version_count++] = (struct logged_version){.key = access->key,
                                                                                    .version = access->version,
                                                                                    .table_id = access->table_id,
                                                                                    .logged = i,
                                                                                    .cell = access->cell};
            }
        }
        if (pass == 0 && !(logs->versions = malloc((count + 1) * sizeof *logs->versions))) return CELLAR_NOMEM;
    }
    qsort(logs->versions, logs->version_count, sizeof *logs->versions, version_compare);
    return 0;
}

static struct logged_version *version_find(const struct logs *logs, uint32_t table_id, uint64_t key, uint16_t cell,
                                           uint64_t version)
{
    const struct logged_version wanted = {.key = key, .version = version, .table_id = table_id, .cell = cell};
    return bsearch(&wanted, logs->versions, logs->version_count, sizeof wanted, version_compare);
}

/* Once a lost node is recovered others write the versions that it meant to write and did not. */
static void versions_take(struct logs *logs)
{
    const struct history *history = logs->history;

    for (uint64_t t = 0; t < history->txn_count; t++) {
        const struct history_txn *txn = &history->txns[t];
        if (txn->outcome != HISTORY_COMMITTED) continue;
        for (uint32_t i = 0; i < txn->count; i++) {
            const struct history_access *access = &history->accesses[txn->first + i];
            if (access->kind != HISTORY_WRITE) continue;
            struct logged_version *found =
                version_find(logs, access->table_id, access->key, access->cell, access->version);
            if (found) found->taken = true;
        }
    }
}

/* Transaction `by` (UINT64_MAX: the pool) met that version: the transaction that meant to write it did. */
static void version_met(struct logs *logs, uint32_t table_id, uint64_t key, uint16_t cell, uint64_t version,
                        uint64_t by)
{
    const struct logged_version *found = version_find(logs, table_id, key, cell, version);

    if (!found || found->taken) return;
    /* Two that meant the same version: it cannot be told whose it is, so neither is held to it. */
    if (found > logs->versions && version_compare(found - 1, found) == 0) return;
    if (found + 1 < logs->versions + logs->version_count && version_compare(found, found + 1) == 0) return;
    if (logs->txns[found->logged].txn != by) logs->txns[found->logged].seen = true;
}

static void versions_meet(struct logs *logs)
{
    const struct history *history = logs->history;

    if (!logs->version_count) return;
    versions_take(logs);
    /* In mode ford what the pool shows of a node that is not recovered may yet be undone. */
    bool decided = history->has_final || !mode_of(logs->db->config.cc)->undo;
    for (uint64_t i = 0; decided && i < history->final_count; i++) {
        const struct history_final *final = &history->finals[i];
        version_met(logs, final->table_id, final->key, final->cell, final->version, UINT64_MAX);
    }
    for (uint64_t t = 0; t < history->txn_count; t++) {
        const struct history_txn *txn = &history->txns[t];
        /*
         * Mode crest shows a transaction to others of its node before it is durable; then they are indeterminate with
         * it.
         */
        if (history->no_epochs && txn->outcome == HISTORY_INDETERMINATE) continue;
        const struct history_access *insert = NULL;
        for (uint32_t i = 0; i < txn->count; i++) {
            const struct history_access *access = &history->accesses[txn->first + i];
            if (access->kind == HISTORY_INSERT) insert = access;
            /* Below an insert is what the slot held before, of whatever key. */
            bool inserted = insert && insert->table_id == access->table_id && insert->key == access->key;
            uint64_t version = access->kind == HISTORY_READ                 ? access->version
                               : access->kind == HISTORY_WRITE && !inserted ? access->over
                                                                            : 0;
            if (version) version_met(logs, access->table_id, access->key, access->cell, version, t);
        }
    }
}

/* ---- durability ---- */

/* The replicas that can be asked about a coordinator's log: a bit each. */
static uint64_t replicas_read(const struct logs *logs, const struct logged_txn *logged)
{
    const struct cellar *db = logs->db;
    uint32_t per_cn = db->config.threads * db->config.coros;
    uint32_t index = (logged->cn - db->config.cn_index) * per_cn + logged->coordinator;
    const struct worker *worker = &db->workers[index / db->config.coros];
    uint32_t node = fabric_addr_node(worker->coordinators[index % db->config.coros].txn->log.addr);
    return ((2ull << db->catalog->replicas) - 1) & ~logs->unread[node];
}

/* The transactions of one coordinator, [first, end). */
static int coordinator_check(const struct logs *logs, const struct logged_txn *first, const struct logged_txn *end)
{
    uint64_t all = replicas_read(logs, first);
    bool certain = true; /* no indeterminate one came later, which may have overwritten older entries in part */

    for (const struct logged_txn *logged = end; logged-- > first;) {
        bool indeterminate = outcome_of(logs, logged) == HISTORY_INDETERMINATE;
        certain = certain && !indeterminate;
        if ((logged->replicas & all) == all) continue;
        if (indeterminate && logged->seen)
            return LOGS_ERROR(
                logs, WHO " had its effect, but its log entry is not on all replicas (those that have it: %#llx)",
                WHO_ARGS(logs, logged), TEXT(logged->replicas));
        if (certain && logged + 1 == end)
            return LOGS_ERROR(logs,
                              WHO " was acknowledged and is the coordinator's last, but its log entry is not on all "
                                  "replicas (those that have it: %#llx)",
                              WHO_ARGS(logs, logged), TEXT(logged->replicas));
        if (certain && logged->replicas)
            return LOGS_ERROR(logs, "the log entry of " WHO " is on some replicas only (%#llx)", WHO_ARGS(logs, logged),
                              TEXT(logged->replicas));
    }
    return 0;
}

static int durability_check(const struct logs *logs)
{
    const struct logged_txn *first = logs->txns, *all_end = logs->txns + logs->txn_count;
    int rc = 0;

    while (rc == 0 && first < all_end) {
        const struct logged_txn *end = first;
        while (end < all_end && end->cn == first->cn && end->coordinator == first->coordinator) end++;
        rc = coordinator_check(logs, first, end);
        first = end;
    }
    return rc;
}

/* ---- all ---- */

static int logs_read(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct logs *logs = arg;
    const struct catalog *catalog = logs->db->catalog;

    for (uint32_t node = 0; node < catalog->mn_count; node++) {
        for (uint32_t replica = 0; replica <= catalog->replicas; replica++) {
            int rc = loader_logs(co, coordinator->worker->loader, node, replica, entry_seen, logs, logs->error);
            if (rc == CELLAR_UNREACHABLE || rc == CELLAR_INDETERMINATE)
                logs->unread[node] |= 1ull << replica;
            else if (rc)
                return rc;
        }
    }
    return 0;
}

int history_logs_check(const struct history *history, struct cellar *db, uint32_t coordinator, uint64_t since_ns,
                       struct cellar_error *error)
{
    struct cellar_error unused;
    struct logs logs = {.history = history, .db = db, .since_ns = since_ns, .error = error ? error : &unused};

    int rc = txns_make(&logs);
    if (rc == 0) rc = versions_make(&logs);
    if (rc) err_set(error, rc, "no memory to judge the logs: %s", cellar_strerror(rc));
    if (rc == 0) rc = db_run_on(db, coordinator, logs_read, &logs);
    if (rc == 0) rc = order_check(&logs);
    if (rc == 0) versions_meet(&logs);
    if (rc == 0) rc = durability_check(&logs);
    free(logs.txns);
    free(logs.entries);
    free(logs.versions);
    return rc;
}

#include "recover_log.h"

#include "recovery_plants.h"

#include <stdlib.h>
#include <string.h>

void recover_log_init(struct recover_log *log, uint32_t cn, uint64_t incarnation)
{
    *log = (struct recover_log){.cn = cn, .incarnation = incarnation};
}

void recover_log_free(struct recover_log *log)
{
    free(log->entries);
    free(log->marks);
    log->entries = NULL;
    log->marks = NULL;
}

/* ---- taking entries ---- */

static int entry_take(struct recover_log *log, const struct log_entry_wire *wire, struct fabric_addr at,
                      uint32_t replica)
{
    if (log->count == log->capacity) {
        uint32_t capacity = log->capacity ? 2 * log->capacity : 256;
        struct recover_entry *entries = realloc(log->entries, capacity * sizeof *entries);
        if (!entries) return CELLAR_NOMEM;
        log->entries = entries;
        log->capacity = capacity;
    }
    log->entries[log->count++] = (struct recover_entry){.wire = wire, .at = at, .replicas = 1ull << replica};
    return 0;
}

int recover_log_add(struct recover_log *log, const uint8_t *ring, uint64_t bytes, struct fabric_addr addr,
                    uint32_t coordinator, uint32_t replica)
{
    int rc = 0;
    for (uint64_t at = 0; at < bytes && rc == 0;) {
        const struct log_entry_wire *wire = logseg_parse(ring + at, bytes - at);
        uint64_t passed = wire ? wire->bytes : 1;
        log->whole += wire != NULL;
        log->alien +=
            wire && (wire->cn != log->cn || wire->coordinator != coordinator || wire->incarnation > log->incarnation);
        if (wire && wire->cn == log->cn && wire->coordinator == coordinator &&
            (wire->incarnation == log->incarnation || PLANT(recover_any_incarnation)))
            rc = entry_take(log, wire, fabric_addr_plus(addr, at), replica);
        at += (passed + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE;
    }
    return rc;
}

int recover_log_mark(struct recover_log *log, uint32_t coordinator, uint64_t watermark)
{
    if (coordinator >= log->mark_count) {
        uint64_t *marks = realloc(log->marks, (coordinator + 1ull) * sizeof *marks);
        if (!marks) return CELLAR_NOMEM;
        memset(marks + log->mark_count, 0, (coordinator + 1ull - log->mark_count) * sizeof *marks);
        log->marks = marks;
        log->mark_count = coordinator + 1;
    }
    if (log->marks[coordinator] < watermark) log->marks[coordinator] = watermark;
    return 0;
}

/* ---- names ---- */

static int compare(uint32_t coordinator_a, uint64_t sequence_a, uint32_t coordinator_b, uint64_t sequence_b)
{
    if (coordinator_a != coordinator_b) return coordinator_a < coordinator_b ? -1 : 1;
    return (sequence_a > sequence_b) - (sequence_a < sequence_b);
}

static int by_name(const void *left, const void *right)
{
    const struct log_entry_wire *a = ((const struct recover_entry *)left)->wire;
    const struct log_entry_wire *b = ((const struct recover_entry *)right)->wire;
    return compare(a->coordinator, a->sequence, b->coordinator, b->sequence);
}

/* The first entry not below that name. */
static uint32_t lower_bound(const struct recover_log *log, uint32_t coordinator, uint64_t sequence)
{
    uint32_t first = 0, end = log->count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        const struct log_entry_wire *wire = log->entries[middle].wire;
        if (compare(wire->coordinator, wire->sequence, coordinator, sequence) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

const struct recover_entry *recover_log_find(const struct recover_log *log, uint32_t coordinator, uint64_t sequence)
{
    uint32_t at = lower_bound(log, coordinator, sequence);
    if (at == log->count) return NULL;
    const struct log_entry_wire *wire = log->entries[at].wire;
    return compare(wire->coordinator, wire->sequence, coordinator, sequence) == 0 ? &log->entries[at] : NULL;
}

uint64_t recover_log_watermark(const struct recover_log *log, uint32_t coordinator)
{
    uint64_t watermark = coordinator < log->mark_count ? log->marks[coordinator] : 0;
    for (uint32_t i = lower_bound(log, coordinator, 0); i < log->count; i++) {
        const struct log_entry_wire *wire = log->entries[i].wire;
        if (wire->coordinator != coordinator) break;
        if (wire->watermark > watermark) watermark = wire->watermark;
    }
    return watermark;
}

/* ---- deciding ---- */

/* The same entry on several replicas becomes one. */
static int entries_join(struct recover_log *log, struct cellar_error *error)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < log->count; i++) {
        struct recover_entry *last = kept ? &log->entries[kept - 1] : NULL, *entry = &log->entries[i];
        if (!last || by_name(last, entry) != 0) {
            log->entries[kept++] = *entry;
            continue;
        }
        if (last->wire->checksum != entry->wire->checksum || last->at.bits != entry->at.bits)
            return err_set(error, CELLAR_CORRUPT,
                           "the log of compute node %u, coordinator %u has two entries of sequence %llu that differ",
                           log->cn, entry->wire->coordinator, (unsigned long long)entry->wire->sequence);
        last->replicas |= entry->replicas;
    }
    log->count = kept;
    return 0;
}

/* `own`: an entry that depends on itself was never written by us. */
static bool dep_holds(const struct recover_log *log, const struct log_dep_wire *dep)
{
    if (PLANT(recover_deps_ignored)) return true;
    if (dep->cn != log->cn || dep->incarnation != log->incarnation) return false;
    uint64_t watermark = recover_log_watermark(log, dep->coordinator);
    if (dep->sequence <= watermark) return !PLANT(recover_watermark_ignored);
    const struct recover_entry *entry = recover_log_find(log, dep->coordinator, dep->sequence);
    return entry && entry->counts;
}

static bool deps_hold(const struct recover_log *log, const struct log_entry_wire *wire)
{
    const struct log_dep_wire *deps = (const struct log_dep_wire *)(const void *)(wire + 1);
    for (uint32_t i = 0; i < wire->dep_count; i++)
        if (!dep_holds(log, &deps[i])) return false;
    return true;
}

/*
 * An entry at or below its own coordinator's watermark had its effect: what it depended on is no question any more.
 * The others lose their standing one after the other, until all that count depend on such as count only.
 */
static void closure(struct recover_log *log)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < log->count; i++) {
            struct recover_entry *entry = &log->entries[i];
            if (!entry->counts || !entry->due || deps_hold(log, entry->wire)) continue;
            entry->counts = entry->due = false;
            changed = true;
        }
    }
}

int recover_log_decide(struct recover_log *log, struct cellar_error *error)
{
    if (log->count) qsort(log->entries, log->count, sizeof *log->entries, by_name);
    int rc = entries_join(log, error);
    if (rc) return rc;
    for (uint32_t i = 0; i < log->count; i++) {
        struct recover_entry *entry = &log->entries[i];
        uint64_t watermark = recover_log_watermark(log, entry->wire->coordinator);
        entry->counts = true;
        entry->due = entry->wire->sequence > watermark || PLANT(recover_watermark_ignored);
        if (PLANT(recover_watermark_misread)) entry->due = entry->wire->sequence > watermark + 1;
    }
    closure(log);
    return 0;
}

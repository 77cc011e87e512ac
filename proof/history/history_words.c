/* history_words.c - what history_check says. */
#include "history_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PHRASE_BYTES 160

/* ---- building blocks ---- */

/* Adds a line, or nothing if it does not fit. */
__attribute__((format(printf, 2, 3))) static void line(const struct history_words *words, const char *format, ...)
{
    char *text = words->verdict->text;
    size_t used = strlen(text), room = HISTORY_VERDICT_BYTES - used;
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(text + used, room, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length + 1 >= room) {
        text[used] = 0;
        return;
    }
    text[used + (size_t)length] = '\n';
    text[used + (size_t)length + 1] = 0;
}

static void concern(const struct history_words *words, uint32_t rank)
{
    struct history_verdict *verdict = words->verdict;
    uint64_t id = history_items_txn(words->items, rank)->id;

    for (uint32_t i = 0; i < verdict->cycle_count; i++)
        if (verdict->cycle[i] == id) return;
    if (verdict->cycle_count < HISTORY_CYCLE_MAX) verdict->cycle[verdict->cycle_count++] = id;
}

/* "T17 (cn 0, coordinator 1, 1200..4310 ns)" */
static const char *who(const struct history_words *words, uint32_t rank, char phrase[PHRASE_BYTES])
{
    static const char *const outcomes[] = {[HISTORY_COMMITTED] = "",
                                           [HISTORY_FAILED] = ", failed",
                                           [HISTORY_INDETERMINATE] = ", indeterminate",
                                           [HISTORY_ABORTED] = ", aborted"};
    const struct history_txn *txn = history_items_txn(words->items, rank);

    snprintf(phrase, PHRASE_BYTES, "T%" PRIu64 " (cn %u, coordinator %u, %" PRIu64 "..%" PRIu64 " ns%s)", txn->id,
             txn->cn, txn->coordinator, txn->begin_ns, txn->end_ns,
             txn->outcome < HISTORY_OUTCOMES ? outcomes[txn->outcome] : "");
    return phrase;
}

/* "accounts[5].cell 2", or "accounts[5]" for the presence */
static const char *item(const struct history_words *words, uint32_t table_id, uint64_t key, uint32_t cell,
                        char phrase[PHRASE_BYTES])
{
    char name[CELLAR_NAME_BYTES];
    const char *table = history_table_name(words->items->history, table_id, name);

    if (cell == HISTORY_PRESENCE)
        snprintf(phrase, PHRASE_BYTES, "%s[%" PRIu64 "]", table, key);
    else
        snprintf(phrase, PHRASE_BYTES, "%s[%" PRIu64 "].cell %u", table, key, cell);
    return phrase;
}

/* "version EN 4 TS 91" */
static const char *version(uint64_t word, char phrase[PHRASE_BYTES])
{
    snprintf(phrase, PHRASE_BYTES, "version EN %u TS %" PRIu64, layout_version_en(word), layout_version_ts(word));
    return phrase;
}

/* What an access did, behind its transaction's name: "read accounts[5].cell 2 version EN 4 TS 91" */
static const char *what(const struct history_words *words, const struct history_access *access,
                        char phrase[PHRASE_BYTES])
{
    char thing[PHRASE_BYTES], at[PHRASE_BYTES];
    uint64_t ts = layout_version_ts(access->version);

    item(words, access->table_id, access->key, access->cell, thing);
    switch ((enum history_kind)access->kind) {
    case HISTORY_INSERT:
        snprintf(phrase, PHRASE_BYTES, "inserted %s (TS %" PRIu64 ")", thing, ts);
        break;
    case HISTORY_DELETE:
        snprintf(phrase, PHRASE_BYTES, "deleted %s (TS %" PRIu64 ")", thing, ts);
        break;
    case HISTORY_ABSENT:
    case HISTORY_RANGE:
        snprintf(phrase, PHRASE_BYTES, "found %s absent (bucket TS %" PRIu64 ")", thing, ts);
        break;
    case HISTORY_WRITE:
        snprintf(phrase, PHRASE_BYTES, "wrote %s %s", thing, version(access->version, at));
        break;
    case HISTORY_READ:
        if (access->cell == HISTORY_PRESENCE)
            snprintf(phrase, PHRASE_BYTES, "found %s present (bucket TS %" PRIu64 ")", thing, ts);
        else
            snprintf(phrase, PHRASE_BYTES, "read %s %s", thing, version(access->version, at));
        break;
    }
    return phrase;
}

/* ---- cycles ---- */

/* What the second transaction did to the same item. */
static const char *then(const struct history_words_reason *reason, char phrase[PHRASE_BYTES])
{
    const struct history_access *to = &reason->to;
    uint64_t ts = layout_version_ts(to->version);

    switch ((enum history_kind)to->kind) {
    case HISTORY_INSERT:
        snprintf(phrase, PHRASE_BYTES, "inserted (TS %" PRIu64 ")", ts);
        break;
    case HISTORY_DELETE:
        snprintf(phrase, PHRASE_BYTES, "deleted (TS %" PRIu64 ")", ts);
        break;
    case HISTORY_ABSENT:
    case HISTORY_RANGE:
        snprintf(phrase, PHRASE_BYTES, "found absent (bucket TS %" PRIu64 ")", ts);
        break;
    case HISTORY_WRITE:
        snprintf(phrase, PHRASE_BYTES, "%s (EN %u TS %" PRIu64 ")", reason->deletes ? "deleted" : "overwrote",
                 layout_version_en(to->version), ts);
        break;
    case HISTORY_READ:
        if (to->cell == HISTORY_PRESENCE)
            snprintf(phrase, PHRASE_BYTES, "found present (bucket TS %" PRIu64 ")", ts);
        else
            snprintf(phrase, PHRASE_BYTES, "read");
        break;
    }
    return phrase;
}

static void edge_line(const struct history_words *words, const struct history_graph_cycle *cycle, uint32_t i,
                      const struct history_words_reason *reason)
{
    uint32_t from = cycle->nodes[i], to = cycle->nodes[(i + 1) % cycle->count];
    uint64_t from_id = history_items_txn(words->items, from)->id, to_id = history_items_txn(words->items, to)->id;
    char first[PHRASE_BYTES], second[PHRASE_BYTES], third[PHRASE_BYTES], error[PHRASE_BYTES] = "";

    if (cycle->kinds[i] == HISTORY_REALTIME) {
        if (words->clock_error_ns)
            snprintf(error, sizeof error, ", clocks apart by at most %" PRIu64 " ns", words->clock_error_ns);
        line(words, "%s ended before T%" PRIu64 " began (at %" PRIu64 " ns%s): T%" PRIu64 " -> T%" PRIu64,
             who(words, from, first), to_id, history_items_txn(words->items, to)->begin_ns, error, from_id, to_id);
        return;
    }
    line(words, "%s %s, which T%" PRIu64 " %s: T%" PRIu64 " -> T%" PRIu64, who(words, from, first),
         what(words, &reason->from, second), to_id, then(reason, third), from_id, to_id);
}

/* A class by its edges, and what that is called in plain words. */
static const char *cycle_kind(const struct history_graph_cycle *cycle, const char **meaning)
{
    uint32_t kinds[4] = {0};
    for (uint32_t i = 0; i < cycle->count; i++) kinds[cycle->kinds[i]]++;
    bool realtime = kinds[HISTORY_REALTIME] != 0;

    if (kinds[HISTORY_RW] > 1) {
        *meaning = realtime ? "write skew over time" : "write skew";
        return realtime ? "G2-item-realtime" : "G2-item";
    }
    if (kinds[HISTORY_RW] == 1) {
        *meaning = realtime ? "stale read" : "read skew or lost update";
        return realtime ? "G-single-realtime" : "G-single";
    }
    if (kinds[HISTORY_WR]) {
        *meaning = realtime ? "a read of what was written later" : "circular information flow";
        return realtime ? "G1c-realtime" : "G1c";
    }
    *meaning = realtime ? "a write below an earlier one" : "dirty write";
    return realtime ? "G0-realtime" : "G0";
}

void history_words_cycle(const struct history_words *words, const struct history_graph_cycle *cycle,
                         const struct history_words_reason *reasons)
{
    struct history_verdict *verdict = words->verdict;
    const char *meaning;

    verdict->kind = cycle_kind(cycle, &meaning);
    for (uint32_t i = 0; i < cycle->count; i++) concern(words, cycle->nodes[i]);
    line(words, "%s (%s): a cycle of %u transactions", verdict->kind, meaning, cycle->count);
    for (uint32_t i = 0; i < cycle->count; i++) edge_line(words, cycle, i, &reasons[i]);
}

/* ---- single findings ---- */

/* What was loaded: "accounts[5].cell 2 was loaded as version EN 1 TS 1" */
static const char *loaded_so(const struct history_words *words, uint32_t entry, char phrase[2 * PHRASE_BYTES])
{
    char thing[PHRASE_BYTES], at[PHRASE_BYTES];
    const struct history_final *state = history_items_state(words->items, entry);

    item(words, state->table_id, state->key, state->cell, thing);
    if (state->cell == HISTORY_PRESENCE)
        snprintf(phrase, 2 * PHRASE_BYTES, "%s was %sloaded", thing, state->digest ? "" : "not ");
    else
        snprintf(phrase, 2 * PHRASE_BYTES, "%s was loaded as %s", thing, version(state->version, at));
    return phrase;
}

/* The transaction's name and what it did; or what was loaded. */
static const char *did(const struct history_words *words, uint32_t entry, char phrase[2 * PHRASE_BYTES])
{
    char first[PHRASE_BYTES], second[PHRASE_BYTES];

    if (entry == HISTORY_NONE) {
        snprintf(phrase, 2 * PHRASE_BYTES, "it was not loaded, and no transaction had inserted it");
        return phrase;
    }
    if (!history_items_is_access(words->items, entry)) return loaded_so(words, entry, phrase);
    uint32_t rank = words->items->rank_of[entry];

    concern(words, rank);
    snprintf(phrase, 2 * PHRASE_BYTES, "%s %s", who(words, rank, first),
             what(words, history_items_access(words->items, entry), second));
    return phrase;
}

/* A read, or what was loaded. */
static bool is_read(const struct history_words *words, uint32_t entry)
{
    if (!history_items_is_access(words->items, entry)) return true;
    const struct history_access *access = history_items_access(words->items, entry);
    return access->kind == HISTORY_READ || access->kind == HISTORY_ABSENT;
}

static uint64_t digest_of(const struct history_words *words, uint32_t entry)
{
    return history_items_is_access(words->items, entry) ? history_items_access(words->items, entry)->digest
                                                        : history_items_state(words->items, entry)->digest;
}

/* Other than a version that was written, `b` can be an access that shows what was loaded. */
static void loaded_line(const struct history_words *words, const struct history_finding *finding)
{
    char phrase[2 * PHRASE_BYTES], at[PHRASE_BYTES];

    if (is_read(words, finding->b)) {
        line(words, "what was loaded is another version: %s", did(words, finding->b, phrase));
        return;
    }
    const struct history_access *b = history_items_access(words->items, finding->b);
    const struct history_access *a = history_items_access(words->items, finding->a);
    did(words, finding->b, phrase);
    if (layout_version_ts(b->version) > layout_version_ts(a->version))
        line(words, "what was loaded is another version: %s over %s", phrase, version(b->over, at));
    else
        line(words, "the last version up to then: %s", phrase);
}

static void finding_of_write(const struct history_words *words, const struct history_finding *finding)
{
    char first[2 * PHRASE_BYTES], second[2 * PHRASE_BYTES], at[PHRASE_BYTES];
    const struct history_access *a = history_items_access(words->items, finding->a);

    did(words, finding->a, first);
    version(a->over, at);
    if (finding->kind == HISTORY_FOUND_TWICE) {
        line(words, "%s", first);
        line(words, "%s: the same timestamp, so that it cannot be told which is the later one",
             did(words, finding->b, second));
    } else if (finding->kind == HISTORY_FOUND_TS) {
        line(words, "%s, but its own timestamp is %" PRIu64, first,
             history_items_txn(words->items, words->items->rank_of[finding->a])->ts);
    } else if (finding->kind == HISTORY_FOUND_PARTIAL) {
        line(words, "%s, but wrote not all of its %u cells", first,
             history_table_cells(words->items->history, finding->table_id));
    } else if (finding->kind == HISTORY_FOUND_EN) {
        line(words, "%s over %s: not the next epoch number, or no later timestamp", first, at);
    } else if (finding->b == HISTORY_NONE) {
        line(words, "%s over %s, which no transaction wrote", first, at);
    } else {
        line(words, "%s over %s", first, at);
        if (is_read(words, finding->b))
            line(words, "but what was there is another version: %s", did(words, finding->b, second));
        else
            line(words, "but below it is what another one wrote, and is lost thereby: %s",
                 did(words, finding->b, second));
    }
}

static void finding_of_read(const struct history_words *words, const struct history_finding *finding)
{
    char first[2 * PHRASE_BYTES], second[2 * PHRASE_BYTES];

    did(words, finding->a, first);
    switch (finding->kind) {
    case HISTORY_FOUND_UNWRITTEN:
        line(words, "%s, which no transaction wrote%s", first,
             words->items->history->has_loaded ? ", and which was not loaded" : "");
        if (finding->b != HISTORY_NONE) loaded_line(words, finding);
        break;
    case HISTORY_FOUND_FAILED:
        line(words, "%s", first);
        line(words, "%s, which had no effect", did(words, finding->b, second));
        break;
    case HISTORY_FOUND_VALUE:
        line(words, "%s as bytes of digest %" PRIx64, first, digest_of(words, finding->a));
        line(words, "%s as bytes of digest %" PRIx64, did(words, finding->b, second), digest_of(words, finding->b));
        break;
    case HISTORY_FOUND_OWN:
        line(words, "%s, which it wrote itself: reads come before writes", first);
        line(words, "%s", did(words, finding->b, second));
        break;
    case HISTORY_FOUND_ABSENT:
        line(words, "%s, and so found it absent; but it was there:", first);
        line(words, "%s", did(words, finding->b, second));
        break;
    default:
        line(words, "%s, and so found a record; but it was not there:", first);
        line(words, "%s%s", did(words, finding->b, second),
             finding->b != HISTORY_NONE && history_items_is_access(words->items, finding->b) &&
                     history_items_access(words->items, finding->b)->kind == HISTORY_WRITE
                 ? " in deleting it"
                 : "");
        break;
    }
}

static void finding_of_final(const struct history_words *words, const struct history_finding *finding)
{
    char thing[PHRASE_BYTES], at[PHRASE_BYTES], last[2 * PHRASE_BYTES] = "it was loaded";
    const struct history_final *final =
        finding->a == HISTORY_NONE ? NULL : history_items_state(words->items, finding->a);
    uint32_t cell = (uint16_t)((finding->place >> LAYOUT_TS_BITS) - 1);
    bool read = false;

    item(words, finding->table_id, finding->key, cell, thing);
    if (finding->b != HISTORY_NONE) {
        read = is_read(words, finding->b);
        did(words, finding->b, last);
    }
    const char *before =
        read ? "no transaction changed it, and it was another thing" : "the last to change it was another";
    if (finding->kind == HISTORY_FOUND_FINAL_MISSING || !final)
        line(words, "%s is not in the pool at rest, but should be", thing);
    else if (finding->kind == HISTORY_FOUND_FINAL_PRESENCE)
        line(words, "%s is %s the pool at rest, but should %sbe", thing, final->digest ? "in" : "not in",
             final->digest ? "not " : "");
    else if (finding->kind == HISTORY_FOUND_FINAL_VERSION)
        line(words, "%s in the pool at rest is %s, but %s", thing, version(final->version, at), before);
    else
        line(words, "%s in the pool at rest is %s as it should be, but with other bytes (digest %" PRIx64 ")", thing,
             version(final->version, at), final->digest);
    line(words, "%s", last);
}

static void finding_of_coordinator(const struct history_words *words, const struct history_finding *finding)
{
    char phrase[PHRASE_BYTES];

    concern(words, finding->a);
    concern(words, finding->b);
    line(words, "%s had not ended", who(words, finding->a, phrase));
    line(words, "when %s began on the same coordinator", who(words, finding->b, phrase));
}

void history_words_finding(const struct history_words *words, const struct history_finding *finding)
{
    static const struct {
        const char *kind, *meaning;
        void (*tell)(const struct history_words *words, const struct history_finding *finding);
    } kinds[] = {
        [HISTORY_FOUND_TWICE] = {"version-twice", "one version, two writers", finding_of_write},
        [HISTORY_FOUND_UNWRITTEN] = {"G1a", "aborted or invented read", finding_of_read},
        [HISTORY_FOUND_FAILED] = {"G1a", "aborted read", finding_of_read},
        [HISTORY_FOUND_VALUE] = {"value", "one version, different bytes", finding_of_read},
        [HISTORY_FOUND_OWN] = {"own-read", "a transaction read what it wrote itself", finding_of_read},
        [HISTORY_FOUND_ABSENT] = {"absent", "a record overlooked", finding_of_read},
        [HISTORY_FOUND_PRESENT] = {"absent", "a record that is not there", finding_of_read},
        [HISTORY_FOUND_NO_CYCLE] = {"", "", NULL},
        [HISTORY_FOUND_OVER] = {"version-gap", "lost update", finding_of_write},
        [HISTORY_FOUND_EN] = {"version-gap", "a version out of line", finding_of_write},
        [HISTORY_FOUND_TS] = {"timestamp", "a write of another time than its transaction", finding_of_write},
        [HISTORY_FOUND_PARTIAL] = {"partial", "a record changed in part", finding_of_write},
        [HISTORY_FOUND_OVERLAP] = {"overlap", "two transactions at once", finding_of_coordinator},
        [HISTORY_FOUND_FINAL_MISSING] = {"final", "a lost write", finding_of_final},
        [HISTORY_FOUND_FINAL_VERSION] = {"final", "a lost or an unexplained write", finding_of_final},
        [HISTORY_FOUND_FINAL_VALUE] = {"final", "damaged bytes", finding_of_final},
        [HISTORY_FOUND_FINAL_PRESENCE] = {"final", "a lost or an unexplained insert or delete", finding_of_final},
    };

    words->verdict->kind = kinds[finding->kind].kind;
    line(words, "%s (%s)", kinds[finding->kind].kind, kinds[finding->kind].meaning);
    kinds[finding->kind].tell(words, finding);
}

void history_words_ok(const struct history_words *words, bool realtime)
{
    const struct history *history = words->items->history;

    words->verdict->kind = "ok";
    line(words, "%s%s", realtime ? "strictly serializable" : "serializable",
         history->torn        ? ", as far as the history goes"
         : history->has_final ? ", and the pool at rest is what the last versions say"
                              : "");
}

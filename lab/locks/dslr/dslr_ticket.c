#include "dslr.h"
#include "dslr_plants.h"

#define FULL 32768u /* tickets, half of what 16 bits hold */
#define LEASE_NS 10000000
#define FORGOTTEN_LEASES                                                                                               \
    16 /* after the patience of others: then counters may have come round, and no look counts any more */
#define TAKE_BACK_TRIES 2

/* ---- the word ---- */

struct layout {
    uint8_t bits, kinds;
    uint8_t taken[DSLR_KINDS], done[DSLR_KINDS]; /* shifts */
    uint64_t tops;                               /* the highest bit of each counter */
};

static const struct layout layouts[] = {
    [DSLR_FIELDS] = {16, 2, {[DSLR_X] = 16, [DSLR_S] = 0}, {[DSLR_X] = 48, [DSLR_S] = 32}, 0x8000800080008000ull},
    [DSLR_PLAIN] = {16, 2, {[DSLR_X] = 16, [DSLR_S] = 0}, {[DSLR_X] = 48, [DSLR_S] = 32}, 0},
    [DSLR_UPDATE] = {10,
                     3,
                     {[DSLR_X] = 20, [DSLR_S] = 10, [DSLR_U] = 0},
                     {[DSLR_X] = 50, [DSLR_S] = 40, [DSLR_U] = 30},
                     1ull << 59 | 1ull << 49 | 1ull << 39 | 1ull << 29 | 1ull << 19 | 1ull << 9}};

static const struct layout *layout_of(const struct lockmgr_hold *hold)
{
    return &layouts[hold->client->worker->lockmgr->policy];
}

static uint64_t field_of(const struct layout *layout) { return (1ull << layout->bits) - 1; }

static uint16_t counter(const struct layout *layout, uint64_t word, uint8_t shift)
{
    return (uint16_t)(word >> shift & field_of(layout));
}

static uint64_t with(const struct layout *layout, uint64_t word, uint8_t shift, uint32_t value)
{
    return (word & ~(field_of(layout) << shift)) | (value & field_of(layout)) << shift;
}

/* How far counter a is past b; below 0: before it. */
static int past(const struct layout *layout, uint16_t a, uint16_t b)
{
    int distance = (int)((uint32_t)(a - b) & field_of(layout));
    return distance < 1 << (layout->bits - 1) ? distance : distance - (1 << layout->bits);
}

static uint64_t done_mask(const struct layout *layout)
{
    uint64_t mask = 0;
    for (int kind = 0; kind < layout->kinds; kind++) mask |= field_of(layout) << layout->done[kind];
    return mask;
}

uint32_t dslr_counter_bits(enum dslr_policy policy) { return layouts[policy].bits; }

bool dslr_is_idle(enum dslr_policy policy, uint64_t word, bool leases)
{
    const struct layout *layout = &layouts[policy];
    bool idle = layout->kinds * layout->bits * 2 == 64 || word >> (layout->kinds * layout->bits * 2) == 0;
    for (int kind = 0; kind < layout->kinds; kind++)
        if (!(leases && kind == DSLR_S))
            idle = idle && counter(layout, word, layout->done[kind]) == counter(layout, word, layout->taken[kind]);
    return idle;
}

/* ---- the configuration ---- */

uint32_t dslr_full_of(const struct lockmgr_config *config) { return config->capacity ? config->capacity : FULL; }

bool dslr_is_full(const struct lockmgr_hold *hold, uint64_t word)
{
    const struct layout *layout = layout_of(hold);
    uint32_t full = dslr_full_of(lockmgr_config_of(hold));
    if (hold->client->worker->lockmgr->policy != DSLR_PLAIN || PLANT(lockmgr_dslr_full_unseen)) return false;
    return counter(layout, word, layout->taken[DSLR_X]) >= full || counter(layout, word, layout->taken[DSLR_S]) >= full;
}

uint64_t dslr_lease_ns(const struct lockmgr_hold *hold)
{
    const struct lockmgr *lockmgr = hold->client->worker->lockmgr;
    if (!(lockmgr->promises & LOCKMGR_LEASES)) return 0;
    return lockmgr->config.lease_ns ? lockmgr->config.lease_ns : LEASE_NS;
}

static uint32_t slots_max_of(const struct lockmgr_hold *hold)
{
    uint32_t most = lockmgr_config_of(hold)->slots_max;
    return most ? most : 1;
}

/* ---- tickets ---- */

static int add(struct coro *co, struct lockmgr_hold *hold, uint8_t shift, uint32_t count, uint64_t *old)
{
    const struct layout *layout = layout_of(hold);
    uint64_t addend = (uint64_t)count << shift;
    if (!layout->tops) return lockmgr_faa_word(co, hold, 0, addend, old);
    struct fabric_op op = fabric_op_field_faa(hold->lock, &hold->client->old[0], addend, layout->tops);
    int code = lockmgr_do(co, hold->client, &op, 1);
    *old = hold->client->old[0];
    return code;
}

int dslr_take_ticket(struct coro *co, struct lockmgr_hold *hold)
{
    const struct layout *layout = layout_of(hold);
    struct dslr_place *place = dslr_place(hold);
    place->known_ns = lockmgr_now_ns(hold->client);
    int code = add(co, hold, layout->taken[place->kind], place->slots, &place->seen);
    for (int kind = 0; kind < layout->kinds; kind++)
        place->ticket[kind] = counter(layout, place->seen, layout->taken[kind]);
    place->polled_ns = lockmgr_now_ns(hold->client);
    place->stalled_ns = 0;
    return code;
}

/* How far the turns of that kind are past this ticket; below 0: they are still before it. */
static int turns_past(struct lockmgr_hold *hold, uint64_t word, enum dslr_kind kind)
{
    const struct layout *layout = layout_of(hold);
    if (kind >= layout->kinds) return 0;
    return past(layout, counter(layout, word, layout->done[kind]), dslr_place(hold)->ticket[kind]);
}

enum dslr_turn dslr_turn_of(struct lockmgr_hold *hold, uint64_t word)
{
    const struct dslr_place *place = dslr_place(hold);
    int exclusive = turns_past(hold, word, DSLR_X), update = turns_past(hold, word, DSLR_U);
    int shared = turns_past(hold, word, DSLR_S);
    if (exclusive > 0 && !PLANT(lockmgr_dslr_skip_unseen)) return DSLR_PASSED;
    if (exclusive != 0) return DSLR_COMES;
    if (update < 0 && !(place->kind == DSLR_S && PLANT(lockmgr_dslr_update_unseen))) return DSLR_COMES;
    if (place->kind == DSLR_S || (place->kind == DSLR_U && !place->upgraded)) return DSLR_IS_THERE;
    if (shared == 0 || PLANT(lockmgr_dslr_readers_unasked)) return DSLR_IS_THERE;
    if (place->kind == DSLR_U && PLANT(lockmgr_dslr_upgrade_hurries)) return DSLR_IS_THERE;
    return shared > 0 ? DSLR_PASSED : DSLR_COMES;
}

uint32_t dslr_before(struct lockmgr_hold *hold, uint64_t word)
{
    const struct dslr_place *place = dslr_place(hold);
    int exclusive = -turns_past(hold, word, DSLR_X), update = -turns_past(hold, word, DSLR_U);
    int shared =
        place->kind == DSLR_S || (place->kind == DSLR_U && !place->upgraded) ? 0 : -turns_past(hold, word, DSLR_S);
    int before = (exclusive > 0 ? exclusive : 0) + (update > 0 ? update : 0) + (shared > 0 ? (shared + 1) / 2 : 0);
    return before > 0 ? (uint32_t)before : 1;
}

/* ---- passing over ---- */

/* Two leases for each slot before this ticket, but for no more than one holder can have. */
static uint64_t patience_ns(struct lockmgr_hold *hold, uint64_t word, uint64_t lease_ns)
{
    int before = -turns_past(hold, word, DSLR_X) - turns_past(hold, word, DSLR_S), most = (int)slots_max_of(hold);
    if (before > most) before = most;
    return 2 * lease_ns * (before < 1 || PLANT(lockmgr_dslr_slots_ignored) ? 1u : (uint32_t)before);
}

/* The word was seen again. True: no turn has changed for as long as patience lasts, by a clock that may have jumped. */
static bool note_word(struct lockmgr_hold *hold, uint64_t word)
{
    struct dslr_place *place = dslr_place(hold);
    uint64_t lease_ns = dslr_lease_ns(hold), now_ns = lockmgr_now_ns(hold->client), step_ns = now_ns - place->polled_ns;
    if ((word ^ place->seen) & done_mask(layout_of(hold)))
        place->stalled_ns = 0;
    else
        place->stalled_ns += step_ns < lease_ns / DSLR_STEPS ? step_ns : lease_ns / DSLR_STEPS;
    place->polled_ns = now_ns;
    place->seen = word;
    return lease_ns && place->stalled_ns >= patience_ns(hold, word, lease_ns) && !PLANT(lockmgr_dslr_never_passed_over);
}

/* The tickets before this one have lost their turn. Nothing happens if another client was quicker, or has come. */
static int pass_over(struct coro *co, struct lockmgr_hold *hold)
{
    const struct layout *layout = layout_of(hold);
    struct dslr_place *place = dslr_place(hold);
    uint64_t word = place->seen, next = with(layout, word, layout->done[DSLR_X], place->ticket[DSLR_X]), old;
    if (place->kind == DSLR_X) {
        uint32_t leaves = PLANT(lockmgr_dslr_skips_in_place) ? 0 : place->slots;
        next = with(layout, next, layout->done[DSLR_X], place->ticket[DSLR_X] + leaves);
        next = with(layout, next, layout->done[DSLR_S], place->ticket[DSLR_S]);
    }
    int code = lockmgr_cas_word(co, hold, 0, word, next, &old);
    if (code) return code;
    if ((old ^ word) & done_mask(layout)) place->stalled_ns = 0;
    place->seen = old == word ? next : old;
    hold->client->stats.resets += old == word;
    return 0;
}

int dslr_look(struct coro *co, struct lockmgr_hold *hold, enum dslr_turn *turn)
{
    struct dslr_place *place = dslr_place(hold);
    uint64_t lease_ns = dslr_lease_ns(hold), posted_ns = lockmgr_now_ns(hold->client), word;
    *turn = DSLR_PASSED;
    /* A client that slept for long cannot know any more what a counter means that may have come round. */
    if (lease_ns && posted_ns - place->polled_ns > FORGOTTEN_LEASES / slots_max_of(hold) * lease_ns) return 0;
    int code = lockmgr_read_words(co, hold, 0, &word, 1);
    if (code) return code;
    if (dslr_turn_of(hold, word) == DSLR_COMES || PLANT(lockmgr_dslr_known_late)) place->known_ns = posted_ns;
    if (note_word(hold, word)) code = pass_over(co, hold);
    *turn = dslr_turn_of(hold, place->seen);
    return code;
}

/* ---- the end of a turn ---- */

bool dslr_is_late(struct lockmgr_hold *hold)
{
    const struct dslr_place *place = dslr_place(hold);
    uint64_t lease_ns = dslr_lease_ns(hold);
    return lease_ns && lockmgr_now_ns(hold->client) - place->known_ns > place->slots * lease_ns / 2;
}

/* By masked CASes, which say whether the turn was still there; readers that leave together try again. */
static int leave_late(struct coro *co, struct lockmgr_hold *hold)
{
    const struct layout *layout = layout_of(hold);
    const struct dslr_place *place = dslr_place(hold);
    uint8_t x = layout->done[DSLR_X], s = layout->done[DSLR_S];
    bool shared = place->kind == DSLR_S;
    uint16_t t_x = place->ticket[DSLR_X], done = counter(layout, place->seen, s);
    uint64_t mask = field_of(layout) << x | (shared ? field_of(layout) << s : 0);
    for (;;) {
        uint64_t compare = with(layout, with(layout, 0, x, t_x), s, shared ? done : 0);
        uint64_t swap = with(layout, compare, shared ? s : x, (shared ? done : t_x) + place->slots);
        struct fabric_op op = fabric_op_masked_cas(hold->lock, &hold->client->old[0], compare, mask, swap, mask);
        int code = lockmgr_do(co, hold->client, &op, 1);
        uint64_t old = hold->client->old[0];
        if (code || ((old ^ compare) & mask) == 0) return code;
        if (counter(layout, old, x) != t_x) return CELLAR_FENCED;
        hold->client->stats.retries++;
        done = counter(layout, old, s);
    }
}

int dslr_leave(struct coro *co, struct lockmgr_hold *hold)
{
    const struct dslr_place *place = dslr_place(hold);
    uint64_t lease_ns = dslr_lease_ns(hold), held_ns = lockmgr_now_ns(hold->client) - place->known_ns, old;
    uint64_t forgotten = 2 * place->slots - 2 + FORGOTTEN_LEASES / slots_max_of(hold);
    if (lease_ns && held_ns > forgotten * lease_ns) return CELLAR_FENCED; /* it was reset, or will be */
    if (dslr_is_late(hold) && !PLANT(lockmgr_dslr_undone_blindly)) return leave_late(co, hold);
    uint32_t slots = PLANT(lockmgr_dslr_slots_kept) ? 1 : place->slots;
    int code = add(co, hold, layout_of(hold)->done[place->kind], slots, &old);
    if (code == 0) dslr_leave_last(hold);
    return code;
}

/* ---- giving up ---- */

static bool is_newest(struct lockmgr_hold *hold, uint64_t word)
{
    const struct layout *layout = layout_of(hold);
    const struct dslr_place *place = dslr_place(hold);
    for (int kind = 0; kind < layout->kinds; kind++) {
        uint32_t mine = place->ticket[kind] + (kind == place->kind ? place->slots : 0);
        if (counter(layout, word, layout->taken[kind]) != (mine & field_of(layout))) return false;
    }
    return true;
}

int dslr_take_back(struct coro *co, struct lockmgr_hold *hold, bool *gone)
{
    const struct layout *layout = layout_of(hold);
    const struct dslr_place *place = dslr_place(hold);
    uint8_t taken = layout->taken[place->kind];
    uint64_t old;
    if (PLANT(lockmgr_dslr_taken_back_blindly)) {
        *gone = true;
        return add(co, hold, taken, (uint32_t)field_of(layout) + 1 - place->slots, &old);
    }
    for (uint32_t i = 0; i < TAKE_BACK_TRIES && is_newest(hold, place->seen); i++) {
        uint64_t word = place->seen;
        int code = lockmgr_cas_word(co, hold, 0, word, with(layout, word, taken, place->ticket[place->kind]), &old);
        *gone = code == 0 && old == word;
        if (code || *gone) return code;
        (void)note_word(hold, old);
        if (dslr_turn_of(hold, old) != DSLR_COMES) return 0;
    }
    return 0;
}

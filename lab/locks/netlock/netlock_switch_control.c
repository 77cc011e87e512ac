/*
 * netlock_switch_control.c - the switch's control plane: which locks are in its table and where their slots are;
 * leases that run out.
 */
#include "lockmgr.h"
#include "netlock_plants.h"
#include "netlock_switch_internal.h"

#include <stdlib.h>
#include <string.h>

#define NEVER 0ull /* of table entries: in use never, */
#define ONCE 1ull  /* ... and no longer */

#define LOOKS_A_TURN 1024 /* at indexes, in use or not: a turn must not keep packets waiting */

/* ---- the table ---- */

static uint32_t place_of(const struct netlock_switch *sw, uint64_t lock, uint32_t i)
{
    return (uint32_t)((lock * 0x9e3779b97f4a7c15ull >> 32) + i) & (sw->table_size - 1);
}

struct netlock_entry *netlock_switch_find(const struct netlock_switch *sw, uint64_t lock)
{
    if (lock == NEVER || lock == ONCE) return NULL;
    for (uint32_t i = 0; i < sw->table_size; i++) {
        struct netlock_entry *entry = &sw->table[place_of(sw, lock, i)];
        if (entry->lock == lock) return entry;
        if (entry->lock == NEVER) return NULL;
    }
    return NULL;
}

static struct netlock_entry *insert(struct netlock_switch *sw, uint64_t lock)
{
    if (sw->free_indexes == 0 || lock == NEVER || lock == ONCE) return NULL;
    for (uint32_t i = 0;; i++) {
        struct netlock_entry *entry = &sw->table[place_of(sw, lock, i)];
        if (entry->lock != NEVER && entry->lock != ONCE) continue;
        *entry = (struct netlock_entry){.lock = lock, .index = sw->indexes[--sw->free_indexes]};
        sw->places[entry->index] = (uint32_t)(entry - sw->table);
        if (sw->highest <= entry->index) sw->highest = entry->index + 1;
        sw->stats.locks++;
        return entry;
    }
}

static bool in_use(const struct netlock_switch *sw, uint32_t index)
{
    const struct netlock_entry *entry = &sw->table[sw->places[index]];
    return entry->lock != NEVER && entry->lock != ONCE && entry->index == index;
}

/* Places that were used once would make each search longer: behind a last one they can be as new. */
static void erase(struct netlock_switch *sw, struct netlock_entry *entry)
{
    sw->indexes[sw->free_indexes++] = entry->index;
    sw->stats.locks--;
    uint32_t at = (uint32_t)(entry - sw->table);
    entry->lock = ONCE;
    if (sw->table[(at + 1) & (sw->table_size - 1)].lock != NEVER) return;
    for (; sw->table[at].lock == ONCE; at = (at - 1) & (sw->table_size - 1)) sw->table[at].lock = NEVER;
}

/* ---- birth and death ---- */

enum kind { TENANT, LOCK, LOCKS, SLOT };
static const struct kind_of {
    const char *name;
    uint32_t stage;
    enum kind kind;
} kinds[] = {
#define X(name, stage, of) {#name, stage, of},
    NETLOCK_ARRAYS(X)
#undef X
};

static uint32_t count_of(const struct netlock_switch_config *config, enum netlock_array array)
{
    return kinds[array].kind == LOCKS ? config->priorities : 1;
}

uint32_t netlock_switch_shape(const struct netlock_switch_config *config, struct netlock_shape *shapes)
{
    uint32_t count = 0;
    for (int array = 0; array < NETLOCK_ARRAY_KINDS; array++) {
        const struct kind_of *kind = &kinds[array];
        uint32_t cells = kind->kind == TENANT ? config->tenants : kind->kind == SLOT ? config->slots : config->locks;
        for (uint32_t i = 0; i < count_of(config, (enum netlock_array)array); i++)
            shapes[count++] = (struct netlock_shape){kind->name, kind->stage, cells ? cells : 1};
    }
    must(count <= NETLOCK_ARRAYS_MAX);
    return count;
}

void netlock_switch_restart(struct netlock_switch *sw, uint32_t incarnation)
{
    sw->incarnation = incarnation;
    memset(sw->table, 0, sw->table_size * sizeof *sw->table);
    memset(sw->under_way, 0, sw->config.locks * sizeof *sw->under_way);
    memset(sw->moves, 0, sizeof sw->moves);
    sw->free_indexes = 0;
    for (uint32_t i = 0; i < sw->config.locks; i++) sw->indexes[sw->free_indexes++] = sw->config.locks - 1 - i;
    sw->stats.locks = sw->stats.slots_used = sw->highest = sw->poll_at = sw->poll_slot = 0;
}

struct netlock_switch *netlock_switch_new(const struct netlock_switch_config *config,
                                          const struct netlock_registers *registers)
{
    struct netlock_switch *sw = calloc(1, sizeof *sw);
    if (!sw) return NULL;
    must(config->priorities >= 1 && config->priorities <= NETLOCK_PRIORITIES);
    must(config->tenants >= 1 && config->tenants <= NETLOCK_TENANTS);
    sw->config = *config;
    sw->registers = *registers;
    for (int array = 1; array < NETLOCK_ARRAY_KINDS; array++)
        sw->numbers[array] = sw->numbers[array - 1] + count_of(config, (enum netlock_array)(array - 1));
    for (sw->table_size = 4; sw->table_size < 2 * config->locks; sw->table_size *= 2) {
    }
    sw->table = calloc(sw->table_size, sizeof *sw->table);
    sw->indexes = calloc(config->locks + 1u, sizeof *sw->indexes);
    sw->under_way = calloc(config->locks + 1u, sizeof *sw->under_way);
    sw->places = calloc(config->locks + 1u, sizeof *sw->places);
    if (!sw->table || !sw->indexes || !sw->under_way || !sw->places) {
        netlock_switch_free(sw);
        return NULL;
    }
    netlock_switch_restart(sw, 1);
    return sw;
}

void netlock_switch_free(struct netlock_switch *sw)
{
    if (!sw) return;
    free(sw->table);
    free(sw->indexes);
    free(sw->under_way);
    free(sw->places);
    free(sw);
}

const struct netlock_switch_stats *netlock_switch_stats(const struct netlock_switch *sw) { return &sw->stats; }

/* ---- moves ---- */

static uint64_t peek(const struct netlock_switch *sw, enum netlock_array array, uint32_t priority, uint32_t index)
{
    return sw->registers.peek(sw->registers.arg, sw->numbers[array] + priority, index);
}

static void poke(const struct netlock_switch *sw, enum netlock_array array, uint32_t priority, uint32_t index,
                 uint64_t value)
{
    sw->registers.poke(sw->registers.arg, sw->numbers[array] + priority, index, value);
}

/* Each priority's share of the region. Its slots are as the last owner left them: all given back. */
static void give_region(struct netlock_switch *sw, const struct netlock_entry *entry)
{
    uint32_t priorities = sw->config.priorities, at = entry->index;
    for (uint32_t i = 0; i < priorities; i++) {
        uint32_t from = entry->left + (uint32_t)((uint64_t)entry->slots * i / priorities);
        poke(sw, NETLOCK_LEFT, i, at, from);
        poke(sw, NETLOCK_RIGHT, i, at, entry->left + (uint32_t)((uint64_t)entry->slots * (i + 1) / priorities));
        poke(sw, NETLOCK_HEAD, i, at, from);
        poke(sw, NETLOCK_TAIL, i, at, from);
        poke(sw, NETLOCK_RETURNED, i, at, NETLOCK_BASE_SEQ << NETLOCK_SEQ_SHIFT);
        poke(sw, NETLOCK_SENT, i, at, NETLOCK_BASE_SEQ);
        poke(sw, NETLOCK_ROOM, i, at, 0);
        poke(sw, NETLOCK_EXCLUSIVES, i, at, 0);
    }
    poke(sw, NETLOCK_HOLDERS, 0, at, 0);
    poke(sw, NETLOCK_PEAK, 0, at, 0);
    poke(sw, NETLOCK_REQUESTS, 0, at, 0);
}

/* From now on requests of that lock are forwarded by number. A number of a move that has been seen is old. */
static bool prepare(struct netlock_switch *sw, const struct netlock_packet *packet)
{
    struct netlock_entry *entry = netlock_switch_find(sw, packet->lock);
    if (entry) return entry->move == packet->move;
    uint32_t *latest = &sw->moves[packet->client % NETLOCK_SERVERS];
    uint64_t slots = packet->seq;
    if (packet->move <= *latest || slots < sw->config.priorities || slots > sw->config.slots ||
        packet->slot > sw->config.slots - slots)
        return false;
    entry = insert(sw, packet->lock);
    if (!entry) return false;
    *latest = entry->move = packet->move;
    entry->left = packet->slot;
    entry->slots = (uint32_t)slots;
    give_region(sw, entry);
    sw->stats.slots_used += entry->slots;
    return true;
}

/* The switch grants the lock now. Those that wait at the server come before all that were forwarded since. */
static bool install(struct netlock_switch *sw, const struct netlock_packet *packet)
{
    struct netlock_entry *entry = netlock_switch_find(sw, packet->lock);
    if (!entry || entry->move != packet->move) return false;
    if (entry->installed) return true;
    entry->installed = entry->open = true;
    uint32_t waiting[NETLOCK_PRIORITIES] = {netlock_lower(packet->prev), netlock_upper(packet->prev),
                                            netlock_lower(packet->seq), netlock_upper(packet->seq)};
    for (uint32_t i = 0; i < sw->config.priorities; i++) {
        uint64_t returned = NETLOCK_BASE_SEQ - waiting[i], room = peek(sw, NETLOCK_ROOM, i, entry->index);
        poke(sw, NETLOCK_RETURNED, i, entry->index, returned << NETLOCK_SEQ_SHIFT);
        poke(sw, NETLOCK_ROOM, i, entry->index, room + ((uint64_t)waiting[i] << 32));
    }
    return true;
}

static bool drained(const struct netlock_switch *sw, const struct netlock_entry *entry)
{
    bool empty = peek(sw, NETLOCK_HOLDERS, 0, entry->index) == 0 && sw->under_way[entry->index] == 0;
    for (uint32_t i = 0; i < sw->config.priorities; i++)
        empty = empty && netlock_lower(peek(sw, NETLOCK_ROOM, i, entry->index)) == 0;
    return empty;
}

/*
 * No request enters the queue any more; packets that still come round stand for the time that hardware would have to
 * wait. True when the last one has left it, and the lock is gone from the table.
 */
static bool remove_drained(struct netlock_switch *sw, const struct netlock_packet *packet)
{
    struct netlock_entry *entry = netlock_switch_find(sw, packet->lock);
    if (!entry || entry->move != packet->move) return true;
    entry->open = false;
    if (!drained(sw, entry) && !PLANT(netlock_moved_undrained)) return false;
    sw->stats.slots_used -= entry->slots;
    erase(sw, entry);
    return true;
}

void netlock_switch_control(struct netlock_switch *sw, const struct netlock_packet *packet, struct netlock_out *out)
{
    bool done = false;
    out->count = 0;
    if (packet->incarnation != sw->incarnation) return;
    if (packet->op == NETLOCK_PREPARE) done = prepare(sw, packet);
    if (packet->op == NETLOCK_INSTALL) done = install(sw, packet);
    if (packet->op == NETLOCK_CLOSE) done = remove_drained(sw, packet);
    if (!done) return;
    out->count = 1;
    out->to[0] = NETLOCK_TO_SERVER;
    out->packets[0] = *packet;
    out->packets[0].op = packet->op + 1;
}
_Static_assert(NETLOCK_PREPARED == NETLOCK_PREPARE + 1 && NETLOCK_INSTALLED == NETLOCK_INSTALL + 1 &&
                   NETLOCK_REMOVED == NETLOCK_CLOSE + 1,
               "each answer is behind its question");

/* ---- leases ---- */

static void poll_slot(const struct netlock_switch *sw, const struct netlock_poll *poll, uint64_t lock, uint32_t slot)
{
    uint64_t what = peek(sw, NETLOCK_WHAT, 0, slot), who = peek(sw, NETLOCK_WHO, 0, slot);
    if ((what & NETLOCK_STATE) != NETLOCK_HELD) return;
    uint32_t age = netlock_time(poll->now_ns) - netlock_upper(what);
    bool over = age > netlock_time(poll->lease_ns) + 1;
    if (PLANT(netlock_lease_halved)) over = age > netlock_time(poll->lease_ns) / 8;
    if (!over && !(poll->gone && poll->gone(poll->arg, netlock_upper(who)))) return;
    struct netlock_packet packet = {.op = NETLOCK_EXPIRE,
                                    .lock = lock,
                                    .slot = slot,
                                    .client = netlock_upper(who),
                                    .txn = netlock_lower(who),
                                    .prev = netlock_upper(what),
                                    .incarnation = sw->incarnation};
    poll->expire(poll->arg, &packet);
}

bool netlock_switch_poll(struct netlock_switch *sw, const struct netlock_poll *poll)
{
    uint32_t looks = 0;
    for (uint32_t cells = 2; cells < poll->cells && looks < LOOKS_A_TURN; sw->poll_slot = 0, sw->poll_at++, looks++) {
        if (sw->poll_at >= sw->highest) {
            sw->poll_at = 0;
            return true;
        }
        const struct netlock_entry *entry = &sw->table[sw->places[sw->poll_at]];
        if (!in_use(sw, sw->poll_at) || !entry->installed) continue;
        cells++;
        if (peek(sw, NETLOCK_HOLDERS, 0, entry->index) == 0) continue;
        for (; sw->poll_slot < entry->slots; cells += 2) {
            if (cells + 2 > poll->cells) return false;
            poll_slot(sw, poll, entry->lock, entry->left + sw->poll_slot++);
        }
    }
    return false;
}

/* ---- at rest ---- */

static int audit_entry(const struct netlock_switch *sw, const struct netlock_entry *entry, struct cellar_error *error)
{
    if (peek(sw, NETLOCK_HOLDERS, 0, entry->index))
        return err_set(error, CELLAR_CORRUPT, "the switch counts holders: %llx",
                       (unsigned long long)peek(sw, NETLOCK_HOLDERS, 0, entry->index));
    for (uint32_t i = 0; i < sw->config.priorities; i++) {
        uint64_t head = peek(sw, NETLOCK_HEAD, i, entry->index), tail = peek(sw, NETLOCK_TAIL, i, entry->index);
        uint64_t room = peek(sw, NETLOCK_ROOM, i, entry->index),
                 writers = peek(sw, NETLOCK_EXCLUSIVES, i, entry->index);
        if (netlock_lower(room) || head != tail || writers)
            return err_set(error, CELLAR_CORRUPT,
                           "the switch's queue %u has %u slots in use, %llu exclusive, head %llx, tail %llx", i,
                           netlock_lower(room), (unsigned long long)writers, (unsigned long long)head,
                           (unsigned long long)tail);
        uint32_t sent = (uint32_t)peek(sw, NETLOCK_SENT, i, entry->index);
        if (netlock_upper(room) != sent - netlock_upper(peek(sw, NETLOCK_RETURNED, i, entry->index)))
            return err_set(error, CELLAR_CORRUPT, "the switch has miscounted what it has forwarded");
    }
    return 0;
}

int netlock_switch_audit(const struct netlock_switch *sw, uint64_t lock, struct cellar_error *error)
{
    if (lock) {
        const struct netlock_entry *entry = netlock_switch_find(sw, lock);
        return entry ? audit_entry(sw, entry, error) : 0;
    }
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < sw->highest; i++)
        if (in_use(sw, i)) code = audit_entry(sw, &sw->table[sw->places[i]], error);
    return code;
}

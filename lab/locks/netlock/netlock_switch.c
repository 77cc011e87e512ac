/* netlock_switch.c - the data plane: what one pass of each kind of packet does. netlock_switch.h draws it. */
#include "netlock_switch.h"

#include "lockmgr.h"
#include "netlock_plants.h"
#include "netlock_switch_internal.h"

#define NO_PRIORITY NETLOCK_PRIORITIES

/* One packet's way through the stages. */
struct pass {
    struct netlock_switch *sw;
    const struct netlock_packet *packet;
    struct netlock_out *out;
    const struct netlock_entry *entry;
    uint64_t now_ns;
    /* what earlier stages have found */
    uint64_t head[NETLOCK_PRIORITIES], room[NETLOCK_PRIORITIES];
    uint32_t left, right;
};

/* The one access that this pass has to that array: what is left in the cell is decided before the next one. */
static uint64_t *touch(struct pass *pass, enum netlock_array array, uint32_t priority, uint32_t index)
{
    const struct netlock_registers *registers = &pass->sw->registers;
    return registers->cell(registers->arg, pass->sw->numbers[array] + priority, index);
}

static uint64_t *touch_own(struct pass *pass, enum netlock_array array, uint32_t priority)
{
    return touch(pass, array, priority, pass->entry->index);
}

static struct netlock_packet *emit(struct pass *pass, enum netlock_to to, enum netlock_op op)
{
    struct netlock_out *out = pass->out;
    must(out->count < NETLOCK_OUT);
    out->to[out->count] = to;
    struct netlock_packet *packet = &out->packets[out->count++];
    *packet = *pass->packet;
    packet->op = (uint8_t)op;
    packet->incarnation = pass->sw->incarnation;
    return packet;
}

static struct netlock_packet *emit_again(struct pass *pass, enum netlock_op op, uint32_t priority, uint32_t tag)
{
    struct netlock_packet *packet = emit(pass, NETLOCK_AGAIN, op);
    packet->priority = (uint8_t)priority;
    packet->tag = (uint8_t)tag & 15;
    pass->sw->under_way[pass->entry->index]++;
    pass->sw->stats.recirculated++;
    return packet;
}

static void forward(struct pass *pass, uint32_t tag)
{
    struct netlock_packet *packet = emit(pass, NETLOCK_TO_SERVER, pass->packet->op);
    packet->tag = (uint8_t)tag & 15;
    packet->move = pass->entry ? pass->entry->move : 0;
    pass->sw->stats.forwarded++;
}

static uint32_t used(uint64_t room) { return netlock_lower(room); }
static uint32_t backlog(uint64_t room) { return netlock_upper(room); }

static void read_bounds(struct pass *pass, uint32_t priority)
{
    pass->left = (uint32_t)*touch_own(pass, NETLOCK_LEFT, priority);
    pass->right = (uint32_t)*touch_own(pass, NETLOCK_RIGHT, priority);
}

static void read_heads(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->sw->config.priorities; i++) pass->head[i] = *touch_own(pass, NETLOCK_HEAD, i);
}

/* All rooms but that of `own`, which is the caller's to touch. */
static void read_rooms(struct pass *pass, uint32_t own)
{
    for (uint32_t i = 0; i < pass->sw->config.priorities; i++)
        if (i != own) pass->room[i] = *touch_own(pass, NETLOCK_ROOM, i);
}

/* Number and slot of what comes after `at` in the ring. */
static uint64_t behind(const struct pass *pass, uint64_t at)
{
    uint32_t slot = netlock_lower(at) + 1, right = pass->right + PLANT(netlock_bound_beyond);
    return netlock_pair(netlock_upper(at) + 1, slot == right ? pass->left : slot);
}

/* Does the queue have number `at`? */
static bool within(const struct pass *pass, uint32_t priority, uint32_t at)
{
    return at - netlock_upper(pass->head[priority]) < used(pass->room[priority]);
}

static void grant(struct pass *pass, uint64_t who, uint32_t slot)
{
    struct netlock_packet *packet = emit(pass, NETLOCK_TO_CLIENT, NETLOCK_GRANT);
    packet->client = netlock_upper(who);
    packet->txn = netlock_lower(who);
    packet->slot = slot;
    pass->sw->stats.granted++;
}

/* ---- a request enters the queue ---- */

/* Can it have the lock at once? Counts it among the holders, then. own: the queue's room before it came. */
static bool hold_at_once(struct pass *pass, uint64_t own)
{
    const struct netlock_packet *packet = pass->packet;
    bool exclusive = packet->mode == LOCKMGR_EXCLUSIVE, empty = used(own) == 0, behind_writer = false;
    for (uint32_t i = 0; i < pass->sw->config.priorities; i++) {
        if (i != packet->priority && used(pass->room[i])) empty = false;
        if (i > packet->priority) continue;
        uint64_t *exclusives = touch_own(pass, NETLOCK_EXCLUSIVES, i);
        behind_writer = behind_writer || *exclusives;
        if (i == packet->priority) *exclusives += exclusive;
    }
    uint64_t *holders = touch_own(pass, NETLOCK_HOLDERS, 0);
    if (exclusive) {
        if (!empty || *holders) return false;
        *holders = NETLOCK_EXCLUSIVE_HOLDER;
        return true;
    }
    if ((behind_writer && !PLANT(netlock_reader_overtakes)) || *holders & NETLOCK_EXCLUSIVE_HOLDER) return false;
    ++*holders;
    return true;
}

/* How many of the lock's requests are there at once? */
static void note_peak(struct pass *pass)
{
    uint64_t busy = 0, *peak = touch_own(pass, NETLOCK_PEAK, 0);
    for (uint32_t i = 0; i < pass->sw->config.priorities; i++) busy += used(pass->room[i]) + backlog(pass->room[i]);
    if (busy > *peak) *peak = busy;
}

static void enqueue(struct pass *pass, uint64_t own)
{
    const struct netlock_packet *packet = pass->packet;
    bool now = hold_at_once(pass, own);
    note_peak(pass);
    uint64_t *tail = touch_own(pass, NETLOCK_TAIL, packet->priority), who = netlock_pair(packet->client, packet->txn);
    uint32_t slot = netlock_lower(*tail);
    *tail = behind(pass, *tail);
    *touch(pass, NETLOCK_WHO, 0, slot) = who;
    *touch(pass, NETLOCK_WHAT, 0, slot) =
        netlock_pair(netlock_time(pass->now_ns), (now ? NETLOCK_HELD : NETLOCK_WAITS) |
                                                     (packet->mode == LOCKMGR_EXCLUSIVE ? NETLOCK_EXCLUSIVE : 0));
    if (now) grant(pass, who, slot);
}

/* Is there quota left for the packet's tenant? A meter of one word: the time up to which the tenant has spent. */
static bool within_quota(struct pass *pass)
{
    const struct netlock_switch_config *config = &pass->sw->config;
    if (!config->quota_ns) return true;
    uint64_t *spent_ns = touch(pass, NETLOCK_METER, 0, pass->packet->tenant % config->tenants);
    uint64_t now_ns = PLANT(netlock_quota_unrestored) ? 0 : pass->now_ns;
    uint64_t from_ns = *spent_ns > now_ns ? *spent_ns : now_ns;
    bool within_it = from_ns - now_ns < config->quota_ns * config->burst;
    if (within_it) *spent_ns = from_ns + config->quota_ns;
    return within_it;
}

static void acquire(struct pass *pass)
{
    const struct netlock_packet *packet = pass->packet;
    uint32_t i = packet->priority;
    if (!within_quota(pass)) {
        emit(pass, NETLOCK_TO_CLIENT, NETLOCK_REJECT);
        pass->sw->stats.rejected++;
        return;
    }
    if (!pass->entry) {
        forward(pass, 0);
        return;
    }
    ++*touch_own(pass, NETLOCK_REQUESTS, 0);
    read_bounds(pass, i);
    uint64_t *room = touch_own(pass, NETLOCK_ROOM, i), own = *room;
    bool queue = backlog(own) && !PLANT(netlock_overtakes_overflow);
    bool over = !pass->entry->open || queue || used(own) >= pass->right - pass->left;
    *room = over ? netlock_pair(backlog(own) + 1, used(own)) : own + 1;
    pass->room[i] = *room;
    read_rooms(pass, i);
    if (!over) {
        enqueue(pass, own);
        return;
    }
    note_peak(pass);
    uint64_t sent = ++*touch_own(pass, NETLOCK_SENT, i);
    forward(pass, NETLOCK_SECONDARY);
    pass->out->packets[pass->out->count - 1].seq = sent << NETLOCK_SEQ_SHIFT;
}

/* ---- overflow ---- */

static void tell_room(struct pass *pass, uint32_t priority, uint64_t returned, uint64_t sent)
{
    struct netlock_packet *packet = emit(pass, NETLOCK_TO_SERVER, NETLOCK_NOTIFY);
    packet->prev = returned;
    packet->seq = sent << NETLOCK_SEQ_SHIFT;
    packet->priority = (uint8_t)priority;
    packet->move = pass->entry->move;
    packet->slot = pass->right - pass->left - used(pass->room[priority]);
    packet->requests = packet->peak = 0;
}

static void push(struct pass *pass)
{
    const struct netlock_packet *packet = pass->packet;
    uint32_t i = packet->priority;
    read_bounds(pass, i);
    uint64_t *returned = touch_own(pass, NETLOCK_RETURNED, i);
    if (*returned != packet->prev && !PLANT(netlock_pushed_twice)) {
        pass->sw->stats.dropped++;
        return;
    }
    uint32_t numbers = netlock_upper(packet->seq) - netlock_upper(*returned);
    if (*returned == packet->prev) *returned = packet->seq;
    uint64_t *room = touch_own(pass, NETLOCK_ROOM, i), own = *room;
    bool enters = packet->client != 0 && used(own) < pass->right - pass->left;
    *room = netlock_pair(backlog(own) - numbers, used(own) + enters);
    pass->room[i] = *room;
    read_rooms(pass, i);
    /* The lock is as it was: the server learns it at once, not by asking. */
    if (backlog(*room) == 0) tell_room(pass, i, packet->seq, netlock_upper(packet->seq));
    if (enters) enqueue(pass, own);
    pass->sw->stats.dropped += packet->client && !enters;
}

static uint64_t fetch_and_clear(uint64_t *cell)
{
    uint64_t value = *cell;
    *cell = 0;
    return value;
}

static void probe(struct pass *pass)
{
    uint32_t i = pass->packet->priority;
    uint64_t requests = fetch_and_clear(touch_own(pass, NETLOCK_REQUESTS, 0));
    read_bounds(pass, i);
    uint64_t returned = *touch_own(pass, NETLOCK_RETURNED, i);
    pass->room[i] = *touch_own(pass, NETLOCK_ROOM, i);
    uint64_t peak = fetch_and_clear(touch_own(pass, NETLOCK_PEAK, 0));
    tell_room(pass, i, returned, *touch_own(pass, NETLOCK_SENT, i));
    struct netlock_packet *packet = &pass->out->packets[pass->out->count - 1];
    packet->requests = (uint32_t)requests;
    packet->peak = (uint32_t)peak;
}

/* ---- a slot is given back ---- */

/* Which queue of the lock has that slot in its region? NO_PRIORITY: none. */
static uint32_t priority_of(struct pass *pass, uint32_t slot)
{
    uint32_t found = NO_PRIORITY;
    bool behind_left[NETLOCK_PRIORITIES];
    for (uint32_t i = 0; i < pass->sw->config.priorities; i++)
        behind_left[i] = slot >= *touch_own(pass, NETLOCK_LEFT, i);
    for (uint32_t i = 0; i < pass->sw->config.priorities; i++)
        if (slot < *touch_own(pass, NETLOCK_RIGHT, i) && behind_left[i] && found == NO_PRIORITY) found = i;
    return found;
}

/* RELEASE, EXPIRE: only the client named in the slot gives it back, and only once. */
static void give_back(struct pass *pass)
{
    const struct netlock_packet *packet = pass->packet;
    uint32_t i = priority_of(pass, packet->slot);
    if (i == NO_PRIORITY) return;
    uint64_t head = *touch_own(pass, NETLOCK_HEAD, i), mine = netlock_pair(packet->client, packet->txn);
    bool matches = *touch(pass, NETLOCK_WHO, 0, packet->slot) == mine;
    if (PLANT(netlock_release_unmatched)) matches = true;
    uint64_t *what = touch(pass, NETLOCK_WHAT, 0, packet->slot);
    bool due = packet->op == NETLOCK_RELEASE || netlock_upper(*what) == packet->prev || PLANT(netlock_expires_renewed);
    bool held = (*what & NETLOCK_STATE) == NETLOCK_HELD;
    if (PLANT(netlock_given_back_twice) && (*what & NETLOCK_STATE) == NETLOCK_DONE) held = true;
    if (!matches || !held || !due) return;
    *what = (*what & ~NETLOCK_STATE) | NETLOCK_DONE;
    pass->sw->stats.expired += packet->op == NETLOCK_EXPIRE;
    bool first = packet->slot == netlock_lower(head);
    struct netlock_packet *next = emit_again(pass, NETLOCK_RETIRE, i, NETLOCK_LEAVE | (first ? NETLOCK_POP : 0));
    next->seq = head;
    next->mode = *what & NETLOCK_EXCLUSIVE ? LOCKMGR_EXCLUSIVE : LOCKMGR_SHARED;
}

static void renew(struct pass *pass)
{
    const struct netlock_packet *packet = pass->packet;
    bool held = false;
    if (priority_of(pass, packet->slot) != NO_PRIORITY) {
        bool matches = *touch(pass, NETLOCK_WHO, 0, packet->slot) == netlock_pair(packet->client, packet->txn);
        uint64_t *what = touch(pass, NETLOCK_WHAT, 0, packet->slot);
        held = matches && (*what & NETLOCK_STATE) == NETLOCK_HELD;
        if (held) *what = netlock_pair(netlock_time(pass->now_ns), netlock_lower(*what));
    }
    emit(pass, NETLOCK_TO_CLIENT, held || PLANT(netlock_renews_anything) ? NETLOCK_RENEWED : NETLOCK_DENIED);
}

/* Requests that overflowed are the server's, which may be gone. */
static void answer_ask(struct pass *pass)
{
    if (backlog(*touch_own(pass, NETLOCK_ROOM, pass->packet->priority)) && !PLANT(netlock_asked_in_vain))
        forward(pass, 0);
    else
        emit(pass, NETLOCK_TO_CLIENT, NETLOCK_HERE);
}

/* ---- the next one ---- */

/* The first priority before `end` that has a request; end: none. */
static uint32_t most_urgent(const struct pass *pass, uint32_t end)
{
    uint32_t found = end;
    for (uint32_t i = 0; i < end; i++)
        if (used(pass->room[i]) && (found == end || PLANT(netlock_priority_inverted))) found = i;
    return found;
}

/* Looks at slot `at`, the first of that queue; unheld: then it is to be granted. */
static void slot_judge(struct pass *pass, uint32_t priority, uint64_t at, bool unheld)
{
    uint64_t what = *touch(pass, NETLOCK_WHAT, 0, netlock_lower(at)), state = what & NETLOCK_STATE;
    bool exclusive = what & NETLOCK_EXCLUSIVE;
    struct netlock_packet *next = NULL;
    if (state == NETLOCK_DONE) next = emit_again(pass, NETLOCK_RETIRE, priority, NETLOCK_POP);
    if (state == NETLOCK_WAITS && unheld) next = emit_again(pass, NETLOCK_TAKE, priority, 0);
    if (!next) return;
    next->seq = at;
    next->mode = exclusive ? LOCKMGR_EXCLUSIVE : LOCKMGR_SHARED;
}

static void retire(struct pass *pass)
{
    const struct netlock_packet *packet = pass->packet;
    uint32_t i = packet->priority, priorities = pass->sw->config.priorities;
    bool exclusive = packet->mode == LOCKMGR_EXCLUSIVE;
    read_bounds(pass, i);
    uint64_t returned = *touch_own(pass, NETLOCK_RETURNED, i);
    for (uint32_t j = 0; j < priorities; j++)
        if (j != i) pass->head[j] = *touch_own(pass, NETLOCK_HEAD, j);
    uint64_t *head = touch_own(pass, NETLOCK_HEAD, i);
    bool pops = packet->tag & NETLOCK_POP && *head == packet->seq;
    if (pops) *head = behind(pass, *head);
    pass->head[i] = *head;
    uint64_t *room = touch_own(pass, NETLOCK_ROOM, i);
    bool telling = pops && used(*room) == 1 && backlog(*room);
    *room -= pops && !(PLANT(netlock_told_uncounted) && telling);
    pass->room[i] = *room;
    read_rooms(pass, i);
    uint64_t *exclusives = touch_own(pass, NETLOCK_EXCLUSIVES, i);
    *exclusives -= pops && exclusive;
    uint64_t *holders = touch_own(pass, NETLOCK_HOLDERS, 0);
    if (packet->tag & NETLOCK_LEAVE) *holders = exclusive ? 0 : *holders - 1;
    bool unheld = *holders == 0;
    if (telling) tell_room(pass, i, returned, *touch_own(pass, NETLOCK_SENT, i));
    if (PLANT(netlock_last_reader_missed) && !exclusive) unheld = false;
    uint32_t best = most_urgent(pass, priorities);
    if (!unheld) best = pops && used(*room) ? i : priorities;
    if (best < priorities) slot_judge(pass, best, pass->head[best], unheld);
}

/* A shared holder was counted that is none. */
static void give_up_credit(struct pass *pass, uint32_t priority)
{
    struct netlock_packet *next = emit_again(pass, NETLOCK_RETIRE, priority, NETLOCK_LEAVE);
    next->mode = LOCKMGR_SHARED;
}

/* The next one that may share: after this one, else the first of a lower priority. False: there is none. */
static bool follower(struct pass *pass, uint64_t at, uint32_t *priority, uint64_t *next)
{
    *next = behind(pass, at);
    if (within(pass, *priority, netlock_upper(*next))) return true;
    for (uint32_t i = *priority + 1; i < pass->sw->config.priorities; i++) {
        if (!used(pass->room[i])) continue;
        *priority = i;
        *next = pass->head[i];
        return true;
    }
    return false;
}

static void take_shared(struct pass *pass)
{
    const struct netlock_packet *packet = pass->packet;
    uint32_t i = packet->priority;
    bool credit = packet->tag & NETLOCK_CREDIT, there = within(pass, i, netlock_upper(packet->seq)), higher = false;
    for (uint32_t j = 0; j < i; j++) higher = higher || *touch_own(pass, NETLOCK_EXCLUSIVES, j);
    uint64_t *holders = touch_own(pass, NETLOCK_HOLDERS, 0);
    if (!there || higher || *holders & NETLOCK_EXCLUSIVE_HOLDER) {
        /* It is gone, and the packet that let it go has looked; or one of a higher priority has come since. */
        if (credit) give_up_credit(pass, i);
        uint32_t best = most_urgent(pass, i);
        if (!credit && best < i && *holders == 0) slot_judge(pass, best, pass->head[best], true);
        return;
    }
    if (!credit) ++*holders;
    uint64_t who = *touch(pass, NETLOCK_WHO, 0, netlock_lower(packet->seq)), next;
    uint64_t *what = touch(pass, NETLOCK_WHAT, 0, netlock_lower(packet->seq));
    bool waits = (*what & NETLOCK_STATE) == NETLOCK_WAITS, exclusive = *what & NETLOCK_EXCLUSIVE;
    if (waits && !exclusive) {
        *what = netlock_pair(netlock_time(pass->now_ns), NETLOCK_HELD);
        grant(pass, who, netlock_lower(packet->seq));
    }
    bool spare = !waits || exclusive;
    if ((waits && exclusive) || !follower(pass, packet->seq, &i, &next)) {
        if (spare) give_up_credit(pass, i);
        return;
    }
    emit_again(pass, NETLOCK_TAKE, i, spare ? NETLOCK_CREDIT : 0)->seq = next;
}

static void take_exclusive(struct pass *pass)
{
    const struct netlock_packet *packet = pass->packet;
    uint32_t i = packet->priority, best = most_urgent(pass, i);
    uint64_t *holders = touch_own(pass, NETLOCK_HOLDERS, 0);
    if (*holders && !PLANT(netlock_takes_held)) return;
    if (best < i && !PLANT(netlock_priority_inverted)) { /* it has come since */
        slot_judge(pass, best, pass->head[best], true);
        return;
    }
    if (pass->head[i] != packet->seq || !used(pass->room[i])) return;
    *holders = NETLOCK_EXCLUSIVE_HOLDER;
    uint64_t who = *touch(pass, NETLOCK_WHO, 0, netlock_lower(packet->seq));
    uint64_t *what = touch(pass, NETLOCK_WHAT, 0, netlock_lower(packet->seq));
    *what = netlock_pair(netlock_time(pass->now_ns), NETLOCK_HELD | NETLOCK_EXCLUSIVE);
    grant(pass, who, netlock_lower(packet->seq));
}

static void take(struct pass *pass)
{
    read_bounds(pass, pass->packet->priority);
    read_heads(pass);
    read_rooms(pass, NO_PRIORITY);
    if (pass->packet->mode == LOCKMGR_EXCLUSIVE)
        take_exclusive(pass);
    else
        take_shared(pass);
}

/* ---- one pass ---- */

void netlock_switch_pass(struct netlock_switch *sw, const struct netlock_packet *packet, uint64_t now_ns,
                         struct netlock_out *out)
{
    struct pass pass = {.sw = sw, .packet = packet, .out = out, .now_ns = now_ns};
    out->count = 0;
    sw->stats.passes++;
    pass.entry = netlock_switch_find(sw, packet->lock);
    if (packet->priority >= sw->config.priorities) return;
    bool elsewhere = !pass.entry || packet->slot & NETLOCK_AT_SERVER;
    switch (packet->op) {
    case NETLOCK_ACQUIRE:
        acquire(&pass);
        return;
    case NETLOCK_RELEASE:
        if (elsewhere)
            forward(&pass, 0);
        else
            give_back(&pass);
        return;
    case NETLOCK_RENEW:
        if (elsewhere)
            forward(&pass, 0);
        else
            renew(&pass);
        return;
    case NETLOCK_ASK:
        if (elsewhere)
            forward(&pass, 0);
        else
            answer_ask(&pass);
        return;
    }
    if (!pass.entry) return;
    if (packet->op == NETLOCK_RETIRE || packet->op == NETLOCK_TAKE) sw->under_way[pass.entry->index]--;
    bool now = packet->move == pass.entry->move && packet->incarnation == sw->incarnation;
    if (packet->op == NETLOCK_PUSH && now) push(&pass);
    if (packet->op == NETLOCK_PROBE && now) probe(&pass);
    if (packet->op == NETLOCK_EXPIRE) give_back(&pass);
    if (packet->op == NETLOCK_RETIRE) retire(&pass);
    if (packet->op == NETLOCK_TAKE) take(&pass);
}

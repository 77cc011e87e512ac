/* members.c - reading and moving the words of members. Atomics only, so no registered memory is needed. */
#include "members.h"

#include "batch.h"

#define MOVES_MAX 8 /* of one word, when replies are lost */

static struct fabric_addr member_at(uint32_t node, uint32_t cn, uint64_t field)
{
    must(cn < LAYOUT_MEMBERS_MAX);
    return fabric_addr_of(node, LAYOUT_MEMBERS_OFFSET + cn * sizeof(struct member_wire) + field);
}

const char *members_state_name(enum layout_member_state state)
{
    static const char *const names[LAYOUT_MEMBER_STATES] = {"never", "live", "fenced", "redone", "scrubbed", "free"};
    return state < LAYOUT_MEMBER_STATES ? names[state] : "unknown";
}

int members_look(struct coro *co, struct fabric_ep *ep, uint32_t cn, struct members_state *now)
{
    uint64_t word;
    int rc = batch_faa(co, ep, member_at(0, cn, offsetof(struct member_wire, word)), 0, &word);
    if (rc) return rc;
    *now = members_state_of(word);
    return now->state < LAYOUT_MEMBER_STATES ? 0 : CELLAR_CORRUPT;
}

/*
 * Copies, each at least as new as what was just decided. One that does not answer is passed over: it counts only when
 * node 0 is lost.
 */
static void copies_raise(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn,
                         uint64_t word)
{
    for (uint32_t node = 1; node <= catalog->replicas; node++) {
        struct fabric_addr addr = member_at(node, cn, offsetof(struct member_wire, word));
        uint64_t seen = 0, old;
        while (seen < word && batch_cas(co, ep, addr, seen, word, &old) == 0 && old != seen) seen = old;
    }
}

int members_move(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn,
                 const struct members_state *from, const struct members_state *to, struct members_state *now)
{
    uint64_t want = members_word(to), expected = members_word(from), old;
    int rc = CELLAR_INDETERMINATE;

    must(want > expected);
    for (uint32_t i = 0; i < MOVES_MAX && (rc == CELLAR_INDETERMINATE || rc == CELLAR_UNREACHABLE); i++)
        rc = batch_cas(co, ep, member_at(0, cn, offsetof(struct member_wire, word)), expected, want, &old);
    if (rc) return rc;
    *now = old == expected ? *to : members_state_of(old);
    if (members_word(now) != want) return 0;
    copies_raise(co, ep, catalog, cn, want);
    /* A hint: when this reply is lost the words themselves still tell. */
    (void)!batch_faa(co, ep, fabric_addr_of(0, offsetof(struct superblock_wire, epoch)), 1, &old);
    return 0;
}

/* ---- joining and leaving ---- */

static int look_all(struct coro *co, struct fabric_ep *ep, uint32_t first, uint32_t count, uint32_t *dirty,
                    struct cellar_error *error)
{
    for (uint32_t cn = first; cn < first + count; cn++) {
        struct members_state now;
        int rc = members_look(co, ep, cn, &now);
        if (rc) return err_set(error, rc, "the state of compute node %u: %s", cn, cellar_strerror(rc));
        if (members_is_free(&now)) continue;
        *dirty = cn;
        return err_set(error, ERR_DIRTY, "compute node %u is %s: it did not close the pool, and is to be recovered", cn,
                       members_state_name(now.state));
    }
    return 0;
}

static int join_one(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn,
                    uint64_t incarnation, uint32_t *dirty, struct cellar_error *error)
{
    struct members_state from, now, to = {.state = LAYOUT_MEMBER_LIVE, .incarnation = incarnation, .recoverer = -1};
    int rc = members_look(co, ep, cn, &from);
    *dirty = cn;
    if (rc == 0 && (!members_is_free(&from) || members_word(&from) >= members_word(&to))) rc = ERR_DIRTY;
    if (rc == 0) rc = members_move(co, ep, catalog, cn, &from, &to, &now);
    if (rc == 0 && members_word(&now) != members_word(&to)) rc = ERR_DIRTY;
    if (rc == 0) return 0;
    return err_set(error, rc, "compute node %u cannot join: %s", cn, cellar_strerror(rc));
}

/*
 * Claims that earlier lives made in these names, as leaders of a failover above all, which have not joined: the next
 * one knows nothing of them, and others would wait for it without end. It is not at them; the dead are recovered by
 * the nodes that meet them.
 */
static int claims_return(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t first,
                         uint32_t count, struct cellar_error *error)
{
    for (uint32_t cn = 0; cn < catalog->cn_count; cn++) {
        struct members_state from, now;
        int rc = members_look(co, ep, cn, &from);
        struct members_state to = from;
        to.recoverer = -1;
        to.claim_epoch++;
        bool ours = rc == 0 && !members_is_free(&from) && (uint32_t)from.recoverer - first < count;
        if (ours && to.claim_epoch <= LAYOUT_MEMBER_EPOCH_MAX) rc = members_move(co, ep, catalog, cn, &from, &to, &now);
        if (rc) return err_set(error, rc, "the state of compute node %u: %s", cn, cellar_strerror(rc));
    }
    return 0;
}

/*
 * Before the words do: a node that reads of this life there, and fences it, finds it; one that fences an earlier life
 * does not (INV-FABRIC-12).
 */
static int lives_say(struct fabric_ep *ep, uint32_t first, uint32_t count, uint64_t incarnation,
                     struct cellar_error *error)
{
    int rc = 0;
    for (uint32_t cn = first; cn < first + count && rc == 0; cn++) {
        struct fabric_control control = {.kind = FABRIC_CN_LIFE, .cn = cn, .life = incarnation};
        rc = ep->fabric->ops->control(ep->fabric, &control, error);
    }
    return rc;
}

static int join(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t first, uint32_t count,
                bool alone, uint64_t *incarnation, uint32_t *dirty, struct cellar_error *error)
{
    uint64_t before;
    int rc = look_all(co, ep, alone ? 0 : first, alone ? LAYOUT_MEMBERS_MAX : count, dirty, error);
    if (rc == 0) rc = claims_return(co, ep, catalog, first, count, error);
    if (rc) return rc;
    rc = batch_faa(co, ep, fabric_addr_of(0, offsetof(struct superblock_wire, incarnation)), 1, &before);
    if (rc) return err_set(error, rc, "memory node 0: %s", cellar_strerror(rc));
    *incarnation = before + 1;
    if (*incarnation > LAYOUT_MEMBER_INCARNATION_MAX)
        return err_set(error, CELLAR_FULL, "the pool was opened %llu times, as often as it can be",
                       (unsigned long long)before);
    rc = lives_say(ep, first, count, *incarnation, error);
    for (uint32_t cn = first; cn < first + count && rc == 0; cn++)
        rc = join_one(co, ep, catalog, cn, *incarnation, dirty, error);
    return rc;
}

int members_join(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t first, uint32_t count,
                 bool alone, uint64_t *incarnation, uint32_t *dirty, struct cellar_error *error)
{
    must(count <= LAYOUT_MEMBERS_MAX && first <= LAYOUT_MEMBERS_MAX - count);
    bool before = batch_bulk_enter(ep);
    int rc = join(co, ep, catalog, first, count, alone, incarnation, dirty, error);
    batch_bulk_leave(ep, before);
    return rc;
}

/* Not as bulk work, which relies on no other being at these words: others may just be changing the configuration. */
int members_leave(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t first, uint32_t count,
                  uint64_t incarnation)
{
    const struct members_state from = {LAYOUT_MEMBER_LIVE, incarnation, 0, -1},
                               to = {LAYOUT_MEMBER_FREE, incarnation, 0, -1};
    int rc = 0;
    for (uint32_t cn = first; cn < first + count; cn++) {
        struct members_state now;
        int left = members_move(co, ep, catalog, cn, &from, &to, &now); /* unless it was declared dead */
        rc = rc ? rc : left;
    }
    return rc;
}

/* ---- signs of life ---- */

#define LEASE_SIGNS ((1ull << LAYOUT_LEASE_SIGNS_BITS) - 1)

static int promise_at(struct coro *co, struct fabric_ep *ep, uint32_t node, uint64_t lease_ns)
{
    struct fabric_addr addr = member_at(node, ep->cn, offsetof(struct member_wire, lease));
    uint64_t lease = 0, want, old;
    int rc = batch_faa(co, ep, addr, 0, &lease);
    if (lease_ns == 0 && lease >> LAYOUT_LEASE_SIGNS_BITS == 0) return rc;
    while (rc == 0) {
        want = lease_ns / 1000 << LAYOUT_LEASE_SIGNS_BITS | ((lease + 1) & LEASE_SIGNS);
        rc = batch_cas(co, ep, addr, lease, want, &old);
        if (rc || old == lease) break;
        lease = old;
    }
    return rc;
}

/*
 * The copies are for the day when node 0 is lost; one that does not answer will have it from there when it is filled.
 */
int members_promise(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint64_t lease_ns)
{
    must(lease_ns / 1000 <= LAYOUT_LEASE_US_MAX);
    int rc = promise_at(co, ep, 0, lease_ns);
    for (uint32_t node = 1; node <= catalog->replicas && rc == 0; node++) (void)!promise_at(co, ep, node, lease_ns);
    return rc;
}

/* A word that went with its node, before there was a copy of the promise, comes back here. */
int members_renew(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint64_t lease_ns)
{
    uint64_t old;
    int rc = batch_faa(co, ep, member_at(0, ep->cn, offsetof(struct member_wire, lease)), 1, &old);
    if (rc || old >> LAYOUT_LEASE_SIGNS_BITS == lease_ns / 1000) return rc;
    return members_promise(co, ep, catalog, lease_ns);
}

int members_sign_for(struct coro *co, struct fabric_ep *ep, uint32_t cn)
{
    uint64_t old;
    return batch_faa(co, ep, member_at(0, cn, offsetof(struct member_wire, lease)), 1, &old);
}

int members_sign(struct coro *co, struct fabric_ep *ep, uint32_t cn, struct members_sign *sign)
{
    uint64_t word;
    struct fabric_op ops[] = {
        fabric_op_faa(member_at(0, cn, offsetof(struct member_wire, word)), &word, 0),
        fabric_op_faa(member_at(0, cn, offsetof(struct member_wire, lease)), &sign->lease, 0),
    };
    int rc = batch_run(co, ep, ops, 2);
    if (rc) return rc;
    sign->state = members_state_of(word);
    sign->lease_ns = (sign->lease >> LAYOUT_LEASE_SIGNS_BITS) * 1000;
    return sign->state.state < LAYOUT_MEMBER_STATES ? 0 : CELLAR_CORRUPT;
}

/* ---- takers of a dead node's tags ---- */

/* Sets or clears one bit; twice is as good as once. */
static struct fabric_op taker_op(uint32_t dead, uint32_t cn, bool taking, uint64_t *old)
{
    uint64_t bit = 1ull << cn % 64;
    struct fabric_addr addr = member_at(0, dead, offsetof(struct member_wire, takers) + cn / 64 * sizeof(uint64_t));
    return fabric_op_masked_cas(addr, old, 0, 0, taking ? bit : 0, bit);
}

int members_take(struct coro *co, struct fabric_ep *ep, uint32_t dead, bool taking, struct members_state *now)
{
    uint64_t old, word;
    struct fabric_op ops[] = {taker_op(dead, ep->cn, taking, &old),
                              fabric_op_faa(member_at(0, dead, offsetof(struct member_wire, word)), &word, 0)};
    int rc = batch_run(co, ep, ops, 2);
    if (rc) return rc;
    *now = members_state_of(word);
    return now->state < LAYOUT_MEMBER_STATES ? 0 : CELLAR_CORRUPT;
}

int members_taker(struct coro *co, struct fabric_ep *ep, uint32_t dead, int32_t *taker)
{
    uint64_t words[4];
    struct fabric_op ops[4];
    for (uint32_t i = 0; i < 4; i++)
        ops[i] = fabric_op_faa(member_at(0, dead, offsetof(struct member_wire, takers) + i * sizeof(uint64_t)),
                               &words[i], 0);
    int rc = batch_run(co, ep, ops, 4);
    *taker = -1;
    for (uint32_t i = 0; i < 4 && rc == 0 && *taker < 0; i++)
        if (words[i]) *taker = (int32_t)(64 * i) + __builtin_ctzll(words[i]);
    return rc;
}

int members_taker_gone(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn)
{
    uint64_t old[32];
    int rc = 0;
    for (uint32_t first = 0; first < catalog->cn_count && rc == 0; first += 32) {
        struct fabric_op ops[32];
        uint32_t count = 0;
        for (uint32_t dead = first; dead < catalog->cn_count && count < 32; dead++, count++)
            ops[count] = taker_op(dead, cn, false, &old[count]);
        rc = batch_run(co, ep, ops, count);
    }
    return rc;
}

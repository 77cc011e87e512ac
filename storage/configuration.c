/*
 * configuration.c - reading and moving the configuration word. Atomics at the very place only: which node is away is
 * what it is about.
 */
#include "configuration.h"

#include "batch.h"

#define MOVES_MAX 8 /* of one word, when replies are lost */
#define EPOCH_MAX                                                                                                      \
    (UINT32_MAX / 2) /* a failover takes about ten: a larger one is no epoch, and the next would come full circle */

static struct fabric_addr word_at(uint32_t node)
{
    return fabric_addr_of(node, offsetof(struct superblock_wire, configuration));
}

static struct fabric_addr cluster_at(uint32_t node)
{
    return fabric_addr_of(node, offsetof(struct superblock_wire, cluster));
}

static struct fabric_addr ack_at(const struct configuration *now, uint32_t cn)
{
    must(cn < LAYOUT_MEMBERS_MAX);
    return fabric_addr_of(configuration_seat(now),
                          LAYOUT_MEMBERS_OFFSET + cn * sizeof(struct member_wire) + offsetof(struct member_wire, ack));
}

static int run_direct(struct coro *co, struct fabric_ep *ep, struct fabric_op op)
{
    op.flags = FABRIC_DIRECT;
    int rc = CELLAR_INDETERMINATE;
    for (uint32_t i = 0; i < MOVES_MAX && (rc == CELLAR_INDETERMINATE || rc == CELLAR_UNREACHABLE); i++)
        rc = batch_run(co, ep, &op, 1);
    return rc;
}

static int word_read(struct coro *co, struct fabric_ep *ep, struct fabric_addr addr, uint64_t *word)
{
    return run_direct(co, ep, fabric_op_faa(addr, word, 0));
}

/* Raises a word to at least `word`. */
static int word_raise(struct coro *co, struct fabric_ep *ep, struct fabric_addr addr, uint64_t word)
{
    uint64_t seen = 0, old = 0;
    while (seen < word) {
        int rc = run_direct(co, ep, fabric_op_cas(addr, &old, seen, word));
        if (rc || old == seen) return rc;
        seen = old;
    }
    return 0;
}

/* What a word read from a memory node says is about nodes that there are. */
static int checked(const struct catalog *catalog, const struct configuration *now)
{
    bool sane = now->epoch <= EPOCH_MAX && now->state < CONFIGURATION_STATES && now->from < CONFIGURATION_STATES &&
                now->away < (int32_t)catalog->mn_count && now->leader < (int32_t)catalog->cn_count &&
                (now->state == CONFIGURATION_STEADY || now->away >= 0);
    return sane ? 0 : CELLAR_CORRUPT;
}

int configuration_look(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, int32_t lost,
                       struct configuration *now)
{
    uint64_t newest = 0, word = 0;
    bool any = false;
    int rc = CELLAR_UNREACHABLE;
    for (uint32_t node = 0; node < catalog->mn_count; node++) {
        if ((int32_t)node == lost) continue;
        rc = word_read(co, ep, word_at(node), &word);
        if (rc == CELLAR_FENCED) return rc;
        if (rc) continue;
        any = true;
        if (word > newest) newest = word;
    }
    if (!any) return rc;
    *now = configuration_of(newest);
    if (newest == 0) *now = (struct configuration){.away = -1, .leader = -1};
    return checked(catalog, now);
}

static void copies_raise(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog,
                         const struct configuration *to)
{
    for (uint32_t node = 0; node < catalog->mn_count; node++)
        if ((int32_t)node != to->away) (void)!word_raise(co, ep, word_at(node), configuration_word(to));
}

int configuration_move(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog,
                       const struct configuration *from, const struct configuration *to, struct configuration *now)
{
    uint64_t want = configuration_word(to), expected = configuration_word(from), old = 0;
    uint32_t seat = configuration_seat(to);
    if (from->epoch == 0) expected = 0;
    must(want > expected);
    /* The seat's own copy may be old when the seat before it is the one that is away. */
    int rc = expected ? word_raise(co, ep, word_at(seat), expected) : 0;
    if (rc == 0) rc = run_direct(co, ep, fabric_op_cas(word_at(seat), &old, expected, want));
    if (rc) return rc;
    bool moved = old == expected || old == want;
    *now = moved ? *to : configuration_of(old);
    if (moved) copies_raise(co, ep, catalog, to);
    return moved ? 0 : checked(catalog, now);
}

int configuration_ack(struct coro *co, struct fabric_ep *ep, const struct configuration *now, uint32_t cn, bool stopped)
{
    return word_raise(co, ep, ack_at(now, cn), (uint64_t)now->epoch << 1 | stopped);
}

int configuration_acked(struct coro *co, struct fabric_ep *ep, const struct configuration *now, uint32_t cn,
                        uint32_t *epoch, bool *stopped)
{
    uint64_t word = 0;
    int rc = word_read(co, ep, ack_at(now, cn), &word);
    *epoch = (uint32_t)(word >> 1);
    *stopped = word & 1;
    return rc;
}

int configuration_name(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint64_t drawn,
                       uint64_t *cluster)
{
    uint32_t seat = catalog->away == 0 ? 1 : 0;
    uint64_t old = 0;
    int rc = run_direct(co, ep, fabric_op_cas(cluster_at(seat), &old, 0, drawn));
    if (rc) return rc;
    *cluster = old ? old : drawn;
    for (uint32_t node = 0; node < catalog->mn_count && *cluster; node++)
        if (node != seat && (int32_t)node != catalog->away) (void)!word_raise(co, ep, cluster_at(node), *cluster);
    return 0;
}

#include "view.h"

#include "cluster_plants.h"
#include "halt.h"

#define MEMBERS_NODE 0 /* whose words are the truth */

int view_look(struct coro *co, struct view *view, struct fabric_ep *ep, uint32_t cn)
{
    struct members_state now;
    int rc = member_look(co, view->member, ep, cn, &now);
    if (rc) return rc;
    uint64_t word = 1 + members_word(&now), seen = atomic_load(&view->words[cn]);
    while (seen < word && !atomic_compare_exchange_weak(&view->words[cn], &seen, word)) continue;
    return 0;
}

void view_renew(struct coro *co, struct view *view, struct fabric_ep *ep, struct halt *halt)
{
    const struct catalog *catalog = view->member->catalog;
    for (uint32_t cn = 0; cn < catalog->cn_count; cn++) {
        if (PLANT(view_own_uncounted) && cn == ep->cn) continue;
        int rc = view_look(co, view, ep, cn);
        bool silent = rc == CELLAR_UNREACHABLE || rc == CELLAR_INDETERMINATE;
        if (silent && catalog->replicas && !PLANT(view_silence_ignored)) halt_suspect(halt, MEMBERS_NODE);
    }
}

static bool seen_of(const struct view *view, uint32_t cn, struct members_state *seen)
{
    uint64_t word = atomic_load_explicit(&view->words[cn], memory_order_relaxed);
    if (word) *seen = members_state_of(word - 1);
    return word != 0;
}

static bool is_over(const struct members_state *state)
{
    return state->state != LAYOUT_MEMBER_LIVE && state->state != LAYOUT_MEMBER_FENCED;
}

bool view_dead(const struct view *view, uint32_t cn)
{
    struct members_state seen;
    return seen_of(view, cn, &seen) && is_over(&seen);
}

/* INV-VIEW-2. Of each index the latest life that is over, or may be: all before the one that is not. */
uint64_t view_deaths(const struct view *view)
{
    uint64_t sum = 0;
    struct members_state seen;
    for (uint32_t cn = 0; cn < view->member->catalog->cn_count; cn++)
        if (seen_of(view, cn, &seen) && seen.incarnation) sum += seen.incarnation - !is_over(&seen);
    return sum;
}

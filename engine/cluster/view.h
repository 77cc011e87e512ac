/*
 * view.h - which others a compute node takes for dead, as its locks ask (lockmgr_view): the newest words of members
 * that it has seen.
 *
 * A member's word only grows, so a look that comes back late changes nothing, and what is known of an index is of its
 * latest life that was looked at from here. A later life may have begun since: a lock that is about to do what would
 * harm it looks again first (INV-VIEW-1).
 *
 * INV-VIEW-2: of the same words all compute nodes count the same deaths, each one's own word among them; so a node
 * that has looked at all of them after a death counts more than any that had before. (Numbers of lives are of the
 * pool, not of an index: a compute node that left its own word out counted up to thousands fewer than another one had
 * noted, and waited for ever after the dead.)
 */
#pragma once

#include "member.h"

#include <stdatomic.h>

struct halt;

struct view {
    const struct member *member;
    _Atomic uint64_t words[FABRIC_CNS_MAX]; /* 1 + the word as members_word has it; 0: not yet looked at */
};

/* 0, or why that is not known. */
NODISCARD int view_look(struct coro *co, struct view *view, struct fabric_ep *ep, uint32_t cn);
/*
 * At all, for that compute node. Its halt is told when their words' memory node does not answer: no other may be
 * using that one just now.
 */
void view_renew(struct coro *co, struct view *view, struct fabric_ep *ep, struct halt *halt);
/* It is fenced for certain, and its log has had its effect; or the index is not in use. */
bool view_dead(const struct view *view, uint32_t cn);
/*
 * Grows with each life that is over, and is the same for all that have seen the same words; 0: every life that was
 * seen to begin goes on.
 */
uint64_t view_deaths(const struct view *view);

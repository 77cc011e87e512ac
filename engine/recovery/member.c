/* member.c - the built-in membership: the words of members.h. */
#include "member.h"

static int look(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                struct members_state *now)
{
    (void)member;
    return members_look(co, ep, cn, now);
}

static int move(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                const struct members_state *from, const struct members_state *to, struct members_state *now)
{
    return members_move(co, ep, member->catalog, cn, from, to, now);
}

static int promise(struct coro *co, const struct member *member, struct fabric_ep *ep, uint64_t lease_ns)
{
    return members_promise(co, ep, member->catalog, lease_ns);
}

static int renew(struct coro *co, const struct member *member, struct fabric_ep *ep, uint64_t lease_ns)
{
    return members_renew(co, ep, member->catalog, lease_ns);
}

static int sign(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                struct members_sign *sign)
{
    (void)member;
    return members_sign(co, ep, cn, sign);
}

struct member member_builtin(const struct catalog *catalog)
{
    static const struct member_ops ops = {
        .name = "builtin", .look = look, .move = move, .promise = promise, .renew = renew, .sign = sign};
    return (struct member){&ops, catalog};
}

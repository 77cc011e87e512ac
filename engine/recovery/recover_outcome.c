/*
 * recover_outcome.c - what became of a transaction, by what recovery left of its log: entries that count stay, the
 * others are erased. So an entry that is there had its effect. One that is missing and newer than all that its
 * coordinator left never will: only a later entry of the same coordinator takes its space, and would be there. One
 * that is missing and older may have been overwritten: that cannot be told.
 */
#include "recover.h"

#include "recover_internal.h"

/* The largest sequence that the coordinator is known to have come to. */
static uint64_t newest_of(const struct recover_log *log, uint32_t coordinator)
{
    uint64_t newest = recover_log_watermark(log, coordinator);
    for (uint32_t i = 0; i < log->count; i++) {
        const struct log_entry_wire *wire = log->entries[i].wire;
        if (wire->coordinator == coordinator && wire->sequence > newest) newest = wire->sequence;
    }
    return newest;
}

static int fate_read(struct recover *run, const struct recover_name *name, enum cellar_fate *fate)
{
    struct members_state now;
    int rc = recover_look(run, name->cn, &now);
    if (rc) return rc;
    if (now.state == LAYOUT_MEMBER_NEVER || now.incarnation < name->incarnation)
        return err_set(run->error, CELLAR_INVALID, "compute node %u never was alive as incarnation %llu", name->cn,
                       (unsigned long long)name->incarnation);
    bool later = now.incarnation > name->incarnation;
    bool recovered = now.recoverer >= 0 && now.state != LAYOUT_MEMBER_LIVE && now.state != LAYOUT_MEMBER_FENCED;
    if (!later && !recovered) return 0;
    run->claim.incarnation = name->incarnation;
    rc = recover_gather(run);
    if (rc) return rc;
    if (recover_log_find(&run->log, name->coordinator, name->sequence))
        *fate = CELLAR_FATE_COMMITTED;
    else if (!later && run->ring_count && name->sequence > newest_of(&run->log, name->coordinator))
        *fate = CELLAR_FATE_ABORTED;
    return 0;
}

int recover_outcome(struct coro *co, const struct recover_home *home, const struct recover_name *name,
                    enum cellar_fate *fate, struct cellar_error *error)
{
    struct cellar_error unused;
    struct recover run = {.co = co,
                          .home = home,
                          .ep = home->ep,
                          .catalog = home->catalog,
                          .dead = name->cn,
                          .error = error ? error : &unused};
    *fate = CELLAR_FATE_UNKNOWN;
    if (name->cn >= home->catalog->cn_count)
        return err_set(error, CELLAR_INVALID, "compute node %u: the pool was made for %u", name->cn,
                       home->catalog->cn_count);
    int rc = recover_open(&run);
    if (rc == 0) rc = fate_read(&run, name, fate);
    recover_close(&run);
    return rc;
}

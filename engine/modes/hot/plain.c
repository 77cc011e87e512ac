#include "plain.h"

#include "crest.h"
#include "fetch.h"
#include "hot.h"
#include "way.h"

int plain_begin(struct coro *co, struct txn *txn, uint32_t log_bytes)
{
    crest_txn(txn)->entry = NULL;
    return crest_log_reserve(co, txn, log_bytes);
}

static int plain_fetch(struct coro *co, struct txn *txn)
{
    static const struct fetch_rules rules = {.cells_alone = true, .await = way_await};
    return fetch_rounds(co, txn, &rules);
}

/* No other entry rests on this one, and it on none: all that it has read was applied. */
static int log_post(struct coro *co, struct txn *txn, uint64_t ts)
{
    struct crest_txn *own = crest_txn(txn);
    struct logseg_entry entry;
    logseg_entry_begin(&entry, txn->log_buffer, txn->log_capacity);
    if (!txn_log_changes(txn, &entry)) return txn_error(txn, CELLAR_TOO_LARGE, WHY_LOG_BYTES, txn->log_capacity);
    if (entry.bytes > own->log_reserved && !logring_fits(&own->ring, &txn->log, entry.bytes))
        return txn_abort(co, txn, CELLAR_ABORT_LOG_FULL);
    own->entry = logring_next(&own->ring, txn->log.sequence + 1);
    atomic_store_explicit(&own->entry->versions, 1, memory_order_relaxed);
    int rc = txn_log_place(co, txn, &entry, ts, logring_reclaim(&own->ring));
    if (rc == 0) logring_placed(&own->ring, &txn->log);
    return rc;
}

static int plain_commit(struct coro *co, struct txn *txn)
{
    uint64_t ts;
    int rc = txn_validate(co, txn);
    if (rc) {
        if (rc != CELLAR_RETRY) txn_release(co, txn);
        return rc;
    }
    rc = txn_log(co, txn, log_post, &ts);
    if (rc) return txn_not_logged(co, txn, rc, ts);
    if (ts) crest_txn(txn)->ring.released = txn->log_watermark;
    txn_acknowledged(txn);
    if (ts)
        txn_apply(co, txn, ts);
    else
        txn_release(co, txn);
    return txn_committed(txn, ts);
}

/* What it has logged is applied, or was not logged, or the compute node has stopped and logs no more. */
static void plain_end(struct coro *co, struct txn *txn)
{
    (void)co;
    struct local_entry *entry = crest_txn(txn)->entry;
    if (entry) atomic_store_explicit(&entry->versions, 0, memory_order_relaxed);
}

const struct mode plain_mode = {.name = "cellar",
                                .queues = true,
                                .txn_bytes = sizeof(struct hot_txn),
                                .bytes_in_use = crest_bytes_in_use,
                                .bytes_touched = crest_bytes_touched,
                                .way = way_say,
                                .receive = hot_receive,
                                .rests = hot_rests,
                                .worker_close = crest_worker_close,
                                .detach = crest_detach,
                                .begin = way_begin,
                                .fetch = plain_fetch,
                                .commit = plain_commit,
                                .end = plain_end,
                                .outgrown = crest_outgrown,
                                .reads_pool = way_reads_pool};

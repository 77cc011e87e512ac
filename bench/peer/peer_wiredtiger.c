/*
 * peer_wiredtiger.c - WiredTiger: versions, and snapshot isolation (write skew is possible, though not in these
 * transactions: what one reads and another writes, both write). A record in one value; in memory without a log.
 */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wiredtiger.h>

#define TABLE "table:records"
#define LOAD_BATCH 1000

struct wired {
    struct peer_setup setup;
    WT_CONNECTION *connection;
};
struct session {
    struct wired *db;
    WT_SESSION *session;
    WT_CURSOR *cursor;
};

static int judged(int rc)
{
    if (rc == WT_ROLLBACK) return PEER_RETRY;
    return rc ? peer_fail("WiredTiger: %s", wiredtiger_strerror(rc)) : 0;
}

static void db_close(void *arg)
{
    struct wired *db = arg;
    db->connection->close(db->connection, NULL);
    free(db);
}

static int db_open(const struct peer_setup *setup, void **out)
{
    struct wired *db = calloc(1, sizeof *db);
    WT_SESSION *session = NULL;
    char config[256];
    if (!db) return peer_fail("no memory");
    db->setup = *setup;
    snprintf(config, sizeof config, "create,cache_size=4GB,session_max=%u,%s", setup->clients + 32,
             setup->durable ? "log=(enabled=true),transaction_sync=(enabled=true,method=fsync)" : "in_memory=true");
    int rc = wiredtiger_open(setup->folder, NULL, config, &db->connection);
    if (rc) {
        free(db);
        return judged(rc);
    }
    rc = db->connection->open_session(db->connection, NULL, NULL, &session);
    if (rc == 0) rc = session->create(session, TABLE, "key_format=Q,value_format=u");
    if (session) rc = session->close(session, NULL) ? -1 : rc;
    if (rc) {
        db_close(db);
        return judged(rc);
    }
    *out = db;
    return 0;
}

static void session_close(void *arg)
{
    struct session *session = arg;
    if (session->session) session->session->close(session->session, NULL);
    free(session);
}

static int session_open(void *arg, void **out)
{
    struct wired *db = arg;
    struct session *session = calloc(1, sizeof *session);
    if (!session) return peer_fail("no memory");
    session->db = db;
    int rc = db->connection->open_session(db->connection, NULL, "isolation=snapshot", &session->session);
    if (rc == 0) rc = session->session->open_cursor(session->session, TABLE, NULL, NULL, &session->cursor);
    if (rc) {
        session_close(session);
        return judged(rc);
    }
    *out = session;
    return 0;
}

static void value_set(const struct session *session, uint64_t key, const union peer_row *row)
{
    WT_ITEM item = {.data = row, .size = session->db->setup.work->row_bytes};
    session->cursor->set_key(session->cursor, key);
    session->cursor->set_value(session->cursor, &item);
}

static int value_get(const struct session *session, uint8_t cells, union peer_row *row)
{
    WT_ITEM item;
    int rc = session->cursor->get_value(session->cursor, &item);
    if (rc) return judged(rc);
    if (item.size != session->db->setup.work->row_bytes) return peer_fail("WiredTiger: a value of other bytes");
    peer_work_copy(session->db->setup.work, cells, row, item.data);
    return 0;
}

static int load(void *arg)
{
    struct wired *db = arg;
    void *opened;
    int rc = session_open(db, &opened);
    if (rc) return rc;
    struct session *session = opened;
    const char *unsynced = db->setup.durable ? "sync=off" : NULL;
    for (uint64_t key = 0; rc == 0 && key < db->setup.records;) {
        rc = judged(session->session->begin_transaction(session->session, NULL));
        for (uint32_t i = 0; rc == 0 && i < LOAD_BATCH && key < db->setup.records; i++) {
            union peer_row row;
            peer_work_load(db->setup.work, key, &row);
            value_set(session, key++, &row);
            rc = judged(session->cursor->insert(session->cursor));
        }
        if (rc == 0) rc = judged(session->session->commit_transaction(session->session, unsynced));
    }
    if (rc == 0 && db->setup.durable) rc = judged(session->session->checkpoint(session->session, NULL));
    session_close(session);
    return rc;
}

static int each(void *arg, void (*fn)(void *arg, uint64_t key, const union peer_row *row), void *fn_arg)
{
    struct wired *db = arg;
    void *opened;
    int rc = session_open(db, &opened);
    if (rc) return rc;
    struct session *session = opened;
    while (rc == 0 && (rc = session->cursor->next(session->cursor)) == 0) {
        union peer_row row;
        uint64_t key;
        rc = judged(session->cursor->get_key(session->cursor, &key));
        if (rc == 0) rc = value_get(session, (uint8_t)((1u << db->setup.work->columns) - 1), &row);
        if (rc == 0) fn(fn_arg, key, &row);
    }
    session_close(session);
    return rc == WT_NOTFOUND ? 0 : judged(rc);
}

static int begin(void *arg, bool writes)
{
    struct session *session = arg;
    (void)writes;
    return judged(session->session->begin_transaction(session->session, NULL));
}

static int get(void *arg, const struct peer_part *part, union peer_row *row)
{
    struct session *session = arg;
    session->cursor->set_key(session->cursor, (uint64_t)part->key);
    int rc = session->cursor->search(session->cursor);
    return rc ? judged(rc) : value_get(session, part->read, row);
}

static int put(void *arg, const struct peer_part *part, const union peer_row *row)
{
    struct session *session = arg;
    value_set(session, part->key, row);
    return judged(session->cursor->update(session->cursor));
}

static int end(void *arg, enum peer_end end)
{
    struct session *session = arg;
    if (end == PEER_COMMIT) return judged(session->session->commit_transaction(session->session, NULL));
    return judged(session->session->rollback_transaction(session->session, NULL));
}

const struct peer_ops peer_wiredtiger = {
    .title = "WiredTiger",
    .version = PEER_VERSION,
    .isolation = "snapshot isolation",
    .memory = "in_memory, no log",
    .durable = "log, transaction_sync by fsync, which gathers what commits meanwhile",
    .clients_max = 256,
    .whole = true,
    .open = db_open,
    .load = load,
    .each = each,
    .close = db_close,
    .session_open = session_open,
    .session_close = session_close,
    .begin = begin,
    .get = get,
    .put = put,
    .end = end,
};

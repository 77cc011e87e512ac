/*
 * peer_lmdb.c - LMDB: one writer at a time, readers that never wait. Integer keys, a record in one value; in memory a
 * writable map in a memory file system and no sync at all.
 */
#include "peer.h"

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

#define LOAD_BATCH 10000 /* records loaded by one transaction */

struct lmdb {
    struct peer_setup setup;
    MDB_env *env;
    MDB_dbi table;
};
struct session {
    struct lmdb *db;
    MDB_txn *reader; /* reset between transactions */
    MDB_txn *txn;    /* the one that runs: the reader, or a writer */
};

static int judged(int rc) { return rc ? peer_fail("LMDB: %s", mdb_strerror(rc)) : 0; }

static void db_close(void *arg)
{
    struct lmdb *db = arg;
    mdb_env_close(db->env);
    free(db);
}

static int db_open(const struct peer_setup *setup, void **out)
{
    struct lmdb *db = calloc(1, sizeof *db);
    if (!db) return peer_fail("no memory");
    db->setup = *setup;
    unsigned flags = setup->durable ? 0 : MDB_NOSYNC | MDB_WRITEMAP | MDB_MAPASYNC;
    MDB_txn *txn = NULL;
    int rc = mdb_env_create(&db->env);
    if (rc == 0) rc = mdb_env_set_mapsize(db->env, (64ull << 20) + setup->records * 1024);
    if (rc == 0) rc = mdb_env_set_maxreaders(db->env, setup->clients + 2);
    if (rc == 0) rc = mdb_env_open(db->env, setup->folder, flags, 0600);
    if (rc == 0) rc = mdb_txn_begin(db->env, NULL, 0, &txn);
    if (rc == 0) rc = mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &db->table);
    if (rc == 0) rc = mdb_txn_commit(txn);
    if (rc) {
        if (db->env) mdb_env_close(db->env);
        free(db);
        return judged(rc);
    }
    *out = db;
    return 0;
}

static int record_put(MDB_txn *txn, const struct lmdb *db, uint64_t key, const union peer_row *row, unsigned flags)
{
    MDB_val name = {sizeof key, &key}, data = {db->setup.work->row_bytes, (void *)row};
    return mdb_put(txn, db->table, &name, &data, flags);
}

static int record_get(MDB_txn *txn, const struct lmdb *db, uint64_t key, uint8_t cells, union peer_row *row)
{
    MDB_val name = {sizeof key, &key}, found;
    int rc = mdb_get(txn, db->table, &name, &found);
    if (rc) return rc;
    if (found.mv_size != db->setup.work->row_bytes) return MDB_CORRUPTED;
    peer_work_copy(db->setup.work, cells, row, found.mv_data);
    return 0;
}

static int load(void *arg)
{
    struct lmdb *db = arg;
    for (uint64_t key = 0; key < db->setup.records;) {
        MDB_txn *txn;
        int rc = mdb_txn_begin(db->env, NULL, 0, &txn);
        if (rc) return judged(rc);
        for (uint32_t i = 0; rc == 0 && i < LOAD_BATCH && key < db->setup.records; i++) {
            union peer_row row;
            peer_work_load(db->setup.work, key, &row);
            rc = record_put(txn, db, key++, &row, MDB_APPEND);
        }
        if (rc == 0)
            rc = mdb_txn_commit(txn);
        else
            mdb_txn_abort(txn);
        if (rc) return judged(rc);
    }
    return 0;
}

static int each(void *arg, void (*fn)(void *arg, uint64_t key, const union peer_row *row), void *fn_arg)
{
    struct lmdb *db = arg;
    MDB_txn *txn;
    int rc = mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn);
    if (rc) return judged(rc);
    for (uint64_t key = 0; rc == 0 && key < db->setup.records; key++) {
        union peer_row row;
        rc = record_get(txn, db, key, (uint8_t)((1u << db->setup.work->columns) - 1), &row);
        if (rc == 0) fn(fn_arg, key, &row);
    }
    mdb_txn_abort(txn);
    return judged(rc);
}

static int session_open(void *db, void **out)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session) return peer_fail("no memory");
    session->db = db;
    *out = session;
    return 0;
}

static void session_close(void *arg)
{
    struct session *session = arg;
    if (session->reader) mdb_txn_abort(session->reader);
    free(session);
}

static int begin(void *arg, bool writes)
{
    struct session *session = arg;
    int rc;
    if (writes) return judged(mdb_txn_begin(session->db->env, NULL, 0, &session->txn));
    if (session->reader)
        rc = mdb_txn_renew(session->reader);
    else
        rc = mdb_txn_begin(session->db->env, NULL, MDB_RDONLY, &session->reader);
    session->txn = session->reader;
    return judged(rc);
}

static int get(void *arg, const struct peer_part *part, union peer_row *row)
{
    struct session *session = arg;
    return judged(record_get(session->txn, session->db, part->key, part->read, row));
}

static int put(void *arg, const struct peer_part *part, const union peer_row *row)
{
    struct session *session = arg;
    return judged(record_put(session->txn, session->db, part->key, row, 0));
}

static int end(void *arg, enum peer_end end)
{
    struct session *session = arg;
    MDB_txn *txn = session->txn;
    session->txn = NULL;
    if (txn == session->reader)
        mdb_txn_reset(txn);
    else if (end == PEER_COMMIT)
        return judged(mdb_txn_commit(txn));
    else
        mdb_txn_abort(txn);
    return 0;
}

const struct peer_ops peer_lmdb = {
    .title = "LMDB",
    .version = PEER_VERSION,
    .isolation = "serializable: one writer at a time, readers of snapshots",
    .memory = "MDB_NOSYNC|MDB_WRITEMAP|MDB_MAPASYNC in a memory file system",
    .durable = "synced at each commit",
    .clients_max = 128,
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

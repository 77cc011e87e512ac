/*
 * peer_sqlite.c - SQLite: a file with a write-ahead log, a connection for each client, prepared statements, one writer
 * at a time. A record is one BLOB under an integer primary key.
 */
#include "peer.h"

#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum statement { BEGIN_READ, BEGIN_WRITE, COMMIT, ROLLBACK, GET, PUT, INSERT, ALL, STATEMENTS };
static const char *const texts[STATEMENTS] = {
    [BEGIN_READ] = "BEGIN",
    [BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [GET] = "SELECT row FROM records WHERE id = ?1",
    [PUT] = "UPDATE records SET row = ?2 WHERE id = ?1",
    [INSERT] = "INSERT INTO records VALUES (?1, ?2)",
    [ALL] = "SELECT id, row FROM records",
};

struct file {
    struct peer_setup setup;
    char path[4200];
};
struct session {
    const struct file *file;
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS];
};

static int failed(const struct session *session)
{
    return peer_fail("SQLite: %s", session->db ? sqlite3_errmsg(session->db) : "no memory");
}

/* No pause between two tries: others' transactions take microseconds. */
static int on_busy(void *arg, int tries)
{
    (void)arg;
    (void)tries;
    sched_yield();
    return 1;
}

static void session_close(void *arg)
{
    struct session *session = arg;
    for (uint32_t i = 0; i < STATEMENTS; i++) sqlite3_finalize(session->statements[i]);
    sqlite3_close(session->db);
    free(session);
}

static int session_open(void *db, void **out)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session) return peer_fail("no memory");
    session->file = db;
    const struct peer_setup *setup = &session->file->setup;
    char settings[256];
    snprintf(settings, sizeof settings,
             "PRAGMA journal_mode=WAL; PRAGMA synchronous=%s; PRAGMA cache_size=-1000000; PRAGMA mmap_size=4000000000;"
             "CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY, row BLOB);",
             setup->durable ? "FULL" : "OFF");
    int rc = sqlite3_open_v2(session->file->path, &session->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_busy_handler(session->db, on_busy, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_exec(session->db, settings, NULL, NULL, NULL);
    for (uint32_t i = 0; rc == SQLITE_OK && i < STATEMENTS; i++)
        rc = sqlite3_prepare_v3(session->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &session->statements[i], NULL);
    if (rc != SQLITE_OK) {
        rc = failed(session);
        session_close(session);
        return rc;
    }
    *out = session;
    return 0;
}

static int done(struct session *session, enum statement which)
{
    sqlite3_stmt *statement = session->statements[which];
    int rc = sqlite3_step(statement);
    sqlite3_reset(statement);
    return rc == SQLITE_DONE ? 0 : rc == SQLITE_BUSY ? PEER_RETRY : failed(session);
}

static int write_row(struct session *session, enum statement which, uint64_t key, const union peer_row *row)
{
    sqlite3_stmt *statement = session->statements[which];
    if (sqlite3_bind_int64(statement, 1, (sqlite3_int64)key) != SQLITE_OK ||
        sqlite3_bind_blob(statement, 2, row, (int)session->file->setup.work->row_bytes, SQLITE_STATIC) != SQLITE_OK)
        return failed(session);
    return done(session, which);
}

static int db_open(const struct peer_setup *setup, void **out)
{
    struct file *file = calloc(1, sizeof *file);
    if (!file) return peer_fail("no memory");
    file->setup = *setup;
    snprintf(file->path, sizeof file->path, "%s/records.db", setup->folder);
    *out = file;
    return 0;
}

static void db_close(void *db) { free(db); }

static int load(void *arg)
{
    struct file *file = arg;
    void *opened;
    int rc = session_open(file, &opened);
    if (rc) return rc;
    struct session *session = opened;
    rc = done(session, BEGIN_WRITE);
    for (uint64_t key = 0; rc == 0 && key < file->setup.records; key++) {
        union peer_row row;
        peer_work_load(file->setup.work, key, &row);
        rc = write_row(session, INSERT, key, &row);
    }
    if (rc == 0) rc = done(session, COMMIT);
    if (rc == 0 && sqlite3_exec(session->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL) != SQLITE_OK)
        rc = failed(session);
    session_close(session);
    return rc;
}

static int row_of(struct session *session, sqlite3_stmt *statement, int column, uint8_t cells, union peer_row *row)
{
    const struct peer_work *work = session->file->setup.work;
    if (sqlite3_column_bytes(statement, column) != (int)work->row_bytes)
        return peer_fail("SQLite: a value of other bytes");
    peer_work_copy(work, cells, row, sqlite3_column_blob(statement, column));
    return 0;
}

static int each(void *arg, void (*fn)(void *arg, uint64_t key, const union peer_row *row), void *fn_arg)
{
    struct file *file = arg;
    void *opened;
    int rc = session_open(file, &opened), step = SQLITE_DONE;
    if (rc) return rc;
    struct session *session = opened;
    sqlite3_stmt *all = session->statements[ALL];
    while (rc == 0 && (step = sqlite3_step(all)) == SQLITE_ROW) {
        union peer_row row;
        rc = row_of(session, all, 1, (uint8_t)((1u << file->setup.work->columns) - 1), &row);
        if (rc == 0) fn(fn_arg, (uint64_t)sqlite3_column_int64(all, 0), &row);
    }
    if (rc == 0 && step != SQLITE_DONE) rc = failed(session);
    session_close(session);
    return rc;
}

static int begin(void *session, bool writes) { return done(session, writes ? BEGIN_WRITE : BEGIN_READ); }

static int get(void *arg, const struct peer_part *part, union peer_row *row)
{
    struct session *session = arg;
    sqlite3_stmt *statement = session->statements[GET];
    if (sqlite3_bind_int64(statement, 1, part->key) != SQLITE_OK) return failed(session);
    int step = sqlite3_step(statement);
    int rc = step == SQLITE_ROW    ? row_of(session, statement, 0, part->read, row)
             : step == SQLITE_BUSY ? PEER_RETRY
             : step == SQLITE_DONE ? peer_fail("SQLite: a record is missing")
                                   : failed(session);
    sqlite3_reset(statement);
    return rc;
}

static int put(void *session, const struct peer_part *part, const union peer_row *row)
{
    return write_row(session, PUT, part->key, row);
}

static int end(void *session, enum peer_end end) { return done(session, end == PEER_COMMIT ? COMMIT : ROLLBACK); }

const struct peer_ops peer_sqlite = {
    .title = "SQLite",
    .version = PEER_VERSION,
    .isolation = "serializable: one writer at a time, readers of snapshots",
    .memory = "WAL, synchronous=OFF, mmap, in a memory file system",
    .durable = "WAL, synchronous=FULL",
    .clients_max = 16,
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

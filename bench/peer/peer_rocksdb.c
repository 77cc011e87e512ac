/*
 * peer_rocksdb.c - RocksDB's TransactionDB: pessimistic, a lock for each record that is read to be written, reads of a
 * snapshot where nothing is written. Keys big-endian, so that they are in order; a record in one value.
 */
#include "peer.h"

#include <rocksdb/c.h>
#include <stdlib.h>
#include <string.h>

#define LOAD_BATCH 1000
#define BUFFER_BYTES (256u << 20)
#define CACHE_BYTES (1u << 30)

struct rocks {
    struct peer_setup setup;
    rocksdb_options_t *options;
    rocksdb_block_based_table_options_t *tables;
    rocksdb_cache_t *cache;
    rocksdb_transactiondb_options_t *locks;
    rocksdb_transaction_options_t *each;
    rocksdb_writeoptions_t *write;
    rocksdb_readoptions_t *read;
    rocksdb_transactiondb_t *db;
};
struct session {
    struct rocks *db;
    rocksdb_transaction_t *txn; /* used again by the next one */
    rocksdb_readoptions_t *read;
    const rocksdb_snapshot_t *snapshot;
    bool writes;
};
struct key {
    char bytes[8];
};

static struct key key_of(uint64_t number)
{
    struct key key;
    for (uint32_t i = 0; i < 8; i++) key.bytes[i] = (char)(number >> (56 - 8 * i));
    return key;
}

/* RocksDB tells by words alone what has happened. */
static int judged(char *error)
{
    static const char *const retried[] = {"Resource busy", "Operation timed out", "Operation failed. Try again"};
    int rc = 0;
    if (!error) return 0;
    for (uint32_t i = 0; i < sizeof retried / sizeof retried[0]; i++)
        if (!strncmp(error, retried[i], strlen(retried[i]))) rc = PEER_RETRY;
    if (!rc) rc = peer_fail("RocksDB: %s", error);
    rocksdb_free(error);
    return rc;
}

static void db_close(void *arg)
{
    struct rocks *db = arg;
    if (db->db) rocksdb_transactiondb_close(db->db);
    rocksdb_readoptions_destroy(db->read);
    rocksdb_writeoptions_destroy(db->write);
    rocksdb_transaction_options_destroy(db->each);
    rocksdb_transactiondb_options_destroy(db->locks);
    rocksdb_options_destroy(db->options);
    rocksdb_block_based_options_destroy(db->tables);
    rocksdb_cache_destroy(db->cache);
    free(db);
}

static void options_set(struct rocks *db)
{
    rocksdb_options_set_create_if_missing(db->options, 1);
    rocksdb_options_set_compression(db->options, rocksdb_no_compression);
    rocksdb_options_set_write_buffer_size(db->options, BUFFER_BYTES);
    rocksdb_options_set_max_write_buffer_number(db->options, 4);
    rocksdb_options_set_max_background_jobs(db->options, 2);
    rocksdb_options_set_memtable_whole_key_filtering(db->options, 1);
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(db->options, 0.05);
    rocksdb_options_set_allow_mmap_reads(db->options, 1);
    rocksdb_block_based_options_set_block_cache(db->tables, db->cache);
    rocksdb_block_based_options_set_filter_policy(db->tables, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_data_block_index_type(
        db->tables, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
    rocksdb_options_set_block_based_table_factory(db->options, db->tables);
    if (db->setup.durable)
        rocksdb_writeoptions_set_sync(db->write, 1);
    else
        rocksdb_writeoptions_disable_WAL(db->write, 1);
}

static int db_open(const struct peer_setup *setup, void **out)
{
    struct rocks *db = calloc(1, sizeof *db);
    char *error = NULL;
    if (!db) return peer_fail("no memory");
    *db = (struct rocks){.setup = *setup,
                         .options = rocksdb_options_create(),
                         .tables = rocksdb_block_based_options_create(),
                         .cache = rocksdb_cache_create_lru(CACHE_BYTES),
                         .locks = rocksdb_transactiondb_options_create(),
                         .each = rocksdb_transaction_options_create(),
                         .write = rocksdb_writeoptions_create(),
                         .read = rocksdb_readoptions_create()};
    options_set(db);
    db->db = rocksdb_transactiondb_open(db->options, db->locks, setup->folder, &error);
    if (error) {
        db_close(db);
        return judged(error);
    }
    *out = db;
    return 0;
}

static int load(void *arg)
{
    struct rocks *db = arg;
    rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    char *error = NULL;
    rocksdb_writeoptions_disable_WAL(write, 1);
    for (uint64_t key = 0; !error && key < db->setup.records;) {
        rocksdb_writebatch_clear(batch);
        for (uint32_t i = 0; i < LOAD_BATCH && key < db->setup.records; i++, key++) {
            union peer_row row;
            struct key name = key_of(key);
            peer_work_load(db->setup.work, key, &row);
            rocksdb_writebatch_put(batch, name.bytes, sizeof name, (const char *)&row, db->setup.work->row_bytes);
        }
        rocksdb_transactiondb_write(db->db, write, batch, &error);
    }
    rocksdb_writebatch_destroy(batch);
    rocksdb_writeoptions_destroy(write);
    if (error) return judged(error);
    rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
    rocksdb_transactiondb_flush(db->db, flush, &error);
    rocksdb_flushoptions_destroy(flush);
    return judged(error);
}

static int each(void *arg, void (*fn)(void *arg, uint64_t key, const union peer_row *row), void *fn_arg)
{
    struct rocks *db = arg;
    rocksdb_iterator_t *at = rocksdb_transactiondb_create_iterator(db->db, db->read);
    char *error = NULL;
    int rc = 0;
    for (rocksdb_iter_seek_to_first(at); rc == 0 && rocksdb_iter_valid(at); rocksdb_iter_next(at)) {
        size_t name_bytes, bytes;
        const char *name = rocksdb_iter_key(at, &name_bytes), *value = rocksdb_iter_value(at, &bytes);
        union peer_row row;
        uint64_t key = 0;
        if (name_bytes != 8 || bytes != db->setup.work->row_bytes) {
            rc = peer_fail("RocksDB: a record of other bytes");
            break;
        }
        for (uint32_t i = 0; i < 8; i++) key = key << 8 | (uint8_t)name[i];
        memcpy(&row, value, bytes);
        fn(fn_arg, key, &row);
    }
    rocksdb_iter_get_error(at, &error);
    rocksdb_iter_destroy(at);
    return rc ? rc : judged(error);
}

static int session_open(void *db, void **out)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session) return peer_fail("no memory");
    session->db = db;
    session->read = rocksdb_readoptions_create();
    *out = session;
    return 0;
}

static void session_close(void *arg)
{
    struct session *session = arg;
    if (session->txn) rocksdb_transaction_destroy(session->txn);
    rocksdb_readoptions_destroy(session->read);
    free(session);
}

static int begin(void *arg, bool writes)
{
    struct session *session = arg;
    struct rocks *db = session->db;
    session->writes = writes;
    if (writes) {
        session->txn = rocksdb_transaction_begin(db->db, db->write, db->each, session->txn);
    } else if (db->setup.work->kind != PEER_SMALLBANK) { /* whose readers read one record */
        session->snapshot = rocksdb_transactiondb_create_snapshot(db->db);
        rocksdb_readoptions_set_snapshot(session->read, session->snapshot);
    }
    return 0;
}

static int get(void *arg, const struct peer_part *part, union peer_row *row)
{
    struct session *session = arg;
    struct rocks *db = session->db;
    struct key key = key_of(part->key);
    rocksdb_pinnableslice_t *found;
    char *error = NULL;
    size_t bytes = 0;
    if (session->writes)
        found = rocksdb_transaction_get_pinned_for_update(session->txn, db->read, key.bytes, sizeof key,
                                                          part->write != 0, &error);
    else
        found = rocksdb_transactiondb_get_pinned(db->db, session->read, key.bytes, sizeof key, &error);
    if (error) return judged(error);
    const char *value = found ? rocksdb_pinnableslice_value(found, &bytes) : NULL;
    if (bytes == db->setup.work->row_bytes) peer_work_copy(db->setup.work, part->read, row, value);
    if (found) rocksdb_pinnableslice_destroy(found);
    return bytes == db->setup.work->row_bytes ? 0 : peer_fail("RocksDB: a record is missing, or has other bytes");
}

static int put(void *arg, const struct peer_part *part, const union peer_row *row)
{
    struct session *session = arg;
    struct key key = key_of(part->key);
    char *error = NULL;
    rocksdb_transaction_put(session->txn, key.bytes, sizeof key, (const char *)row, session->db->setup.work->row_bytes,
                            &error);
    return judged(error);
}

static int end(void *arg, enum peer_end end)
{
    struct session *session = arg;
    char *error = NULL;
    if (session->writes && end == PEER_COMMIT) {
        rocksdb_transaction_commit(session->txn, &error);
    } else if (session->writes) {
        rocksdb_transaction_rollback(session->txn, &error);
    } else if (session->snapshot) {
        rocksdb_transactiondb_release_snapshot(session->db->db, session->snapshot);
        session->snapshot = NULL;
    }
    return judged(error);
}

const struct peer_ops peer_rocksdb = {
    .title = "RocksDB",
    .version = PEER_VERSION,
    .isolation = "serializable: locks on what a writer reads, snapshots for readers (TransactionDB)",
    .memory = "no WAL, buffers of 256 MiB, in a memory file system",
    .durable = "WAL with sync, which gathers what commits meanwhile",
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

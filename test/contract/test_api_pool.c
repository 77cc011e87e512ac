/* test_api_pool.c - cellar.h: a pool that is a file, over clean closes, crashes, and files that are no pool of ours. */
#include "api.h"
#include "numbered.h"

#include "prng.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define POOL_BYTES (4u << 20)

/* A folder with a pool file in it, or none yet; opened in that mode. */
struct place {
    char folder[40], path[64];
    enum cellar_lab_cc cc;
};

static void place_make(struct place *place, const struct api_variant *variant)
{
    place->cc = variant->cc;
    strcpy(place->folder, "/tmp/cellar-pool-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/pool", place->folder);
}

static void place_remove(struct place *place)
{
    unlink(place->path);
    assert_int_equal(rmdir(place->folder), 0); /* nothing else was left in it */
}

static struct engine_config place_config(const struct place *place)
{
    return (struct engine_config){
        .cc = place->cc, .pool_path = place->path, .pool_bytes = POOL_BYTES, .cns_max = 1, .threads = 2, .coros = 2};
}

static void pool_open(struct api *api, const struct api_variant *variant, const struct place *place)
{
    api_open_with(api, variant, place_config(place));
}

/* The open fails so. */
static void open_fails(const struct place *place, struct engine_config config, int code, const char *word)
{
    struct cellar *db;
    struct cellar_error error;
    config.pool_path = place->path;
    FAILS(&error, db_open(&config, &db, &error), code, word);
    assert_null(db);
}

/* ---- procedures ---- */

struct rows {
    struct api_call call;
    uint64_t key;
};

static int insert_row(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = item_of(((struct rows *)call)->key);
    TRY(cellar_proc_insert(txn, call->items, ((struct rows *)call)->key, &item));
    return cellar_proc_fetch(txn);
}

static int delete_row(struct cellar_txn *txn, struct api_call *call)
{
    TRY(cellar_proc_access(txn, call->items, ((struct rows *)call)->key, 0, 0, CELLAR_DELETE));
    return cellar_proc_fetch(txn);
}

static int update_row(struct cellar_txn *txn, struct api_call *call)
{
    uint64_t a;
    int ref = cellar_proc_access(txn, call->items, ((struct rows *)call)->key, CELL_A, CELL_A, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, ITEM_A, &a));
    a++;
    return cellar_proc_put(txn, ref, ITEM_A, &a);
}

static int run_row_within(struct api *api, api_body body, uint64_t key, uint64_t timeout_ns)
{
    struct rows args = {.call = {.body = body, .items = api->items}, .key = key};
    struct cellar_call_options options = {.timeout_ns = timeout_ns};
    return cellar_proc_run(api->db, api->any, &args, &options, &api->result);
}

static int run_row(struct api *api, api_body body, uint64_t key) { return run_row_within(api, body, key, 0); }

/* ---- clean closes ---- */

static void data_and_free_slots_survive_a_close(void **state)
{
    struct api api;
    struct place place;
    struct cellar_lab_pool_space before, after;
    uint64_t first_id = 0;
    place_make(&place, *state);
    struct engine_config config = place_config(&place);
    config.threads = 1; /* which of several workers a free slot falls to would be chance */
    api_open_with(&api, *state, config);
    api_load(&api, 0, 1000);
    for (uint64_t key = 0; key < 100; key++) assert_code(run_row(&api, update_row, key), 0);
    for (uint64_t key = 500; key < 700; key++) assert_code(run_row(&api, delete_row, key), 0);
    for (int round = 0; round < 3; round++) {
        cellar_lab_pool_space_read(api.db, &before);
        first_id = api.result.txn_id[0];
        api_close(&api);
        api_open_with(&api, *state, config);
        assert_ptr_equal(cellar_table_find(api.db, "items"), api.items);
        struct api_range totals = api_totals(&api);
        assert_int_equal(totals.seen, 800);
        assert_int_equal(totals.sum_a, 3 * (999 * 500 - (500 + 699) * 100) + 100);
        api_audit_clean(&api);
        for (uint64_t key = 500; key < 700; key++) assert_code(run_row(&api, insert_row, key), 0);
        assert_int_not_equal(api.result.txn_id[0], first_id); /* another life, other names */
        cellar_lab_pool_space_read(api.db, &after);
        assert_int_equal(after.used_bytes, before.used_bytes); /* all went into slots that were free; logs were found */
        api_audit_clean(&api);
        for (uint64_t key = 500; key < 700; key++) assert_code(run_row(&api, delete_row, key), 0);
    }
    api_close(&api);
    place_remove(&place);
}

/* A slot freed before the close goes on with its epoch numbers behind it. */
static void epoch_numbers_survive_a_close(void **state)
{
    struct api api;
    struct place place;
    struct fabric_addr head, addr;
    place_make(&place, *state);
    pool_open(&api, *state, &place);
    api_load(&api, 7, 1);
    for (uint32_t wanted = 1; wanted < 12; wanted += 2) {
        addr = api_find(&api, 7, &head);
        struct record_wire header = api_header(&api, 7);
        for (uint32_t cell = 0; cell < ITEM_COLUMNS; cell++) assert_int_equal(header.en[cell], wanted);
        assert_code(run_row(&api, delete_row, 7), 0);
        api_close(&api);
        pool_open(&api, *state, &place);
        assert_code(run_row(&api, insert_row, 7), 0);
        if (api_find(&api, 7, &head).bits != addr.bits) break; /* another worker took another slot */
    }
    api_audit_clean(&api);
    api_close(&api);
    place_remove(&place);
}

/* May one mode open what another one formatted? */
static bool pools_alike(enum cellar_lab_cc a, enum cellar_lab_cc b)
{
    return mode_of(a)->locks == mode_of(b)->locks && mode_of(a)->versions == mode_of(b)->versions;
}

/*
 * The error says what modes the pool is for. One whose records keep old versions is known by its tables, so that it
 * can be opened, and closed unharmed.
 */
static void refused_otherwise(const struct place *place, struct engine_config config)
{
    bool locks = mode_of(config.cc)->locks != mode_of(place->cc)->locks;
    const char *word = mode_of(place->cc)->locks ? "a mode that locks records there"
                       : locks                   ? "another mode, which needs none"
                                                 : NULL;
    if (word) {
        open_fails(place, config, CELLAR_MISMATCH, word);
        return;
    }
    struct cellar *db;
    struct cellar_error error;
    const struct cellar_table *table;
    const struct cellar_proc *proc;
    struct cellar_schema schema = {"items", sizeof(struct item), item_columns, ITEM_COLUMNS, 4000, 0, 0, 0, 0, 0};
    struct cellar_proc_def def = {.name = "any", .fn = api_any, .records_max = 1};
    word = mode_of(place->cc)->versions ? "it is for modes that keep them" : "it is for modes that keep none";
    MUST(&error, db_open(&config, &db, &error));
    FAILS(&error, db_table_create(db, &schema, &table, &error), CELLAR_MISMATCH, word);
    FAILS(&error, db_proc_register(db, &def, &proc, &error), CELLAR_MISMATCH, word);
    cellar_close(db);
}

/*
 * Neither of those two modes' pools is another mode's; all others share theirs. Nor is the number of coordinators a
 * pool's affair.
 */
static void a_pool_can_be_reopened_otherwise(void **state)
{
    struct api api;
    struct place place;
    const struct api_variant *variant = *state;
    struct engine_config config;
    uint32_t opened = 0, refused = 0;
    place_make(&place, variant);
    pool_open(&api, variant, &place);
    api_load(&api, 0, 100);
    api_close(&api);
    for (uint32_t i = 0; i < API_VARIANTS; i++) {
        const struct api_variant *other = &api_variants[i];
        if (!other->threads || !mode_of(other->cc)) continue;
        config = place_config(&place);
        config.threads = 1 + i % 4;
        config.coros = 4 - i % 4;
        config.log_bytes = i % 2 ? 256 << 10 : 0;
        config.cc = other->cc;
        if (!pools_alike(other->cc, variant->cc)) {
            refused++;
            refused_otherwise(&place, config);
            continue;
        }
        opened++;
        api_open_with(&api, other, config);
        assert_int_equal(api_totals(&api).seen, 100);
        assert_code(run_row(&api, update_row, i), 0);
        api_audit_clean(&api);
        api_close(&api);
    }
    assert_true(opened > 0 && (refused > 0 || !mode_of(CELLAR_LAB_CC_TWOPL)));
    config = place_config(&place);
    config.cns = config.cns_max = 2;
    open_fails(&place, config, CELLAR_MISMATCH, "compute nodes");
    place_remove(&place);
}

/* What cannot be opened for another reason has not crashed. */
static void a_failed_open_leaves_the_pool_clean(void **state)
{
    struct api api;
    struct place place;
    struct engine_config config;
    place_make(&place, *state);
    config = place_config(&place);
    config.coros = 200;
    open_fails(&place, config, CELLAR_FULL, "log segment"); /* a new file */
    config = place_config(&place);
    config.coros = 1;
    api_open_with(&api, *state, config);
    api_load(&api, 0, 10);
    api_close(&api);
    config.coros = 200;
    open_fails(&place, config, CELLAR_FULL, "log segment"); /* an old one */
    config.coros = 1;
    api_open_with(&api, *state, config);
    assert_int_equal(api_totals(&api).seen, 10);
    api_audit_clean(&api);
    api_close(&api);
    place_remove(&place);
}

/* ---- several processes, crashes ---- */

/* Runs `body` in a child; its exit status, or -1 if a signal ended it. */
static int in_child(int (*body)(const struct place *place), const struct place *place)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(body(place));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int open_in_use(const struct place *place)
{
    struct cellar *db;
    struct cellar_error error = {0};
    struct engine_config config = place_config(place);
    int rc = db_open(&config, &db, &error);
    return rc == CELLAR_EXISTS && strstr(error.text, "in use") ? 0 : 1;
}

static void a_second_opener_is_refused(void **state)
{
    struct api api;
    struct place place;
    place_make(&place, *state);
    pool_open(&api, *state, &place);
    api_load(&api, 0, 10);
    assert_int_equal(in_child(open_in_use, &place), 0);
    assert_int_equal(open_in_use(&place), 0);
    assert_int_equal(api_totals(&api).seen, 10);
    api_close(&api);
    pool_open(&api, *state, &place);
    assert_int_equal(api_totals(&api).seen, 10);
    api_close(&api);
    place_remove(&place);
}

static int work_client(struct cellar_lab_client *client, void *arg)
{
    struct api *api = arg;
    for (uint64_t i = 0;; i++) {
        struct cellar_result result;
        struct rows args = {.call = {.body = update_row, .items = api->items}, .key = i % 10};
        TRY(cellar_lab_exec(client, api->any, &args, NULL, &result));
        if (i == 1000 && cellar_lab_index(client) == 0) kill(getpid(), SIGKILL);
    }
}

static int work_and_die(const struct place *place)
{
    struct api api = {.config = place_config(place)};
    struct cellar_schema schema = {"items", sizeof(struct item), item_columns, ITEM_COLUMNS, 4000, 0, 0, 0, 0, 0};
    struct cellar_proc_def def = {.name = "any", .fn = api_any, .records_max = 64, .writes_max = 64};
    if (db_open(&api.config, &api.db, NULL) || db_table_create(api.db, &schema, &api.items, NULL) ||
        db_proc_register(api.db, &def, &api.any, NULL))
        return 2;
    return cellar_lab_run(api.db, work_client, &api);
}

static int open_and_die(const struct place *place)
{
    struct cellar *db;
    struct engine_config config = place_config(place);
    if (db_open(&config, &db, NULL)) return 2;
    kill(getpid(), SIGKILL);
    return 3;
}

/*
 * Updates add to both columns alike, so a half-applied one shows in the totals that the next process reads; so does a
 * lost lock.
 */
static void a_crash_is_recovered_at_the_next_open(void **state)
{
    struct api api;
    int (*const deaths[])(const struct place *) = {work_and_die, open_and_die};
    for (int i = 0; i < 2; i++) {
        struct place place;
        place_make(&place, *state);
        pool_open(&api, *state, &place);
        api_load(&api, 0, 10);
        api_close(&api);
        for (int again = 0; again < 3; again++) assert_int_equal(in_child(deaths[i], &place), -1);
        pool_open(&api, *state, &place);
        api_audit_clean(&api);
        assert_int_equal(api_totals(&api).seen, 10);
        for (uint64_t key = 0; key < 10; key++) {
            struct rows args = {.call = {.body = update_row, .items = api.items}, .key = key};
            struct cellar_result result;
            assert_int_equal(cellar_proc_run(api.db, api.any, &args, NULL, &result), 0);
        }
        api_close(&api);
        place_remove(&place);
    }
}

/* ---- files that are no pool of ours ---- */

static void file_fill(const struct place *place, uint64_t bytes, const char *text)
{
    int fd = open(place->path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    close(fd);
}

static void foreign_files_are_refused(void **state)
{
    struct api api;
    struct place place;
    struct stat status;
    place_make(&place, *state);
    struct engine_config config = place_config(&place);

    file_fill(&place, POOL_BYTES, "It was a dark and stormy night");
    open_fails(&place, config, CELLAR_CORRUPT, "holds no pool");
    assert_int_equal(stat(place.path, &status), 0);
    assert_int_equal(status.st_size, POOL_BYTES); /* it may be precious to its owner */
    file_fill(&place, POOL_BYTES, "");
    open_fails(&place, config, CELLAR_CORRUPT, "is not formatted");
    file_fill(&place, 100, "It was a dark and stormy night");
    open_fails(&place, config, CELLAR_INVALID, "it is no pool: it has 100 bytes");
    file_fill(&place, 0, ""); /* as mkstemp leaves one: new */
    pool_open(&api, *state, &place);
    api_load(&api, 0, 100);
    api_close(&api);

    config.pool_bytes = 2 * POOL_BYTES;
    open_fails(&place, config, CELLAR_MISMATCH, place.path); /* which of several */
    open_fails(&place, config, CELLAR_MISMATCH, "has 4194304 bytes");
    assert_int_equal(truncate(place.path, POOL_BYTES / 2), 0);
    open_fails(&place, place_config(&place), CELLAR_CORRUPT, "cut short");
    config.pool_bytes = POOL_BYTES / 2;
    open_fails(&place, config, CELLAR_CORRUPT, "has 2097152 of the pool's 4194304 bytes");
    config.pool_private = true;
    open_fails(&place, config, CELLAR_CORRUPT, "cut short");
    assert_int_equal(truncate(place.path, 2 * POOL_BYTES), 0);
    config.pool_bytes = 2 * POOL_BYTES;
    open_fails(&place, config, CELLAR_CORRUPT, "goes on behind the pool's end");
    unlink(place.path);
    config = place_config(&place); /* no pool is made where there must be one */
    config.existing = true;
    open_fails(&place, config, CELLAR_NOT_FOUND, "there is no pool");
    assert_int_not_equal(access(place.path, F_OK), 0);
    file_fill(&place, 0, "");
    open_fails(&place, config, CELLAR_NOT_FOUND, "there is no pool");
    assert_int_equal(stat(place.path, &status), 0);
    assert_int_equal(status.st_size, 0);
    unlink(place.path);
    assert_int_equal(mkfifo(place.path, 0600), 0);
    open_fails(&place, place_config(&place), CELLAR_INVALID, "not a regular file");
    place_remove(&place);
}

/* ---- damage: whatever the bytes are, there is an error at worst ---- */

static void file_bytes(const struct place *place, uint64_t offset, void *bytes, size_t size, bool put)
{
    int fd = open(place->path, O_RDWR);
    assert_true(fd >= 0);
    ssize_t done = put ? pwrite(fd, bytes, size, (off_t)offset) : pread(fd, bytes, size, (off_t)offset);
    assert_int_equal(done, size);
    close(fd);
}

struct scanned {
    struct api *api;
    uint64_t sum;
};

static int scan_row(void *arg, uint64_t key, const void *row)
{
    const struct item *item = row;
    ((struct scanned *)arg)->sum += key + item->a + item->n + (unsigned char)item->text[149];
    return 0;
}

static int scan_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct scanned *scanned = arg;
    return db_scan(client, scanned->api->items, scan_row, scanned, error);
}

/* Everything that reads what may be damaged. Any code will do, if the errors have words. */
static void use_damaged(struct api *api, struct prng *prng)
{
    struct scanned scanned = {.api = api};
    struct cellar_proc_def def = {.name = "any", .fn = api_any, .records_max = 64, .writes_max = 64};
    api->items = cellar_table_find(api->db, "items");
    if (!api->items || api->items->table->schema.column_count != ITEM_COLUMNS ||
        api->items->table->schema.row_bytes != sizeof(struct item))
        return;
    int rc = api_audit(api);
    assert_true(rc == 0 || api->error.text[0]);
    rc = api_alone(api, scan_job, &scanned);
    assert_true(rc == 0 || api->error.text[0]);
    if (db_proc_register(api->db, &def, &api->any, NULL)) return;
    for (uint32_t i = 0; i < 6; i++) {
        const api_body bodies[] = {update_row, insert_row, delete_row};
        rc = run_row_within(api, bodies[i % 3], prng_below(prng, 240), 20000000);
        assert_true(rc <= 0 && rc > -30);
    }
}

/* Bits flipped, bytes set to extremes: in the superblock, the catalog, the heads of runs, the index, the records. */
static void damaged_files_never_break_anything(void **state)
{
    struct api api;
    struct place place;
    struct prng prng;
    static uint8_t pristine[1 << 20];
    const uint32_t rounds = share_rounds(200);
    uint32_t opened = 0, refused = 0;
    place_make(&place, *state);
    struct engine_config config = {
        .cc = place.cc, .pool_path = place.path, .pool_bytes = 1 << 20, .coros = 1, .log_bytes = 64 << 10};
    api_open_with(&api, *state, config);
    const uint64_t heap = api.db->catalog->heap_offset;
    api_load(&api, 0, 200);
    for (uint64_t key = 0; key < 20; key++) assert_code(run_row(&api, delete_row, key), 0);
    api_close(&api);
    file_bytes(&place, 0, pristine, sizeof pristine, false);
    const uint32_t unsealed = LAYOUT_POOL_OPEN; /* or its checksums would refuse all of it (test_damage) */
    memcpy(pristine + offsetof(struct superblock_wire, state), &unsealed, sizeof unsealed);
    prng_seed(&prng, 7);
    for (uint32_t i = 0; i < rounds; i++) {
        file_bytes(&place, 0, pristine, sizeof pristine, true);
        for (uint64_t flips = prng_between(&prng, 1, 6); flips > 0; flips--) {
            const uint64_t regions[][2] = {{0, 104}, {4096, 700}, {heap, 6 * 64}, {heap, sizeof pristine - heap}};
            const uint64_t *region = regions[prng_below(&prng, i % 2 ? 2 : 4) + (i % 2 ? 2 : 0)];
            uint64_t offset = region[0] + prng_below(&prng, region[1]);
            if (prng_below(&prng, 2)) offset &= ~(uint64_t)0xffff; /* where a run may begin */
            offset += offset % LAYOUT_CHUNK_BYTES ? 0 : prng_below(&prng, 32);
            uint8_t byte = prng_below(&prng, 3) ? pristine[offset] ^ (uint8_t)(1u << prng_below(&prng, 8)) : 0xff;
            file_bytes(&place, offset, &byte, 1, true);
        }
        api = (struct api){.variant = *state};
        int rc = db_open(&config, &api.db, &api.error);
        if (rc) {
            assert_true(api.error.code == rc && api.error.text[0]);
            assert_null(api.db);
            refused++;
            continue;
        }
        opened++;
        use_damaged(&api, &prng);
        api_close(&api);
    }
    if (opened <= rounds / 12 || refused <= rounds / 6) fail_msg("%u opened, %u refused", opened, refused);
    place_remove(&place);
}

/* ---- its blocks ---- */

static struct stat file_status(const struct place *place)
{
    struct stat status;
    assert_int_equal(stat(place->path, &status), 0);
    return status;
}

/* On tmpfs, where blocks that are asked for twice are filled with zeros, by gigabytes: no reopening asks for them. */
static void an_opening_takes_what_is_missing(void **state)
{
    struct api api;
    struct place place;
    struct statfs fs;
    if (statfs("/dev/shm", &fs) || fs.f_type != TMPFS_MAGIC) skip();
    place_make(&place, *state);
    snprintf(place.path, sizeof place.path, "/dev/shm/%s", place.folder + strlen("/tmp/"));
    for (int turn = 0; turn < 2; turn++) {
        pool_open(&api, *state, &place);
        api_close(&api);
        assert_int_equal(file_status(&place).st_blocks * 512, POOL_BYTES);
    }
    int fd = open(place.path, O_RDWR);
    assert_true(lseek(fd, 0, SEEK_HOLE) < POOL_BYTES); /* a block that is there, and was never filled */
    assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, POOL_BYTES / 4 * 3, 65536), 0);
    close(fd);
    assert_int_equal(file_status(&place).st_blocks * 512, POOL_BYTES - 65536);
    pool_open(&api, *state, &place);
    api_close(&api);
    assert_int_equal(file_status(&place).st_blocks * 512, POOL_BYTES);
    place_remove(&place);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST_SHM(data_and_free_slots_survive_a_close), API_TEST_SHM(epoch_numbers_survive_a_close),
        API_TEST_SHM(a_pool_can_be_reopened_otherwise),    API_TEST_SHM(a_failed_open_leaves_the_pool_clean),
        API_TEST_SHM(a_second_opener_is_refused),          API_TEST_SHM(a_crash_is_recovered_at_the_next_open),
        API_TEST_ONCE(foreign_files_are_refused),          API_TEST_SHM(damaged_files_never_break_anything),
        API_TEST_ONCE(an_opening_takes_what_is_missing),
    };
    return api_main("api_pool", tests, sizeof tests / sizeof *tests, argc, argv);
}

/*
 * test_api_model.c - cellar.h: random calls of one session, and of two that take turns, against a plain array. What
 * each call said is kept, and gone through once more when its transaction commits: all of it must be so in the state
 * that the array has then. So transactions are strictly serializable, in the order of their commits.
 */
#include "db_index.h"
#include "numbered.h"
#include "model.h"

#define CALLS_MAX 40
#define STATES 64
#define CALLS 4000

/* ---- the calls ---- */

struct player {
    struct session *session;
    struct cellar_txn *txn;
    struct call calls[CALLS_MAX];
    uint32_t count, saves;
    bool locks, scans, read_only;
    uint64_t commits; /* of others, when it began */
};

struct play {
    struct docs docs;
    const struct cellar_table *tables[TABLES];
    const struct cellar_index *orders[ORDERS];
    struct player players[2];
    uint32_t player_count;
    struct state state, before[STATES]; /* the last ones, by commits */
    struct prng prng;
    uint64_t commits, retried, seed;
};

static uint64_t drawn(struct play *play, uint64_t bound) { return prng_below(&play->prng, bound); }

static struct row row_drawn(struct play *play)
{
    static const size_t sizes[] = {0, 1, 15, 16, 17, 100, 5000};
    struct row row = {.there = true, .values = {drawn(play, 6), 0, drawn(play, 9), drawn(play, 40), drawn(play, 1000)}};
    row.values[B] = (uint32_t)((int32_t)drawn(play, 5) - 2);
    row.bytes = sizes[drawn(play, sizeof sizes / sizeof *sizes)];
    if (drawn(play, 200) == 0) row.bytes = CELLAR_VALUE_BYTES_MAX - drawn(play, 2);
    return row;
}

static struct entry entry_of(const struct row *row)
{
    struct entry entry = {
        .a = row->values[A], .b = (int32_t)row->values[B], .c = (uint32_t)row->values[C], .u = row->values[U]};
    return entry;
}

/* The record's number: of a name what finding it says. */
static int record_of(struct play *play, struct player *player, const struct call *call, uint64_t *record)
{
    uint8_t name[12];
    *record = number_of(call->key);
    if (call->table == ENTRIES) return 0;
    return cellar_txn_find(player->txn, play->tables[NAMES], name, name_of(call->key, name), record);
}

static int get(struct play *play, struct player *player, struct call *call, uint64_t record)
{
    const struct cellar_table *table = play->tables[call->table];
    int column = column_numbers[call->table][call->column];
    uint8_t *got = play->docs.got;
    uint64_t value = 0;
    if (call->column != TEXT) {
        int code = call->kind == LOCK ? cellar_txn_get_for_update(player->txn, table, record, column, &value)
                                      : cellar_txn_get(player->txn, table, record, column, &value);
        call->value = value;
        return code;
    }
    if (call->kind == LOCK) {
        uint8_t room[sizeof(struct entry)];
        int code = cellar_txn_get_for_update(player->txn, table, record, column, room);
        if (code) return code;
    }
    int code = cellar_txn_get_bytes(player->txn, table, record, column, got, CELLAR_VALUE_BYTES_MAX, &call->bytes);
    if (code) return code;
    for (size_t i = (call->value = call->bytes, 0); i < call->bytes; i++) call->value = call->value * 31 + got[i];
    return 0;
}

static int put(struct play *play, struct player *player, const struct call *call, uint64_t record)
{
    const struct cellar_table *table = play->tables[call->table];
    int column = column_numbers[call->table][call->column];
    docs_fill(play->docs.want, call->row.bytes, call->row.values[TEXT]);
    if (call->column == TEXT)
        return cellar_txn_put_bytes(player->txn, table, record, column, play->docs.want, call->row.bytes);
    return cellar_txn_put(player->txn, table, record, column, &call->row.values[call->column]);
}

/* A row whose text fits there; what does not is cut. */
static int insert(struct play *play, struct player *player, struct call *call)
{
    struct entry entry = entry_of(&call->row);
    struct named named = {.a = call->row.values[A]};
    uint8_t name[12];
    uint64_t record;
    size_t room = call->table == ENTRIES ? sizeof entry.text.head : sizeof named.text.head;
    if (call->row.bytes > room) call->row.bytes = room;
    docs_fill(play->docs.want, call->row.bytes, call->row.values[TEXT]);
    if (cellar_value_set(&entry.text, sizeof entry.text, play->docs.want, call->table ? 0 : call->row.bytes) ||
        cellar_value_set(&named.text, sizeof named.text, play->docs.want, call->table ? call->row.bytes : 0) ||
        cellar_key_set(&named.key, sizeof named.key, name, name_of(call->key, name)))
        abort();
    if (call->table == ENTRIES)
        return cellar_txn_insert(player->txn, play->tables[ENTRIES], number_of(call->key), &entry);
    return cellar_txn_add(player->txn, play->tables[NAMES], &named, &record);
}

/* The place of a record that was found, or a negative code. */
static int place_of(struct play *play, struct player *player, const struct call *call, uint64_t record)
{
    struct named named = {0};
    uint8_t name[12];
    int code = 0;
    if (call->table == NAMES) code = cellar_txn_get(player->txn, play->tables[NAMES], record, 0, &named.key);
    for (uint32_t k = 0; k < KEYS && code == 0; k++) {
        if (call->table == ENTRIES && number_of(k) == record) return (int)k;
        if (call->table == NAMES && name_of(k, name) == named.key.bytes &&
            memcmp(name, named.key.text, named.key.bytes) == 0)
            return (int)k;
    }
    return code ? code : CELLAR_CORRUPT;
}

static int scan(struct play *play, struct player *player, struct call *call)
{
    struct entry entries[2];
    struct named names[2];
    struct cellar_bound bounds[2];
    uint64_t records[SCAN_MAX], numbers[2];
    for (int end = 0; end < 2; end++) {
        uint8_t name[12];
        entries[end] = entry_of(&call->ends[end]);
        if (cellar_key_set(&names[end].key, sizeof names[end].key, name, name_of(call->end_keys[end], name))) abort();
        const void *row = call->table == ENTRIES ? (const void *)&entries[end] : &names[end];
        bounds[end] = (struct cellar_bound){row, call->columns[end], call->excluded[end]};
        numbers[end] = number_of(call->end_keys[end]);
    }
    struct cellar_range range = {bounds[0], bounds[1], numbers[0], numbers[1]};
    int found = cellar_txn_scan(player->txn, play->orders[call->order], &range, drawn(play, 2) ? CELLAR_ALL_CELLS : 0,
                                call->flags, records, call->limit);
    for (int i = 0; i < found; i++) {
        int place = place_of(play, player, call, records[i]);
        if (place < 0) return place;
        call->keys[i] = (uint32_t)place;
    }
    return found;
}

static int make(struct play *play, struct player *player, struct call *call)
{
    struct cellar_txn *txn = player->txn;
    uint64_t record = 0;
    switch (call->kind) {
    case SAVEPOINT:
        return cellar_savepoint(txn);
    case ROLLBACK:
        return cellar_rollback_to(txn, call->savepoint);
    case RELEASE:
        return cellar_release(txn, call->savepoint);
    case CHECK:
        return cellar_check(txn);
    case SCAN:
        return scan(play, player, call);
    case INSERT:
        return insert(play, player, call);
    default:
        break;
    }
    int code = record_of(play, player, call, &record);
    if (code) return code;
    if (call->kind == PUT) return put(play, player, call, record);
    if (call->kind != DELETE) return get(play, player, call, record);
    if (call->table == NAMES) return cellar_txn_remove(txn, play->tables[NAMES], record);
    return cellar_txn_delete(txn, play->tables[ENTRIES], record);
}

/* ---- what is played ---- */

static void draw_range(struct play *play, struct call *call)
{
    call->order = (enum order)drawn(play, ORDERS);
    call->table = call->order == BY_NAME ? NAMES : ENTRIES;
    call->flags = drawn(play, 2) ? CELLAR_BACKWARD : 0;
    call->limit = drawn(play, 2) ? SCAN_MAX : 1 + drawn(play, 4);
    for (int end = 0; end < 2; end++) {
        call->ends[end] = row_drawn(play);
        call->end_keys[end] = (uint32_t)drawn(play, KEYS);
        call->columns[end] = (uint32_t)drawn(play, columns_of(call->order) + 1);
        call->excluded[end] = drawn(play, 2);
    }
    if ((call->order == BY_B || call->order == BY_U) && drawn(play, 3) == 0) {
        int end = !!(call->flags & CELLAR_BACKWARD);
        call->flags |= CELLAR_AFTER;
        call->columns[end] = columns_of(call->order);
    }
}

static void draw_call(struct play *play, const struct player *player, struct call *call)
{
    static const enum column columns[TABLES][4] = {{A, B, C, U}, {A, A, A, A}};
    static const enum kind kinds[] = {GET,    GET,  GET,  PUT,       PUT,      PUT,     INSERT, INSERT, DELETE, INSERT,
                                      DELETE, SCAN, SCAN, SAVEPOINT, ROLLBACK, RELEASE, CHECK,  PUT,    LOCK};
    *call = (struct call){.kind = kinds[drawn(play, sizeof kinds / sizeof *kinds)]};
    if (player->read_only) call->kind = (enum kind[]){GET, SCAN, GET, CHECK}[drawn(play, 4)];
    if (call->kind == LOCK && drawn(play, 4)) call->kind = GET;
    if (call->kind == SAVEPOINT && player->saves == SAVES_MAX) call->kind = ROLLBACK;
    if ((call->kind == ROLLBACK || call->kind == RELEASE) && !player->saves) call->kind = GET;
    if (player->saves) call->savepoint = (int)drawn(play, player->saves);
    call->table = (enum of_table)drawn(play, TABLES);
    call->key = (uint32_t)drawn(play, KEYS);
    call->column = drawn(play, 4) ? columns[call->table][drawn(play, 4)] : TEXT;
    call->row = row_drawn(play);
    if (call->kind == SCAN) draw_range(play, call);
}

static const char *const kind_names[KINDS] = {"get",  "get_for_update", "put",      "insert",  "delete",
                                              "scan", "savepoint",      "rollback", "release", "check"};

static void show_range(const struct call *call)
{
    print_message(" order %d flags %u limit %llu", (int)call->order, call->flags, (unsigned long long)call->limit);
    for (int end = 0; end < 2; end++) {
        const uint64_t *values = call->ends[end].values;
        print_message(" end %u columns a %llu b %d u %llu key %u%s", call->columns[end], (unsigned long long)values[A],
                      (int)values[B], (unsigned long long)values[U], call->end_keys[end],
                      call->excluded[end] ? " excluded" : "");
    }
    for (int i = 0; i < call->code; i++) print_message(" %u", call->keys[i]);
}

static void show(const struct play *play, const struct player *player, const char *what)
{
    struct cellar_error error;
    struct state then;
    error = *cellar_last_error();
    print_message("seed %llu, player %d: %s, call %d now; its last error: %s\n", (unsigned long long)play->seed,
                  (int)(player - play->players), what, first_wrong(&play->state, player->calls, player->count, &then),
                  error.text);
    for (uint32_t i = 0; i < player->count; i++) {
        const struct call *call = &player->calls[i];
        const uint64_t *values = call->row.values;
        print_message("  %2u %s table %d key %u column %d savepoint %d", i, kind_names[call->kind], (int)call->table,
                      call->key, (int)call->column, call->savepoint);
        if (call->kind == PUT || call->kind == INSERT)
            print_message(" a %llu b %d u %llu bytes %zu", (unsigned long long)values[A], (int)values[B],
                          (unsigned long long)values[U], call->row.bytes);
        if (call->kind == SCAN) show_range(call);
        print_message(" -> %d value %llu\n", call->code, (unsigned long long)call->value);
    }
    for (uint32_t k = 0; k < KEYS; k++) {
        const struct row *row = &play->state.rows[ENTRIES][k];
        if (row->there)
            print_message("  committed: key %u a %llu b %d u %llu\n", k, (unsigned long long)row->values[A],
                          (int)row->values[B], (unsigned long long)row->values[U]);
    }
    fail();
}

/* A transaction that is over at once: others came between, a node of an index was split, or a lock's bound came. */
static void end_refused(struct play *play, struct player *player, int code)
{
    play->retried++;
    if (code == CELLAR_DEADLINE && !player->locks) show(play, player, "DEADLINE without a lock");
    if (code == CELLAR_RETRY && player->commits == play->commits && !player->scans && !player->locks)
        show(play, player, "RETRY though nobody came between");
}

static bool is_over(int code) { return code == CELLAR_RETRY || code == CELLAR_DEADLINE; }

static void begin(struct play *play, struct player *player)
{
    struct session_options options = {.lock_ns = play->player_count == 1 ? 1000000000 : 100000};
    player->read_only = drawn(play, 6) == 0;
    if (player->read_only) options.flags = CELLAR_READ_ONLY;
    player->count = player->saves = 0;
    player->locks = player->scans = false;
    player->commits = play->commits;
    assert_code(session_begin(player->session, &options, &player->txn), 0);
}

static void step(struct play *play, struct player *player)
{
    struct call *call = &player->calls[player->count++];
    struct state then;
    draw_call(play, player, call);
    player->locks |= call->kind == LOCK;
    player->scans |= call->kind == SCAN;
    call->code = make(play, player, call);
    if (is_over(call->code)) {
        end_refused(play, player, call->code);
        assert_code(session_abort(player->txn), 0);
        player->txn = NULL;
        return;
    }
    if (call->kind == SAVEPOINT) player->saves++;
    if (call->kind == ROLLBACK) player->saves = (uint32_t)call->savepoint + 1;
    if (call->kind == RELEASE) player->saves = (uint32_t)call->savepoint;
    bool all = play->player_count == 1 || (call->kind == CHECK && call->code == 0);
    if (all && first_wrong(&play->state, player->calls, player->count, &then) >= 0)
        show(play, player, "a call is wrong");
}

/*
 * Is all that it was told so where it may have its place? That is the state at its commit; of one that has written
 * nothing it may be any since it began.
 */
static bool has_place(struct play *play, const struct player *player, struct state *then)
{
    if (first_wrong(&play->state, player->calls, player->count, then) < 0) return true;
    if (play->commits - player->commits >= STATES) return true; /* not known any more */
    for (uint64_t at = player->commits; at < play->commits; at++)
        if (first_wrong(&play->before[at % STATES], player->calls, player->count, then) < 0 && !then->wrote &&
            !then->doomed) {
            *then = play->state;
            return true;
        }
    return false;
}

static void end(struct play *play, struct player *player)
{
    struct state then;
    struct cellar_txn *txn = player->txn;
    player->txn = NULL;
    if (drawn(play, 6) == 0) {
        assert_code(session_abort(txn), 0);
        return;
    }
    int code = session_commit(txn, NULL);
    if (is_over(code)) {
        end_refused(play, player, code);
        return;
    }
    if (!has_place(play, player, &then)) show(play, player, "a call is wrong at the commit");
    bool refused = then.doomed || breaks_unique(&then);
    if (refused != (code == CELLAR_EXISTS || code == CELLAR_NOT_FOUND) || (!refused && code))
        show(play, player, refused ? "it committed" : cellar_strerror(code));
    if (refused) return;
    then.wrote = false;
    play->before[play->commits++ % STATES] = play->state;
    play->state = then;
}

static void play_on(struct play *play)
{
    struct player *player = &play->players[drawn(play, play->player_count)];
    if (!player->txn)
        begin(play, player);
    else if (player->count == CALLS_MAX || drawn(play, 12) == 0)
        end(play, player);
    else
        step(play, player);
}

/* ---- opening ---- */

static void open_tables(struct play *play)
{
    static const struct cellar_schema_index_column by_b[] = {{"b", CELLAR_SORT_SIGNED, true},
                                                             {"a", CELLAR_SORT_UNSIGNED, false}},
                                                   by_u[] = {{"u", CELLAR_SORT_UNSIGNED, false}},
                                                   by_name[] = {{"key", CELLAR_SORT_BYTES, false}};
    const struct cellar_schema schemas[TABLES] = {{.name = "entries",
                                                   .row_bytes = sizeof(struct entry),
                                                   .columns = entry_columns,
                                                   .column_count = COLUMNS,
                                                   .records_max = 100,
                                                   .variable = CELLAR_BIT(4)},
                                                  {.name = "names",
                                                   .row_bytes = sizeof(struct named),
                                                   .columns = named_columns,
                                                   .column_count = 3,
                                                   .records_max = 100,
                                                   .variable = CELLAR_BIT(2),
                                                   .key_bytes = 12}};
    const struct cellar_schema_index defs[ORDERS] = {
        {"by_key", NULL, 0, 0}, {"by_b", by_b, 2, 0}, {"by_u", by_u, 1, CELLAR_UNIQUE}, {"by_name", by_name, 1, 0}};
    struct cellar *db = play->docs.api.db;
    struct cellar_error *error = &play->docs.api.error;
    for (int i = 0; i < TABLES; i++) MUST(error, db_table_create(db, &schemas[i], &play->tables[i], error));
    for (int i = 0; i < ORDERS; i++)
        MUST(error, db_index_create(db, play->tables[i == BY_NAME], &defs[i], &play->orders[i], error));
}

static void play_all(const struct api_variant *variant, uint32_t player_count, uint64_t seed)
{
    static struct play play;
    play = (struct play){.player_count = player_count, .seed = seed};
    if (!docs_open(&play.docs, variant)) skip();
    open_tables(&play);
    prng_seed(&play.prng, seed);
    play.players[0].session = play.docs.session;
    if (player_count > 1) play.players[1].session = sessions_opened(&play.docs.api);
    for (uint32_t i = share_rounds(CALLS); i; i--) play_on(&play);
    for (uint32_t i = 0; i < player_count; i++)
        if (play.players[i].txn) assert_code(session_abort(play.players[i].txn), 0);
    assert_true(play.commits > play.retried / 8);
    if (player_count > 1) session_close(play.players[1].session);
    api_audit_clean(&play.docs.api);
    docs_close(&play.docs);
}

static uint64_t first_seed = 1, seed_count = 2; /* CELLAR_SEED, CELLAR_SEEDS: for a longer search */

static void one_session(void **state)
{
    for (uint64_t seed = 0; seed < seed_count; seed++) play_all(*state, 1, first_seed + seed);
}

static void two_sessions_in_turns(void **state)
{
    for (uint64_t seed = 0; seed < seed_count; seed++) play_all(*state, 2, first_seed + seed);
}

int main(int argc, char **argv)
{
    static const struct api_entry tests[] = {API_TEST(one_session), API_TEST(two_sessions_in_turns)};
    if (getenv("CELLAR_SEED")) first_seed = strtoull(getenv("CELLAR_SEED"), NULL, 0);
    if (getenv("CELLAR_SEEDS")) seed_count = strtoull(getenv("CELLAR_SEEDS"), NULL, 0);
    return api_main("test_api_model", tests, sizeof tests / sizeof *tests, argc, argv);
}

/*
 * test_api_savepoints.c - cellar.h: a rollback to a savepoint gives whole records back, whatever a session has done to
 * them since: every short sequence of changes of two records, against a mirror of them; of rows, and of long values.
 */
#include "docs.h"
#include "numbered.h"

enum how { PUT_ONE, PUT_OTHER, INSERT, DELETE, HOWS };
#define STEPS 5
#define SEQUENCES 1024 /* HOWS to the power of STEPS */
#define RECORDS 2
#define ONE_BYTES 400 /* long values of two cuts */
#define OTHER_BYTES 3000

/* A record as it must be seen. */
struct mirror {
    bool there;
    struct item item;
    uint64_t stamp, seed; /* of a document; seed 0: its text is short, as docs_row makes it */
    size_t bytes;
};

/* Either the table of items, or that of documents. */
struct subject {
    struct api *api;
    struct docs *docs; /* NULL: items */
    struct session *session;
    struct mirror mirrors[RECORDS];
};

/* ---- one record ---- */

static int item_change(struct subject *subject, struct cellar_txn *txn, uint64_t key, enum how how, uint64_t number)
{
    struct mirror *mirror = &subject->mirrors[key];
    const struct cellar_table *items = subject->api->items;
    struct item item = item_of(number);
    int rc = how == PUT_ONE     ? cellar_txn_put(txn, items, key, ITEM_A, &item.a)
             : how == PUT_OTHER ? cellar_txn_put(txn, items, key, ITEM_TEXT, item.text)
             : how == INSERT    ? cellar_txn_insert(txn, items, key, &item)
                                : cellar_txn_delete(txn, items, key);
    if (rc) return rc;
    if (how == PUT_ONE) mirror->item.a = item.a;
    if (how == PUT_OTHER) memcpy(mirror->item.text, item.text, sizeof item.text);
    if (how == INSERT) mirror->item = item;
    return 0;
}

static int doc_change(struct subject *subject, struct cellar_txn *txn, uint64_t key, enum how how, uint64_t number)
{
    struct docs *docs = subject->docs;
    struct mirror *mirror = &subject->mirrors[key];
    struct doc doc = docs_row(number);
    size_t bytes = how == PUT_ONE ? ONE_BYTES : OTHER_BYTES;
    docs_fill(docs->want, bytes, number);
    int rc = how == INSERT   ? cellar_txn_insert(txn, docs->table, key, &doc)
             : how == DELETE ? cellar_txn_delete(txn, docs->table, key)
                             : cellar_txn_put_bytes(txn, docs->table, key, DOC_TEXT, docs->want, bytes);
    if (rc) return rc;
    if (how == INSERT) mirror->stamp = number;
    mirror->seed = how == INSERT ? 0 : number;
    mirror->bytes = how == INSERT ? strlen("short") : bytes;
    return 0;
}

/* In the transaction, which knows the record, and in its mirror. */
static void change(struct subject *subject, struct cellar_txn *txn, uint64_t key, enum how how, uint64_t number)
{
    struct mirror *mirror = &subject->mirrors[key];
    int wanted = how == INSERT && mirror->there    ? CELLAR_EXISTS
                 : how != INSERT && !mirror->there ? CELLAR_NOT_FOUND
                                                   : 0;
    assert_code((subject->docs ? doc_change : item_change)(subject, txn, key, how, number), wanted);
    if (!wanted) mirror->there = how != DELETE;
}

static void item_is_seen(struct subject *subject, struct cellar_txn *txn, uint64_t key, const struct mirror *mirror)
{
    struct item seen = mirror->item;
    void *const at[ITEM_COLUMNS] = {&seen.a, &seen.b, seen.text, &seen.n};
    for (int column = 0; column < ITEM_COLUMNS; column++)
        assert_code(cellar_txn_get(txn, subject->api->items, key, column, at[column]),
                    mirror->there ? 0 : CELLAR_NOT_FOUND);
    if (mirror->there) assert_memory_equal(&seen, &mirror->item, sizeof seen);
}

static void doc_is_seen(struct subject *subject, struct cellar_txn *txn, uint64_t key, const struct mirror *mirror)
{
    struct docs *docs = subject->docs;
    uint64_t stamp;
    size_t bytes;
    int wanted = mirror->there ? 0 : CELLAR_NOT_FOUND;
    assert_code(cellar_txn_get(txn, docs->table, key, DOC_STAMP, &stamp), wanted);
    assert_code(cellar_txn_get_bytes(txn, docs->table, key, DOC_TEXT, docs->got, OTHER_BYTES, &bytes), wanted);
    if (!mirror->there) return;
    assert_int_equal(stamp, mirror->stamp);
    assert_int_equal(bytes, mirror->bytes);
    if (mirror->seed)
        docs_fill(docs->want, bytes, mirror->seed);
    else
        memcpy(docs->want, "short", bytes);
    assert_memory_equal(docs->got, docs->want, bytes);
}

static void mirrors_are_seen(struct subject *subject, struct cellar_txn *txn, const struct mirror *mirrors)
{
    for (uint64_t key = 0; key < RECORDS; key++)
        (subject->docs ? doc_is_seen : item_is_seen)(subject, txn, key, &mirrors[key]);
}

/* ---- every sequence ---- */

/* Makes the records anew: there or not, as `there` says. */
static void records_load(struct subject *subject, const bool *there)
{
    struct cellar_txn *txn = sessions_begun(subject->session);
    mirrors_are_seen(subject, txn, subject->mirrors);
    for (uint64_t key = 0; key < RECORDS; key++) {
        if (subject->mirrors[key].there) change(subject, txn, key, DELETE, 0);
        if (there[key]) change(subject, txn, key, INSERT, 500);
        if (there[key]) change(subject, txn, key, PUT_ONE, 501);
    }
    assert_code(session_commit(txn, NULL), 0);
}

/*
 * Two changes of each record, a savepoint, one more, another savepoint, and the last two; then all but the first two
 * are rolled back. The second record has other changes than the first one.
 */
static void sequence_is_taken_back(struct subject *subject, uint32_t sequence)
{
    struct mirror outer[RECORDS], inner[RECORDS];
    struct cellar_txn *txn = sessions_begun(subject->session);
    mirrors_are_seen(subject, txn, subject->mirrors);
    for (uint32_t step = 0; step < STEPS; step++, sequence /= HOWS) {
        if (step == 2) memcpy(outer, subject->mirrors, sizeof outer);
        if (step == 3) memcpy(inner, subject->mirrors, sizeof inner);
        if (step == 2 || step == 3) assert_int_equal(cellar_savepoint(txn), step - 2);
        for (uint32_t key = 0; key < RECORDS; key++) change(subject, txn, key, (sequence + key) % HOWS, 1000 + step);
    }
    mirrors_are_seen(subject, txn, subject->mirrors);
    assert_code(cellar_rollback_to(txn, 1), 0);
    mirrors_are_seen(subject, txn, inner);
    assert_code(cellar_rollback_to(txn, 0), 0);
    mirrors_are_seen(subject, txn, outer);
    assert_code(session_commit(txn, NULL), 0);
    memcpy(subject->mirrors, outer, sizeof outer);
}

/* Begins with records that are there, and that are not; each sequence sees what the one before it has committed. */
static void every_sequence_is_taken_back(struct subject *subject)
{
    for (uint32_t sequence = 0; sequence < SEQUENCES; sequence++) {
        for (uint32_t first = 0; first < 2; first++) {
            const bool there[RECORDS] = {first, first != sequence % 2};
            records_load(subject, there);
            sequence_is_taken_back(subject, sequence);
        }
    }
    api_audit_clean(subject->api);
}

static void rollbacks_give_whole_rows_back(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct subject subject = {.api = &pair.api, .session = pair.one};
    for (uint64_t key = 0; key < RECORDS; key++)
        subject.mirrors[key] = (struct mirror){.there = true, .item = item_of(key)};
    every_sequence_is_taken_back(&subject);
    sessions_pair_close(&pair);
}

static void rollbacks_give_long_values_back(void **state)
{
    struct docs docs;
    if (!docs_open(&docs, *state)) skip();
    struct subject subject = {.api = &docs.api, .docs = &docs, .session = docs.session};
    every_sequence_is_taken_back(&subject);
    docs_close(&docs);
}

/* What a change that is taken back took for granted is not asked by the commit. */
static void rollbacks_take_expectations_back(void **state)
{
    struct sessions_pair pair;
    struct item item = item_of(77);
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    sessions_put(&pair.api, txn, 1, 100);
    assert_int_equal(cellar_savepoint(txn), 0);
    assert_code(cellar_txn_insert(txn, pair.api.items, 3, &item), 0); /* it is there */
    sessions_put(&pair.api, txn, 30, 1);                              /* these are not */
    assert_code(cellar_txn_delete(txn, pair.api.items, 31), 0);
    assert_code(cellar_rollback_to(txn, 0), 0);
    assert_code(session_commit(txn, NULL), 0);
    item = item_of(3);
    assert_item(&pair.api, 3, &item);
    assert_int_equal(look_at(&pair.api, 1).item.a, 100);
    assert_false(look_at(&pair.api, 30).found || look_at(&pair.api, 31).found);
    sessions_pair_close(&pair);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(rollbacks_give_whole_rows_back),
        API_TEST(rollbacks_give_long_values_back),
        API_TEST(rollbacks_take_expectations_back),
    };
    return api_main("api_savepoints", tests, sizeof tests / sizeof *tests, argc, argv);
}

#include "sim_people.h"

#include "bulk.h"
#include "catalog.h"
#include "client.h"
#include "db_alter.h"
#include "db_define.h"
#include "db_drop.h"
#include "db_index.h"
#include "sim_cells.h"
#include "treenode.h"

#include <stdio.h>
#include <string.h>

#undef cellar_get
#undef cellar_put
#undef cellar_insert
#undef cellar_delete
#undef cellar_cursor_next

#define RANKS 4
#define NAMES 4
#define NOTES 5
#define PAGE_MAX 5

struct person_row {
    uint16_t team;
    struct cellar_bytes name;
    int32_t rank;
    uint64_t stamp[2];
    struct cellar_bytes note;
    uint32_t more; /* where the table has it: MORE */
};
enum { TEAM, NAME, RANK, STAMP, NOTE, COLUMNS_LEAST };
#define MORE 0x6d6f7265u
#define KEY_COLUMNS (CELLAR_COL(TEAM) | CELLAR_COL(NAME))
#define VALUE_COLUMNS (CELLAR_COL(RANK) | CELLAR_COL(STAMP) | CELLAR_COL(NOTE))

/* Some begin with others. */
static const char *const names[NAMES] = {"", "a", "ab", "b"};
static const char *const notes[NOTES] = {"", "no", "note", "notes on what is longer than a line", "o"};

static const struct cellar_column people_columns[] = {
    {CELLAR_FIELD(struct person_row, team), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct person_row, name), .flags = CELLAR_KEY, .bytes_max = 6},
    {CELLAR_FIELD(struct person_row, rank)},
    {CELLAR_FIELD(struct person_row, stamp)},
    {CELLAR_FIELD(struct person_row, note), .bytes_max = 40},
    {CELLAR_FIELD(struct person_row, more)}};
static const struct cellar_index_def people_indexes[] = {
    {.name = "by_rank", .columns = "rank, -name", .covers = "stamp"}, {.name = "by_note", .columns = "-note"}};

static bool has_more(const struct cellar_table *table)
{
    return schema_column_find(&table->table->schema, people_columns[COLUMNS_LEAST].name, 4) >= 0;
}

static struct cellar_table_def people_def(bool more)
{
    struct cellar_table_def def =
        *CELLAR_TABLE(struct person_row, people_columns, .name = "people", .rows = SIM_PEOPLE_KEYS,
                      .flags = CELLAR_ORDERED, CELLAR_INDEXES(people_indexes));
    if (more) def.rows *= 20;
    if (!more) def.column_count = COLUMNS_LEAST;
    return def;
}

int sim_people_make(struct cellar *db, const struct cellar_table **table, struct cellar_error *error)
{
    struct cellar_table_def def = people_def(false);
    int code = db_table_open(db, &def, CELLAR_ADD, table, error);
    if (code || !has_more(*table)) return code;
    def = people_def(true);
    return db_table_open(db, &def, CELLAR_ADD, table, error);
}

uint32_t sim_people_passing(const struct cellar_table *table, bool itself)
{
    uint32_t last = table->table->id - itself;
    for (uint32_t i = 0; i < table->table->ordered_count && !itself; i++)
        if (table->table->ordered[i]->nodes->id > last) last = table->table->ordered[i]->nodes->id;
    return last + 1;
}

int sim_people_reindex(struct cellar_lab_client *self, const struct cellar_table *table, struct cellar_error *error)
{
    static const struct cellar_index_def more = {.name = "more", .columns = "note, rank"};
    const struct cellar_index *there = cellar_index_find(table, more.name);
    if (there) return db_index_drop_inside(self, there, error);
    return db_index_open_def(self->co, self->coordinator, table->table, &more, true, error);
}

int sim_people_alter(struct cellar_lab_client *self, const struct cellar_table **table, struct cellar_error *error)
{
    const struct person_row row = {.more = MORE};
    const struct cellar_table_def def = people_def(!has_more(*table));
    const struct cellar_table *altered;
    int code = db_table_alter_inside(self, *table, &def, &row, &altered, error);
    if (code == 0) *table = altered;
    return code;
}

/* ---- values ---- */

static bool once_in(struct sim_people *people, uint32_t count) { return prng_below(people->prng, count) == 0; }
static uint32_t below(struct sim_people *people, uint32_t count) { return (uint32_t)prng_below(people->prng, count); }

static struct person person_of(uint32_t key, uint64_t id, uint64_t digest)
{
    uint64_t hash = sim_cells_mix(sim_cells_mix(id, digest), key);
    return (struct person){
        .key = key, .note = (uint32_t)(hash >> 32) % NOTES, .rank = (int32_t)(hash % RANKS) - 1, .stamp = {id, digest}};
}

/* A new value, of this transaction. */
static struct person person_new(struct sim_people *people, uint32_t key)
{
    return person_of(key, sim_cells_identity(people->writer, 0, key, 0), ++people->changes);
}

static bool is_sound(const struct person *person)
{
    const struct person made = person_of(person->key, person->stamp[0], person->stamp[1]);
    return (uint32_t)person->stamp[0] == (uint32_t)sim_cells_identity(0, 0, person->key, 0) &&
           made.rank == person->rank && made.note == person->note;
}

/* Of a row with all columns of its table. */
static bool more_sound(const struct cellar_table *table, const struct person_row *row)
{
    return row->more == MORE || !has_more(table);
}

static struct person_row row_of(const struct person *person)
{
    return (struct person_row){.team = (uint16_t)(person->key / NAMES),
                               .name = CELLAR_TEXT(names[person->key % NAMES]),
                               .rank = person->rank,
                               .stamp = {person->stamp[0], person->stamp[1]},
                               .note = CELLAR_TEXT(notes[person->note]),
                               .more = MORE};
}

static uint32_t text_number(struct cellar_bytes text, const char *const *texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (text.bytes == strlen(texts[i]) && memcmp(text.data, texts[i], text.bytes) == 0) return i;
    return count;
}

/* Its key, or SIM_PEOPLE_KEYS: no client has that. */
static uint32_t key_of(const struct person_row *row)
{
    uint32_t name = text_number(row->name, names, NAMES);
    return name == NAMES || row->team >= SIM_PEOPLE_KEYS / NAMES ? SIM_PEOPLE_KEYS : row->team * NAMES + name;
}

static struct person person_in(const struct person_row *row)
{
    return (struct person){.key = key_of(row),
                           .note = text_number(row->note, notes, NOTES),
                           .rank = row->rank,
                           .stamp = {row->stamp[0], row->stamp[1]}};
}

/* ---- what is said of what does not fit ---- */

static void complain(struct sim_people *people, uint32_t key, const char *what)
{
    if (!people->complaint[0]) snprintf(people->complaint, sizeof people->complaint, "people, key %u: %s", key, what);
}

static void contradict(struct sim_people *people, uint32_t key, const char *what)
{
    if (!people->contradiction[0])
        snprintf(people->contradiction, sizeof people->contradiction, "people, key %u: %s", key, what);
}

/* By what a client has changed or noted each call is bound; by what a cursor has told, if it commits. */
static void disagree(struct sim_people *people, const struct person_known *known, uint32_t key, const char *what)
{
    if (known->own || known->noted)
        contradict(people, key, what);
    else
        complain(people, key, what);
}

static bool is_same(const struct person *a, const struct person *b, uint64_t columns)
{
    return (!(columns & CELLAR_COL(RANK)) || a->rank == b->rank) &&
           (!(columns & CELLAR_COL(NOTE)) || a->note == b->note) &&
           (!(columns & CELLAR_COL(STAMP)) || (a->stamp[0] == b->stamp[0] && a->stamp[1] == b->stamp[1]));
}

/* ---- by key ---- */

static void changed(struct sim_people *people, const struct person *person, bool present)
{
    const struct person_known *then = &people->known[person->key];
    bool made = then->own ? then->made : then->noted && then->state == PERSON_ABSENT;
    people->known[person->key] = (struct person_known){.state = present ? PERSON_PRESENT : PERSON_ABSENT,
                                                       .own = true,
                                                       .made = made,
                                                       .valued = present,
                                                       .person = *person};
}

/* A read by key has found it with these columns, or not. */
static void judge_read(struct sim_people *people, uint32_t key, uint64_t columns, bool found,
                       const struct person_row *row)
{
    struct person_known *known = &people->known[key];
    const struct person person = person_in(row);
    bool whole = (columns & VALUE_COLUMNS) == VALUE_COLUMNS;
    if (known->state == PERSON_PRESENT && !found) disagree(people, known, key, "a row that it knew is not found");
    if (known->state == PERSON_ABSENT && found) disagree(people, known, key, "a row that it knew to be none is found");
    if (found && known->valued && !is_same(&known->person, &person, columns))
        disagree(people, known, key, "it does not read the same twice");
    if (found && whole && !is_sound(&person)) complain(people, key, "columns of two writers, or of none");
    if (found && columns == CELLAR_ALL && !more_sound(people->table, row)) complain(people, key, "no such column");
    if (known->own) return;
    known->state = found ? PERSON_PRESENT : PERSON_ABSENT;
    known->valued =
        found && (whole || (known->noted && known->valued)); /* what a cursor told may be of another moment */
    if (found && whole) known->person = person;
    known->noted = true;
}

/* The key alone, some columns, or all. */
static uint64_t columns_draw(struct sim_people *people)
{
    if (once_in(people, 2)) return CELLAR_ALL;
    return KEY_COLUMNS | (prng_next(people->prng) & VALUE_COLUMNS);
}

/* What it has, no reader may change: a read that finds nothing leaves it. */
static struct person_row row_asked(uint32_t key)
{
    struct person_row row = row_of(&(const struct person){.key = key});
    row.rank = INT32_MAX;
    row.more = 0;
    return row;
}

static int get(struct sim_people *people)
{
    const uint32_t key = below(people, SIM_PEOPLE_KEYS);
    const uint64_t columns = columns_draw(people);
    const bool locks = people->locks && once_in(people, 2);
    struct person_row row = row_asked(key);
    int code = cellar_get(people->txn, people->table, columns, locks ? VALUE_COLUMNS : 0, &row, sizeof row);
    if (code && code != CELLAR_NOT_FOUND) return code;
    judge_read(people, key, columns, code == 0, &row);
    return 0;
}

static int get_many(struct sim_people *people)
{
    struct person_row rows[SIM_PEOPLE_KEYS];
    struct cellar_read reads[SIM_PEOPLE_KEYS];
    uint32_t count = 1 + below(people, SIM_PEOPLE_KEYS), first = below(people, SIM_PEOPLE_KEYS);
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = row_asked((first + i) % SIM_PEOPLE_KEYS);
        reads[i] = CELLAR_READ(people->table, &rows[i], .columns = columns_draw(people));
    }
    int code = cellar_get_many(people->txn, reads, count);
    for (uint32_t i = 0; i < count && code == 0; i++)
        judge_read(people, (first + i) % SIM_PEOPLE_KEYS, reads[i].columns, reads[i].code == 0, &rows[i]);
    return code;
}

static int insert(struct sim_people *people, uint32_t key)
{
    const struct person person = person_new(people, key);
    const struct person_row row = row_of(&person);
    const struct person_known *known = &people->known[key];
    int code = cellar_insert(people->txn, people->table, &row, sizeof row);
    if (code == CELLAR_EXISTS && known->state == PERSON_ABSENT)
        disagree(people, known, key, "an insert meets a row that it knew to be none");
    if (code == 0 && known->state == PERSON_PRESENT) disagree(people, known, key, "an insert of a row that it knew");
    if (code == 0) changed(people, &person, true);
    return code == CELLAR_EXISTS ? 0 : code;
}

static int put(struct sim_people *people, uint32_t key, bool all)
{
    const struct person person = person_new(people, key);
    const struct person_row row = row_of(&person);
    const struct person_known *known = &people->known[key];
    int code = cellar_put(people->txn, people->table, all ? CELLAR_ALL : VALUE_COLUMNS, &row, sizeof row);
    if (code == CELLAR_NOT_FOUND && all) contradict(people, key, "a put of all columns is refused");
    if (code == CELLAR_NOT_FOUND && known->state == PERSON_PRESENT)
        disagree(people, known, key, "a put does not find a row that it knew");
    if (code == 0 && !all && known->state == PERSON_ABSENT)
        disagree(people, known, key, "a put of a row that it knew to be none");
    if (code == 0) changed(people, &person, true);
    return code == CELLAR_NOT_FOUND ? 0 : code;
}

static int delete (struct sim_people *people, uint32_t key)
{
    const struct person person = {.key = key};
    const struct person_row row = row_of(&person);
    int code = cellar_delete(people->txn, people->table, &row, sizeof row);
    if (code == 0) changed(people, &person, false);
    return code;
}

static int change(struct sim_people *people)
{
    const uint32_t key = below(people, SIM_PEOPLE_KEYS);
    switch (below(people, 6)) {
    case 0:
        return delete (people, key);
    case 1:
        return insert(people, key);
    case 2:
        return put(people, key, true);
    default:
        return people->known[key].state == PERSON_ABSENT && !once_in(people, 4) ? insert(people, key)
                                                                                : put(people, key, false);
    }
}

/* ---- orders ---- */

enum { BY_KEY, BY_RANK, BY_NOTE, ORDERS };
static const uint32_t order_columns[ORDERS] = {2, 2, 1};

static int texts_compare(const char *a, const char *b, bool prefix)
{
    return prefix ? strncmp(a, b, strlen(b)) : strcmp(a, b);
}

/* By the first `count` columns of an order; all: by the key besides. `prefix`: what begins as b's last one is equal. */
static int compare(uint32_t order, uint32_t count, bool all, bool prefix, const struct person *a,
                   const struct person *b)
{
    int sides[4] = {0};
    uint32_t n = 0;
    const char *a_name = names[a->key % NAMES], *b_name = names[b->key % NAMES];
    int team = (int)(a->key / NAMES) - (int)(b->key / NAMES);
    if (order == BY_RANK) {
        sides[n++] = (a->rank > b->rank) - (a->rank < b->rank);
        sides[n++] = -texts_compare(a_name, b_name, prefix && count == 2);
        sides[n++] = team;
    } else {
        if (order == BY_NOTE) sides[n++] = -texts_compare(notes[a->note], notes[b->note], prefix && count == 1);
        sides[n++] = team;
        sides[n++] = texts_compare(a_name, b_name, prefix && count == 2 && order == BY_KEY);
    }
    for (uint32_t i = 0; i < (all ? n : count); i++)
        if (sides[i]) return sides[i];
    return 0;
}

static int side(const struct people_cursor *scan, const struct person *a, const struct person *b)
{
    int order = compare(scan->order, 0, true, false, a, b);
    return scan->backward ? -order : order;
}

static bool is_in(const struct people_cursor *scan, const struct person *person)
{
    int low = compare(scan->order, scan->low_count, false, scan->prefix, person, &scan->low);
    int high = compare(scan->order, scan->high_count, false, scan->prefix, person, &scan->high);
    if (scan->low_count && (low < 0 || (low == 0 && scan->low_excluded))) return false;
    if (scan->high_count && (high > 0 || (high == 0 && scan->high_excluded))) return false;
    return !scan->follows || side(scan, person, &scan->after) > 0;
}

/* ---- cursors ---- */

/* It lies between the last row that was shown and this one (NULL: or behind, up to the end). */
static bool is_passed(const struct people_cursor *scan, const struct person *person, const struct person *to)
{
    if (!is_in(scan, person) || scan->shown[person->key]) return false;
    if (scan->begun && side(scan, person, &scan->last) <= 0) return false;
    return !to || side(scan, person, to) < 0;
}

/* What a cursor has left out: by the key's order each other key has no row; by others, those that the client knew. */
static void judge_passed(struct sim_people *people, const struct people_cursor *scan, const struct person *to)
{
    for (uint32_t key = 0; key < SIM_PEOPLE_KEYS; key++) {
        const struct person_known *known = &scan->known[key];
        struct person_known *now = &people->known[key];
        const struct person place = known->valued ? known->person : (struct person){.key = key};
        if (!known->valued && scan->order != BY_KEY) continue;
        if (!is_passed(scan, &place, to)) continue;
        if (known->state == PERSON_PRESENT) {
            if (known->made)
                contradict(people, key, "a cursor has left out a row that it has made");
            else
                complain(people, key, "a cursor has left out a row that it knew");
        }
        if (now->state == PERSON_UNKNOWN) *now = (struct person_known){.state = PERSON_ABSENT};
    }
}

static void judge_own(struct sim_people *people, const struct person_known *known, const struct person *person)
{
    if (known->state == PERSON_ABSENT) contradict(people, person->key, "a cursor shows a row that it has deleted");
    if (known->state == PERSON_PRESENT && !is_same(&known->person, person, VALUE_COLUMNS))
        contradict(people, person->key, "a cursor does not show what it has put");
}

/* A row that a cursor shows. */
static void judge_shown(struct sim_people *people, struct people_cursor *scan, const struct person_row *row)
{
    const struct person person = person_in(row);
    if (person.key == SIM_PEOPLE_KEYS || person.note == NOTES) {
        contradict(people, person.key, "a cursor shows a key, or a note, that no client has");
        return;
    }
    const struct person_known *known = &scan->known[person.key];
    struct person_known *now = &people->known[person.key];
    if (!is_in(scan, &person)) contradict(people, person.key, "a cursor shows a row that is not in its range");
    if (scan->begun && side(scan, &person, &scan->last) <= 0)
        contradict(people, person.key, "a cursor shows rows out of their order");
    if (scan->shown[person.key]) complain(people, person.key, "a cursor shows a row twice");
    if (!is_sound(&person) || !more_sound(people->table, row))
        complain(people, person.key, "a cursor shows columns of two writers, or of none");
    if (known->own)
        judge_own(people, known, &person);
    else if (known->state == PERSON_ABSENT || (known->valued && !is_same(&known->person, &person, VALUE_COLUMNS)))
        complain(people, person.key, "a cursor shows another row than it knew");
    judge_passed(people, scan, &person);
    if (now->state == PERSON_UNKNOWN)
        *now = (struct person_known){.state = PERSON_PRESENT, .valued = true, .person = person};
    scan->shown[person.key] = scan->begun = true;
    scan->last = person;
}

/* One after the other: in which order arguments are evaluated is the compiler's affair. */
static struct person end_draw(struct sim_people *people)
{
    uint32_t key = below(people, SIM_PEOPLE_KEYS);
    return person_of(key, prng_next(people->prng), 0);
}

/* Ends as its client draws them, and not reversed. */
static void range_draw(struct sim_people *people, struct people_cursor *scan)
{
    scan->order = below(people, ORDERS);
    scan->backward = once_in(people, 2);
    scan->low = end_draw(people);
    scan->high = end_draw(people);
    scan->low_count = below(people, order_columns[scan->order] + 1);
    scan->high_count = below(people, order_columns[scan->order] + 1);
    scan->low_excluded = once_in(people, 3);
    scan->high_excluded = once_in(people, 3);
    if (once_in(people, 3)) { /* rows that are equal, or begin so */
        scan->low_count = scan->high_count = order_columns[scan->order] - below(people, 2);
        scan->high = scan->low;
        scan->low_excluded = scan->high_excluded = false;
        scan->prefix = scan->low_count == order_columns[scan->order] && once_in(people, 2);
    }
    uint32_t both = scan->low_count < scan->high_count ? scan->low_count : scan->high_count;
    if (compare(scan->order, both, false, false, &scan->low, &scan->high) <= 0) return;
    const struct person low = scan->high;
    scan->high = scan->low;
    scan->low = low;
}

static uint32_t flags_of(const struct people_cursor *scan)
{
    return (uint32_t)((scan->backward ? CELLAR_BACKWARD : 0) | (scan->prefix ? CELLAR_PREFIX : 0) |
                      (scan->low_excluded ? CELLAR_FROM_EXCLUDED : 0) | (scan->high_excluded ? CELLAR_TO_EXCLUDED : 0));
}

static int scan_open(struct sim_people *people, struct people_cursor *scan)
{
    const struct person_row low = row_of(&scan->low), high = row_of(&scan->high), after = row_of(&scan->after);
    const struct cellar_index *const indexes[ORDERS] = {NULL, people->by_rank, people->by_note};
    const struct cellar_scan range = {.size = sizeof range,
                                      .flags = flags_of(scan),
                                      .table = people->table,
                                      .index = indexes[scan->order],
                                      .from = &low,
                                      .to = &high,
                                      .from_columns = scan->low_count,
                                      .to_columns = scan->high_count,
                                      .after = scan->follows ? &after : NULL,
                                      .columns = CELLAR_ALL,
                                      .lock = people->locks && once_in(people, 4) ? VALUE_COLUMNS : 0,
                                      .row_bytes = sizeof low};
    memcpy(scan->known, people->known, sizeof scan->known);
    return cellar_cursor_open(people->txn, &range, &scan->cursor);
}

static void scan_close(struct people_cursor *scan)
{
    cellar_cursor_close(scan->cursor);
    scan->cursor = NULL;
}

/* Another cursor goes on where this one has stopped, and sees what has changed since. */
static int scan_follow(struct sim_people *people, struct people_cursor *scan)
{
    scan_close(scan);
    scan->after = scan->last;
    scan->follows = true;
    scan->begun = false;
    memset(scan->shown, 0, sizeof scan->shown);
    return scan_open(people, scan);
}

/* A page. */
static int scan_next(struct sim_people *people, struct people_cursor *scan)
{
    struct person_row rows[PAGE_MAX];
    const uint32_t most = 1 + below(people, PAGE_MAX);
    int count = cellar_cursor_next(scan->cursor, most, rows, sizeof *rows);
    for (int i = 0; i < count; i++) judge_shown(people, scan, &rows[i]);
    if (count < 0) return count;
    if ((uint32_t)count < most) {
        judge_passed(people, scan, NULL);
        scan_close(scan);
    } else if (once_in(people, 4)) {
        return scan_follow(people, scan);
    }
    return 0;
}

static int scan(struct sim_people *people)
{
    struct people_cursor *scan = &people->cursors[below(people, SIM_PEOPLE_CURSORS)];
    if (scan->cursor && once_in(people, 12)) scan_close(scan);
    if (scan->cursor) return scan_next(people, scan);
    *scan = (struct people_cursor){0};
    range_draw(people, scan);
    int code = scan_open(people, scan);
    return code ? code : scan_next(people, scan);
}

/* The first row of a rank, by the index. */
static int get_by_rank(struct sim_people *people)
{
    const int32_t rank = (int32_t)below(people, RANKS) - 1;
    const char *name = names[below(people, NAMES)];
    struct person_row row = {.rank = rank, .name = CELLAR_TEXT(name)};
    struct cellar_read read = CELLAR_READ(people->table, &row, .index = people->by_rank, .columns = VALUE_COLUMNS);
    int code = cellar_get_many(people->txn, &read, 1);
    if (code || read.code) return code;
    uint32_t key = key_of(&row);
    if (key == SIM_PEOPLE_KEYS || row.rank != rank) {
        contradict(people, key, "a read by an index gives another rank, or a key that no client has");
        return 0;
    }
    const struct person person = person_in(&row);
    if (people->known[key].own) judge_own(people, &people->known[key], &person);
    if (!is_sound(&person)) complain(people, key, "an index leads to columns of two writers, or of none");
    return 0;
}

/* ---- a transaction ---- */

/* Savepoints take back what is behind them. Cursors that were opened there end. */
static int change_mind(struct sim_people *people)
{
    struct person_known then[SIM_PEOPLE_KEYS];
    int savepoint = cellar_savepoint(people->txn);
    if (savepoint < 0) return savepoint;
    memcpy(then, people->known, sizeof then);
    int code = change(people);
    if (code == 0) code = once_in(people, 2) ? scan(people) : change(people);
    for (uint32_t i = 0; i < SIM_PEOPLE_CURSORS; i++) scan_close(&people->cursors[i]);
    memcpy(people->known, then, sizeof then);
    return code ? code : cellar_rollback_to(people->txn, savepoint);
}

uint32_t sim_people_begin(struct sim_people *people, struct cellar_txn *txn, struct prng *prng, uint32_t writer)
{
    *people =
        (struct sim_people){.table = people->table, .locks = people->locks, .txn = txn, .prng = prng, .writer = writer};
    people->by_rank = cellar_index_find(people->table, "by_rank");
    people->by_note = cellar_index_find(people->table, "by_note");
    return (uint32_t)prng_between(prng, 1, 12);
}

int sim_people_step(struct sim_people *people)
{
    switch (below(people, 10)) {
    case 0:
    case 1:
        return get(people);
    case 2:
        return get_many(people);
    case 3:
        return get_by_rank(people);
    case 4:
    case 5:
    case 6:
        return scan(people);
    case 7:
        return change_mind(people);
    default:
        return change(people);
    }
}

/* ---- what is left ---- */

struct people_left {
    const struct cellar_table *table;
    bool seen[SIM_PEOPLE_KEYS];
    struct cellar_error *error;
};

static int row_check(void *arg, uint64_t number, const void *row)
{
    struct people_left *left = arg;
    const struct person person = person_in(row);
    (void)number;
    if (person.key == SIM_PEOPLE_KEYS || left->seen[person.key])
        return err_set(left->error, CELLAR_CORRUPT,
                       "people, a row is left whose key no client has, or which is there twice");
    if (!is_sound(&person) || !more_sound(left->table, row))
        return err_set(left->error, CELLAR_CORRUPT, "people, key %u is left as no client wrote it", person.key);
    left->seen[person.key] = true;
    return 0;
}

int sim_people_check(struct cellar_lab_client *self, const struct cellar_table *table, struct cellar_error *error)
{
    struct people_left left = {.table = table, .error = error};
    return db_scan_rows(self, table, row_check, &left, error);
}

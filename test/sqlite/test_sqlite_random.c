/*
 * test_sqlite_random.c [STATEMENTS [SEED [EVERY]]] - random statements, each on a Cellar table and on an ordinary one
 * of SQLite: the same end, the same rows, the same number of changes; and EVERY statements (50) all rows. Both are in
 * one connection, so transactions and savepoints go for both. Prints the seed, and the statement at which they part.
 *
 * A few thousand here, of seed 1; `ninja nightly` makes 200,000, of "any" seed.
 */
#include "prng.h"
#include "share.h"
#include "sqlite_run.h"

#define STATEMENTS 6000
#define ROWS_MOST 200
#define RULES                                                                                                          \
    "k INTEGER NOT NULL DEFAULT (3 + 4) CHECK (k <> 3 OR b > '0'), CHECK (a <> 13 OR c < 'b' OR length(w) = 449)"

static struct prng prng;
static sqlite3 *db;
static char sql[4096]; /* with $ for the table */
#define PAST 6
static char past[PAST][sizeof sql]; /* the statements before it */
static uint64_t number;
static bool in_transaction;
static uint32_t savepoints, outermost; /* outermost: 1, the transaction is a savepoint itself */

static uint64_t below(uint64_t n) { return prng_below(&prng, n); }
static bool one_in(uint64_t n) { return below(n) == 0; }

static void add(const char *format, ...)
{
    va_list args;
    size_t used = strlen(sql);
    va_start(args, format);
    vsnprintf(sql + used, sizeof sql - used, format, args);
    va_end(args);
}

/* ---- values ---- */

static bool well_typed;

static const char *const texts[] = {
    "''", "'a'", "'b'", "'ab'", "'B'", "'5'", "'05'", "'1e1'", "'-3'", "'zz'", "'é'", "'a '", "'aaaaaaaaaaaaaaaaaaaa'"};
/* Longer than column c may be: to compare with only. */
static const char *const too_long[] = {"'aaaaaaaaaaaaaaaaaaaaa'", "'aaaaaaaaaaaaaaaaaaaab'",
                                       "'zzzzzzzzzzzzzzzzzzzzzz'"};
static const char *const blobs[] = {"x''", "x'00'", "x'61'", "x'6100'", "x'ff'", "x'00ff'"};
static const char *const reals[] = {"0.5", "-1.5", "3.0", "1e10", "-0.0", "2.25", "1e300"};
static const char *const larges[] = {"9223372036854775807", "-9223372036854775808", "4611686018427387905", "1e19"};
#define PICK(list) list[below(sizeof list / sizeof *list)]

static void integer(void) { one_in(20) && !well_typed ? add("%s", PICK(larges)) : add("%d", (int)below(30) - 8); }
static void real(void) { one_in(3) ? integer() : add("%s", PICK(reals)); }
static void text(void) { add("%s", PICK(texts)); }
static void blob(void) { add("%s", PICK(blobs)); }

/* Of variable length in the pool: in the row's room, beside it, in extents of several sizes. */
static void long_text(void)
{
    static const unsigned lengths[] = {1, 47, 48, 49, 447, 448, 449, 1000, 14223, 14224, 14225, 16000};
    unsigned length = lengths[below(one_in(6) ? 12 : 7)];
    one_in(2) ? text() : add("printf('%%.*c', %u, '%c')", length, (int)('a' + below(3)));
}

/* Now and then none of the column's type. */
static void value(char type)
{
    if (one_in(12)) {
        add("NULL");
        return;
    }
    if (one_in(15) && !well_typed) type = "irtb"[below(4)];
    if (type == 'w') {
        long_text();
        return;
    }
    type == 'i' ? integer() : type == 'r' ? real() : type == 't' ? text() : blob();
}

static void unique(void) { add("'u%d'", (int)below(60)); }
static void id(void) { add("%d", (int)below(60) - 5); }

/* None so large that the next one were drawn at random. */
static void odd_id(void)
{
    static const char *const ids[] = {"NULL", "'7'", "3.0", "3.5", "x'31'", "'a'"};
    well_typed ? id() : add("%s", PICK(ids));
}

/* ---- conditions ---- */

static const char *const columns[] = {"id", "a", "b", "c", "d", "u", "w"};
static const char types[] = "iirtbtw";

static void operand(int column)
{
    column == 3 && one_in(5)    ? add("%s", PICK(too_long))
    : column == 0 && !one_in(6) ? id()
    : column == 5 && !one_in(6) ? unique()
                                : value(types[column]);
}

static void term(void)
{
    static const char *const operators[] = {"=", "=", "=", "<", "<=", ">", ">=", "<>", "IS", "IS NOT"};
    int column = (int)below(7);
    switch (below(9)) {
    case 0:
        add("%s IS %sNULL", columns[column], one_in(2) ? "NOT " : "");
        break;
    case 1:
        add("%s BETWEEN ", columns[column]);
        operand(column);
        add(" AND ");
        operand(column);
        break;
    case 2:
        add("%s IN (", columns[column]);
        for (uint64_t i = 0, n = below(4) + 1; i < n; i++) {
            if (i) add(", ");
            operand(column);
        }
        add(")");
        break;
    case 3:
        add("%s LIKE 'a%%'", columns[column]);
        break;
    default:
        add("%s %s ", columns[column], PICK(operators));
        operand(column);
    }
}

static void condition(void)
{
    uint64_t terms = below(4);
    if (terms) add(" WHERE ");
    for (uint64_t i = 0; i < terms; i++) {
        if (i) add(one_in(4) ? " OR " : " AND ");
        term();
    }
}

static void one_id(void)
{
    add(" WHERE id = ");
    id();
}

/* ---- statements ---- */

static void draw_order(void)
{
    add(" ORDER BY ");
    for (uint64_t i = 0, n = below(3); i < n; i++) add("%s%s, ", columns[below(7)], one_in(2) ? " DESC" : "");
    add("id%s", one_in(2) ? " DESC" : "");
    if (one_in(2)) add(" LIMIT %d OFFSET %d", (int)below(12), one_in(4) ? (int)below(12) : 0);
}

/* What an index may give in its order, from either end, or not: rows that are equal there are equal altogether. */
static void draw_ordered(void)
{
    static const char *const orders[][2] = {{"a", "c"}, {"b", "a"}, {"d", "a"}, {"u", "u"}, {"c", "a"}};
    static const char *const ways[] = {"", "", " DESC"};
    const char *const *order = orders[below(5)];
    add("SELECT %s, %s FROM $", order[0], order[1]);
    if (one_in(3)) {
        add(" WHERE %s = ", order[0]);
        operand(order[0][0] == 'u' ? 5 : order[0][0] - 'a' + 1);
    } else {
        condition();
    }
    add(" ORDER BY %s%s", order[0], PICK(ways));
    add(", %s%s", order[1], PICK(ways));
    if (one_in(2)) add(" LIMIT %d OFFSET %d", (int)below(12), one_in(4) ? (int)below(12) : 0);
}

static void draw_select(void)
{
    switch (below(9)) {
    case 8:
        draw_ordered();
        return;
    case 0:
        add("SELECT count(*), sum(a %% 100), min(c), max(u), max(b), max(w) FROM $");
        break;
    case 1:
        add("SELECT DISTINCT a FROM $");
        break;
    case 2:
        add("SELECT c, count(*), max(id) FROM $");
        break;
    case 3:
        add("SELECT x.id, y.id, y.c FROM $ AS x JOIN $ AS y ON x.%s = y.%s", columns[below(7)], columns[below(7)]);
        add(" AND x.id < %d", (int)below(20));
        return;
    case 4:
        add("SELECT id, (SELECT count(*) FROM $ AS y WHERE y.a = $.a) FROM $ WHERE id < %d", (int)below(30));
        return;
    default:
        add("SELECT %s FROM $", one_in(4) ? "id, c" : one_in(6) ? "w, a" : one_in(2) ? "u, id" : "*");
    }
    bool whole = !strstr(sql, "count") && !strstr(sql, "DISTINCT");
    condition();
    if (strstr(sql, "SELECT c,")) add(" GROUP BY c");
    if (whole && !one_in(3)) draw_order();
}

static void draw_row(bool with_id)
{
    add("(");
    if (with_id) one_in(15) ? odd_id() : id();
    if (with_id) add(", ");
    for (int i = 1; i < 5; i++) {
        value(types[i]);
        add(", ");
    }
    one_in(8) ? add("NULL") : unique();
    add(", ");
    value('w');
    add(")");
}

static void draw_insert(void)
{
    static const char *const ors[] = {"", "", "", " OR IGNORE", " OR REPLACE", " OR FAIL", " OR ABORT"};
    bool with_id = !one_in(3);
    const char * or = PICK(ors);
    /* Of what has been inserted before a value of another type, SQLite's own table keeps some or nothing. */
    well_typed = strstr(or, "FAIL");
    add("INSERT%s INTO $(%sa, b, c, d, u, w) ", or, with_id ? "id, " : "");
    if (one_in(12)) {
        add("SELECT %sa, b, c, d, NULL, w FROM $ WHERE id %% 7 = %d ORDER BY id", with_id ? "id + 60, " : "",
            (int)below(7));
        return;
    }
    add("VALUES ");
    for (uint64_t i = 0, n = one_in(4) ? below(4) + 1 : 1; i < n; i++) {
        if (i) add(", ");
        draw_row(with_id);
    }
}

/* Of several rows only what is not unique: SQLite says not in which order it comes to them. */
static void draw_update(void)
{
    static const char *const ors[] = {"", "", " OR IGNORE", " OR REPLACE"};
    bool one = one_in(2);
    add("UPDATE%s $ SET ", one ? PICK(ors) : "");
    switch (below(one ? 9 : 7)) {
    case 0:
        add("a = a + %d", (int)below(9) - 4);
        break;
    case 1:
        add("b = b * 2, c = substr(c, 1, 5) || 'x'");
        break;
    case 2:
        add("c = ");
        value('t');
        break;
    case 3:
        add("a = ");
        value('i');
        add(", d = ");
        value('b');
        break;
    case 4:
        add("w = ");
        value('w');
        break;
    case 5:
        add("w = substr(w, 1, 3000) || c, b = b + 1");
        break;
    case 6:
        add("k = ");
        value('i');
        break;
    case 7:
        add("u = ");
        one_in(6) ? add("NULL") : unique();
        break;
    default:
        add("id = ");
        one_in(10) ? odd_id() : id();
    }
    one ? one_id() : condition();
}

static void draw_transaction(void)
{
    if (!in_transaction) {
        outermost = one_in(2);
        add(outermost ? "SAVEPOINT s0" : "BEGIN");
        in_transaction = true;
        savepoints = 0;
        return;
    }
    switch (below(6)) {
    case 0:
        add("ROLLBACK"), in_transaction = false;
        break;
    case 1:
        add("SAVEPOINT s%u", ++savepoints);
        break;
    case 2:
    case 3:
        if (savepoints + outermost) {
            bool release = one_in(2);
            uint32_t level = (uint32_t)below(savepoints + outermost) + !outermost;
            add("%s s%u", release ? "RELEASE" : "ROLLBACK TO", level);
            savepoints = release && level ? level - 1 : level;
            in_transaction = !release || level;
            break;
        }
        __attribute__((fallthrough));
    default:
        add("COMMIT"), in_transaction = false;
    }
}

static void draw(void)
{
    sql[0] = 0;
    well_typed = false;
    uint64_t what = below(100);
    if (what < 46)
        draw_select();
    else if (what < 66)
        draw_insert();
    else if (what < 80)
        draw_update();
    else if (what < 88) {
        add("DELETE FROM $");
        one_in(4) ? condition() : one_id();
    } else
        draw_transaction();
}

/* ---- both ---- */

static void on_table(const char *name, struct sqlite_result *result)
{
    char text_of[8192];
    size_t used = 0;
    for (const char *at = sql; *at; at++)
        used += (size_t)(*at == '$' ? snprintf(text_of + used, sizeof text_of - used, "%s", name)
                                    : snprintf(text_of + used, sizeof text_of - used, "%c", *at));
    sqlite_run(db, text_of, result);
    result->changes = result->code == SQLITE_OK ? sqlite3_changes(db) : 0;
}

static int compare_lines(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Rows that were asked for in no order. */
static void sort(struct sqlite_result *result)
{
    static char *lines[1 << 16];
    static char sorted[sizeof result->text];
    size_t count = 0, used = 0;
    for (char *line = strtok(result->text, "\n"); line && count < 1 << 16; line = strtok(NULL, "\n"))
        lines[count++] = line;
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++) used += (size_t)sprintf(sorted + used, "%s\n", lines[i]);
    sorted[used] = 0;
    memcpy(result->text, sorted, used + 1);
}

static struct sqlite_result ours, theirs;

/*
 * On SQLite's own table, whole or not at all: within a transaction what a statement has done before it meets a value of
 * another type than a STRICT column's may stay (3.40), against what its documentation says.
 */
static void on_plain(void)
{
    bool whole = in_transaction && strncmp(sql, "SELECT", 6) != 0 && !strstr(sql, "OR FAIL");
    if (whole) sqlite_run_must(db, "SAVEPOINT whole");
    on_table("plain", &theirs);
    if (whole && theirs.code) sqlite_run_must(db, "ROLLBACK TO whole");
    if (whole) sqlite_run_must(db, "RELEASE whole");
}

static bool is_same(void)
{
    on_plain();
    on_table("cellared", &ours);
    if ((ours.code == 0) != (theirs.code == 0)) return false;
    if (ours.code) return (ours.code & 0xff) == SQLITE_CONSTRAINT || (ours.code & 0xff) == SQLITE_MISMATCH;
    if (ours.cut || theirs.cut) return ours.rows == theirs.rows;
    if (!strstr(sql, "ORDER BY")) {
        sort(&ours);
        sort(&theirs);
    }
    bool writes = !strncmp(sql, "INSERT", 6) || !strncmp(sql, "UPDATE", 6) || !strncmp(sql, "DELETE", 6);
    return strcmp(ours.text, theirs.text) == 0 && (!writes || ours.changes == theirs.changes);
}

static void parted(uint64_t seed, const char *what)
{
    fprintf(stderr, "statement %llu of seed %llu: %s\n  %s\n", (unsigned long long)number, (unsigned long long)seed,
            what, sql);
    for (uint64_t i = 0; i < PAST; i++) fprintf(stderr, "after: %s\n", past[(number + i) % PAST]);
    fprintf(stderr, "Cellar: %d, %d changes, %s\n%s\nSQLite: %d, %d changes\n%s\n", ours.code, ours.changes,
            sqlite3_errmsg(db), ours.text, theirs.code, theirs.changes, theirs.text);
    exit(1);
}

static void run_both(uint64_t seed)
{
    if (!strchr(sql, '$')) {
        on_table("", &ours);
        if (ours.code) parted(seed, "a transaction of both");
        return;
    }
    if (!is_same()) parted(seed, "they differ");
}

static void prepare(void)
{
    char create[1024];
    const char *pool = sqlite_run_pool();
    snprintf(create, sizeof create,
             "CREATE VIRTUAL TABLE cellared USING cellar(pool='%s', size='128M', rows='2000', id INTEGER PRIMARY KEY, "
             "a INTEGER, b REAL, c TEXT(20), d BLOB(8), u TEXT(10) UNIQUE, w TEXT(1048576), " RULES
             ", INDEX(a, c), INDEX(b, a), INDEX(d, a))",
             pool);
    sqlite_run_must(db, create);
    unlink(pool);
    sqlite_run_must(db, "CREATE TABLE plain(id INTEGER PRIMARY KEY, a INTEGER, b REAL, c TEXT, d BLOB, u TEXT UNIQUE, "
                        "w TEXT, " RULES ") STRICT");
}

int main(int argc, char **argv)
{
    uint64_t statements = argc > 1 ? strtoull(argv[1], NULL, 10) : share_rounds(STATEMENTS) * share_percent() / 100;
    bool any = argc > 2 && !strcmp(argv[2], "any");
    uint64_t seed = any ? (uint64_t)getpid() : argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t every = argc > 3 ? strtoull(argv[3], NULL, 10) : 50;
    prng_seed(&prng, seed);
    db = sqlite_run_open(":memory:");
    prepare();
    for (number = 1; number <= statements; number++) {
        draw();
        run_both(seed);
        strcpy(past[number % PAST], sql);
        if (number % every) continue;
        strcpy(sql, "SELECT * FROM $ ORDER BY id");
        run_both(seed);
        strcpy(sql, theirs.rows > ROWS_MOST ? "DELETE FROM $ WHERE id % 2" : "SELECT count(*) FROM $");
        run_both(seed);
    }
    if (in_transaction) sqlite_run_must(db, "COMMIT");
    if (sqlite3_close(db)) sqlite_run_fail(db, "closing");
    printf("%llu statements of seed %llu: the same\n", (unsigned long long)statements, (unsigned long long)seed);
    return 0;
}

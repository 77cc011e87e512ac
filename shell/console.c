#include "console.h"

#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

/* One word from `at` on, to `to`; where it ended. NULL: a quote is not closed. */
static char *word_take(char *at, char **to)
{
    bool quoted = false;
    for (; *at && (quoted || (*at != ' ' && *at != '\t')); at++) {
        if (*at != '"') {
            *(*to)++ = *at;
        } else if (quoted && at[1] == '"') {
            *(*to)++ = *at++;
        } else {
            quoted = !quoted;
        }
    }
    return quoted ? NULL : at;
}

int console_split(struct console *console, char *line)
{
    console->word_count = 0;
    for (char *at = line;;) {
        at += strspn(at, " \t");
        if (*at == 0 || *at == '#') return 0;
        if (console->word_count == CONSOLE_WORDS_MAX)
            return err_set(console->error, CELLAR_INVALID, "more than %d words", CONSOLE_WORDS_MAX);
        char *to = at;
        console->words[console->word_count++] = at;
        at = word_take(at, &to);
        if (!at) return err_set(console->error, CELLAR_INVALID, "a quote is not closed");
        bool last = *at == 0;
        *to = 0;
        if (last) return 0;
        at++;
    }
}

void console_word_print(const char *word)
{
    if (*word && !strpbrk(word, " \"#")) {
        fputs(word, stdout);
        return;
    }
    putchar('"');
    for (; *word; word++) {
        if (*word == '"') putchar('"');
        putchar(*word);
    }
    putchar('"');
}

void console_row_print(const struct relation *relation)
{
    for (uint32_t i = 0; i < relation->key_count; i++) {
        if (i) putchar(' ');
        console_word_print(relation_print(relation, relation->keys[i], true));
    }
    putchar(':');
    for (uint32_t i = 0; i < relation->def.column_count; i++) {
        if (relation_is_key(relation, i)) continue;
        printf(" %s=", relation->def.columns[i].name);
        console_word_print(relation_print(relation, i, true));
    }
    putchar('\n');
}

/* ---- transactions ---- */

static int failed(struct console *console, int code) { return err_last(console->error, code); }

/* After RETRY and DEADLINE a transaction is over. */
static int txn_over(struct console *console, int code)
{
    (void)failed(console, code);
    if (code != CELLAR_RETRY && code != CELLAR_DEADLINE) return code;
    struct cellar_error why = *console->error;
    cellar_abort(console->txn);
    console->txn = NULL;
    return err_set(console->error, code, "%.180s; the transaction is over, without effect", why.text);
}

int console_transact(struct console *console, cellar_txn_fn fn, void *arg)
{
    if (!console->txn) return failed(console, cellar_run(console->db, fn, arg, NULL, NULL));
    int code = fn(console->txn, arg);
    if (code == 0) code = cellar_check(console->txn);
    return code < 0 ? txn_over(console, code) : 0;
}

int console_at_rest(struct console *console, cellar_lab_fn fn, void *arg)
{
    if (console->txn)
        return err_set(console->error, CELLAR_BUSY, "this reads the table at rest: commit or abort first");
    return cellar_lab_run(console->db, fn, arg);
}

static int begin(struct console *console)
{
    struct cellar_txn_options options = {.size = sizeof options};
    if (console->txn) return err_set(console->error, CELLAR_INVALID, "a transaction is open: commit or abort it");
    if (console->word_count == 2 && strcmp(console->words[1], "read-only") != 0)
        return err_set(console->error, CELLAR_INVALID, "'%.40s' is not read-only", console->words[1]);
    if (console->word_count == 2) options.flags = CELLAR_READ_ONLY;
    return failed(console, cellar_begin(console->db, &options, &console->txn));
}

static int end(struct console *console)
{
    bool commit = strcmp(console->words[0], "commit") == 0;
    if (!console->txn) return err_set(console->error, CELLAR_INVALID, "no transaction is open");
    int code = commit ? cellar_commit(console->txn, NULL) : 0;
    if (!commit) cellar_abort(console->txn);
    console->txn = NULL;
    if (code == 0) puts(commit ? "committed" : "aborted");
    return failed(console, code);
}

/* ---- rows ---- */

/* `get TABLE KEY ...`, and the like: the table, and the key's columns in its row. */
static int row_open(struct console *console, struct relation *relation)
{
    int code = relation_open(console->db, console->words[1], console->kinds, relation, console->error);
    if (code == 0 && console->word_count < 2 + relation->key_count)
        return err_set(console->error, CELLAR_INVALID, "the key of %.31s has %u columns", console->words[1],
                       relation->key_count);
    for (uint32_t i = 0; i < relation->key_count && code == 0; i++)
        code = relation_parse(relation, relation->keys[i], console->words[2 + i], console->error);
    return code;
}

struct change {
    struct console *console;
    struct relation *relation;
    uint64_t given; /* columns, but for the key's */
    void *kept;     /* the row that was read */
};

static int read_columns(struct cellar_txn *txn, const struct change *change, uint64_t columns)
{
    const struct relation *relation = change->relation;
    return (cellar_get)(txn, relation->table, columns, 0, relation->row, relation->def.row_bytes);
}

/* Its BYTES are lent until the transaction ends, and it is printed when that has committed. */
static int get_fn(struct cellar_txn *txn, void *arg)
{
    struct change *change = arg;
    int code = read_columns(txn, change, CELLAR_ALL);
    if (code) return code;
    free(change->kept);
    change->kept = relation_copy(change->relation, change->relation->row);
    return change->kept ? 0 : CELLAR_NOMEM;
}

static int put_fn(struct cellar_txn *txn, void *arg)
{
    struct change *change = arg;
    const struct relation *relation = change->relation;
    return (cellar_put)(txn, relation->table, change->given, relation->row, relation->def.row_bytes);
}

static int insert_fn(struct cellar_txn *txn, void *arg)
{
    struct change *change = arg;
    const struct relation *relation = change->relation;
    return (cellar_insert)(txn, relation->table, relation->row, relation->def.row_bytes);
}

/* Who deletes by hand is told that there was nothing. */
static int delete_fn(struct cellar_txn *txn, void *arg)
{
    struct change *change = arg;
    const struct relation *relation = change->relation;
    int code = read_columns(txn, change, CELLAR_COL(relation->keys[0]));
    return code ? code : (cellar_delete)(txn, relation->table, relation->row, relation->def.row_bytes);
}

/* COLUMN=VALUE words behind the key, into the row. */
static int values_parse(struct change *change)
{
    struct console *console = change->console;
    struct relation *relation = change->relation;
    for (uint32_t i = 2 + relation->key_count; i < console->word_count; i++) {
        char *word = console->words[i], *value = strchr(word, '=');
        if (!value) return err_set(console->error, CELLAR_INVALID, "'%.60s' is not COLUMN=VALUE", word);
        *value++ = 0;
        int column = relation_column_find(relation, word, console->error);
        if (column < 0) return column;
        if (relation_is_key(relation, (uint32_t)column))
            return err_set(console->error, CELLAR_INVALID, "%.31s is in the key: delete, and insert another", word);
        if (change->given & CELLAR_COL(column))
            return err_set(console->error, CELLAR_INVALID, "%.31s is given twice", word);
        change->given |= CELLAR_COL(column);
        int code = relation_parse(relation, (uint32_t)column, value, console->error);
        if (code) return code;
    }
    return 0;
}

/* The words that a command takes are those of the key, and of what it changes. */
static int words_check(const struct change *change, cellar_txn_fn fn)
{
    struct console *console = change->console;
    bool more = console->word_count > 2 + change->relation->key_count;
    if (fn == put_fn && !more) return err_set(console->error, CELLAR_INVALID, "no COLUMN=VALUE behind the key");
    if (fn != put_fn && fn != insert_fn && more)
        return err_set(console->error, CELLAR_INVALID, "more words than the key of %.31s has columns",
                       console->words[1]);
    return 0;
}

static int row_run(struct console *console, cellar_txn_fn fn)
{
    struct relation relation;
    struct change change = {.console = console, .relation = &relation};
    int code = row_open(console, &relation);
    if (code == 0) code = words_check(&change, fn);
    if (code == 0) code = values_parse(&change);
    if (code == 0) code = console_transact(console, fn, &change);
    if (code == 0 && fn == get_fn) {
        relation_use(&relation, change.kept);
        console_row_print(&relation);
    }
    free(change.kept);
    relation_close(&relation);
    return code;
}

static int get(struct console *console) { return row_run(console, get_fn); }
static int put(struct console *console) { return row_run(console, put_fn); }
static int insert(struct console *console) { return row_run(console, insert_fn); }
static int delete_one(struct console *console) { return row_run(console, delete_fn); }

/* ---- all commands ---- */

static int quit(struct console *console)
{
    console->quit = true;
    return 0;
}

static int help(struct console *console)
{
    (void)console;
    console_help(stdout);
    return 0;
}

static const struct command_def {
    const char *name, *arguments, *help;
    uint32_t least, most; /* words behind the name */
    console_fn *run;
} commands[] = {
    {"tables", "", "the tables, and what they hold", 0, 0, console_tables},
    {"schema", "[TABLE]", "tables and indexes, as the commands that create them", 0, 1, console_schema},
    {"get", "TABLE KEY ...", "one row: of a key of several columns a word each", 2, CONSOLE_WORDS_MAX, get},
    {"put", "TABLE KEY ... COLUMN=VALUE ...", "change columns of a row", 3, CONSOLE_WORDS_MAX, put},
    {"insert", "TABLE KEY ... [COLUMN=VALUE ...]", "a new row; what is not given is zero, or empty", 2,
     CONSOLE_WORDS_MAX, insert},
    {"delete", "TABLE KEY ...", "delete a row", 2, CONSOLE_WORDS_MAX, delete_one},
    {"scan", "TABLE [INDEX] [from V ...] [to V ...] [limit N] [backward]",
     "rows in the order of the key or an index; where there is none in no order", 1, CONSOLE_WORDS_MAX, console_scan},
    {"begin", "[read-only]", "begin a transaction; else each command is one", 0, 1, begin},
    {"commit", "", "end it with effect", 0, 0, end},
    {"abort", "", "end it without", 0, 0, end},
    {"explain", "COMMAND ...", "run a command, and tell which index it took, and what it cost", 1, CONSOLE_WORDS_MAX,
     console_explain},
    {"stats", "[TABLE]", "what this shell has done, and the pool's memory; or of a table", 0, 1, console_stats},
    {"create", "table NAME [rows N] [ordered] COLUMN:TYPE[:key][@CELL] ...",
     "a table; types: u8 to u64, i8 to i64, f32, f64, fixedN, bytesN, bytes; @ with one number: one cell", 3,
     CONSOLE_WORDS_MAX, console_create},
    {"create", "index TABLE NAME [unique] [-]COLUMN ... [covering COLUMN ...]",
     "an index, with - downward; its entries have the covered columns, too", 3, CONSOLE_WORDS_MAX, console_create},
    {"create", "order TABLE", "the order of its key", 2, 2, console_create},
    {"drop", "table NAME", "a table, with all that it has; at rest", 2, 3, console_drop},
    {"drop", "index TABLE NAME", "an index; likewise", 2, 3, console_drop},
    {"help", "", "this list", 0, 0, help},
    {"quit", "", "close the pool", 0, 0, quit},
};
#define COMMANDS (sizeof commands / sizeof *commands)

void console_help(FILE *out)
{
    for (uint32_t i = 0; i < COMMANDS; i++) {
        int width = fprintf(out, "  %s %s", commands[i].name, commands[i].arguments);
        fprintf(out, "%*s%s\n", width < 32 ? 34 - width : 2, "", commands[i].help);
    }
}

int console_run(struct console *console)
{
    if (console->word_count == 0) return 0;
    for (uint32_t i = 0; i < COMMANDS; i++) {
        const struct command_def *command = &commands[i];
        if (strcmp(console->words[0], command->name) != 0) continue;
        uint32_t arguments = console->word_count - 1;
        bool fits = arguments >= command->least && arguments <= command->most;
        if (!fits && i + 1 < COMMANDS && !strcmp(command->name, commands[i + 1].name)) continue;
        if (!fits) return err_set(console->error, CELLAR_INVALID, "wanted: %s %s", command->name, command->arguments);
        return command->run(console);
    }
    return err_set(console->error, CELLAR_INVALID, "unknown command '%.40s' (see help)", console->words[0]);
}

/* ---- completion ---- */

static void offer_tables(const struct console *console, line_offer_fn offer, void *arg)
{
    for (const char *name = NULL; (name = cellar_table_next(console->db, name));) offer(arg, name);
}

/* What may stand behind `command TABLE`. */
static void offer_parts(struct console *console, const char *command, const char *name, line_offer_fn offer, void *arg)
{
    static const char *const scan_words[] = {"from", "to", "limit", "backward"};
    char text[CELLAR_NAME_BYTES + 1];
    struct cellar_error ignored;
    struct relation relation;
    bool scan = !strcmp(command, "scan");
    if (relation_open(console->db, name, NULL, &relation, &ignored)) return;
    for (uint32_t i = 0; !scan && strcmp(command, "get") != 0 && i < relation.def.column_count; i++) {
        if (relation_is_key(&relation, i)) continue;
        snprintf(text, sizeof text, "%s=", relation.def.columns[i].name);
        offer(arg, text);
    }
    for (uint32_t i = 0; scan && i < relation.def.index_count; i++) offer(arg, relation.def.indexes[i].name);
    for (uint32_t i = 0; scan && i < 4; i++) offer(arg, scan_words[i]);
    relation_close(&relation);
}

void console_complete(void *arg, const char *before, line_offer_fn offer, void *offer_arg)
{
    struct console *console = arg;
    char copy[256], *words[3] = {0}, *rest;
    uint32_t count = 0;
    snprintf(copy, sizeof copy, "%s", before);
    for (char *word = strtok_r(copy, " ", &rest); word && count < 3; word = strtok_r(NULL, " ", &rest))
        if (count || strcmp(word, "explain") != 0) words[count++] = word;
    if (count == 0) {
        for (uint32_t i = 0; i < COMMANDS; i++)
            if (i == 0 || strcmp(commands[i].name, commands[i - 1].name) != 0) offer(offer_arg, commands[i].name);
    } else if (count == 1 && !strcmp(words[0], "begin")) {
        offer(offer_arg, "read-only");
    } else if (count == 1 && (!strcmp(words[0], "create") || !strcmp(words[0], "drop"))) {
        offer(offer_arg, "table");
        offer(offer_arg, "index");
        if (!strcmp(words[0], "create")) offer(offer_arg, "order");
    } else if (count == 1 || (count == 2 && (!strcmp(words[1], "index") || !strcmp(words[1], "order") ||
                                             !strcmp(words[0], "drop")))) {
        offer_tables(console, offer, offer_arg);
    } else if (strcmp(words[0], "create") != 0 && strcmp(words[0], "drop") != 0) {
        offer_parts(console, words[0], words[1], offer, offer_arg);
    }
}

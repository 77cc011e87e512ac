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

static void word_print(const char *word)
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
    char text[VALUE_TEXT_BYTES];
    for (uint32_t i = 0; i < relation->field_count; i++) {
        relation_field_print(relation, i, true, text);
        if (i) printf(" %s=", relation_field_name(relation, i));
        word_print(text);
        if (i == 0) putchar(':');
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

/* ---- records ---- */

/* `get TABLE KEY`, and the like: the table, and the key in its row. */
static int record_open(struct console *console, struct relation *relation)
{
    int code = relation_open(console->db, console->words[1], console->kinds, relation, console->error);
    return code ? code : relation_field_parse(relation, 0, console->words[2], console->error);
}

struct change {
    struct console *console;
    struct relation *relation;
    bool given[CELLAR_COLUMNS_MAX];
};

static int get_fn(struct cellar_txn *txn, void *arg)
{
    struct change *change = arg;
    int code = relation_locate(change->relation, txn);
    return code ? code : relation_read(change->relation, txn);
}

static int put_fn(struct cellar_txn *txn, void *arg)
{
    struct change *change = arg;
    const struct relation *relation = change->relation;
    int code = relation_locate(change->relation, txn);
    for (uint32_t i = 0; i < relation->schema.column_count && code == 0; i++)
        if (change->given[i])
            code = cellar_txn_put(txn, relation->table, relation->key, (int)i,
                                  (const uint8_t *)relation->row + relation->columns[i].offset);
    return code;
}

static int insert_fn(struct cellar_txn *txn, void *arg)
{
    struct change *change = arg;
    return relation_insert(change->relation, txn);
}

static int delete_fn(struct cellar_txn *txn, void *arg)
{
    struct change *change = arg;
    int code = relation_locate(change->relation, txn);
    return code ? code : relation_delete(change->relation, txn);
}

/* COLUMN=VALUE words, into the row. */
static int values_parse(struct change *change)
{
    struct console *console = change->console;
    for (uint32_t i = 3; i < console->word_count; i++) {
        char *value = strchr(console->words[i], '=');
        if (!value) return err_set(console->error, CELLAR_INVALID, "'%.60s' is not COLUMN=VALUE", console->words[i]);
        *value++ = 0;
        int field = relation_field_find(change->relation, console->words[i], console->error);
        if (field < 0) return field;
        if (field == 0)
            return err_set(console->error, CELLAR_INVALID, "%.31s is the key: delete, and insert another",
                           console->words[i]);
        int column = relation_column(change->relation, (uint32_t)field);
        if (change->given[column])
            return err_set(console->error, CELLAR_INVALID, "%.31s is given twice", console->words[i]);
        change->given[column] = true;
        int code = relation_field_parse(change->relation, (uint32_t)field, value, console->error);
        if (code) return code;
    }
    return 0;
}

static int record_run(struct console *console, cellar_txn_fn fn)
{
    struct relation relation;
    struct change change = {.console = console, .relation = &relation};
    int code = record_open(console, &relation);
    if (code == 0 && (fn == put_fn || fn == insert_fn)) code = values_parse(&change);
    if (code == 0) code = console_transact(console, fn, &change);
    if (code == 0 && fn == get_fn) console_row_print(&relation);
    relation_close(&relation);
    return code;
}

static int get(struct console *console) { return record_run(console, get_fn); }
static int put(struct console *console) { return record_run(console, put_fn); }
static int insert(struct console *console) { return record_run(console, insert_fn); }
static int delete_one(struct console *console) { return record_run(console, delete_fn); }

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
    {"get", "TABLE KEY", "one record", 2, 2, get},
    {"put", "TABLE KEY COLUMN=VALUE ...", "change columns of a record", 3, CONSOLE_WORDS_MAX, put},
    {"insert", "TABLE KEY [COLUMN=VALUE ...]", "a new record; what is not given is zero", 2, CONSOLE_WORDS_MAX, insert},
    {"delete", "TABLE KEY", "delete a record", 2, 2, delete_one},
    {"scan", "TABLE [INDEX] [from V ...] [to V ...] [limit N] [backward]",
     "records in an index's order; without an index in no order", 1, CONSOLE_WORDS_MAX, console_scan},
    {"begin", "[read-only]", "begin a transaction; else each command is one", 0, 1, begin},
    {"commit", "", "end it with effect", 0, 0, end},
    {"abort", "", "end it without", 0, 0, end},
    {"explain", "COMMAND ...", "run a command, and tell which index it took, and what it cost", 1, CONSOLE_WORDS_MAX,
     console_explain},
    {"stats", "[TABLE]", "what this shell has done, and the pool's memory; or of a table", 0, 1, console_stats},
    {"alter", "table NAME add column COLUMN:BYTES [VALUE]", "a column more; at rest, all records are written anew", 5,
     6, console_alter},
    {"alter", "table NAME drop column COLUMN", "a column less; likewise", 5, 5, console_alter},
    {"create", "table NAME records N [key NAME:BYTES] COLUMN:BYTES[@CELL] ...", "a table; @ with one number: one cell",
     3, CONSOLE_WORDS_MAX, console_create},
    {"create", "index TABLE NAME [unique] [COLUMN[:signed|:unsigned|:bytes][:desc] ...] [covering COLUMN ...]",
     "an index; without a column of the keys; its entries have the covered columns, too", 3, CONSOLE_WORDS_MAX,
     console_create},
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
        if (arguments < command->least || arguments > command->most)
            return err_set(console->error, CELLAR_INVALID, "wanted: %s %s", command->name, command->arguments);
        return command->run(console);
    }
    return err_set(console->error, CELLAR_INVALID, "unknown command '%.40s' (see help)", console->words[0]);
}

/* ---- completion ---- */

static void offer_tables(const struct console *console, line_offer_fn offer, void *arg)
{
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    for (const struct cellar_table *table = NULL; (table = cellar_schema_next(console->db, table));) {
        cellar_schema_describe(table, &schema, columns);
        offer(arg, schema.name);
    }
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
    for (uint32_t i = 1; !scan && strcmp(command, "get") != 0 && i < relation.field_count; i++) {
        snprintf(text, sizeof text, "%s=", relation_field_name(&relation, i));
        offer(arg, text);
    }
    for (const struct cellar_index *index = NULL; scan && (index = cellar_index_next(relation.table, index));) {
        struct cellar_schema_index def;
        struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
        cellar_index_describe(index, &def, columns);
        offer(arg, def.name);
    }
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
    } else if (count == 1 && !strcmp(words[0], "alter")) {
        offer(offer_arg, "table");
    } else if (count == 1 && !strcmp(words[0], "create")) {
        offer(offer_arg, "table");
        offer(offer_arg, "index");
    } else if (count == 1 || (count == 2 && (!strcmp(words[1], "index") || !strcmp(words[0], "alter")))) {
        offer_tables(console, offer, offer_arg);
    } else if (strcmp(words[0], "create") != 0 && strcmp(words[0], "alter") != 0) {
        offer_parts(console, words[0], words[1], offer, offer_arg);
    }
}

/* console.h - what the commands of `cellar shell` work on: an open pool, and at most one transaction. */
#pragma once

#include "cellar_lab.h"
#include "line.h"
#include "relation.h"
#include "source.h"

#define CONSOLE_WORDS_MAX 256

struct console {
    struct source source;
    const char *command_text, *kinds;
    bool keep_going; /* option; and on a terminal */
    struct cellar *db;
    struct cellar_txn *txn; /* NULL: each command is a transaction of its own */
    bool quit;
    struct cellar_error *error;
    char *words[CONSOLE_WORDS_MAX]; /* of the command; the first is its name */
    uint32_t word_count;
};

/* Splits a line in place: "" around what has spaces, "" within for a quote; # begins a comment. INVALID. */
NODISCARD int console_split(struct console *console, char *line);
/* Runs the command that the words are. Its output goes to standard output. */
NODISCARD int console_run(struct console *console);
/* As line_complete_fn: commands, tables, columns, indexes. */
void console_complete(void *console, const char *before, line_offer_fn offer, void *offer_arg);
void console_help(FILE *out);

/*
 * In the transaction that is open, or in one of its own, which is tried again as long as others come between. What fn
 * has read is true at one moment when this returns 0.
 */
NODISCARD int console_transact(struct console *console, cellar_txn_fn fn, void *arg);
/* Runs fn on the process's one coordinator: what wants the pool at rest. */
NODISCARD int console_at_rest(struct console *console, cellar_lab_fn fn, void *arg);
/* A word as a command takes it: in quotes, if need be. */
void console_word_print(const char *word);
/* "KEY ...: column=value ...", as put and insert take it. */
void console_row_print(const struct relation *relation);
/* Which order a `scan` takes: the one that its second word names, else the table's; false: the table has none. */
bool console_order(const struct console *console, const struct relation *relation, struct relation_order *order,
                   bool *named);

typedef int console_fn(struct console *console);
console_fn console_tables, console_schema, console_create, console_drop; /* console_define.c */
console_fn console_stats, console_explain;                               /* console_stats.c */
console_fn console_scan;                                                 /* console_scan.c */

/*
 * line.h - lines from a person or a pipe. On a terminal with editing, history and completion (libedit, where this build
 * has it), else as they come.
 */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stdio.h>

struct line;

/* Offered a word that may stand where the cursor is. */
typedef void (*line_offer_fn)(void *arg, const char *word);
/* Offers all words that may follow `before`, the text left of the word at the cursor. */
typedef void (*line_complete_fn)(void *arg, const char *before, line_offer_fn offer, void *offer_arg);

struct line_config {
    FILE *in;
    bool terminal;       /* a prompt is shown, and lines are edited */
    const char *history; /* file to keep lines in; NULL: none */
    line_complete_fn complete;
    void *arg;
};
NODISCARD int line_open(const struct line_config *config, struct line **out, struct cellar_error *error);
void line_close(struct line *line);
/* The next one without its end, valid until the next call; NULL: there is none. */
const char *line_read(struct line *line, const char *prompt);

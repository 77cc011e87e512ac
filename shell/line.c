#include "line.h"

#include <stdlib.h>
#include <string.h>

#ifdef CELLAR_EDIT
#include <histedit.h>
#endif

#define HISTORY_LINES 1000
#define WORD_BYTES 256

struct line {
    struct line_config config;
    char *text; /* what was read last */
    size_t capacity;
    const char *prompt;
#ifdef CELLAR_EDIT
    EditLine *edit; /* NULL: not on a terminal */
    History *history;
#endif
};

#ifdef CELLAR_EDIT

/* ---- completion: the word at the cursor ---- */

struct offers {
    const char *begun;
    size_t begun_bytes;
    char shared[WORD_BYTES + 1]; /* how all that fit go on together */
    uint32_t count;
    bool show; /* second round: they are listed */
};

static void offer(void *arg, const char *word)
{
    struct offers *offers = arg;
    if (strncmp(word, offers->begun, offers->begun_bytes) != 0 || strlen(word) >= WORD_BYTES) return;
    if (offers->show) {
        printf("%s%s", offers->count ? "  " : "\n", word);
    } else if (offers->count == 0) {
        strcpy(offers->shared, word);
    } else {
        size_t same = 0;
        while (word[same] && word[same] == offers->shared[same]) same++;
        offers->shared[same] = 0;
    }
    offers->count++;
}

static unsigned char complete(EditLine *edit, int key)
{
    struct line *line;
    const LineInfo *info = el_line(edit);
    const char *word = info->cursor;
    (void)key;
    if (el_get(edit, EL_CLIENTDATA, &line) != 0) return CC_ERROR;
    while (word > info->buffer && word[-1] != ' ') word--;
    char *before = strndup(info->buffer, (size_t)(word - info->buffer));
    char *begun = strndup(word, (size_t)(info->cursor - word));
    unsigned char result = CC_ERROR;
    if (before && begun) {
        struct offers offers = {.begun = begun, .begun_bytes = strlen(begun)};
        line->config.complete(line->config.arg, before, offer, &offers);
        size_t shared_bytes = strlen(offers.shared);
        if (offers.count == 1 && offers.shared[shared_bytes - 1] != '=') strcat(offers.shared, " ");
        if (offers.count && strlen(offers.shared) > offers.begun_bytes) {
            (void)el_insertstr(edit, offers.shared + offers.begun_bytes);
            result = CC_REFRESH;
        } else if (offers.count > 1) {
            offers.show = true;
            offers.count = 0;
            line->config.complete(line->config.arg, before, offer, &offers);
            putchar('\n');
            result = CC_REDISPLAY;
        }
    }
    free(before);
    free(begun);
    return result;
}

/* ---- editing ---- */

static char *prompt_of(EditLine *edit)
{
    struct line *line;
    return (char *)(el_get(edit, EL_CLIENTDATA, &line) == 0 ? line->prompt : "");
}

static int edit_open(struct line *line, struct cellar_error *error)
{
    HistEvent event;
    line->edit = el_init("cellar", line->config.in, stdout, stderr);
    line->history = history_init();
    if (!line->edit || !line->history) return err_set(error, CELLAR_NOMEM, "no memory for an editor of lines");
    history(line->history, &event, H_SETSIZE, HISTORY_LINES);
    history(line->history, &event, H_SETUNIQUE, 1);
    if (line->config.history) history(line->history, &event, H_LOAD, line->config.history);
    el_set(line->edit, EL_CLIENTDATA, line);
    el_set(line->edit, EL_PROMPT, prompt_of);
    el_set(line->edit, EL_EDITOR, "emacs");
    el_set(line->edit, EL_HIST, history, line->history);
    el_set(line->edit, EL_ADDFN, "cellar-complete", "complete a word", complete);
    el_set(line->edit, EL_BIND, "^I", "cellar-complete", NULL);
    el_set(line->edit, EL_SETTY, "-d", "-isig", NULL);
    el_set(line->edit, EL_BIND, "^C", "em-kill-line", NULL);
    return 0;
}

static void edit_close(struct line *line)
{
    if (line->history) history_end(line->history);
    if (line->edit) el_end(line->edit);
}

/*
 * While a line is read, an interrupt wipes it, and ends nothing. libedit shows the prompt before it sets the terminal
 * for editing: so the mode for commands (-x) takes none either from here on, until the line is there.
 */
static const char *edit_gets(struct line *line, int *count)
{
    el_set(line->edit, EL_SETTY, "-x", "-isig", NULL);
    const char *text = el_gets(line->edit, count);
    el_set(line->edit, EL_SETTY, "-x", "+isig", NULL);
    return text;
}

/* Kept at once: a terminal that hangs up, or a signal, ends the shell without a word. */
static void history_keep(struct line *line, const char *text)
{
    HistEvent event;
    history(line->history, &event, H_ENTER, text);
    if (line->config.history) history(line->history, &event, H_SAVE, line->config.history);
}

static const char *edit_read(struct line *line)
{
    int count;
    const char *text = edit_gets(line, &count);
    if (!text || count <= 0) return NULL;
    free(line->text);
    line->text = strndup(text, (size_t)count);
    if (!line->text) return NULL;
    line->text[strcspn(line->text, "\n")] = 0;
    if (*line->text) history_keep(line, text);
    return line->text;
}
#endif

/* ---- either way ---- */

int line_open(const struct line_config *config, struct line **out, struct cellar_error *error)
{
    struct line *line = *out = calloc(1, sizeof *line);
    if (!line) return err_set(error, CELLAR_NOMEM, "no memory");
    line->config = *config;
#ifdef CELLAR_EDIT
    if (config->terminal) return edit_open(line, error);
#endif
    return 0;
}

void line_close(struct line *line)
{
    if (!line) return;
#ifdef CELLAR_EDIT
    edit_close(line);
#endif
    free(line->text);
    free(line);
}

const char *line_read(struct line *line, const char *prompt)
{
    line->prompt = prompt;
#ifdef CELLAR_EDIT
    if (line->edit) return edit_read(line);
#endif
    if (line->config.terminal) fputs(prompt, stdout), fflush(stdout);
    ssize_t bytes = getline(&line->text, &line->capacity, line->config.in);
    if (bytes <= 0) return NULL;
    line->text[strcspn(line->text, "\r\n")] = 0;
    return line->text;
}

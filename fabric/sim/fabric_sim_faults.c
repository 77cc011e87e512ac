/* fabric_sim_faults.c - the menu's names, and how a menu is read from text. */
#include "fabric_sim_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 64

static const char *const names[] = {
#define X(name, text) #name,
    FABRIC_SIM_FAULT_MAP(X)
#undef X
};

static const char *const texts[] = {
#define X(name, text) text,
    FABRIC_SIM_FAULT_MAP(X)
#undef X
};

const char *fabric_sim_fault_name(enum fabric_sim_fault_kind kind) { return names[kind]; }
const char *fabric_sim_fault_text(enum fabric_sim_fault_kind kind) { return texts[kind]; }

static int refuse(struct cellar_error *error, const char *what, const char *word)
{
    return err_set(
        error, CELLAR_INVALID,
        "%s \"%s\": faults are none, or NAME=RATE,... with a rate from 0 to 1 and names that cellar sim --help "
        "lists, or all",
        what, word);
}

static bool rate_read(const char *text, double *rate)
{
    char *end;
    if (*text == 0 || strchr(" \t\n\v\f\r+-", *text)) return false;
    *rate = strtod(text, &end);
    return *end == 0 && *rate >= 0 && *rate <= 1;
}

/* One NAME=RATE, or "none". `given`: a bit for each that the text has named so far, and one for all. */
static int read_item(char *item, uint64_t *given, struct fabric_sim_faults *faults, struct cellar_error *error)
{
    char *equals = strchr(item, '=');
    double rate = 0;
    bool all = !strcmp(item, "none"), known = all;

    if (!all) {
        if (!equals) return refuse(error, "no rate in", item);
        *equals = 0;
        all = known = !strcmp(item, "all");
    }
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS && !known; kind++) known = !strcmp(item, names[kind]);
    if (!known) return refuse(error, "no fault is called", item);
    if (equals && !rate_read(equals + 1, &rate)) return refuse(error, "no rate from 0 to 1:", equals + 1);
    uint64_t bits = all ? 1ull << FABRIC_SIM_FAULT_KINDS : 0;
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++) {
        if (!all && strcmp(item, names[kind]) != 0) continue;
        faults->rate[kind] = rate;
        if (!all) bits |= 1ull << kind;
    }
    /* One after all of them is the exception; all after one would leave that one without meaning. */
    if (*given & bits || (all && *given)) return refuse(error, "a rate is given twice, the second time by", item);
    *given |= bits;
    return 0;
}

int fabric_sim_faults_parse(const char *text, struct fabric_sim_faults *faults, struct cellar_error *error)
{
    uint64_t given = 0;
    memset(faults->rate, 0, sizeof faults->rate);
    for (;;) {
        char item[WORD_BYTES];
        size_t length = strcspn(text, ",");
        snprintf(item, sizeof item, "%.*s", (int)(length < sizeof item ? length : sizeof item - 1), text);
        if (length >= sizeof item) return refuse(error, "no fault is called", item);
        int code = read_item(item, &given, faults, error);
        if (code < 0) return code;
        if (text[length] == 0) return 0;
        text += length + 1;
    }
}

int fabric_sim_faults_check(const struct fabric_sim_faults *faults, struct cellar_error *error)
{
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++) {
        if (!(faults->rate[kind] >= 0 && faults->rate[kind] <= 1))
            return err_set(error, CELLAR_INVALID, "fault %s: its rate must be from 0 to 1", names[kind]);
    }
    for (uint32_t i = 0; i < faults->dropped_count; i++) {
        if (faults->dropped[i].kind >= FABRIC_SIM_FAULT_KINDS)
            return err_set(error, CELLAR_INVALID, "a fault to be left out is of kind %u: there are only %d",
                           faults->dropped[i].kind, (int)FABRIC_SIM_FAULT_KINDS);
    }
    return 0;
}

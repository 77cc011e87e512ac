/* exp_report.h - figures of the model beside published ones: ratio, band, verdict; for people, as CSV, JSON, and a table in Markdown. */
#pragma once

#include "style.h"

#include <stdbool.h>

#define EXP_REPORT_ROWS 256
#define EXP_REPORT_VALUE_BYTES 48

struct json_t;

struct exp_report_row {
    const char *figure, *source, *unit;
    double published, low, high; /* the band is of model / published */
    double model;
    bool fitted; /* the profile has a parameter from it, so that it tests the simulator only, not the model */
    /* NULL, or why it lies outside its band; then it must still lie in this one, so that a change is seen */
    const char *why;
    double known_low, known_high;
    /* Or instead of that band, and of figures within theirs, too: what `model` was when the table of it was made, and how much of that it may differ. */
    bool expects;
    double expected, slack;
};

struct exp_report {
    struct exp_report_row rows[EXP_REPORT_ROWS];
    uint32_t count;
};

enum exp_report_verdict { EXP_REPORT_WITHIN, EXP_REPORT_KNOWN, EXP_REPORT_OUTSIDE };

void exp_report_add(struct exp_report *report, struct exp_report_row row);
double exp_report_ratio(const struct exp_report_row *row);
enum exp_report_verdict exp_report_judge(const struct exp_report_row *row);
/* Is it another value than the row expects? Then it is outside, wherever its band is. */
bool exp_report_moved(const struct exp_report_row *row);
const char *exp_report_verdict_name(enum exp_report_verdict verdict);
/* The number, from 1, of the note that holds a known row's reason: equal reasons share one. 0: it needs none. */
uint32_t exp_report_note(const struct exp_report *report, uint32_t index);
/* Writes three or four significant digits and the unit into `text`, EXP_REPORT_VALUE_BYTES, and returns it. */
const char *exp_report_value(char *text, double value, const char *unit);
uint32_t exp_report_outside(const struct exp_report *report);

void exp_report_print(const struct exp_report *report, FILE *out, const struct style *style);
void exp_report_csv(const struct exp_report *report, FILE *out);
/* A new object: `figures`, and how many are `within`, `known`, `outside`; NULL without memory. */
struct json_t *exp_report_json(const struct exp_report *report);
void exp_report_markdown(const struct exp_report *report, FILE *out);

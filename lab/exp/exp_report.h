/*
 * exp_report.h - figures of the model beside published ones: ratio, band, verdict; for people, as CSV, as JSON, and as
 * a table in Markdown.
 */
#pragma once

#include "style.h"

#include <stdbool.h>

#define EXP_REPORT_ROWS 256
#define EXP_REPORT_VALUE_BYTES 80

struct json_t;

struct exp_report_row {
    const char *figure, *source, *unit;
    double published, low, high; /* the band is of model / published */
    double model;
    double deviation; /* of so many seeds, whose mean `model` is; */
    uint32_t seeds;   /* 0, 1: of one */
    bool target;      /* published: what is wanted of ours */
    bool fitted;      /* the profile has a parameter from it, so that it tests the simulator only, not the model */
    const char *rule; /* NULL, or the one under which it is so, the least favourable of several */
    const char *why;  /* NULL, or the cause if it is outside */
    /* What `model` was when it was last recorded, and how much of that it may differ; */
    bool expects;
    double expected, slack;
    /* ... or, of a figure that was not, between which ratios it lies if it is outside. */
    bool known;
    double known_low, known_high;
};

struct exp_report {
    struct exp_report_row rows[EXP_REPORT_ROWS];
    uint32_t count;
};

/*
 * Published figures are within their band, outside for a cause that is given, or outside; targets are reached or
 * missed, whatever the cause.
 */
enum exp_report_verdict {
    EXP_REPORT_WITHIN,
    EXP_REPORT_KNOWN,
    EXP_REPORT_OUTSIDE,
    EXP_REPORT_REACHED,
    EXP_REPORT_MISSED,
    EXP_REPORT_VERDICTS
};

/* Three questions, apart: is it what it was, is it what was published, is it what is wanted? */
struct exp_report_counts {
    uint32_t held, moved; /* recorded figures */
    uint32_t verdicts[EXP_REPORT_VERDICTS];
    uint32_t failed; /* runs of which a check failed */
};

void exp_report_add(struct exp_report *report, struct exp_report_row row);
/* Of `count` values, by their sum and that of their squares: the standard deviation. */
double exp_report_deviation(double sum, double squares, uint32_t count);
double exp_report_ratio(const struct exp_report_row *row);
enum exp_report_verdict exp_report_judge(const struct exp_report_row *row);
/* Is it another value than was recorded? That says nothing of its band. */
bool exp_report_moved(const struct exp_report_row *row);
const char *exp_report_verdict_name(enum exp_report_verdict verdict);
/* The number, from 1, of the note with the cause of a figure outside or missed; equal causes share one. 0: no cause. */
uint32_t exp_report_note(const struct exp_report *report, uint32_t index);
/* Writes three or four significant digits and the unit into `text`, EXP_REPORT_VALUE_BYTES, and returns it. */
const char *exp_report_value(char *text, double value, const char *unit);
/* The same of what a row came to, and of several seeds their deviation. */
const char *exp_report_model(char *text, const struct exp_report_row *row);
/* Adds the report's figures to the counts. */
void exp_report_count(const struct exp_report *report, struct exp_report_counts *counts);
uint32_t exp_report_published(const struct exp_report_counts *counts); /* all of them */
uint32_t exp_report_targets(const struct exp_report_counts *counts);

void exp_report_print(const struct exp_report *report, FILE *out, const struct style *style);
void exp_report_csv(const struct exp_report *report, FILE *out);
/*
 * A new object: `figures`, and how many are `within`, `known`, `outside`, `reached`, `missed`, `moved`; NULL without
 * memory.
 */
struct json_t *exp_report_json(const struct exp_report *report);
void exp_report_markdown(const struct exp_report *report, FILE *out);

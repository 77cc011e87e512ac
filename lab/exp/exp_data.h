/*
 * exp_data.h - published figures and targets as data: lab/exp/data/NAME.json, built into the program, and checked
 * whenever it is read.
 *
 *     {"about": text, "reasons": {key: text, ...},
 *      "charts": {chart: {"source": text, "points": [[x, y], ...]}, ...},   published points for charts of that name;
 *                                                                           or left out
 *      "figures": [figure, ...]}
 *
 * A figure is an object of
 *     study, figure, unit            the study, the figure's name in it, and what its numbers count
 *     published, band, source        a paper's number, the ratios ours may have to it, and where it stands; or else
 *     at_least | at_most             a target of ours
 *     is, sweep, metric, of, over, x how it is made of a sweep's points (exp_sweep.h); left out where code does that
 *                                    (exp_nic.c)
 *     reason                         the key of the cause, if it is missed
 *     was {quick, full, slack}       what it came to when it was last recorded, and how much of that it may move by
 *     known [low, high]              ... or, of a figure that was not, between which ratios it lies
 *     fitted, full_only              the model has a parameter from it; --quick is too rough for it
 */
#pragma once

#include "err.h"

#include <stdbool.h>

#define EXP_DATA_POINTS 16

struct json_t;

struct exp_data_figure {
    const char *study, *figure, *unit, *source;
    double published, low, high; /* of a target: what is wanted; the band of model / wanted */
    bool target, fitted, full_only;
    const char *is, *sweep, *metric, *of, *over; /* NULL: not said */
    double x;
    const char *reason; /* NULL, or its text */
    bool known;
    double known_low, known_high;
    bool was[2]; /* recorded: of full runs, of --quick */
    double recorded[2], slack;
};

struct exp_data_chart {
    const char *name, *source;
    double x[EXP_DATA_POINTS], y[EXP_DATA_POINTS];
    uint32_t count;
};

/* Texts live as long as the data. */
struct exp_data {
    struct json_t *root;
    struct exp_data_figure *figures;
    struct exp_data_chart *charts;
    uint32_t figure_count, chart_count;
};

/* The file of that name that is built in. CORRUPT with one line that names the figure. */
NODISCARD int exp_data_open(const char *name, struct exp_data *data, struct cellar_error *error);
/* The same of a text; `name` is for messages. */
NODISCARD int exp_data_parse(const char *text, size_t bytes, const char *name, struct exp_data *data,
                             struct cellar_error *error);
void exp_data_close(struct exp_data *data);

/* NULL: there is none. */
const struct exp_data_figure *exp_data_find(const struct exp_data *data, const char *study, const char *figure);
const struct exp_data_chart *exp_data_chart(const struct exp_data *data, const char *name);

/* For exp --record: sets `was` of that figure in the file at `path`, which must hold it; other lines stay. */
struct exp_data_value {
    const char *study, *figure;
    double value;
};
NODISCARD int exp_data_record(const char *path, bool quick, const struct exp_data_value *values, uint32_t count,
                              struct cellar_error *error);

/* Made by the build of lab/exp/data: ended by a NULL name. */
struct exp_data_text {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};
extern const struct exp_data_text exp_data_texts[];

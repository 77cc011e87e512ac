/*
 * exp_nic.h - `cellar exp nic`: the simulator's NIC model against published measurements (lab/docs/nic-model.md).
 *
 * Each group of measurements is one table of points (a file CSV, mostly a chart); its points are planned, then all
 * are run, then judged against what was published.
 */
#pragma once

#include "exp.h"
#include "exp_clients.h"
#include "exp_data.h"
#include "exp_report.h"
#include "exp_svg.h"

#define EXP_NIC_POINTS 128

struct exp_nic;

/* Of the window. */
struct exp_nic_result {
    double per_s;                   /* rounds */
    double atomics, reads, retries; /* for each round */
    double retry_share;             /* of the atomics */
    double atomic_us, acquire_us, acquire_p99_us;
};

struct exp_nic_group {
    const char *name; /* of the files */
    const char *title, *x_label, *y_label;
    bool chart, log_x, log_y;
    double (*value)(const struct exp_nic_result *result); /* of the chart's points */
    void (*plan)(struct exp_nic *nic);
    void (*judge)(struct exp_nic *nic);
};

struct exp_nic_point {
    const struct exp_nic_group *group;
    const char *series;
    double x;
    struct exp_load_config load;
    union {
        struct exp_clients_locks locks;
        struct exp_clients_stream stream;
        struct exp_clients_ping ping;
    } plan;
    struct exp_nic_result result;
};

struct exp_nic {
    struct exp *exp;
    const struct exp_nic_group *group; /* being planned or judged */
    struct exp_nic_point points[EXP_NIC_POINTS];
    uint32_t point_count;
    struct exp_report report;
    struct exp_data data;      /* lab/exp/data/nic.json: its charts' points are drawn beside ours */
    struct cellar_error error; /* of the first figure that is not in there */
};

extern const struct exp_kind exp_nic;

/* For groups: a new point, whose load and plan are still empty but for the seed. */
struct exp_nic_point *exp_nic_plan(struct exp_nic *nic, const char *series, double x);
/* The window, and a fifth of it (at least 50 us) before. */
void exp_nic_window(struct exp_nic_point *point, uint64_t window_ns);
/* The result of this group's point, which was planned. */
const struct exp_nic_result *exp_nic_at(const struct exp_nic *nic, const char *series, double x);

/* What that figure of the data comes to here. */
void exp_nic_judge(struct exp_nic *nic, const char *figure, double model);
/* The same of a figure whose name has a number: `format` has one %u. */
void exp_nic_judge_number(struct exp_nic *nic, const char *format, uint32_t number, double model);

extern const struct exp_nic_group exp_nic_locks_one, exp_nic_locks_pairs, exp_nic_locks_zipf, exp_nic_locks_declock;
extern const struct exp_nic_group exp_nic_rates_words, exp_nic_rates_stride, exp_nic_rates_connections,
    exp_nic_rates_latency, exp_nic_rates_messages;

/* All profiles' parameters, as a table in Markdown. */
void exp_nic_profiles(FILE *out);

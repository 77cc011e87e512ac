/*
 * exp.h - `cellar exp`: experiments that repeat published measurements, and what they all need: an output folder,
 * files in it.
 */
#pragma once

#include "command.h"
#include "exp_data.h"
#include "exp_report.h"
#include "err.h"
#include "progress.h"

#include <stdio.h>

struct json_t;

/* What decides the exit status: is each figure what it was; what was published; what is wanted? */
enum exp_gate { EXP_REGRESSION, EXP_PUBLISHED, EXP_TARGETS };

struct exp_file {
    FILE *out;
    char path[512];
};

struct exp {
    const char *name; /* as asked for */
    const char *folder, *json_path;
    const char *study; /* NULL, or the one of a family that is wanted (exp_sweep.h) */
    const char *only;  /* NULL, or how names of a family's sweeps begin */
    uint32_t jobs;     /* processes of experiments that run their points in several */
    bool quick;        /* fewer points, shorter runs */
    bool one;          /* one point of each sweep, and no figures */
    const char *gate_name;
    enum exp_gate gate;
    const char *record; /* NULL, or the file of lab/exp/data that takes this run's figures */
    struct watch *watch;
    struct progress_points progress;
    FILE *out;    /* for people */
    FILE *page;   /* of index.html: each experiment adds its section (exp_page.h) */
    FILE *missed; /* ... and its missed targets, for the top of the page */
    struct exp_report_counts counts;
    struct json_t *json; /* an object: each experiment adds a member of its name */
};

struct exp_sweep_family;

struct exp_kind {
    const char *name, *summary;
    const struct exp_sweep_family *family; /* NULL, or its studies are experiments, too; then run is NULL */
    /* 0, or an error. Prints its result; what it comes to is in exp->counts. */
    int (*run)(struct exp *exp, struct cellar_error *error);
    double quick_s, full_s; /* without a family: processor time of a run, about */
};

/* NULL-terminated. */
extern const struct exp_kind *const exp_kinds[];

/* A new file FOLDER/NAME; exp_close says whether all of it could be written. */
NODISCARD int exp_create(const struct exp *exp, const char *name, struct exp_file *file, struct cellar_error *error);
NODISCARD int exp_close(struct exp_file *file, struct cellar_error *error);

/* The row of a figure that came to `model`. */
struct exp_report_row exp_row(const struct exp_data_figure *figure, bool quick, double model);
/* Counts a study's figures, notes its missed targets, and records them if that is asked for. */
NODISCARD int exp_conclude(struct exp *exp, const char *study, const struct exp_report *report,
                           struct cellar_error *error);

/* The subcommand. */
command_fn exp_main;

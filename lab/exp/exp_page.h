/*
 * exp_page.h - index.html: the tables and charts of all experiments of a run on one page, which needs nothing else:
 * charts are in it.
 */
#pragma once

#include "exp.h"
#include "exp_report.h"

/*
 * What all sections came to, and what all figures are made with. `command`: of the whole page; `rules`: what holds
 * where a figure says nothing else, or empty; `missed`: what exp_page_missed has written.
 */
void exp_page_begin(const char *command, bool quick, const char *rules, const struct exp_report_counts *counts,
                    const char *missed, FILE *out);
/* Notes a missed target for the top of the page. */
void exp_page_missed(const struct exp *exp, const char *study, const struct exp_report_row *row);
/* Charts between these two stand side by side where there is room. */
void exp_page_charts_begin(FILE *out);
void exp_page_charts_end(FILE *out);
void exp_page_heading(const char *title, FILE *out);
void exp_page_section(const char *title, FILE *out);
void exp_page_text(const char *text, FILE *out);
/*
 * Puts a chart of the folder into its page, and under it the lines of `made`: the commands that make it, its NICs and
 * seeds; and the commit.
 */
NODISCARD int exp_page_chart(const struct exp *exp, const char *file, const char *title, const char *made,
                             struct cellar_error *error);
void exp_page_table(const struct exp_report *report, FILE *out);
void exp_page_end(FILE *out);

/* exp_page.h - index.html: the tables and charts of all experiments of a run on one page, which needs nothing but the files beside it. */
#pragma once

#include "exp_report.h"

void exp_page_begin(bool quick, FILE *out);
void exp_page_section(const char *title, FILE *out);
/* A chart that lies beside the page. */
void exp_page_chart(const char *file, const char *title, FILE *out);
void exp_page_table(const struct exp_report *report, FILE *out);
void exp_page_end(FILE *out);

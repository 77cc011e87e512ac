/* locks_report.h - the result of `cellar bench lock`, for people and for programs. */
#pragma once

#include "locks.h"

#include <stdio.h>

struct locks_report {
    const struct locks_plan *plan;
    const struct locks_result *result;
    const char *mix;
    uint32_t clients;
    double wall_s;
};

/* Every check holds. */
bool locks_report_well(const struct locks_report *report);
void locks_report_print(const struct locks_report *report, FILE *out);
NODISCARD int locks_report_json(const struct locks_report *report, const char *path, struct cellar_error *error);
/* "shared, task-fair, ...": into text, which is returned. */
const char *locks_report_promises(uint32_t promises, char *text, size_t bytes);
/* As ShiftLock's Table 3: the mean over all acquires of that mode, or all releases. */
double locks_report_time_us(const struct lockmgr_stats *stats, enum lockmgr_time time);
/* In the parts of the window before a compute node died, and from when all knew of it: rounds a second. */
double locks_report_before(const struct locks_report *report);
double locks_report_after(const struct locks_report *report);

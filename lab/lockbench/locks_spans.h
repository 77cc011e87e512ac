/* locks_spans.h - the trace of a run (`--trace`): opened before it, written after it. */
#pragma once

#include "locks_settings.h"

/* Into settings->plan.spans; NULL when none is asked for. INVALID or SYSTEM: the file cannot be written. */
NODISCARD int locks_spans_open(struct locks_settings *settings, struct cellar_error *error);
/* The file, and a line about it to `out`. */
NODISCARD int locks_spans_write(const struct locks_settings *settings, FILE *out, struct cellar_error *error);
void locks_spans_free(struct locks_settings *settings);

/* tracing.c - `cellar bench --trace`: begin, end, write. */
#include "tracing.h"

#include "fabric_shm.h"
#include "fabric_sim_faults.h"
#include "partial.h"
#include "style.h"

int tracing_accept(const struct settings *settings, struct cellar_error *error)
{
    return settings->trace ? partial_accept(settings->trace, error) : 0;
}

int tracing_begin(struct tracing *tracing, const struct settings *settings, struct cellar *db,
                  struct cellar_error *error)
{
    tracing->settings = settings;
    if (!settings->trace) return 0;
    const struct trace_options options = {.clock = settings->sim             ? fabric_sim_true_ns
                                                   : settings->processes > 1 ? fabric_shm_machine_ns
                                                                             : NULL,
                                          .every = settings->trace_every,
                                          .events_max = settings->trace_events};
    int code = trace_open(&options, &tracing->trace, error);
    return code ? code : trace_start(tracing->trace, db, error);
}

void tracing_end(struct tracing *tracing) { trace_stop(tracing->trace); }

int tracing_write(struct tracing *tracing, FILE *out, struct cellar_error *error)
{
    struct trace_summary summary;
    char traced[STYLE_BYTES], calls[STYLE_BYTES], events[STYLE_BYTES];
    if (!tracing->trace) return 0;
    int code = trace_write(tracing->trace, tracing->settings->trace, &summary, error);
    if (code) return code;
    fprintf(out, "\nTrace\n  %s: %s of %s transactions, %s events; ui.perfetto.dev opens it\n",
            tracing->settings->trace, style_count(traced, summary.traced), style_count(calls, summary.calls),
            style_count(events, summary.events));
    return 0;
}

void tracing_free(struct tracing *tracing)
{
    trace_free(tracing->trace);
    tracing->trace = NULL;
}

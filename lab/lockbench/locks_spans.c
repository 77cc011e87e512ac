#include "locks_spans.h"

#include "fabric_shm.h"
#include "fabric_sim_faults.h"
#include "partial.h"
#include "style.h"

int locks_spans_open(struct locks_settings *settings, struct cellar_error *error)
{
    const struct locks_plan *plan = &settings->plan;
    if (!settings->spans) return 0;
    const struct trace_options options = {.clock = plan->sim ? fabric_sim_true_ns : fabric_shm_machine_ns,
                                          .every = settings->spans_every,
                                          .events_max = settings->spans_events};
    int code = partial_accept(settings->spans, error);
    return code ? code : trace_open(&options, &settings->plan.spans, error);
}

int locks_spans_write(const struct locks_settings *settings, FILE *out, struct cellar_error *error)
{
    struct trace_summary summary;
    char traced[STYLE_BYTES], rounds[STYLE_BYTES], events[STYLE_BYTES];
    if (!settings->plan.spans) return 0;
    int code = trace_write(settings->plan.spans, settings->spans, &summary, error);
    if (code) return code;
    fprintf(out, "\nTrace\n  %s: %s of %s rounds, %s events; ui.perfetto.dev opens it\n", settings->spans,
            style_count(traced, summary.traced), style_count(rounds, summary.calls),
            style_count(events, summary.events));
    return 0;
}

void locks_spans_free(struct locks_settings *settings)
{
    trace_free(settings->plan.spans);
    settings->plan.spans = NULL;
}

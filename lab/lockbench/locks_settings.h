/* locks_settings.h - the options of `cellar bench lock`, and the plan that they make. */
#pragma once

#include "locks.h"
#include "options.h"

struct locks_settings {
    struct locks_plan plan;
    const char *fabric, *mix, *json, *process;
    double seconds, warmup, kill_at, detect, fail_at, switch_down, silence, lose_at;
    uint32_t clients;
    const char *history_path;
    struct locks_trace trace; /* of --mix trace: the caller frees it (locks_trace_free) */
    const char *spans;        /* the file that --trace names; NULL: none */
    uint32_t spans_every;     /* one of so many rounds of a client is in it */
    uint64_t spans_events;    /* ... of at most so many events */
};

extern const struct options locks_settings_options;

/* A checked plan; OPTIONS_HELP; or an error. The strings of `arguments` are used on. */
NODISCARD int locks_settings_parse(int count, char *const *arguments, struct locks_settings *settings,
                                   struct cellar_error *error);
/* Refuses given options that the lock, which was checked, has no use for; locks_settings_parse asks it. */
NODISCARD int locks_settings_check_lock(const struct lockmgr_config *lock, uint64_t given, struct cellar_error *error);

#include "shared_options.h"

#include <stdlib.h>
#include <string.h>

const char *const shared_options_fabrics[] = {"shm", "sim", "verbs", NULL};
const char *const shared_options_nics[] = {"cx3", "cx4", "cx5", "cx6", "ideal", NULL};

int shared_options_trace(const struct options *options, uint64_t given, const char *file, struct cellar_error *error)
{
    static const char *const beside[] = {"trace-every", "trace-events"};
    for (uint32_t i = 0; i < 2 && !file; i++)
        if (options_given(options, given, beside[i]))
            return err_set(error, CELLAR_INVALID, "--%s needs --trace FILE", beside[i]);
    if (file && !strcmp(file, "-")) return err_set(error, CELLAR_INVALID, "--trace needs a file of its own: - is none");
    return 0;
}

int shared_options_process(const char *text, const char *memnodes, uint32_t cns, uint32_t cns_max,
                           struct shared_options_process *process, struct cellar_error *error)
{
    char *slash, *end = NULL;
    *process = (struct shared_options_process){.count = 1};
    if (!text) return 0;
    unsigned long index = strtoul(text, &slash, 10), count = *slash == '/' ? strtoul(slash + 1, &end, 10) : 0;
    if (strspn(text, "0123456789/") != strlen(text) || !end || *end || end == slash + 1 || slash == text ||
        index >= count)
        return err_set(error, CELLAR_INVALID, "--process needs I/N such as 0/2 or 1/2, I from 0 to N - 1, not '%.60s'",
                       text);
    if (!memnodes) return err_set(error, CELLAR_INVALID, "--process needs --memnodes, where the processes meet");
    if (count > cns_max / cns)
        return err_set(error, CELLAR_INVALID,
                       "%lu processes of %u compute nodes are too many; %u compute nodes are possible", count, cns,
                       cns_max);
    *process = (struct shared_options_process){.index = (uint32_t)index, .count = (uint32_t)count};
    return 0;
}

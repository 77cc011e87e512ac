#include "shared_options.h"

const char *const shared_options_fabrics[] = {"shm", "sim", "verbs", NULL};
const char *const shared_options_nics[] = {"cx4", "cx5", "cx6", "ideal", NULL};

#include "option_def.h"

#include "must.h"

#include <string.h>

bool option_def_given(const struct option_def *defs, uint32_t count, uint64_t given, const char *name)
{
    uint32_t i = 0;
    while (i < count && strcmp(defs[i].name, name) != 0) i++;
    must(i < count);
    return given >> i & 1;
}

#include "must.h"

#include <stdio.h>
#include <stdlib.h>

void must_fail(const char *fact, const char *file, int line)
{
    fprintf(stderr, "cellar: bug at %s:%d: this must hold: %s\n", file, line, fact);
    abort();
}

/* main_alone.c - the program without additions. */
#include "addition.h"

#include <stddef.h>

static const struct command none[] = {{.name = NULL}};

const struct addition addition = {.commands = none};

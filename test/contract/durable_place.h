/* durable_place.h - a durable folder of a test, beside what the test keeps of it, and what the shell does to both. */
#pragma once

#include "face_calls.h"

#include <stdio.h>
#include <stdlib.h>

struct place {
    char around[40], folder[48];
};

/* A command of the shell, in the folder that the place's lies in: $d is its name. */
static inline void shell(const struct place *place, const char *command)
{
    char line[400];
    snprintf(line, sizeof line, "cd %s && d=pool && { %s; }", place->around, command);
    assert_int_equal(system(line), 0);
}

static inline void place_make(struct place *place)
{
    strcpy(place->around, "/tmp/cellar-place-XXXXXX");
    assert_non_null(mkdtemp(place->around));
    snprintf(place->folder, sizeof place->folder, "%s/pool", place->around);
}

static inline void place_end(const struct place *place) { shell(place, "rm -r ../$(basename $PWD)"); }

/* It is not opened so: that code, and a line that has `text`; and no byte is another one. */
static inline void turned_away(const struct place *place, const struct cellar_lab *lab, uint64_t bytes, int code,
                               const char *text)
{
    struct cellar *db;
    shell(place, "find -L $d | sort >names; find -L $d -type f | sort | xargs sha256sum >sums");
    assert_int_equal(cellar_open(place->folder, CELLAR_OPTIONS(.bytes = bytes, .lab = lab), &db), code);
    if (!strstr(cellar_last_error()->text, text)) fail_msg("'%s' lacks '%s'", cellar_last_error()->text, text);
    shell(place, "find -L $d | sort | cmp - names && sha256sum --quiet -c sums");
}

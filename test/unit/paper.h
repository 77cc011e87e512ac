/* paper.h - a file in memory, by a path: tests put into it what is to be read. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct paper {
    int file;
    char path[64];
};

static inline struct paper paper_new(void)
{
    struct paper paper;
    paper.file = memfd_create("history", 0);
    assert_true(paper.file >= 0);
    snprintf(paper.path, sizeof paper.path, "/proc/self/fd/%d", paper.file);
    return paper;
}

static inline void paper_put(const struct paper *paper, const void *bytes, size_t count)
{
    assert_int_equal(ftruncate(paper->file, 0), 0);
    assert_int_equal(pwrite(paper->file, bytes, count, 0), count);
}

/*
 * sim_programs.h - scenarios by rule: every pair of small programs in every place where they can meet, and triples of
 * them in a ring.
 *
 * A program has a first item and, if it works in two blocks, a second one. Two programs meet
 *
 *     same_cell      on one item
 *     other_cell     on two cells of one record, crosswise: what one takes first the other one takes second
 *     other_record   on two records whose keys lie in different buckets, crosswise
 *     same_bucket    likewise, the keys in one bucket
 *
 * and three of them in a ring of three cells or records (the second item of each is the first one of the next), or on
 * one item. Left out is what would be the same again: records have no presence per cell, and a bucket matters only to
 * programs that ask for presence.
 */
#pragma once

#include "sim_scenario.h"

/* X(name, what it does) */
#define SIM_PROGRAMS_MAP(X)                                                                                            \
    X(read, "reads a cell")                                                                                            \
    X(write, "writes a cell without reading it")                                                                       \
    X(update, "reads and writes a cell")                                                                               \
    X(read_write, "reads its first item, then, in another block, writes the second")                                   \
    X(insert, "inserts a record")                                                                                      \
    X(delete, "deletes a record")                                                                                      \
    X(look, "reads a cell of a record that may be absent")                                                             \
    X(look_insert, "looks for its first item, then, in another block, inserts the second")                             \
    X(exists, "asks whether a record is there, and reads no cell of it")                                               \
    X(exists_insert, "asks whether its first item is there, then, in another block, inserts the second")               \
    X(exists_delete, "asks whether its first item is there, then, in another block, deletes the second")

enum sim_program {
#define X(name, text) SIM_PROGRAM_##name,
    SIM_PROGRAMS_MAP(X)
#undef X
        SIM_PROGRAMS
};

/* Keys that meet: of different buckets, and of one (the test holds them against storage/index.h). */
#define SIM_PROGRAMS_KEY 0
#define SIM_PROGRAMS_KEY_APART 1
#define SIM_PROGRAMS_KEY_NEXT 3

/* Pairs come first. */
uint32_t sim_programs_pairs(void);
uint32_t sim_programs_count(void);
/* i < count; its name is "read+update.same_cell". */
struct sim_scenario sim_programs_at(uint32_t i);

/*
 * tpcc_load.h - the initial population (clause 4.3.3), in pieces of about ten thousand rows that sessions take as
 * they become free.
 *
 * Each piece draws from its own stream of random numbers, so the data depends on the seed alone and not on which
 * client loads what. What two pieces must agree on (last names, line counts, which customer has which order) has
 * streams of its own and is drawn by both.
 */
#pragma once

#include "cellar_lab.h"
#include "tpcc_input.h"

struct tpcc_load {
    const struct tpcc_tables *tables;
    struct tpcc_scale scale;
    struct tpcc_nurand nurand;
    struct tpcc_text text;
    uint64_t seed;
};

void tpcc_load_init(struct tpcc_load *load, const struct tpcc_tables *tables, const struct tpcc_scale *scale,
                    const struct tpcc_nurand *nurand, uint64_t seed);
/* Rows of all pieces; draws what the row counts depend on, so it takes a moment. NOMEM. */
CELLAR_NODISCARD int tpcc_load_rows(const struct tpcc_load *load, uint64_t *rows, struct cellar_error *error);
uint32_t tpcc_load_pieces(const struct tpcc_scale *scale);
/* Loads one piece; adds the rows to *progress (NULL is allowed) as it goes. */
CELLAR_NODISCARD int tpcc_load_piece(const struct tpcc_load *load, struct cellar_lab_client *client, uint32_t piece,
                                     uint64_t *progress, struct cellar_error *error);

/*
 * For one district: the last-name number of each customer, lines of each order, customer of each order; [0] is that
 * of id 1.
 */
void tpcc_load_names(const struct tpcc_load *load, uint32_t w_id, uint32_t d_id, uint16_t *numbers);
void tpcc_load_line_counts(const struct tpcc_load *load, uint32_t w_id, uint32_t d_id, uint8_t *counts);
void tpcc_load_permutation(const struct tpcc_load *load, uint32_t w_id, uint32_t d_id, uint16_t *c_ids);

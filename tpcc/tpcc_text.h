/*
 * tpcc_text.h - the texts of TPC-C: random strings for the load (ten characters from one random number), last names
 * made of syllables, the search for "ORIGINAL", and the payment note that goes before a bad customer's data.
 */
#pragma once

#include "prng.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Two characters for each 12 bits of randomness; letters and digits, of which two have twice the weight of the
 * others.
 */
struct tpcc_text {
    char pairs[4096][2];
};

void tpcc_text_init(struct tpcc_text *text);
/* Fills all `bytes` with random letters and digits. */
void tpcc_text_fill(const struct tpcc_text *text, struct prng *prng, char *to, uint32_t bytes);
/* A random text of low..bytes characters, zeros behind it. Returns its length. */
uint32_t tpcc_text_random(const struct tpcc_text *text, struct prng *prng, char *to, uint32_t low, uint32_t bytes);
/* Random decimal digits, at most 16. */
void tpcc_text_digits(struct prng *prng, char *to, uint32_t bytes);
/* A text of 26..50 characters for I_DATA and S_DATA; one in ten has "ORIGINAL" somewhere. */
void tpcc_text_data(const struct tpcc_text *text, struct prng *prng, char to[50]);

/* The last name of a number 0..999: three syllables, zeros behind them. */
void tpcc_text_last_name(uint32_t number, char to[16]);
/* Does an I_DATA or S_DATA hold "ORIGINAL"? */
bool tpcc_text_is_original(const char data[50]);

/* What a Payment of a customer with bad credit leaves in C_DATA. */
struct tpcc_note {
    uint32_t c_id, c_d_id, c_w_id, d_id, w_id;
    int64_t h_amount;
};
/* Puts the note before the data, which moves right; what goes beyond `bytes` is cut. bytes >= 100. */
void tpcc_text_prepend(const struct tpcc_note *note, char *data, uint32_t bytes);
/* H_DATA: W_NAME, four spaces, D_NAME; zeros behind it. */
void tpcc_text_history(const char w_name[10], const char d_name[10], char to[24]);

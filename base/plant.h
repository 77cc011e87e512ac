/*
 * plant.h - planted bugs: code that is wrong on purpose, compiled in only with CELLAR_PLANTS (CMake: PLANTS=ON), and
 * active only when chosen by name. test/xfail shows that each is caught; a checker that misses one is too weak.
 *
 * A folder that has some lists them in a header, *_plants.h, as X(name, what it breaks), and declares them there by
 * PLANT_DECLARE; its source defines them by PLANT_DEFINE. One that several folders have is in the list of the lowest. A
 * program knows those of the code that it links: the linker puts them side by side.
 *
 * The same builds can run with epoch numbers of 4 bits, so that they come full circle within a short run, and with
 * short rings of log, so that space is used again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef CELLAR_PLANTS
/* Aligned so far that no compiler aligns it further: what the linker puts side by side is one array. */
struct plant {
    _Alignas(64) char name[64];
    char text[128]; /* what it breaks */
};

/* The one global of the tree: set before anything runs, in builds that are never shipped. */
extern struct plant_choice {
    const struct plant *plant; /* NULL: none */
    uint32_t en_bits;
    uint32_t ring_bytes; /* of a coordinator's log; 0: its whole segment */
    uint32_t key_bits;   /* of hashes of byte-string keys; 0: all */
} plant_choice;

/* By name; NULL: none. False when there is no such plant. */
bool plant_choose(const char *name);
/* Epoch numbers of 4 bits, or of 16 again. Not while a pool is open. */
void plant_choose_en_small(bool small);
#define PLANT_BUILD true
#define PLANT_DECLARE(name, text) extern const struct plant plant_##name;
#define PLANT_DEFINE(name, text)                                                                                       \
    const struct plant plant_##name __attribute__((section("cellar_plants"), used)) = {#name, text};
#define PLANT(name) (plant_choice.plant == &plant_##name)
#define PLANT_EN_BITS plant_choice.en_bits
#define PLANT_RING_BYTES(bytes) (plant_choice.ring_bytes ? plant_choice.ring_bytes : (bytes))
#define PLANT_KEY_HASH(hash) (plant_choice.key_bits ? (hash) << (64 - plant_choice.key_bits) : (hash))
#else
#define PLANT_BUILD false
#define PLANT_DECLARE(name, text) enum { PLANT_##name = 1 };
#define PLANT_DEFINE(name, text)
#define PLANT(name) (PLANT_##name == 0)
#define PLANT_EN_BITS 16u
#define PLANT_RING_BYTES(bytes) (bytes)
#define PLANT_KEY_HASH(hash) (hash)
static inline void plant_choose_en_small(bool small) { (void)small; }
#endif

/* sim_programs.c - enumerates the pairs and triples; the number of one says nothing, its name does. */
#include "sim_programs.h"

#include "schemadef.h"
#include "must.h"

#include <stdio.h>
#include <string.h>

#define A 1u
#define B 2u
#define C 4u

enum place { SAME_CELL, OTHER_CELL, OTHER_RECORD, SAME_BUCKET, PLACES };
enum start { START_FITTING, START_PRESENT, STARTS }; /* the first one: what lets the programs get furthest */

struct item {
    uint32_t key;
    cellar_cells cell;
};

static const char *const program_names[] = {
#define X(name, text) #name,
    SIM_PROGRAMS_MAP(X)
#undef X
};
static const char *const place_names[] = {"same_cell", "other_cell", "other_record", "same_bucket"};
static const struct item pair_items[PLACES][2] = {
    [SAME_CELL] = {{SIM_PROGRAMS_KEY, A}, {SIM_PROGRAMS_KEY, B}},
    [OTHER_CELL] = {{SIM_PROGRAMS_KEY, A}, {SIM_PROGRAMS_KEY, B}},
    [OTHER_RECORD] = {{SIM_PROGRAMS_KEY, A}, {SIM_PROGRAMS_KEY_APART, A}},
    [SAME_BUCKET] = {{SIM_PROGRAMS_KEY, A}, {SIM_PROGRAMS_KEY_NEXT, A}},
};
/* Of triples: on one item and a neighbour; a ring of cells; a ring of records. */
static const struct item ring_items[][3] = {
    {{0, A}, {0, B}, {0, B}}, {{0, A}, {0, B}, {0, C}}, {{0, A}, {1, A}, {2, A}}};
static const char *const ring_names[] = {"same_cell", "ring_of_cells", "ring_of_records"};
#define RINGS 3

/* ---- one program ---- */

static bool asks_presence(enum sim_program program) { return program >= SIM_PROGRAM_insert; }
static bool inserts(enum sim_program program)
{
    return program == SIM_PROGRAM_insert || program == SIM_PROGRAM_look_insert || program == SIM_PROGRAM_exists_insert;
}
static bool reads(enum sim_program program)
{
    return program == SIM_PROGRAM_read || program == SIM_PROGRAM_update || program == SIM_PROGRAM_read_write ||
           program == SIM_PROGRAM_look || program == SIM_PROGRAM_look_insert;
}
static bool looks(enum sim_program program) { return program >= SIM_PROGRAM_look; }
static bool has_two_blocks(enum sim_program program)
{
    return program == SIM_PROGRAM_read_write || program == SIM_PROGRAM_look_insert ||
           program == SIM_PROGRAM_exists_insert || program == SIM_PROGRAM_exists_delete;
}

static void program_put(struct sim_scenario_txn *txn, enum sim_program program, struct item first, struct item second)
{
    struct sim_scenario_access access = {.kind = SIM_SCENARIO_ACCESS, .key = first.key};
    if (reads(program)) access.read = first.cell;
    if (program == SIM_PROGRAM_write || program == SIM_PROGRAM_update) access.write = first.cell;
    if (program == SIM_PROGRAM_insert) access.kind = SIM_SCENARIO_INSERT;
    if (program == SIM_PROGRAM_delete) access.kind = SIM_SCENARIO_DELETE;
    access.optional = looks(program);
    txn->accesses[0] = access;
    if (!has_two_blocks(program)) return;
    txn->accesses[1] = (struct sim_scenario_access){.kind = SIM_SCENARIO_ACCESS, .key = second.key, .block = true};
    if (program == SIM_PROGRAM_read_write) txn->accesses[1].write = second.cell;
    if (inserts(program)) txn->accesses[1].kind = SIM_SCENARIO_INSERT;
    if (program == SIM_PROGRAM_exists_delete) txn->accesses[1].kind = SIM_SCENARIO_DELETE;
}

/* ---- what is there from the start ---- */

static uint32_t keys_of(const struct sim_scenario_txn *txn)
{
    uint32_t keys = 1u << txn->accesses[0].key;
    return txn->accesses[1].kind == SIM_SCENARIO_NONE ? keys : keys | 1u << txn->accesses[1].key;
}

static bool only_looks(const struct sim_scenario *scenario, uint32_t key)
{
    for (uint32_t i = 0; i < sim_scenario_txn_count(scenario); i++) {
        const struct sim_scenario_access *first = &scenario->txns[i].accesses[0];
        if (keys_of(&scenario->txns[i]) >> key & 1 && !(first->optional && first->key == key)) return false;
    }
    return true;
}

static uint32_t keys_inserted(const struct sim_scenario *scenario)
{
    uint32_t keys = 0;
    for (uint32_t i = 0; i < sim_scenario_txn_count(scenario); i++)
        for (uint32_t j = 0; j < 2; j++)
            if (scenario->txns[i].accesses[j].kind == SIM_SCENARIO_INSERT)
                keys |= 1u << scenario->txns[i].accesses[j].key;
    return keys;
}

/* Absent is a key that a transaction inserts, or that none does more than look for. */
static uint32_t loaded_for(const struct sim_scenario *scenario, enum start start)
{
    uint32_t loaded = start == START_PRESENT ? (1u << SIM_SCENARIO_KEYS) - 1 : ~keys_inserted(scenario);
    for (uint32_t key = 0; key < SIM_SCENARIO_KEYS && start == START_FITTING; key++)
        if (only_looks(scenario, key)) loaded &= ~(1u << key);
    uint32_t used = 0;
    for (uint32_t i = 0; i < sim_scenario_txn_count(scenario); i++) used |= keys_of(&scenario->txns[i]);
    return loaded & used;
}

/* ---- pairs ---- */

static bool pair_is(enum sim_program a, enum sim_program b, enum place place, enum start start)
{
    bool presence = asks_presence(a) || asks_presence(b);
    bool slot_used_again = place == SAME_CELL && ((inserts(a) && b == SIM_PROGRAM_delete) ||
                                                  (a == SIM_PROGRAM_delete && b == SIM_PROGRAM_look_insert));
    if (start == START_PRESENT) return slot_used_again;
    return place == OTHER_CELL ? !presence : place != SAME_BUCKET || presence;
}

static void pair_make(struct sim_scenario *scenario, enum sim_program a, enum sim_program b, enum place place,
                      enum start start)
{
    const struct item *items = pair_items[place];
    uint32_t other = place == SAME_CELL ? 0 : 1;
    program_put(&scenario->txns[0], a, items[0], items[1]);
    program_put(&scenario->txns[1], b, items[other], items[1 - other]);
    scenario->txns[1].client = 1;
    scenario->loaded = loaded_for(scenario, start);
    int wrote = snprintf(scenario->name, sizeof scenario->name, "%s+%s.%s%s", program_names[a], program_names[b],
                         place_names[place], start == START_PRESENT ? ".present" : "");
    must(wrote > 0 && wrote < (int)sizeof scenario->name);
}

/* The i-th pair into *scenario; returns their number. */
static uint32_t pairs(uint32_t i, struct sim_scenario *scenario)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < SIM_PROGRAMS; a++)
        for (uint32_t b = a; b < SIM_PROGRAMS; b++)
            for (uint32_t place = 0; place < PLACES; place++)
                for (uint32_t start = 0; start < STARTS; start++) {
                    if (!pair_is(a, b, place, start)) continue;
                    if (count++ == i) pair_make(scenario, a, b, place, start);
                }
    return count;
}

/* ---- triples ---- */

static bool triple_has(enum sim_program program, uint32_t ring)
{
    static const uint32_t members[RINGS] = {1u << SIM_PROGRAM_update | 1u << SIM_PROGRAM_insert |
                                                1u << SIM_PROGRAM_delete,
                                            1u << SIM_PROGRAM_update | 1u << SIM_PROGRAM_read_write,
                                            1u << SIM_PROGRAM_update | 1u << SIM_PROGRAM_read_write |
                                                1u << SIM_PROGRAM_look_insert | 1u << SIM_PROGRAM_delete};
    return members[ring] >> program & 1;
}

static void triple_make(struct sim_scenario *scenario, const enum sim_program programs[3], uint32_t ring)
{
    const struct item *items = ring_items[ring];
    bool in_ring = ring > 0, deletes = false;
    for (uint32_t i = 0; i < 3; i++) {
        program_put(&scenario->txns[i], programs[i], items[in_ring ? i : 0], items[in_ring ? (i + 1) % 3 : 1]);
        scenario->txns[i].client = i;
        deletes |= programs[i] == SIM_PROGRAM_delete;
    }
    scenario->loaded = loaded_for(scenario, deletes && !in_ring ? START_PRESENT : START_FITTING);
    int wrote = snprintf(scenario->name, sizeof scenario->name, "%s+%s+%s.%s", program_names[programs[0]],
                         program_names[programs[1]], program_names[programs[2]], ring_names[ring]);
    must(wrote > 0 && wrote < (int)sizeof scenario->name);
}

/* The i-th triple into *scenario; returns their number. A ring turned round is the same one. */
static uint32_t triples(uint32_t i, struct sim_scenario *scenario)
{
    uint32_t count = 0;
    for (uint32_t ring = 0; ring < RINGS; ring++)
        for (uint32_t a = 0; a < SIM_PROGRAMS; a++)
            for (uint32_t b = a; b < SIM_PROGRAMS; b++)
                for (uint32_t c = b; c < SIM_PROGRAMS; c++) {
                    if (!triple_has(a, ring) || !triple_has(b, ring) || !triple_has(c, ring)) continue;
                    if (count++ == i) triple_make(scenario, (enum sim_program[]){a, b, c}, ring);
                }
    return count;
}

/* ---- all ---- */

uint32_t sim_programs_pairs(void)
{
    struct sim_scenario none = {0};
    return pairs(UINT32_MAX, &none);
}

uint32_t sim_programs_count(void)
{
    struct sim_scenario none = {0};
    return sim_programs_pairs() + triples(UINT32_MAX, &none);
}

struct sim_scenario sim_programs_at(uint32_t i)
{
    struct sim_scenario scenario = {0};
    uint32_t count = pairs(i, &scenario);
    if (i >= count) must(i - count < triples(i - count, &scenario));
    return scenario;
}

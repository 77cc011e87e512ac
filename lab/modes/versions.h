/*
 * versions.h - old versions of a record, in its place (mode `motor`, lab/docs/rivals.md): which of its writers
 * displaced which values, and where these lie. Pure functions on images.
 *
 *     0 header | 64 struct versions_wire: four tuples | 128 cells, newest versions | bar: values displaced, a ring
 *
 * A tuple is one writer: its TS, the cells that it wrote, and where in the bar the versions lie that it displaced:
 * per cell, in ascending order, its version word and its value rounded up to 8 bytes. A writer takes the place of the
 * oldest tuple, and the room behind the newest one's; whose room it takes, that tuple goes.
 */
#pragma once

#include "record.h"

/* What a catalog is told (catalog.h). */
extern const struct schema_versions versions_rules;

/* Cells move behind the line of tuples, and a bar follows them. False: a record gets too large. */
NODISCARD bool versions_lay_out(struct schema *schema);
/* Of such a record's image. */
static inline struct versions_wire *versions_of(uint8_t *image)
{
    return (struct versions_wire *)(void *)(image + LAYOUT_LINE);
}

/* Bytes of the versions of these cells in the bar. */
uint32_t versions_bytes(const struct schema *schema, uint32_t cells);
/*
 * Adds the writer of that TS, newer than all others: where in the record its displaced versions go,
 * versions_bytes(cells) long.
 */
uint32_t versions_push(const struct schema *schema, struct versions_wire *versions, uint64_t ts, uint32_t cells);
/* The image's versions of these cells, as the bar holds them. */
void versions_pack(const struct schema *schema, const uint8_t *image, uint32_t cells, uint8_t *packed);

/* The tuple of that writer, if it has one that is plausible; else NULL. Untrusted. */
const struct tuple_wire *versions_find(const struct schema *schema, const struct versions_wire *versions, uint64_t ts);
/* The largest TS of all tuples; 0: there is none. */
uint64_t versions_newest(const struct versions_wire *versions);
/*
 * INV-STORE-9, of a record at rest: a tuple that is used has its place in the bar and its TS for itself; of each of
 * its cells the newest version is not older, and what it displaced is older, but not than an earlier tuple of that
 * cell. False: *flaw tells.
 */
NODISCARD bool versions_sound(const struct schema *schema, const uint8_t *image, struct schema_flaw *flaw);
/*
 * What the tuple displaced is put back into the image, of those cells whose version is the tuple's writer's. `bar`:
 * the record's, whole.
 */
void versions_undo(const struct schema *schema, const struct tuple_wire *tuple, const uint8_t *bar, uint8_t *image,
                   uint32_t cells);

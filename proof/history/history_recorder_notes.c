/*
 * history_recorder_notes.c - what an interactive transaction has read: the notes that its commit compares (draft.h).
 *
 * The attempt that commits reads the same cells again, and would be recorded as having read what it met. Its client has
 * seen the notes: they are what the transaction has read. An attempt beside a hold leaves to that what is locked: the
 * hold's own end tells whether it was.
 */
#include "draft.h"
#include "history_digest.h"
#include "history_recorder_lane.h"

/* Of a record that is noted: what the attempt has met of it does not count. */
static bool is_noted(const struct txn *txn, const struct history_access *access)
{
    const struct table *table = txn->home->catalog->tables[access->table_id - 1];
    const struct draft_record *record = draft_find(txn->draft, table, access->key);
    if (!record) return false;
    if (access->cell == HISTORY_PRESENCE) return record->noted_absent;
    return record->note_cells >> access->cell & 1;
}

static void cells_add(struct history_recorder *recorder, struct history_recorder_lane *lane,
                      const struct draft_record *record, uint32_t cells)
{
    const struct schema *schema = &record->table->schema;
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        history_recorder_access(
            recorder, lane,
            (struct history_access){.kind = HISTORY_READ,
                                    .cell = (uint16_t)cell,
                                    .table_id = record->table->id,
                                    .key = record->key,
                                    .version = record_version(schema, record->image, cell) & recorder->versions,
                                    .digest = history_digest_cell(schema, record->image, cell)});
    }
}

static void absence_add(struct history_recorder *recorder, struct history_recorder_lane *lane,
                        const struct draft_record *record)
{
    history_recorder_access(recorder, lane,
                            (struct history_access){.kind = HISTORY_ABSENT,
                                                    .cell = HISTORY_PRESENCE,
                                                    .table_id = record->table->id,
                                                    .key = record->key,
                                                    .version = record->bucket_version});
}

static void note_add(struct history_recorder *recorder, struct history_recorder_lane *lane,
                     const struct draft_record *record, uint32_t cells)
{
    if (record->noted_absent)
        absence_add(recorder, lane, record);
    else
        cells_add(recorder, lane, record, cells);
}

void history_recorder_glance(struct history_recorder *recorder, struct history_recorder_lane *lane,
                             const struct draft *draft, bool again)
{
    for (uint32_t i = 0; i < draft->wanted_count; i++) {
        const struct draft_record *record = &draft->records[draft->wanted[i]];
        if (record->taken_absent)
            absence_add(recorder, lane, record);
        else
            cells_add(recorder, lane, record, record->taken_cells);
    }
    if (again) draft_each(draft, record) note_add(recorder, lane, record, record->note_cells);
    lane->reads = lane->dated = lane->count;
}

void history_recorder_notes(struct history_recorder *recorder, struct history_recorder_lane *lane,
                            const struct txn *txn)
{
    uint32_t kept = 0;
    if (!txn->draft || txn->draft->service != DRAFT_COMPARES || txn->draft->uncompared) return;
    for (uint32_t i = 0; i < lane->reads; i++)
        if (!is_noted(txn, &lane->accesses[i])) lane->accesses[kept++] = lane->accesses[i];
    lane->count = kept;
    draft_each(txn->draft, record)
        note_add(recorder, lane, record, record->note_cells & ~draft_cells_beside(txn->draft, record));
    lane->reads = lane->dated = lane->count;
}

#include "sim_dialog.h"

#include "client.h"
#include "coordinator.h"
#include "worker.h"

#include <stdio.h>
#include <string.h>

/* ---- manners ---- */

/*
 * Most clients go on at once, some stop for a moment, a few for so long that leases end and nodes are replaced. A
 * procedure does not wait.
 */
static void think(struct sim_dialog *dialog)
{
    static const uint64_t lengths_ns[] = {500, 2000, 2000, 10000, 10000, 50000, 300000, 2000000, 8000000};
    uint64_t at = prng_below(&dialog->prng, 3 * sizeof lengths_ns / sizeof *lengths_ns);
    if (at >= sizeof lengths_ns / sizeof *lengths_ns) return;
    if (dialog->procedure) return;
    struct coordinator *coordinator = dialog->client->coordinator;
    dialog->thought_ns += lengths_ns[at];
    sched_sleep(dialog->client->co, &coordinator->worker->sched, &coordinator->task, lengths_ns[at]);
}

static bool once_in(struct sim_dialog *dialog, uint32_t count) { return sim_dialog_once_in(dialog, count); }

static void complain(struct sim_dialog *dialog, const struct cells_access *access, uint32_t cell, const char *what)
{
    sim_load_complain(&dialog->cells->load, "transaction %u, interactive: table %s, key %u, cell %u: %s",
                      dialog->writer - 1, dialog->cells->tables[access->table].name, access->key, cell, what);
}

/*
 * What does not agree with itself: at once; of a procedure, which is told what never was, if it commits.
 */
static void contradicted(struct sim_dialog *dialog, const char *what)
{
    if (dialog->procedure)
        snprintf(dialog->complaint, sizeof dialog->complaint, "%s", what);
    else
        sim_load_complain(&dialog->cells->load, "transaction %u, interactive: %s", dialog->writer - 1, what);
}

/* ---- rows, by the client's own struct: the key, and the cells behind it (sim_cells.h) ---- */

static const struct cells_table *row_begin(const struct sim_dialog *dialog, const struct cells_access *access,
                                           uint8_t *row)
{
    const uint64_t key = sim_cells_key(access->key);
    memcpy(row, &key, sizeof key);
    return &dialog->cells->tables[access->table];
}

static int get(struct sim_dialog *dialog, const struct cells_access *access, uint32_t cell, uint8_t *value)
{
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    const struct cells_table *table = row_begin(dialog, access, row);
    const uint64_t lock = dialog->locks && once_in(dialog, 4) ? CELLAR_COL(cell + 1) : 0;
    int code = (cellar_get)(dialog->txn, table->table, CELLAR_COL(cell + 1), lock, row, table->client_bytes);
    if (code == 0) memcpy(value, row + table->offsets[cell], table->columns[cell].bytes);
    return code;
}

static int row_put(struct sim_dialog *dialog, const struct cells_access *access, uint32_t cell, const uint8_t *value)
{
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    const struct cells_table *table = row_begin(dialog, access, row);
    memcpy(row + table->offsets[cell], value, table->columns[cell].bytes);
    return (cellar_put)(dialog->txn, table->table, CELLAR_COL(cell + 1), row, table->client_bytes);
}

/* All of it, from an engine's row. */
static const struct cells_table *row_of(const struct sim_dialog *dialog, const struct cells_access *access,
                                        const uint8_t *from, uint8_t *row)
{
    const struct cells_table *table = row_begin(dialog, access, row);
    for (uint32_t cell = 0; cell < table->cells; cell++)
        memcpy(row + table->offsets[cell], from + table->columns[cell].offset, table->columns[cell].bytes);
    return table;
}

/* It is made where there is none. */
static int row_put_all(struct sim_dialog *dialog, const struct cells_access *access, const uint8_t *from)
{
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    const struct cells_table *table = row_of(dialog, access, from, row);
    return (cellar_put)(dialog->txn, table->table, CELLAR_ALL, row, table->client_bytes);
}

static int row_insert(struct sim_dialog *dialog, const struct cells_access *access, const uint8_t *from)
{
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    const struct cells_table *table = row_of(dialog, access, from, row);
    return (cellar_insert)(dialog->txn, table->table, row, table->client_bytes);
}

/* Whether there is such a row, or not. */
static int row_delete(struct sim_dialog *dialog, const struct cells_access *access)
{
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    const struct cells_table *table = row_begin(dialog, access, row);
    return (cellar_delete)(dialog->txn, table->table, row, table->client_bytes);
}

/* ---- reading ---- */

/* What it has been shown it is shown again. */
static int look_again(struct sim_dialog *dialog, const struct cells_access *access, uint32_t cell, const uint8_t *value)
{
    uint8_t again[SIM_CELLS_VALUE_BYTES_MAX];
    int code = get(dialog, access, cell, again);
    if (code == CELLAR_NOT_FOUND)
        complain(dialog, access, cell, "it has read a record that it does not find again");
    else if (code == 0 && memcmp(again, value, dialog->cells->tables[access->table].columns[cell].bytes) != 0)
        complain(dialog, access, cell, "it does not read the same twice");
    return code;
}

/* Savepoints take back what is behind them: bytes that no client may ever see. */
static int change_mind(struct sim_dialog *dialog, const struct cells_access *access, uint32_t cell,
                       const uint8_t *value)
{
    uint8_t never[SIM_CELLS_ROW_BYTES_MAX];
    int savepoint = cellar_savepoint(dialog->txn), code;
    if (savepoint < 0) return savepoint;
    memset(never, 0xee, sizeof never);
    if (once_in(dialog, 3))
        code = row_delete(dialog, access);
    else if (once_in(dialog, 3))
        code = row_put_all(dialog, access, never);
    else
        code = row_put(dialog, access, cell, never);
    if (code) return code;
    think(dialog);
    code = cellar_rollback_to(dialog->txn, savepoint);
    return code ? code : look_again(dialog, access, cell, value);
}

static int take_cell(struct sim_dialog *dialog, const struct cells_access *access, uint32_t cell)
{
    const struct cells_table *table = &dialog->cells->tables[access->table];
    uint8_t value[SIM_CELLS_VALUE_BYTES_MAX];
    uint64_t id;
    int code = get(dialog, access, cell, value);
    dialog->found = code == 0;
    if (code) return code;
    memcpy(&id, value, sizeof id);
    dialog->digest = sim_cells_mix(dialog->digest, id);
    if (!sim_cells_value_sound(value, table->columns[cell].bytes, access->table, access->key, cell))
        snprintf(dialog->complaint, sizeof dialog->complaint,
                 "table %s, key %u, cell %u: a value that no client wrote so, beginning with %#llx", table->name,
                 access->key, cell, (unsigned long long)id);
    if (once_in(dialog, 8)) think(dialog);
    if (once_in(dialog, 8)) code = look_again(dialog, access, cell, value);
    if (code == 0 && once_in(dialog, 12)) code = change_mind(dialog, access, cell, value);
    return code;
}

/* That a record is there is seen by a cell of it. */
static int take(struct sim_dialog *dialog, const struct cells_access *access)
{
    cellar_cells cells = access->read ? access->read : access->kind == CELLS_READ ? 1 : 0;
    int code = 0;
    for (; cells && code == 0; cells &= cells - 1) code = take_cell(dialog, access, (uint32_t)__builtin_ctz(cells));
    return code;
}

/* What it was shown of many rows it is shown again, and what was not there is not. */
static int many_again(struct sim_dialog *dialog, const struct cells_access *access, const struct cellar_read *read)
{
    const struct cells_table *table = &dialog->cells->tables[access->table];
    uint32_t cell = (uint32_t)__builtin_ctz(access->read);
    uint8_t again[SIM_CELLS_VALUE_BYTES_MAX];
    if (read->code == 0) return look_again(dialog, access, cell, (uint8_t *)read->row + table->offsets[cell]);
    int code = get(dialog, access, cell, again);
    if (code == 0) complain(dialog, access, cell, "it finds a record that it has not found");
    return code == CELLAR_NOT_FOUND ? 0 : code;
}

/* All rows that it will read, at once. */
static int many_get(struct sim_dialog *dialog)
{
    struct cellar_read reads[SIM_ACCESSES_MAX];
    const struct cells_access *accesses[SIM_ACCESSES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < dialog->todo->count; i++) {
        const struct cells_access *access = &dialog->todo->accesses[i];
        if (!access->read) continue;
        const struct cells_table *table = row_begin(dialog, access, dialog->rows[count]);
        accesses[count] = access;
        reads[count] = (struct cellar_read){.table = table->table,
                                            .row = dialog->rows[count],
                                            .row_bytes = table->client_bytes,
                                            .columns = (uint64_t)access->read << 1}; /* behind the key */
        if (dialog->locks && once_in(dialog, 4)) reads[count].lock = reads[count].columns;
        count++;
    }
    int code = cellar_get_many(dialog->txn, reads, count);
    for (uint32_t i = 0; i < count && code == 0; i++)
        if (once_in(dialog, 3)) code = many_again(dialog, accesses[i], &reads[i]);
    return code;
}

/* ---- ranges ---- */

/* What a cursor has shown of a row, cell by cell. */
static int shown_again(struct sim_dialog *dialog, uint32_t t, uint32_t key, const uint8_t *row)
{
    const struct cells_table *table = &dialog->cells->tables[t];
    const struct cells_access access = {.table = t, .key = key};
    int code = 0;
    for (uint32_t cell = 0; cell < table->cells && code == 0; cell++) {
        const uint8_t *value = row + table->offsets[cell];
        if (!sim_cells_value_sound(value, table->columns[cell].bytes, t, key, cell))
            snprintf(dialog->complaint, sizeof dialog->complaint,
                     "table %s, key %u, cell %u: no such value, by a cursor", table->name, key, cell);
        if (once_in(dialog, 4)) code = look_again(dialog, &access, cell, value);
    }
    return code;
}

/* A key that a cursor has passed, and not shown: there is no such row; one that came since, and no commit then. */
static int passed_again(struct sim_dialog *dialog, uint32_t t, uint32_t key)
{
    const struct cells_access access = {.table = t, .key = key};
    uint8_t value[SIM_CELLS_VALUE_BYTES_MAX];
    int code = get(dialog, &access, 0, value);
    if (code == 0)
        snprintf(dialog->complaint, sizeof dialog->complaint, "table %s, key %u, which its cursor had left out",
                 dialog->cells->tables[t].name, key);
    return code == CELLAR_NOT_FOUND ? 0 : code;
}

/* A scan of all of a table, and how far it has come. */
struct walk {
    uint32_t table;
    bool backward, first;
    uint64_t at; /* the last key that was shown, unless it is the first */
};

/* The next key of all that the clients have; its number. False: none is left. */
static bool key_next(const struct sim_dialog *dialog, const struct walk *walk, uint32_t *number)
{
    bool found = false;
    for (uint32_t i = 0; i < dialog->cells->load.plan->keys; i++) {
        uint64_t key = sim_cells_key(i), best = found ? sim_cells_key(*number) : 0;
        bool behind = walk->first || (walk->backward ? key < walk->at : key > walk->at);
        if (!behind || (found && (walk->backward ? key < best : key > best))) continue;
        *number = i;
        found = true;
    }
    return found;
}

/* Keys that the cursor has left out up to that one (all: up to the end); false: it is none that comes next. */
static bool left_out(struct sim_dialog *dialog, struct walk *walk, bool all, uint64_t key, uint32_t *number, int *code)
{
    while (*code == 0 && key_next(dialog, walk, number)) {
        if (!all && sim_cells_key(*number) == key) return true;
        if (once_in(dialog, 3)) *code = passed_again(dialog, walk->table, *number);
        walk->at = sim_cells_key(*number);
        walk->first = false;
    }
    return *code != 0;
}

/* A row is the next one that gets know of. */
static int row_again(struct sim_dialog *dialog, struct walk *walk, const uint8_t *row)
{
    uint64_t key;
    uint32_t number;
    int code = 0;
    memcpy(&key, row, sizeof key);
    if (!left_out(dialog, walk, false, key, &number, &code))
        contradicted(dialog, "a cursor shows a key out of its order, or one that no client has");
    else if (code == 0)
        code = shown_again(dialog, walk->table, number, row);
    walk->at = key;
    walk->first = false;
    return code;
}

#define SCAN_PAGE 4

/* In pages, between which the client thinks, and changes nothing. */
static int scan(struct sim_dialog *dialog)
{
    struct walk walk = {.table = (uint32_t)prng_below(&dialog->prng, dialog->cells->load.plan->tables), .first = true};
    const struct cells_table *table = &dialog->cells->tables[walk.table];
    uint8_t rows[SCAN_PAGE * SIM_CELLS_ROW_BYTES_MAX];
    struct cellar_cursor *cursor;
    walk.backward = once_in(dialog, 2);
    const struct cellar_scan all = {.size = sizeof all,
                                    .flags = walk.backward ? CELLAR_BACKWARD : 0,
                                    .table = table->table,
                                    .row_bytes = table->client_bytes};
    int code = cellar_cursor_open(dialog->txn, &all, &cursor), count = 0, most = 0;
    while (code == 0 && count == most) {
        most = 1 + (int)prng_below(&dialog->prng, SCAN_PAGE);
        count = (cellar_cursor_next)(cursor, (uint32_t)most, rows, table->client_bytes);
        code = count < 0 ? count : 0;
        for (int i = 0; i < count && code == 0; i++)
            code = row_again(dialog, &walk, rows + (size_t)i * table->client_bytes);
        if (once_in(dialog, 3)) break;
        if (once_in(dialog, 3)) think(dialog);
    }
    uint32_t unused;
    if (code == 0 && count < most) (void)left_out(dialog, &walk, true, 0, &unused, &code);
    cellar_cursor_close(cursor);
    return code;
}

/* ---- writing ---- */

/* A whole row, whether there is one or not. */
static int put_all(struct sim_dialog *dialog, const struct cells_access *access)
{
    const struct cells_table *table = &dialog->cells->tables[access->table];
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    sim_cells_row_make(table, access->table, access->key, dialog->writer, dialog->digest, row);
    int code = row_put_all(dialog, access, row);
    if (code == 0 && once_in(dialog, 6)) code = look_again(dialog, access, 0, row + table->columns[0].offset);
    return code;
}

static int put(struct sim_dialog *dialog, const struct cells_access *access)
{
    const struct cells_table *table = &dialog->cells->tables[access->table];
    uint8_t value[SIM_CELLS_VALUE_BYTES_MAX];
    int code = 0;
    if (access->write == table->all && once_in(dialog, 2)) return put_all(dialog, access);
    for (cellar_cells cells = access->write; cells && code == 0; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        sim_cells_value_make(value, table->columns[cell].bytes,
                             sim_cells_identity(dialog->writer, access->table, access->key, cell), dialog->digest);
        code = row_put(dialog, access, cell, value);
        if (code == 0 && once_in(dialog, 6)) code = look_again(dialog, access, cell, value);
    }
    return code;
}

static int insert(struct sim_dialog *dialog, const struct cells_access *access)
{
    const struct cells_table *table = &dialog->cells->tables[access->table];
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    if (once_in(dialog, 3)) return put_all(dialog, access);
    sim_cells_row_make(table, access->table, access->key, dialog->writer, dialog->digest, row);
    int code = row_insert(dialog, access, row);
    if (code == 0 && once_in(dialog, 6)) code = look_again(dialog, access, 0, row + table->columns[0].offset);
    return code;
}

/* ---- a transaction ---- */

static int step(struct sim_dialog *dialog, const struct cells_access *access)
{
    if (access->block) think(dialog);
    if (access->kind == CELLS_INSERT) return access->if_absent && dialog->found ? 0 : insert(dialog, access);
    int code = take(dialog, access);
    if (code == 0 && access->kind == CELLS_DELETE) return row_delete(dialog, access);
    return code ? code : put(dialog, access);
}

/* What a client does with a record that is not there, or is. */
static bool goes_on(const struct cells_access *access, int code)
{
    return access->optional && (code == CELLAR_NOT_FOUND || code == CELLAR_EXISTS);
}

/* Half of the transactions. */
static int texts(struct sim_dialog *dialog)
{
    struct sim_texts *texts = dialog->texts;
    uint32_t steps = once_in(dialog, 2) ? sim_texts_begin(texts, dialog->txn, &dialog->prng, dialog->writer) : 0;
    int code = 0;
    for (uint32_t i = 0; i < steps && code == 0; i++) {
        think(dialog);
        code = sim_texts_step(texts);
    }
    if (texts->complaint[0]) snprintf(dialog->complaint, sizeof dialog->complaint, "%s", texts->complaint);
    if (texts->contradiction[0]) contradicted(dialog, texts->contradiction);
    return code;
}

/* Two of three transactions. */
static int people(struct sim_dialog *dialog)
{
    struct sim_people *people = dialog->people;
    uint32_t steps = once_in(dialog, 3) ? 0 : sim_people_begin(people, dialog->txn, &dialog->prng, dialog->writer);
    int code = 0;
    for (uint32_t i = 0; i < steps && code == 0; i++) {
        if (once_in(dialog, 3)) think(dialog);
        code = sim_people_step(people);
    }
    if (steps && people->complaint[0]) snprintf(dialog->complaint, sizeof dialog->complaint, "%s", people->complaint);
    if (steps && people->contradiction[0]) contradicted(dialog, people->contradiction);
    return code;
}

/* One transaction of four. */
static int herds(struct sim_dialog *dialog)
{
    struct sim_herds *herds = dialog->herds;
    uint32_t steps =
        dialog->large && once_in(dialog, 4) ? sim_herds_begin(herds, dialog->txn, &dialog->prng, dialog->writer) : 0;
    int code = 0;
    for (uint32_t i = 0; i < steps && code == 0; i++) {
        if (once_in(dialog, 3)) think(dialog);
        code = sim_herds_step(herds);
    }
    if (steps && herds->complaint[0]) snprintf(dialog->complaint, sizeof dialog->complaint, "%s", herds->complaint);
    if (steps && herds->contradiction[0]) contradicted(dialog, herds->contradiction);
    return code;
}

int sim_dialog_play(struct sim_dialog *dialog)
{
    const struct cells_txn *todo = dialog->todo;
    int code = once_in(dialog, 3) ? many_get(dialog) : 0;
    if (code == 0 && dialog->cells->load.plan->ordered && once_in(dialog, 3)) code = scan(dialog);
    for (uint32_t i = 0; i < todo->count && code == 0; i++) {
        code = step(dialog, &todo->accesses[i]);
        if (goes_on(&todo->accesses[i], code)) code = 0;
        if (code == 0 && once_in(dialog, 24)) code = cellar_check(dialog->txn);
    }
    if (code == 0 && dialog->texts) code = texts(dialog);
    if (code == 0 && dialog->people) code = people(dialog);
    if (code == 0 && dialog->herds) code = herds(dialog);
    think(dialog);
    return code == 0 && todo->user_abort ? ERR_GIVEN_UP : code;
}

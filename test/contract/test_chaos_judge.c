/* test_chaos_judge.c - the judge of `cellar chaos`: an honest witness, and each lie that must be found out. */
#include "chaos_judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MEMNODE_BYTES (8u << 20)
#define TRANSFERS 8

struct scene {
    struct chaos_bank bank;
    struct chaos_witness_line lines[2 * TRANSFERS];
    uint64_t count;
    struct chaos_judgement judgement;
    struct cellar_error error;
};

static struct chaos_bank_transfer transfer_of(const struct scene *scene, uint64_t number)
{
    return (struct chaos_bank_transfer){.bank = &scene->bank,
                                        .receipt = {.number = number,
                                                    .cents = (int64_t)number * 3,
                                                    .from = (uint32_t)number,
                                                    .to = (uint32_t)number + 1},
                                        .aborted = number == 2};
}

/* Each transfer is made, and the witness is told the truth; number 2 is given up by its client. */
static void set_up(struct scene *scene)
{
    const struct engine_config config = {.pool_bytes = MEMNODE_BYTES};
    *scene = (struct scene){.count = 0};
    assert_int_equal(chaos_bank_open(&scene->bank, &config, MEMNODE_BYTES, &scene->error), 0);
    for (uint64_t number = 1; number <= TRANSFERS; number++) {
        struct chaos_bank_transfer transfer = transfer_of(scene, number);
        struct chaos_witness_line line = {
            .kind = CHAOS_WITNESS_TRIED, .receipt = transfer.receipt, .aborted = transfer.aborted};
        scene->lines[scene->count++] = line;
        line.kind = CHAOS_WITNESS_TOLD;
        line.code = cellar_proc_run(scene->bank.db, scene->bank.transfer, &transfer, NULL, NULL);
        assert_int_equal(line.code, transfer.aborted ? CHAOS_BANK_GIVEN_UP : 0);
        scene->lines[scene->count++] = line;
    }
}

static int judged(struct scene *scene)
{
    return chaos_judge(&scene->bank, scene->lines, scene->count, &scene->judgement, &scene->error);
}

static void tear_down(struct scene *scene) { cellar_close(scene->bank.db); }

static void refuses(struct scene *scene, const char *text)
{
    assert_int_equal(judged(scene), CELLAR_CORRUPT);
    if (!strstr(scene->error.text, text)) fail_msg("'%s' does not say '%s'", scene->error.text, text);
    tear_down(scene);
}

static void an_honest_witness_is_believed(void **state)
{
    struct scene scene;
    set_up(&scene);
    scene.lines[5].code = CELLAR_INDETERMINATE; /* of number 3, which has committed: either is right */
    assert_int_equal(judged(&scene), 0);
    assert_int_equal(scene.judgement.tried, TRANSFERS);
    assert_int_equal(scene.judgement.committed, TRANSFERS - 2);
    assert_int_equal(scene.judgement.refused, 1);
    assert_int_equal(scene.judgement.unknown, 1);
    assert_int_equal(scene.judgement.receipts, TRANSFERS - 1);
    tear_down(&scene);
}

static void what_was_acknowledged_must_be_there(void **state)
{
    struct scene scene;
    set_up(&scene);
    scene.lines[2].aborted = 0; /* number 2 */
    scene.lines[3].code = 0;
    refuses(&scene, "was acknowledged, and its receipt is lost");
}

static void what_was_refused_must_not_be_there(void **state)
{
    struct scene scene;
    set_up(&scene);
    scene.lines[9].code = CELLAR_DEADLINE; /* number 5, which has committed */
    refuses(&scene, "was refused");
}

static void what_nobody_tried_must_not_be_there(void **state)
{
    struct scene scene;
    set_up(&scene);
    scene.count -= 2; /* the witness knows nothing of the last one */
    refuses(&scene, "no compute node has tried this transfer");
}

static void another_content_is_found(void **state)
{
    struct scene scene;
    set_up(&scene);
    scene.lines[6].receipt.cents++; /* number 4 */
    refuses(&scene, "is not that of the transfer that was tried");
}

static int half(struct cellar_txn *txn, void *arg)
{
    const struct chaos_bank *bank = arg;
    const struct chaos_bank_account row = {.number = CHAOS_BANK_ACCOUNTS - 1, .cents = CHAOS_BANK_OPENING + 1};
    return cellar_put(txn, bank->accounts, CELLAR_ALL, &row);
}

static void half_a_transfer_is_found(void **state)
{
    struct scene scene;
    set_up(&scene);
    assert_int_equal(cellar_run(scene.bank.db, half, &scene.bank, NULL, NULL), 0);
    refuses(&scene, "its receipts make");
}

/* A life that died amid a line leaves it cut: it is taken away, and the next life's numbers are others. */
static void a_cut_line_puts_none_out_of_step(void **state)
{
    char path[] = "/tmp/cellar-witness-XXXXXX";
    struct cellar_error error;
    struct chaos_witness_line line = {.kind = CHAOS_WITNESS_TRIED}, *lines = NULL;
    uint64_t first, second, at = 0, count = 0;
    int file, made = mkstemp(path);
    assert_true(made >= 0);
    close(made);
    assert_int_equal(chaos_witness_open(path, 3, &file, &first, &error), 0);
    line.receipt.number = first;
    assert_int_equal(chaos_witness_write(file, &line, &error), 0);
    assert_int_equal(write(file, &line, 7), 7);
    close(file);
    assert_int_equal(chaos_witness_open(path, 3, &file, &second, &error), 0);
    assert_true(second > first);
    line.receipt.number = second;
    assert_int_equal(chaos_witness_write(file, &line, &error), 0);
    close(file);
    assert_int_equal(chaos_witness_read(path, &at, &lines, &count, &error), 0);
    assert_int_equal(count, 2);
    assert_int_equal(lines[1].receipt.number, second);
    free(lines);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_witness_is_believed),      cmocka_unit_test(what_was_acknowledged_must_be_there),
        cmocka_unit_test(what_was_refused_must_not_be_there), cmocka_unit_test(what_nobody_tried_must_not_be_there),
        cmocka_unit_test(another_content_is_found),           cmocka_unit_test(half_a_transfer_is_found),
        cmocka_unit_test(a_cut_line_puts_none_out_of_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

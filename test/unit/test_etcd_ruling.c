/* test_etcd_ruling.c - rulings as etcd keeps them: every one comes back, and nothing else is taken for one. */
#include "etcd_ruling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void comes_back(const struct cellar_ruling *ruling)
{
    struct cellar_ruling again;
    char *text = etcd_ruling_text(ruling);
    assert_non_null(text);
    assert_int_equal(etcd_ruling_read(text, strlen(text), &again), 0);
    assert_memory_equal(ruling, &again, sizeof again);
    free(text);
}

static void test_back(void **state)
{
    struct cellar_ruling ruling = {.epoch = 1, .cluster = 1};
    (void)state;
    comes_back(&ruling);
    ruling = (struct cellar_ruling){.epoch = INT64_MAX, .cluster = UINT64_MAX, .configuration = UINT64_MAX};
    for (uint32_t cn = 0; cn < CELLAR_CNS_MAX; cn++) ruling.dead[cn] = cn % 3 ? (1ull << 28) - cn : 0;
    comes_back(&ruling);
}

static void test_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "junk",
        "[]",
        "{}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"0\"}",
        "{\"cellar\":2,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"0\",\"dead\":{}}",
        "{\"cellar\":1,\"epoch\":0,\"cluster\":\"1\",\"configuration\":\"0\",\"dead\":{}}",
        "{\"cellar\":1,\"epoch\":-1,\"cluster\":\"1\",\"configuration\":\"0\",\"dead\":{}}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"0\",\"configuration\":\"0\",\"dead\":{}}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"-1\",\"configuration\":\"0\",\"dead\":{}}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"\",\"dead\":{}}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"00000000000000001\",\"dead\":{}}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"0g\",\"dead\":{}}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"0\",\"dead\":[]}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"0\",\"dead\":{\"255\":1}}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"0\",\"dead\":{\"-1\":1}}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"0\",\"dead\":{\"1\":-1}}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"0\",\"dead\":{\"1\":\"1\"}}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"0\",\"dead\":{},\"more\":1}",
        "{\"cellar\":1,\"epoch\":1,\"epoch\":2,\"cluster\":\"1\",\"configuration\":\"0\",\"dead\":{}}",
        "{\"cellar\":1,\"epoch\":1,\"cluster\":\"1\",\"configuration\":\"0\",\"dead\":{}} ,",
    };
    struct cellar_ruling ruling;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (etcd_ruling_read(texts[i], strlen(texts[i]), &ruling) != CELLAR_MISMATCH) fail_msg("%s", texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_back),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

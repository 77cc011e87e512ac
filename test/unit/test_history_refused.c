/* test_history_refused.c - every way in which a file can be no history, and what is said of it. */
#include "history_file.h"
#include "paper.h"

#include <stdlib.h>
#include <string.h>

#define HEADER "{\"cellar_history\":2}\n"
#define TXN_OF(id, more)                                                                                               \
    "{\"txn\":" id ",\"cn\":0,\"coordinator\":0,\"begin\":1,\"end\":2,\"outcome\":\"committed\",\"ts\":0" more "}\n"
#define END_OF(count) "{\"end\":true,\"txns\":" count "}\n"

static void refused(const char *text, int code, const char *message)
{
    struct history history = {0};
    struct cellar_error error = {0};
    struct paper paper = paper_new();

    paper_put(&paper, text, strlen(text));
    int rc = history_read(&history, paper.path, &error);
    if (rc != code || !strstr(error.text, message)) fail_msg("%d, %s: %s", rc, error.text, text);
    close(paper.file);
}

#define CORRUPT(text, message) refused(text, CELLAR_CORRUPT, message)
#define CORRUPT_TXN(more, message) CORRUPT(HEADER TXN_OF("0", more) END_OF("1"), ":2: " message)

static void accepted(const char *text)
{
    struct history history = {0};
    struct cellar_error error = {0};
    struct paper paper = paper_new();

    paper_put(&paper, text, strlen(text));
    if (history_read(&history, paper.path, &error)) fail_msg("%s: %s", error.text, text);
    history_free(&history);
    close(paper.file);
}

static void unknown_fields_are_passed_over(void **state)
{
    (void)state;
    accepted(HEADER END_OF("0"));
    accepted("{\"cellar_history\":2,\"machine\":{\"cores\":2}}\n" TXN_OF("0", ",\"attempts\":[1]") END_OF("1"));
    accepted(HEADER "{\"final\":[],\"more\":1}\n{\"final\":[]}\n{\"end\":true,\"txns\":0,\"more\":null}\n");
}

static void foreign_files(void **state)
{
    (void)state;
    CORRUPT("", ": the file is empty");
    CORRUPT("\n", ":1: not a history of Cellar");
    CORRUPT("{}\n", ":1: not a history of Cellar");
    CORRUPT("[1,2]\n", ":1: not a history of Cellar");
    CORRUPT("\x7f"
            "ELF\1\2\3",
            ":1: not a history of Cellar");
    CORRUPT("{\"cellar_history\":\"1\"}\n", ":1: not a history of Cellar");
    CORRUPT("{\"cellar_history\":0}\n", ":1: not a history of Cellar");
    refused("{\"cellar_history\":3,\"what\":\"ever\"}\n", CELLAR_UNSUPPORTED,
            ": version 3 of the format; this program reads version 2");
    refused("{\"cellar_history\":1}\n", CELLAR_UNSUPPORTED, ": version 1 of the format");
    CORRUPT("{\"cellar_history\":2,\"cells\":[]}\n", ":1: \"cells\"");
    CORRUPT("{\"cellar_history\":2,\"tables\":{\"1\":\"y\"},\"cells\":{\"1\":21}}\n", ":1: \"cells\" of table 1");
    CORRUPT("{\"cellar_history\":2,\"nodes_lost\":1}\n", ":1: \"nodes_lost\"");
    CORRUPT("{\"cellar_history\":2,\"clock_error_ns\":-1}\n", ":1: \"clock_error_ns\"");
    CORRUPT("{\"cellar_history\":2,\"tables\":[]}\n", ":1: \"tables\"");
    CORRUPT("{\"cellar_history\":2,\"tables\":{\"x\":\"y\"}}\n", ":1: \"tables\"");
    CORRUPT("{\"cellar_history\":2,\"tables\":{\"1\":2}}\n", ":1: \"tables\"");
    CORRUPT("{\"cellar_history\":2,\"tables\":{\"4294967296\":\"y\"}}\n", ":1: \"tables\"");
}

static void torn(const char *text, uint64_t txns, uint64_t line)
{
    struct history history = {0};
    struct cellar_error error = {0};
    struct paper paper = paper_new();

    paper_put(&paper, text, strlen(text));
    if (history_read(&history, paper.path, &error)) fail_msg("%s: %s", error.text, text);
    assert_true(history.torn);
    assert_false(history.has_final);
    assert_int_equal(history.txn_count, txns);
    assert_int_equal(history.torn_line, line);
    history_free(&history);
    close(paper.file);
}

static void files_that_break_off(void **state)
{
    (void)state;
    torn(HEADER, 0, 1);
    torn(HEADER TXN_OF("0", ""), 1, 2);
    torn(HEADER TXN_OF("0", "") "{\"txn\":1,\"cn", 1, 3);
    torn(HEADER TXN_OF("0", "") "{\"final\":[[1,\"1\",0,2,5,\"a1\"]]}\n", 1, 3);
    CORRUPT(HEADER TXN_OF("0", "") END_OF("2"), ":3: there are 1 transactions, but the end says 2");
    CORRUPT(HEADER END_OF("0") HEADER, ":3: something follows the end");
    CORRUPT(HEADER "{\"end\":true}\n", ":2: \"txns\"");
    CORRUPT(HEADER "{\"end\":1,\"txns\":0}\n", ":2: \"end\" must be true");
    CORRUPT(HEADER "{\"end\":true,\"txns\":0,\"checksum\":\"0\"}\n", ":2: the checksum is wrong");
    CORRUPT(HEADER "{\"end\":true,\"txns\":0,\"checksum\":7}\n", ":2: \"checksum\"");
}

static void lines_out_of_place(void **state)
{
    (void)state;
    CORRUPT(HEADER "\n" END_OF("0"), ":2: not a JSON object");
    CORRUPT(HEADER "{\"what\":1}\n" END_OF("0"), ":2: none of");
    CORRUPT(HEADER "{\"final\":[]}\n" TXN_OF("0", "") END_OF("1"), ":3: a transaction after \"final\"");
    CORRUPT(HEADER TXN_OF("0", "") "{\"loaded\":[]}\n" END_OF("1"), ":3: \"loaded\" after a transaction");
    CORRUPT(HEADER TXN_OF("0", "") "{\"txn\":1,\"cn\n" END_OF("1"), ":3: not a JSON object");
    CORRUPT(HEADER TXN_OF("4", "") TXN_OF("5", "") TXN_OF("4", "") END_OF("3"),
            ":4: transaction 4 was in line 2 already");
    CORRUPT(HEADER "{\"txn\":0,\"txn\":1}\n", ":2: not a JSON object");
}

static void fields_of_other_types(void **state)
{
    (void)state;
    CORRUPT(HEADER TXN_OF("\"0\"", "") END_OF("1"), ":2: \"txn\" must be");
    CORRUPT(HEADER TXN_OF("-1", "") END_OF("1"), ":2: \"txn\" must be");
    CORRUPT(HEADER TXN_OF("1.0", "") END_OF("1"), ":2: \"txn\" must be");
    CORRUPT(HEADER TXN_OF("9223372036854775808", "") END_OF("1"), ":2: not a JSON object");
    CORRUPT(HEADER "{\"txn\":0,\"cn\":4294967296}\n", ":2: \"cn\" must be");
    CORRUPT(HEADER "{\"txn\":0,\"cn\":0,\"coordinator\":0,\"begin\":3,\"end\":2,\"outcome\":\"failed\",\"ts\":0}\n",
            ":2: \"end\" lies before \"begin\"");
    CORRUPT(HEADER "{\"txn\":0,\"cn\":0,\"coordinator\":0,\"begin\":1,\"end\":2,\"outcome\":\"lost\",\"ts\":0}\n",
            ":2: \"outcome\" must be");
    CORRUPT(HEADER "{\"txn\":0,\"cn\":0,\"coordinator\":0,\"begin\":1,\"end\":2,\"outcome\":\"failed\","
                   "\"ts\":281474976710656}\n",
            ":2: \"ts\" must be");
    CORRUPT_TXN(",\"read\":{}", "\"read\" must be a list");
    CORRUPT_TXN(",\"read\":[1]", "read[0] must be a list of 6");
    CORRUPT_TXN(",\"read\":[[1,\"2\",3,4,5,\"6\"],[1,\"2\",3,4,5]]", "read[1] must be a list of 6");
    CORRUPT_TXN(",\"read\":[[\"1\",\"2\",3,4,5,\"6\"]]", "read[0]: a table's number is missing");
    CORRUPT_TXN(",\"read\":[[1,2,3,4,5,\"6\"]]", "read[0]: a key, decimal digits in quotes is missing");
    CORRUPT_TXN(",\"read\":[[1,\"\",3,4,5,\"6\"]]", "read[0]: a key");
    CORRUPT_TXN(",\"read\":[[1,\"-2\",3,4,5,\"6\"]]", "read[0]: a key");
    CORRUPT_TXN(",\"read\":[[1,\"a\",3,4,5,\"6\"]]", "read[0]: a key");
    CORRUPT_TXN(",\"read\":[[1,\"18446744073709551616\",3,4,5,\"6\"]]", "read[0]: a key");
    CORRUPT_TXN(",\"read\":[[1,\"2\",65536,4,5,\"6\"]]", "read[0]: a cell's number is missing");
    CORRUPT_TXN(",\"read\":[[1,\"2\",3,65536,5,\"6\"]]", "read[0]: an epoch number");
    CORRUPT_TXN(",\"read\":[[1,\"2\",3,4,281474976710656,\"6\"]]", "read[0]: a timestamp");
    CORRUPT_TXN(",\"read\":[[1,\"2\",3,4,5,\"g\"]]", "read[0]: a digest");
    CORRUPT_TXN(",\"read\":[[1,\"2\",3,4,5,\"10000000000000000\"]]", "read[0]: a digest");
    CORRUPT_TXN(",\"write\":[[1,\"2\",65535,4,5,3,4,\"6\"]]", "write[0]: a cell's number is missing");
    CORRUPT_TXN(",\"absent\":[[1,\"2\"]]", "absent[0] must be a list of 3");
    CORRUPT_TXN(",\"insert\":[[1,\"2\",3]]", "insert[0] must be a list of 2");
    CORRUPT(HEADER "{\"final\":7}\n", ":2: \"final\" must be a list");
    CORRUPT(HEADER "{\"loaded\":7}\n", ":2: \"loaded\" must be a list");
    CORRUPT_TXN(",\"range\":[[1,\"2\",\"3\"]]", "range[0] must be a list of 4");
    CORRUPT_TXN(",\"range\":[[1,\"3\",\"2\",5]]", "a range of table 1 ends before it begins");
    CORRUPT("{\"cellar_history\":2,\"tables\":{\"1\":\"y\"},\"cells\":{\"1\":2}}\n" TXN_OF(
                "0", ",\"read\":[[1,\"2\",2,4,5,\"6\"]]") END_OF("1"),
            ":2: cell 2 of table 1, which has 2");
}

static void endless_lines(void **state)
{
    struct history history = {0};
    struct cellar_error error = {0};
    struct paper paper = paper_new();
    char *text = malloc(17 << 20);
    (void)state;
    assert_non_null(text);
    memset(text, ' ', 17 << 20);
    paper_put(&paper, text, 17 << 20);
    assert_int_equal(history_read(&history, paper.path, &error), CELLAR_CORRUPT);
    assert_non_null(strstr(error.text, ":1: a line of more than 16 MiB"));
    free(text);
    close(paper.file);
}

static void files_that_cannot_be(void **state)
{
    struct history history = {0};
    struct cellar_error error = {0};
    (void)state;
    assert_int_equal(history_read(&history, "/no/such/file", &error), CELLAR_SYSTEM);
    assert_non_null(strstr(error.text, "/no/such/file"));
    assert_int_equal(history_read(&history, "/tmp", &error), CELLAR_SYSTEM);
    assert_int_equal(history_write(&history, "/no/such/folder/h", &error), CELLAR_SYSTEM);
    assert_non_null(strstr(error.text, "/no/such/folder/h"));
    assert_int_equal(history_write(&history, "/dev/null", &error), CELLAR_INVALID);
    const struct history_txn late = {.end_ns = 1ull << 63};
    assert_int_equal(history_txn_add(&history, &late, NULL), 0);
    assert_int_equal(history_write(&history, "/tmp/never", &error), CELLAR_INVALID);
    history_free(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_fields_are_passed_over), cmocka_unit_test(foreign_files),
        cmocka_unit_test(files_that_break_off),           cmocka_unit_test(lines_out_of_place),
        cmocka_unit_test(fields_of_other_types),          cmocka_unit_test(endless_lines),
        cmocka_unit_test(files_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

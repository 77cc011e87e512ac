/* test_cluster.c - cluster files: what is taken, and what is refused with a line that says why. */
#include "cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct cluster cluster;
static struct cellar_error error;

static int read_text(const char *text)
{
    char path[] = "/tmp/cellar-cluster-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    memset(&error, 0, sizeof error);
    int code = cluster_read(path, &cluster, &error);
    unlink(path);
    return code;
}

static void test_taken(void **state)
{
    (void)state;
    assert_int_equal(
        read_text("{\"memnodes\": [\"10.0.0.1\", \"[fe80::1]:7472\"], \"secret\": \"/s\", \"replicas\": 1}"), 0);
    assert_string_equal(cluster.memnodes, "10.0.0.1,[fe80::1]:7472");
    assert_string_equal(cluster.secret, "/s");
    assert_true(cluster.count == 2 && cluster.has_replicas && cluster.replicas == 1);
    assert_int_equal(
        read_text("{\"memnodes\": [\"a\"], \"etcd\": [\"http://a:2379\", \"http://b:2379\"], \"prefix\": \"/x\"}"), 0);
    assert_string_equal(cluster.etcd, "http://a:2379,http://b:2379");
    assert_string_equal(cluster.prefix, "/x");
    assert_int_equal(read_text("{\"memnodes\": [\"a\"]}"), 0);
    assert_true(cluster.etcd[0] == 0 && cluster.prefix[0] == 0);
    assert_true(cluster.secret[0] == 0 && !cluster.has_replicas && cluster.count == 1);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "line"},
        {"{\"memnodes\": [\"a\"]", "line"},
        {"[]", "no object"},
        {"{}", "\"memnodes\" is missing"},
        {"{\"memnodes\": []}", "1 to 64"},
        {"{\"memnodes\": \"a\"}", "1 to 64"},
        {"{\"memnodes\": [\"a\", 7]}", "number 1 is no address"},
        {"{\"memnodes\": [\"a,b\"]}", "number 0 is no address"},
        {"{\"memnodes\": [\"\"]}", "number 0 is no address"},
        {"{\"memnodes\": [\"a\"], \"memnodes\": [\"b\"]}", "line"},
        {"{\"memnodes\": [\"a\"], \"secret\": 5}", "path of a file"},
        {"{\"memnodes\": [\"a\"], \"replicas\": 64}", "0 to 63"},
        {"{\"memnodes\": [\"a\"], \"replicas\": \"1\"}", "0 to 63"},
        {"{\"memnodes\": [\"a\"], \"etcd\": []}", "1 to 16"},
        {"{\"memnodes\": [\"a\"], \"etcd\": [\"\"]}", "\"etcd\": number 0 is no address"},
        {"{\"memnodes\": [\"a\"], \"prefix\": \"/x\"}", "without \"etcd\""},
        {"{\"memnodes\": [\"a\"], \"etcd\": [\"a\"], \"prefix\": 1}", "a key of etcd"},
        {"{\"memnodes\": [\"a\"], \"replica\": 1}", "knows no \"replica\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_text(cases[i].text), CELLAR_INVALID);
        if (!strstr(error.text, cases[i].why)) fail_msg("%s: %s", cases[i].text, error.text);
    }
    assert_int_equal(cluster_read("/no/such/file", &cluster, &error), CELLAR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_verbs_wire.c - which processes a memory node admits, and which not: cookies, proofs, replays, secrets. No device
 * is needed.
 */
#include "fabric_verbs_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW_MS 0xfffffff0u /* the clock wraps soon */

static const uint8_t here[16] = {1, 2, 3}, elsewhere[16] = {1, 2, 4};
static struct fabric_verbs_judge judge;

static void judge_init(void)
{
    memset(&judge, 0, sizeof judge);
    memset(judge.key, 7, sizeof judge.key);
    judge.secret = (struct fabric_verbs_secret){.bytes = "a secret of this pool", .count = 21};
    judge.instance = 99;
    judge.fingerprint = 0x1234;
}

/* What an honest asker sends. */
static struct fabric_verbs_request_wire honest(uint32_t nonce)
{
    struct fabric_verbs_request_wire request = {.magic = FABRIC_VERBS_WIRE_MAGIC,
                                                .kind = FABRIC_VERBS_ATTACH,
                                                .cn = 3,
                                                .fingerprint = 0x1234,
                                                .incarnation = 5,
                                                .nonce = nonce};
    struct fabric_verbs_reply_wire challenge;
    fabric_verbs_challenge(&judge, here, NOW_MS, &challenge);
    request.cookie = challenge.cookie;
    request.cookie_ms = challenge.cookie_ms;
    fabric_verbs_prove(&judge.secret, &request);
    return request;
}

static int admit(const struct fabric_verbs_request_wire *request, const uint8_t address[16], uint32_t now_ms)
{
    struct fabric_verbs_reply_wire reply = {0};
    int code = fabric_verbs_admit(&judge, request, sizeof *request, address, now_ms, &reply);
    assert_int_equal(reply.code, code);
    assert_true((code == 0) == (reply.text[0] == 0));
    return code;
}

static void test_admitted_once(void **state)
{
    (void)state;
    judge_init();
    struct fabric_verbs_request_wire request = honest(1), other = honest(2);
    assert_int_equal(admit(&request, here, NOW_MS + 3000), 0);
    assert_int_equal(admit(&request, here, NOW_MS + 3001), CELLAR_INVALID);
    assert_int_equal(admit(&other, here, NOW_MS + 3002), 0);
}

static void test_cookies(void **state)
{
    (void)state;
    judge_init();
    struct fabric_verbs_request_wire request = honest(1);
    assert_int_equal(admit(&request, elsewhere, NOW_MS), CELLAR_INVALID);
    assert_int_equal(admit(&request, here, NOW_MS + FABRIC_VERBS_COOKIE_MS + 1), CELLAR_INVALID);
    assert_int_equal(admit(&request, here, NOW_MS - 1), CELLAR_INVALID);
    request.cookie_ms++; /* a later time, with the same MAC */
    fabric_verbs_prove(&judge.secret, &request);
    assert_int_equal(admit(&request, here, NOW_MS + 10), CELLAR_INVALID);
    request = honest(1);
    assert_int_equal(admit(&request, here, NOW_MS + FABRIC_VERBS_COOKIE_MS), 0);
}

/* Each bit of the request counts, whatever flips it on the way. */
static void test_flipped_bits(void **state)
{
    (void)state;
    judge_init();
    for (uint32_t bit = 0; bit < 8 * sizeof(struct fabric_verbs_request_wire); bit++) {
        struct fabric_verbs_request_wire request = honest(bit + 1);
        ((uint8_t *)&request)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_true(admit(&request, here, NOW_MS + 1) < 0);
    }
}

static void test_versions_and_secrets(void **state)
{
    (void)state;
    struct fabric_verbs_reply_wire reply = {0};
    struct fabric_verbs_secret none = {0};
    judge_init();
    struct fabric_verbs_request_wire request = honest(1);
    for (uint32_t bytes = 0; bytes < sizeof request; bytes++)
        assert_int_equal(fabric_verbs_admit(&judge, &request, bytes, here, NOW_MS, &reply), CELLAR_MISMATCH);
    request.fingerprint = 0x1235;
    fabric_verbs_prove(&judge.secret, &request);
    assert_int_equal(admit(&request, here, NOW_MS), CELLAR_MISMATCH);
    request = honest(1);
    fabric_verbs_prove(&none, &request);
    assert_int_equal(admit(&request, here, NOW_MS), CELLAR_INVALID);
}

/*
 * More than it can remember within the life of a cookie are turned away, not forgotten; and let in when that has
 * passed.
 */
static void test_flood(void **state)
{
    (void)state;
    judge_init();
    struct fabric_verbs_request_wire first = honest(1), request;
    assert_int_equal(admit(&first, here, NOW_MS), 0);
    for (uint32_t i = 2; i <= FABRIC_VERBS_REPLAYS; i++) {
        request = honest(i);
        assert_int_equal(admit(&request, here, NOW_MS + 1), 0);
    }
    request = honest(FABRIC_VERBS_REPLAYS + 1);
    assert_int_equal(admit(&request, here, NOW_MS + 2), CELLAR_FULL);
    assert_int_equal(admit(&first, here, NOW_MS + 2), CELLAR_INVALID);
}

static void test_answers(void **state)
{
    (void)state;
    judge_init();
    struct fabric_verbs_request_wire request = honest(1), other = honest(2);
    struct fabric_verbs_reply_wire reply = {.rkey = 5}, changed;
    fabric_verbs_sign(&judge, &request, &reply);
    assert_true(fabric_verbs_signed(&judge.secret, &request, &reply));
    assert_false(fabric_verbs_signed(&judge.secret, &other, &reply)); /* an answer to another request */
    for (uint32_t bit = 0; bit < 8 * sizeof reply; bit++) {
        changed = reply;
        ((uint8_t *)&changed)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(fabric_verbs_signed(&judge.secret, &request, &changed));
    }
}

static int read_secret(const char *text, size_t bytes, mode_t mode, struct fabric_verbs_secret *secret)
{
    char path[] = "/tmp/cellar-secret-XXXXXX";
    struct cellar_error error = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes && fchmod(fd, mode) == 0);
    close(fd);
    int code = fabric_verbs_secret_read(secret, path, &error);
    unlink(path);
    assert_int_equal(error.code, code);
    return code;
}

static void test_secret_files(void **state)
{
    (void)state;
    struct fabric_verbs_secret secret;
    char longest[FABRIC_VERBS_SECRET_MAX + 1];
    memset(longest, 'x', sizeof longest);
    assert_int_equal(read_secret("0123456789abcdef\n", 17, 0600, &secret), 0);
    assert_true(secret.count == 16 && memcmp(secret.bytes, "0123456789abcdef", 16) == 0);
    assert_int_equal(read_secret("0123456789abcde\n", 16, 0600, &secret), CELLAR_INVALID);
    assert_int_equal(read_secret("0123456789abcdef", 16, 0640, &secret), CELLAR_INVALID);
    assert_int_equal(read_secret("0123456789abcdef", 16, 0604, &secret), CELLAR_INVALID);
    assert_int_equal(read_secret(longest, sizeof longest - 1, 0400, &secret), 0);
    assert_int_equal(read_secret(longest, sizeof longest, 0400, &secret), CELLAR_INVALID);
    assert_int_equal(fabric_verbs_secret_read(&secret, NULL, NULL), 0);
    assert_int_equal(secret.count, 0);
    assert_int_equal(fabric_verbs_secret_read(&secret, "/no/such/file", NULL), CELLAR_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_admitted_once), cmocka_unit_test(test_cookies),
        cmocka_unit_test(test_flipped_bits),  cmocka_unit_test(test_versions_and_secrets),
        cmocka_unit_test(test_flood),         cmocka_unit_test(test_answers),
        cmocka_unit_test(test_secret_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

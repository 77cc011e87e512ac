/* test_hmac.c - SHA-256 and HMAC by the published examples (FIPS 180-4 and RFC 4231), and at each length around a block's end. */
#include "hmac.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_digest(const uint8_t digest[HMAC_BYTES], const char *expected)
{
    char text[2 * HMAC_BYTES + 1];
    for (int i = 0; i < HMAC_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, expected);
}

static void test_sha256(void **state)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    uint8_t digest[HMAC_BYTES];
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        hmac_sha256(cases[i].text, strlen(cases[i].text), digest);
        assert_digest(digest, cases[i].digest);
    }
}

static void test_hmac(void **state)
{
    uint8_t digest[HMAC_BYTES], key[131], data[50];
    (void)state;
    memset(key, 0x0b, 20);
    hmac(key, 20, "Hi There", 8, digest);
    assert_digest(digest, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    hmac("Jefe", 4, "what do ya want for nothing?", 28, digest);
    assert_digest(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    memset(data, 0xdd, sizeof data);
    hmac(key, 20, data, sizeof data, digest);
    assert_digest(digest, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    hmac(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First", 54, digest);
    assert_digest(digest, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/* Every length up to two blocks gives another digest, and one bit changes it. */
static void test_lengths(void **state)
{
    uint8_t bytes[130] = {0}, digests[130][HMAC_BYTES], flipped[HMAC_BYTES];
    (void)state;
    for (unsigned n = 0; n < sizeof bytes; n++) {
        hmac_sha256(bytes, n, digests[n]);
        for (unsigned m = 0; m < n; m++) assert_false(hmac_equal(digests[m], digests[n], HMAC_BYTES));
        if (n == 0) continue;
        bytes[n - 1] = 1;
        hmac_sha256(bytes, n, flipped);
        bytes[n - 1] = 0;
        assert_false(hmac_equal(flipped, digests[n], HMAC_BYTES));
    }
    assert_true(hmac_equal(digests[7], digests[7], HMAC_BYTES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_hmac),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

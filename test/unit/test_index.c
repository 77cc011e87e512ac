/* test_index.c - keys to buckets, changes to chains against a model, and untrusted bucket bytes. */
#include "index.h"
#include "prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define AREA_BYTES (1ull << 30)

/* ---- from key to bucket ---- */

static struct index_geometry geometry_of(uint64_t records, uint32_t mns, uint32_t cluster_bits)
{
    struct index_geometry geometry = {.buckets_per_node = index_buckets_for(records, mns, cluster_bits),
                                      .mn_count = mns,
                                      .cluster_bits = cluster_bits};
    for (uint32_t node = 0; node < mns; node++) geometry.base[node] = LAYOUT_HEAP_OFFSET + node * 65536;
    return geometry;
}

/* Checks the address; returns the bucket's number within its node. */
static uint64_t bucket_of(const struct index_geometry *geometry, uint64_t key, uint32_t *node)
{
    struct fabric_addr addr = index_bucket_addr(geometry, key);
    *node = fabric_addr_node(addr);
    assert_true(*node < geometry->mn_count);
    uint64_t at = fabric_addr_offset(addr) - geometry->base[*node];
    assert_int_equal(at % LAYOUT_LINE, 0);
    assert_true(at / LAYOUT_LINE < geometry->buckets_per_node);
    return at / LAYOUT_LINE;
}

/* Any shape and any keys: inside the node's buckets. */
static void addresses_stay_inside_their_node(void **state)
{
    (void)state;
    struct prng prng;
    uint32_t node;
    prng_seed(&prng, 1);
    for (int i = 0; i < 2000; i++) {
        struct index_geometry geometry =
            geometry_of(prng_between(&prng, 1, 3000), (uint32_t)prng_between(&prng, 1, LAYOUT_NODES_MAX),
                        (uint32_t)prng_below(&prng, 9));
        for (int k = 0; k < 50; k++) bucket_of(&geometry, prng_next(&prng) >> prng_below(&prng, 64), &node);
    }
}

/* Keys as workloads number them, not random ones: small integers, and numbers packed into bit fields. */
static uint64_t sequential_key(uint32_t i) { return i; }
static uint64_t packed_key(uint32_t i) { return (uint64_t)(i / 1000) << 40 | (uint64_t)(i / 100 % 10) << 32 | i % 100; }

static void check_even(uint64_t (*key_of)(uint32_t), uint32_t count)
{
    struct index_geometry geometry = geometry_of(count, 3, 0);
    uint64_t per_node[3] = {0}, overfull = 0;
    uint8_t *load = calloc(3, geometry.buckets_per_node);
    assert_non_null(load);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node;
        uint64_t bucket = bucket_of(&geometry, key_of(i), &node);
        per_node[node]++;
        overfull += ++load[node * geometry.buckets_per_node + bucket] > LAYOUT_BUCKET_ENTRIES;
    }
    for (int node = 0; node < 3; node++) {
        assert_true(per_node[node] > count / 3 - count / 100);
        assert_true(per_node[node] < count / 3 + count / 100);
    }
    /* With 4 keys a bucket on average, Poisson leaves 4.8 % of the keys beyond the sixth of their bucket. */
    assert_true(overfull > count * 44 / 1000 && overfull < count * 53 / 1000);
    free(load);
}

static void keys_spread_like_random_ones(void **state)
{
    (void)state;
    check_even(sequential_key, 300000);
    check_even(packed_key, 300000);
}

static void keys_of_a_cluster_lie_side_by_side(void **state)
{
    (void)state;
    for (uint32_t bits = 1; bits <= 8; bits++) {
        struct index_geometry geometry = geometry_of(2000, 2, bits);
        for (uint64_t cluster = 0; cluster < 500; cluster++) {
            uint32_t node, first_node;
            uint64_t first = bucket_of(&geometry, cluster << bits, &first_node);
            for (uint64_t low = 1; low < 1ull << bits; low++) {
                uint64_t bucket = bucket_of(&geometry, cluster << bits | low, &node);
                assert_int_equal(node, first_node);
                assert_int_equal(bucket, (first + low / LAYOUT_BUCKET_ENTRIES) % geometry.buckets_per_node);
            }
        }
    }
}

static void fingerprints_are_never_zero_and_differ(void **state)
{
    (void)state;
    uint32_t equal = 0, zero_low = 0;
    for (uint64_t key = 0; key < 1000000; key++) {
        assert_int_not_equal(index_fingerprint(key), 0);
        equal += index_fingerprint(key) == index_fingerprint(key + 1);
        zero_low += (uint16_t)index_hash(key) == 0;
    }
    assert_true(zero_low > 0); /* the case was met */
    assert_true(equal < 40);   /* 15 expected */
}

/* Every input bit reaches every output bit in about half of all cases. */
static void the_hash_mixes_all_bits(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 5);
    for (int in = 0; in < 64; in++) {
        uint32_t flips[64] = {0};
        for (int i = 0; i < 1000; i++) {
            uint64_t key = prng_next(&prng), change = index_hash(key) ^ index_hash(key ^ 1ull << in);
            for (int out = 0; out < 64; out++) flips[out] += change >> out & 1;
        }
        for (int out = 0; out < 64; out++) assert_true(flips[out] > 400 && flips[out] < 600);
    }
}

/* ---- chains against a model ---- */

#define CHAIN_MAX 32
#define RECORDS_MAX 180

/* Buckets of one chain, bucket i of it at offset_of(i); and the records that should be in it. */
struct chain {
    struct bucket_wire buckets[CHAIN_MAX];
    uint32_t count;
    uint64_t offsets[RECORDS_MAX];
    uint16_t fingerprints[RECORDS_MAX];
    uint32_t record_count;
};

static uint64_t offset_of(uint32_t bucket) { return LAYOUT_HEAP_OFFSET + (uint64_t)bucket * LAYOUT_LINE; }

/* As an insert does it: the first free place of the chain, or a further bucket. */
static void chain_insert(struct chain *chain, uint16_t fingerprint, uint64_t offset)
{
    uint32_t b = 0;
    while (b < chain->count && !index_put(&chain->buckets[b], fingerprint, offset)) b++;
    if (b == chain->count) {
        assert_true(chain->count < CHAIN_MAX);
        memset(&chain->buckets[b], 0, sizeof chain->buckets[b]);
        index_link(&chain->buckets[b - 1], &chain->buckets[b], offset_of(b));
        chain->count++;
        assert_true(index_put(&chain->buckets[b], fingerprint, offset));
    }
    chain->offsets[chain->record_count] = offset;
    chain->fingerprints[chain->record_count++] = fingerprint;
}

static void chain_delete(struct chain *chain, uint32_t record)
{
    uint32_t removed = 0;
    for (uint32_t b = 0; b < chain->count; b++)
        removed += index_remove(&chain->buckets[b], chain->fingerprints[record], chain->offsets[record]);
    assert_int_equal(removed, 1);
    chain->record_count--;
    chain->offsets[record] = chain->offsets[chain->record_count];
    chain->fingerprints[record] = chain->fingerprints[chain->record_count];
}

/* Following links from the head meets every bucket; what index_find gives is what the model holds. */
static void chain_check(const struct chain *chain, uint32_t fingerprints)
{
    for (uint32_t b = 0; b < chain->count; b++) {
        assert_true(index_bucket_sane(&chain->buckets[b], AREA_BYTES));
        assert_int_equal(index_next(&chain->buckets[b]), b + 1 < chain->count ? offset_of(b + 1) : 0);
    }
    uint32_t total = 0;
    for (uint16_t fingerprint = 1; fingerprint <= fingerprints; fingerprint++) {
        for (uint32_t b = 0; b < chain->count; b++) {
            uint32_t at = 0;
            uint64_t offset;
            while (index_find(&chain->buckets[b], fingerprint, &at, &offset)) {
                uint32_t r = 0;
                while (r < chain->record_count &&
                       (chain->offsets[r] != offset || chain->fingerprints[r] != fingerprint))
                    r++;
                assert_true(r < chain->record_count);
                total++;
            }
        }
    }
    assert_int_equal(total, chain->record_count);
}

static void random_changes_agree_with_a_model(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 9);
    for (int round = 0; round < 60; round++) {
        struct chain chain = {.count = 1};
        uint32_t fingerprints = round % 2 ? 3 : 1000, longest = 0; /* few, so that several entries match */
        uint64_t next = offset_of(CHAIN_MAX);
        for (int step = 0; step < 600; step++) {
            bool grow = prng_below(&prng, 100) < (step % 300 < 150 ? 70 : 30);
            if (grow && chain.record_count < RECORDS_MAX - 30)
                chain_insert(&chain, (uint16_t)prng_between(&prng, 1, fingerprints), next += LAYOUT_LINE);
            else if (chain.record_count)
                chain_delete(&chain, (uint32_t)prng_below(&prng, chain.record_count));
            if (step % 10 == 0) chain_check(&chain, fingerprints);
            if (chain.count > longest) longest = chain.count;
        }
        assert_true(longest > 3);
    }
}

static void a_full_bucket_takes_no_more(void **state)
{
    (void)state;
    struct bucket_wire bucket = {0};
    for (uint32_t i = 0; i < LAYOUT_BUCKET_ENTRIES; i++) assert_true(index_put(&bucket, 7, offset_of(i)));
    struct bucket_wire before = bucket;
    assert_false(index_put(&bucket, 7, offset_of(99)));
    assert_false(index_remove(&bucket, 7, offset_of(99)));
    assert_false(index_remove(&bucket, 8, offset_of(0)));
    assert_memory_equal(&before, &bucket, sizeof bucket);
}

static void links_are_no_entries(void **state)
{
    (void)state;
    struct bucket_wire bucket = {0}, next = {0};
    uint64_t offset;
    for (uint32_t i = 0; i < LAYOUT_BUCKET_ENTRIES; i++)
        assert_true(index_put(&bucket, (uint16_t)(i + 1), offset_of(i)));
    index_link(&bucket, &next, offset_of(50));
    for (uint32_t fingerprint = 0; fingerprint <= UINT16_MAX; fingerprint++) {
        uint32_t at = LAYOUT_BUCKET_ENTRIES - 1;
        if (fingerprint) assert_false(index_find(&bucket, (uint16_t)fingerprint, &at, &offset));
    }
    assert_int_equal(index_next(&bucket), offset_of(50));
    uint32_t at = 0;
    assert_true(index_find(&next, LAYOUT_BUCKET_ENTRIES, &at, &offset));
    assert_int_equal(offset, offset_of(LAYOUT_BUCKET_ENTRIES - 1));
    assert_int_equal(at, 1);
}

/* ---- untrusted bytes ---- */

/* What index_bucket_sane promises, said another way. */
static bool sane(const struct bucket_wire *bucket, uint64_t area_bytes)
{
    for (uint32_t i = 0; i < LAYOUT_BUCKET_ENTRIES; i++) {
        uint64_t fingerprint = bucket->entries[i] >> 48, low = bucket->entries[i] << 16 >> 16;
        if (bucket->entries[i] == 0) continue;
        bool link = low & 1;
        if (link && (i != LAYOUT_BUCKET_ENTRIES - 1 || fingerprint)) return false;
        if (!link && !fingerprint) return false;
        low -= link;
        if (low & 63 || low < LAYOUT_HEAP_OFFSET || low + LAYOUT_LINE > area_bytes) return false;
    }
    return true;
}

/* Mutated buckets: judged rightly, and whatever is judged sane leads nowhere outside the area. */
static void mutated_buckets_are_judged_rightly(void **state)
{
    (void)state;
    struct prng prng;
    uint32_t accepted = 0, rejected = 0;
    prng_seed(&prng, 13);
    for (int i = 0; i < 300000; i++) {
        struct bucket_wire bucket = {0};
        uint64_t area_bytes = prng_below(&prng, 20) ? AREA_BYTES : prng_below(&prng, 2 * LAYOUT_HEAP_OFFSET);
        for (uint32_t k = 0; k < LAYOUT_BUCKET_ENTRIES; k++)
            if (prng_below(&prng, 3))
                bucket.entries[k] =
                    prng_between(&prng, 1, UINT16_MAX) << 48 | offset_of((uint32_t)prng_below(&prng, 1000));
        if (prng_below(&prng, 2)) bucket.entries[LAYOUT_BUCKET_ENTRIES - 1] = offset_of(5) | INDEX_ENTRY_LINK;
        for (uint64_t flips = prng_below(&prng, 3); flips > 0; flips--)
            bucket.entries[prng_below(&prng, LAYOUT_BUCKET_ENTRIES)] ^= 1ull << prng_below(&prng, 64);
        if (prng_below(&prng, 50) == 0) bucket.entries[prng_below(&prng, LAYOUT_BUCKET_ENTRIES)] = prng_next(&prng);
        bool is = index_bucket_sane(&bucket, area_bytes);
        assert_int_equal(is, sane(&bucket, area_bytes));
        accepted += is;
        rejected += !is;
        if (is && index_next(&bucket)) assert_true(index_next(&bucket) <= area_bytes - LAYOUT_LINE);
    }
    assert_true(accepted > 10000 && rejected > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_stay_inside_their_node),
        cmocka_unit_test(keys_spread_like_random_ones),
        cmocka_unit_test(keys_of_a_cluster_lie_side_by_side),
        cmocka_unit_test(fingerprints_are_never_zero_and_differ),
        cmocka_unit_test(the_hash_mixes_all_bits),
        cmocka_unit_test(random_changes_agree_with_a_model),
        cmocka_unit_test(a_full_bucket_takes_no_more),
        cmocka_unit_test(links_are_no_entries),
        cmocka_unit_test(mutated_buckets_are_judged_rightly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

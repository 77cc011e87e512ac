#include "stock.h"

#include "layout.h"
#include "lazy.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct stock {
    atomic_flag busy; /* for as long as a few slots are copied */
    uint32_t lists;
    atomic_uint *counts;
    uint64_t (*slots)[STOCK_SLOTS_MAX];
};

struct stock_set {
    uint32_t lists;
    _Atomic(struct stock *) of[LAYOUT_MEMBERS_MAX];
};

/* ---- made and freed ---- */

static void stock_free(struct stock *stock)
{
    if (!stock) return;
    lazy_unmap(stock->slots, stock->lists * sizeof *stock->slots);
    free(stock->counts);
    free(stock);
}

static struct stock *stock_new(uint32_t lists)
{
    struct stock *stock = calloc(1, sizeof *stock);
    if (!stock) return NULL;
    stock->lists = lists;
    atomic_flag_clear(&stock->busy);
    stock->counts = calloc(lists, sizeof *stock->counts);
    stock->slots = lazy_map(lists * sizeof *stock->slots);
    if (stock->counts && stock->slots) return stock;
    stock_free(stock);
    return NULL;
}

struct stock_set *stock_set_new(uint32_t lists)
{
    struct stock_set *stocks = calloc(1, sizeof *stocks);
    if (stocks) stocks->lists = lists;
    return stocks;
}

void stock_set_free(struct stock_set *stocks)
{
    for (uint32_t cn = 0; stocks && cn < LAYOUT_MEMBERS_MAX; cn++) stock_free(atomic_load(&stocks->of[cn]));
    free(stocks);
}

struct stock *stock_set_of(struct stock_set *stocks, uint32_t cn)
{
    struct stock *stock = atomic_load(&stocks->of[cn]), *made;
    if (stock || !(made = stock_new(stocks->lists))) return stock;
    if (atomic_compare_exchange_strong(&stocks->of[cn], &stock, made)) return made;
    stock_free(made); /* another worker was first */
    return stock;
}

/* ---- lists ---- */

static void enter(struct stock *stock)
{
    while (atomic_flag_test_and_set_explicit(&stock->busy, memory_order_acquire)) {
    }
}

static void leave(struct stock *stock) { atomic_flag_clear_explicit(&stock->busy, memory_order_release); }

void stock_give(struct stock *stock, uint32_t list, const uint64_t *slots, uint32_t count)
{
    enter(stock);
    uint32_t have = atomic_load_explicit(&stock->counts[list], memory_order_relaxed);
    if (count > STOCK_SLOTS_MAX - have) count = STOCK_SLOTS_MAX - have;
    memcpy(&stock->slots[list][have], slots, count * sizeof *slots);
    atomic_store_explicit(&stock->counts[list], have + count, memory_order_relaxed);
    leave(stock);
}

uint32_t stock_take(struct stock *stock, uint32_t list, uint64_t *slots, uint32_t max)
{
    if (atomic_load_explicit(&stock->counts[list], memory_order_relaxed) == 0) return 0;
    enter(stock);
    uint32_t have = atomic_load_explicit(&stock->counts[list], memory_order_relaxed);
    uint32_t count = have < max ? have : max;
    memcpy(slots, &stock->slots[list][have - count], count * sizeof *slots);
    atomic_store_explicit(&stock->counts[list], have - count, memory_order_relaxed);
    leave(stock);
    return count;
}

void stock_forget(struct stock *stock, uint32_t first, uint32_t count)
{
    enter(stock);
    for (uint32_t i = 0; i < count; i++) atomic_store_explicit(&stock->counts[first + i], 0, memory_order_relaxed);
    leave(stock);
}

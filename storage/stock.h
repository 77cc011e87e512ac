/*
 * stock.h - free slots that the workers of one compute node share: what one has too many of, another takes before it
 * begins a new run. Of slots that none of them has in a list of its own.
 *
 * INV-STOCK-1: a free slot is in one list: a worker's (space.h), or here. Which slots those may be, space.h says.
 */
#pragma once

#include <stdint.h>

#define STOCK_SLOTS_MAX 65536 /* of one list; more are found again at the next open */

struct stock_set;
struct stock;

/* Of a process: stocks with so many lists. NULL without memory. */
struct stock_set *stock_set_new(uint32_t lists);
void stock_set_free(struct stock_set *stocks);
/* That compute node's, made when it is first asked for; its lists take memory as they fill. NULL without memory. */
struct stock *stock_set_of(struct stock_set *stocks, uint32_t cn);
/* From any thread. A list that is full forgets. */
void stock_give(struct stock *stock, uint32_t list, const uint64_t *slots, uint32_t count);
/* At most `max` of them: how many. From any thread. */
uint32_t stock_take(struct stock *stock, uint32_t list, uint64_t *slots, uint32_t max);
/* Those `count` lists from there on are empty. */
void stock_forget(struct stock *stock, uint32_t first, uint32_t count);

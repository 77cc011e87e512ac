/*
 * tpcc_audit.h - judges a whole database row by row: the twelve consistency conditions of clause 3.3.2, what this
 * program's own columns and tables promise, and what the clients counted. Fed by a scan of the pool (tpcc.c), or by a
 * test.
 *
 * Tables are fed whole, in the order of tpcc_audit_steps, since later ones are added up by what earlier ones said.
 * Each condition keeps the first violation it meets. Memory: 64 bytes a customer, 8 bytes an order.
 */
#pragma once

#include "tpcc_schema.h"
#include "workload.h"

/* The order in which tables are fed. */
extern const enum tpcc_table tpcc_audit_steps[TPCC_TABLES];

/* What the clients counted since the load. A transaction whose fate its client does not know may or may not show. */
struct tpcc_audit_counts {
    uint64_t new_orders, payments, delivered;
    uint64_t new_orders_unknown, payments_unknown, deliveries_unknown;
};

struct tpcc_audit;

CELLAR_NODISCARD int tpcc_audit_new(const struct tpcc_scale *scale, struct tpcc_audit **out,
                                    struct cellar_error *error);
void tpcc_audit_free(struct tpcc_audit *audit);
/* Ends one table and begins the next; before the first row too. Between districts and orders it allocates: NOMEM. */
CELLAR_NODISCARD int tpcc_audit_begin(struct tpcc_audit *audit, enum tpcc_table table, struct cellar_error *error);
/* One row of the table begun last. */
void tpcc_audit_row(struct tpcc_audit *audit, uint64_t key, const void *row);
/* All verdicts. `counts` is NULL when no client has counted since the load: those checks are then left out. */
void tpcc_audit_report(struct tpcc_audit *audit, const struct tpcc_audit_counts *counts,
                       struct workload_report *report);

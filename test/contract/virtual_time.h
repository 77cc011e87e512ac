/* virtual_time.h - databases where a test may ask how long a call took, however busy the machine is. */
#pragma once

#include "cellar_lab.h"
#include "db.h"
#include "face_calls.h"
#include "worker.h"

static inline void virtual_open(uint64_t bytes, struct cellar **db)
{
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = bytes, .lab = CELLAR_LAB(.sim = 1)), db));
}

static inline uint64_t virtual_us(struct cellar *db) { return fabric_now_ns(db_first_worker(db)->ep) / 1000; }

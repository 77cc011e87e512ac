/*
 * fabric_word.h - a thread waits for a count in a word to be 0: wait() and wake() of fabrics whose workers are
 * threads of this process.
 */
#pragma once

#include "fabric.h"

/* 0, or -DEADLINE after timeout_ns (UINT64_MAX: never). */
NODISCARD int fabric_word_wait(uint32_t *word, uint64_t timeout_ns);
/* Wakes all that wait for it. It may be gone already. */
void fabric_word_wake(uint32_t *word);

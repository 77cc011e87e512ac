/*
 * lockmgr_plants.h - planted bugs of what all lock algorithms have in common (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define LOCKMGR_PLANTS(X)                                                                                              \
    /* lock servers and switches */                                                                                    \
    X(lockmgr_halt_remembers, "what is kept of locks outlives their end")                                              \
    X(lockmgr_left_awaited, "all locks end, and a worker that has left its loop is waited for")                        \
    X(lockmgr_begins_unread, "a worker takes part in new locks with old messages in its inbox")                        \
    X(lockmgr_silence_ignored, "a waiter for an answer of a lost lock server or switch waits for ever")                \
    X(lockmgr_dead_unseen, "the lock layer takes no client for dead")                                                  \
    /* locks: cooperative queues */                                                                                    \
    X(lockmgr_tender_alone, "while a tender waits for other compute nodes, dead ones are not looked for")              \
    X(lockmgr_view_trusted, "it is not checked again whether a dead compute node has come back")

LOCKMGR_PLANTS(PLANT_DECLARE)

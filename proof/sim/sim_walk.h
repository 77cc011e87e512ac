/*
 * sim_walk.h - now and then a client reads a table whole while the others are at work: it is to be told BUSY, or to
 * meet nothing under way.
 */
#pragma once

#include "sim_state.h"

/* Before this client's transaction of that index, if it is drawn; complains to the report. */
void sim_walk(struct sim_state *state, struct coordinator *coordinator, uint32_t index);

/*
 * fabric_sim_link.h - a compute node's link in one direction: how long packets take when others use it too.
 *
 * The threads of a node run ahead of each other, so that uses do not come in the order of time. Time is cut into
 * windows, each of which carries so many bytes and no more; what does not fit goes into the next ones. Waiting is
 * thus exact to a window, capacity always. (A memory node's links are used in the order of time: fabric_sim_nic.h.)
 */
#pragma once

#include <stdint.h>

#define FABRIC_SIM_LINK_WINDOWS 2048 /* a power of two: a quarter of a millisecond */

struct fabric_sim_link {
    struct {
        uint64_t number;  /* which window of all time stands here */
        uint64_t used_ps; /* from its start on */
    } windows[FABRIC_SIM_LINK_WINDOWS];
};

/* Occupies the link for busy_ps from time_ns on, or as soon as it is free; returns when that ends, in ps. */
uint64_t fabric_sim_link_use(struct fabric_sim_link *link, uint64_t time_ns, uint64_t busy_ps);

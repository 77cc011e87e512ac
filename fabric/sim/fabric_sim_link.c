/* fabric_sim_link.c - windows of a link. */
#include "fabric_sim_link.h"

#define WINDOW_NS_LOG2 7
#define WINDOW_PS (1000ull << WINDOW_NS_LOG2)

uint64_t fabric_sim_link_use(struct fabric_sim_link *link, uint64_t time_ns, uint64_t busy_ps)
{
    uint64_t number = time_ns >> WINDOW_NS_LOG2, from_ps = time_ns * 1000 - number * WINDOW_PS;
    for (;; number++, from_ps = 0) {
        uint64_t slot = number % FABRIC_SIM_LINK_WINDOWS;
        if (link->windows[slot].number > number)
            return number * WINDOW_PS + from_ps + busy_ps; /* long ago: forgotten */
        if (link->windows[slot].number < number) {
            link->windows[slot].number = number;
            link->windows[slot].used_ps = 0;
        }
        uint64_t *used_ps = &link->windows[slot].used_ps;
        uint64_t begin_ps = from_ps > *used_ps ? from_ps : *used_ps, room_ps = WINDOW_PS - begin_ps;
        if (busy_ps <= room_ps) {
            *used_ps += busy_ps;
            return number * WINDOW_PS + begin_ps + busy_ps;
        }
        *used_ps += room_ps;
        busy_ps -= room_ps;
    }
}

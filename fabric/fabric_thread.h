/* fabric_thread.h - which thread calls, and whether one is still there: for what one thread alone may use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fabric_thread {
    int32_t number; /* the system's: no other living thread has it */
};

struct fabric_thread fabric_thread_here(void);
/* Does that thread call? One that has the number of one that ended counts as that one. */
bool fabric_thread_is_here(struct fabric_thread thread);
/* False: it has surely ended. */
bool fabric_thread_lives(struct fabric_thread thread);

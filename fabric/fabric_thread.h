/* fabric_thread.h - which thread calls, and whether one is still there: for what one thread alone may use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fabric_thread {
    uintptr_t place; /* where its own variables are: no other living thread has that */
    int32_t number;  /* the system's, which another one may have once it has ended */
};

struct fabric_thread fabric_thread_here(void);
/* Does that thread call? One that has come to the place of one that ended counts as that one. */
bool fabric_thread_is_here(struct fabric_thread thread);
/* False: it has surely ended. */
bool fabric_thread_lives(struct fabric_thread thread);

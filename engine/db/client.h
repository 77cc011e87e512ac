/* client.h - a coordinator, as a client function sees it. */
#pragma once

#include "cellar_lab.h"

struct coordinator;
struct coro;

struct cellar_lab_client {
    struct coordinator *coordinator;
    struct coro *co;
};

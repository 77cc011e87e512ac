/* client.h - a coordinator, as a client function sees it. */
#pragma once

struct coordinator;
struct coro;

struct cellar_client {
    struct coordinator *coordinator;
    struct coro *co;
};

/* client.h - a coordinator, as a client function sees it. */
#pragma once

struct coordinator;
struct coro;

struct cellar_lab_client {
    struct coordinator *coordinator;
    struct coro *co;
};

/* session.h - a coordinator, as a client function sees it. */
#pragma once

struct coordinator;
struct coro;

struct cellar_session {
    struct coordinator *coordinator;
    struct coro *co;
};

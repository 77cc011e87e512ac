/*
 * netchain_controller.c - which switches make up the chain, and since when.
 *
 *     member lost, others have its state ──────────────> STARTING ──> RUNNING      (the paper's failover)
 *     none has it, or one comes new ──> FREEZING ──> ASKING ──> STARTING ──> RUNNING
 *
 * The state of a chain that has to be filled comes from those that it is about: each worker tells what it holds
 * (INV-NETCHAIN-3). The paper copies registers; but holders are few where registers are many, and they know when no
 * switch is left that does.
 */
#include "netchain.h"
#include "netchain_plants.h"

#include <stdlib.h>

#define AGAIN_NS 30000 /* and so many round trips: then a packet counts as lost */
#define AGAIN_RTTS 16

enum phase { WAITING, FREEZING, ASKING, STARTING, RUNNING };

struct member {
    uint64_t role, heard_ns; /* the latest that it told, and when; heard_ns 0: nothing yet */
    uint32_t incarnation;    /* that it was made a member with */
    bool complete;           /* it knows of all that was granted */
};

/* A worker that is asked what it holds. */
struct worker_state {
    uint64_t client, lock; /* all up to there has been told */
    uint64_t next_client, next_lock, again_ns;
    uint32_t holder;
    bool loads, ended; /* loads: what it told is on its way into the chain */
};

struct controller {
    struct member members[NETCHAIN_SWITCHES];
    uint32_t order[NETCHAIN_SWITCHES], count; /* the chain, its head first */
    uint32_t epoch;
    enum phase phase;
    uint64_t start_ns, ping_ns, again_ns;
    struct worker_state workers[];
};

static uint32_t worker_count(const struct lockmgr_config *config) { return config->cn_count * config->workers_per_cn; }

int netchain_controller_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct controller *controller = calloc(1, sizeof *controller + worker_count(config) * sizeof(struct worker_state));
    worker->own = controller;
    if (!controller) return err_set(error, CELLAR_NOMEM, "no memory for a controller of netchain");
    controller->start_ns = fabric_now_ns(worker->ep);
    return 0;
}

void netchain_controller_close(struct lockmgr_worker *worker) { free(worker->own); }

/* ---- messages out ---- */

static uint64_t view_word(const struct controller *controller)
{
    return (uint64_t)controller->epoch << 32 | controller->order[0];
}

static void to_switch(struct lockmgr_worker *worker, uint32_t member, enum netchain_kind kind, uint64_t word)
{
    const struct lockmgr *lockmgr = worker->lockmgr;
    struct lockmgr_message_wire wire = {
        .client = LOCKMGR_NO_CLIENT, .kind = (uint16_t)kind, .words = {netchain_route(0, lockmgr->cn, 0), word}};
    lockmgr_queue(worker, lockmgr->config.switch_cn + member, 0, &wire);
}

static void tell_view(struct lockmgr_worker *worker, uint32_t cn, uint32_t to)
{
    struct lockmgr_message_wire wire = {
        .client = LOCKMGR_NO_CLIENT, .kind = NETCHAIN_VIEW, .words = {view_word(worker->own)}};
    if (!lockmgr_dead(worker->lockmgr, cn)) lockmgr_queue(worker, cn, to, &wire);
}

/* ---- what it knows of the switches ---- */

static bool heard(const struct lockmgr_worker *worker, const struct member *member, uint64_t now_ns)
{
    return member->heard_ns && netchain_incarnation(member->role) != 0 &&
           now_ns - member->heard_ns < netchain_lease_ns(&worker->lockmgr->config);
}

static bool in_chain(const struct controller *controller, uint32_t number)
{
    for (uint32_t i = 0; i < controller->count; i++)
        if (controller->order[i] == number) return true;
    return false;
}

/* What it was when it became a member; INV-NETCHAIN-4. */
static bool keeps(const struct lockmgr_worker *worker, const struct member *member, uint64_t now_ns)
{
    return heard(worker, member, now_ns) && netchain_incarnation(member->role) == member->incarnation;
}

static bool fresh(const struct lockmgr_worker *worker, const struct member *member, uint64_t now_ns)
{
    return heard(worker, member, now_ns) && netchain_epoch(member->role) == 0;
}

/* ---- a new chain ---- */

/* Must there be another one? */
static bool is_outdated(const struct lockmgr_worker *worker, uint64_t now_ns)
{
    const struct controller *controller = worker->own;
    const struct lockmgr_config *config = &worker->lockmgr->config;
    uint32_t spare = 0;
    for (uint32_t i = 0; i < controller->count; i++)
        if (!keeps(worker, &controller->members[controller->order[i]], now_ns)) return true;
    for (uint32_t i = 0; i < config->switches; i++)
        spare += !in_chain(controller, i) && fresh(worker, &controller->members[i], now_ns);
    if (controller->phase == RUNNING) return spare > 0;
    bool all = spare == config->switches || now_ns - controller->start_ns > netchain_lease_ns(config);
    return controller->phase == WAITING && spare > 0 && all;
}

/* Those with state go in front: what they know of an update is never older than what those after them know. */
static void join(struct controller *controller, uint32_t number, bool complete)
{
    struct member *member = &controller->members[number];
    controller->order[controller->count++] = number;
    member->incarnation = netchain_incarnation(member->role);
    member->complete = complete;
}

static void begin_epoch(struct lockmgr_worker *worker, uint64_t now_ns)
{
    struct controller *controller = worker->own;
    uint32_t old[NETCHAIN_SWITCHES], count = controller->count;
    for (uint32_t i = 0; i < count; i++) old[i] = controller->order[i];
    controller->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct member *member = &controller->members[old[i]];
        member->complete = member->complete && keeps(worker, member, now_ns);
        if (member->complete) join(controller, old[i], true);
    }
    uint32_t complete = controller->count;
    for (uint32_t i = 0; i < worker->lockmgr->config.switches; i++)
        if (!in_chain(controller, i) && fresh(worker, &controller->members[i], now_ns)) join(controller, i, false);
    controller->phase = WAITING;
    if (controller->count == 0) return;
    bool filled = controller->count == complete;
    controller->epoch++;
    controller->again_ns = 0;
    controller->phase = filled ? STARTING : FREEZING;
    worker->tender.stats.resets += !filled;
    for (uint32_t i = 0; i < worker_count(&worker->lockmgr->config); i++)
        controller->workers[i] = (struct worker_state){0};
}

/* ---- its phases ---- */

static uint64_t again_ns(const struct lockmgr_worker *worker)
{
    return AGAIN_NS + AGAIN_RTTS * worker->lockmgr->config.rtt_ns;
}

/* Brings all members into their role. True: they are. */
static bool configure(struct lockmgr_worker *worker, uint32_t flags, uint64_t now_ns)
{
    struct controller *controller = worker->own;
    bool all = true, again = now_ns >= controller->again_ns;
    for (uint32_t i = 0; i < controller->count; i++) {
        const struct member *member = &controller->members[controller->order[i]];
        uint32_t next = i + 1 < controller->count ? controller->order[i + 1] : NETCHAIN_TAIL;
        uint64_t role =
            netchain_role(controller->epoch, member->incarnation, next, flags | (i == 0 ? NETCHAIN_HEAD : 0));
        if (member->role == role) continue;
        all = false;
        if (again) to_switch(worker, controller->order[i], NETCHAIN_CONFIGURE, role);
    }
    if (again) controller->again_ns = now_ns + again_ns(worker);
    if (all) controller->again_ns = 0;
    return all;
}

static void load(struct lockmgr_worker *worker, const struct worker_state *state)
{
    const struct controller *controller = worker->own;
    const struct lockmgr *lockmgr = worker->lockmgr;
    struct lockmgr_message_wire wire = {
        .lock = state->next_lock,
        .client = LOCKMGR_NO_CLIENT,
        .kind = NETCHAIN_LOAD,
        .words = {netchain_route(controller->epoch, lockmgr->cn, 0), netchain_change(0, state->holder)}};
    lockmgr_queue(worker, lockmgr->config.switch_cn + controller->order[0], 0, &wire);
}

static void ask(struct lockmgr_worker *worker, uint32_t number)
{
    const struct controller *controller = worker->own;
    const struct worker_state *state = &controller->workers[number];
    uint32_t per_cn = worker->lockmgr->config.workers_per_cn;
    struct lockmgr_message_wire wire = {.lock = state->lock,
                                        .client = LOCKMGR_NO_CLIENT,
                                        .kind = NETCHAIN_REPORT,
                                        .words = {view_word(controller), state->client}};
    lockmgr_queue(worker, number / per_cn, number % per_cn, &wire);
}

/* True: all living workers have told all. */
static bool ask_all(struct lockmgr_worker *worker, uint64_t now_ns)
{
    struct controller *controller = worker->own;
    const struct lockmgr_config *config = &worker->lockmgr->config;
    bool all = true;
    if (PLANT(netchain_grants_unasked)) return true;
    for (uint32_t i = 0; i < worker_count(config); i++) {
        struct worker_state *state = &controller->workers[i];
        if (state->ended || lockmgr_dead(worker->lockmgr, i / config->workers_per_cn)) continue;
        all = false;
        if (now_ns < state->again_ns) continue;
        state->again_ns = now_ns + again_ns(worker);
        if (state->loads)
            load(worker, state);
        else
            ask(worker, i);
    }
    return all;
}

static void proceed(struct lockmgr_worker *worker, uint64_t now_ns)
{
    struct controller *controller = worker->own;
    const struct lockmgr_config *config = &worker->lockmgr->config;
    if (controller->phase == FREEZING && configure(worker, 0, now_ns)) controller->phase = ASKING;
    if (controller->phase == ASKING && ask_all(worker, now_ns)) controller->phase = STARTING;
    if (controller->phase != STARTING || !configure(worker, NETCHAIN_RUNS, now_ns)) return;
    controller->phase = RUNNING;
    for (uint32_t i = 0; i < controller->count; i++) controller->members[controller->order[i]].complete = true;
    for (uint32_t i = 0; i < worker_count(config); i++)
        tell_view(worker, i / config->workers_per_cn, i % config->workers_per_cn);
}

/*
 * Silent ones are asked for a sign of life; those that were left out, and do not know it, lose what they believe to
 * know.
 */
static void ping(struct lockmgr_worker *worker, uint64_t now_ns)
{
    struct controller *controller = worker->own;
    controller->ping_ns = now_ns + netchain_lease_ns(&worker->lockmgr->config) / 8;
    for (uint32_t i = 0; i < worker->lockmgr->config.switches; i++) {
        const struct member *member = &controller->members[i];
        bool stale = !in_chain(controller, i) && heard(worker, member, now_ns) && netchain_epoch(member->role);
        to_switch(worker, i, stale ? NETCHAIN_RESTART : NETCHAIN_PING, member->role);
        if (stale) to_switch(worker, i, NETCHAIN_PING, 0);
    }
}

uint64_t netchain_controller_tend(struct coro *co, struct lockmgr_worker *worker)
{
    struct controller *controller = worker->own;
    uint64_t now_ns = fabric_now_ns(worker->ep);
    (void)co;
    if (worker->number) return UINT64_MAX;
    if (now_ns >= controller->ping_ns) ping(worker, now_ns);
    if (is_outdated(worker, now_ns)) begin_epoch(worker, now_ns);
    proceed(worker, now_ns);
    bool busy = controller->phase != WAITING && controller->phase != RUNNING;
    uint64_t next_ns = now_ns + again_ns(worker);
    return busy && next_ns < controller->ping_ns ? next_ns : controller->ping_ns;
}

/* ---- messages in ---- */

/* Answers may overtake each other: an incarnation, and within it a role, only rises. */
static void note_role(struct lockmgr_worker *worker, uint32_t number, uint64_t role)
{
    struct controller *controller = worker->own;
    struct member *member = &controller->members[number];
    uint32_t before = netchain_incarnation(member->role), now = netchain_incarnation(role);
    bool older = now < before || (now == before && role < member->role);
    member->heard_ns = fabric_now_ns(worker->ep);
    if (!older) member->role = role;
}

static void note_report(struct lockmgr_worker *worker, struct worker_state *state,
                        const struct lockmgr_message_wire *wire)
{
    const struct controller *controller = worker->own;
    bool current = controller->phase == ASKING && wire->words[0] == view_word(controller);
    if (!current || state->loads || state->ended) return;
    if (wire->words[3] != state->client || wire->words[4] != state->lock) return;
    state->again_ns = 0;
    state->ended = wire->kind == NETCHAIN_END || lockmgr_index_of(&worker->lockmgr->config, wire->lock) == UINT64_MAX;
    state->loads = !state->ended;
    state->next_client = wire->words[1];
    state->next_lock = wire->lock;
    state->holder = (uint32_t)wire->words[2];
}

/* It is in the chain: on to what that worker holds besides. */
static void note_loaded(struct lockmgr_worker *worker, const struct lockmgr_message_wire *wire)
{
    struct controller *controller = worker->own;
    if (controller->phase != ASKING || wire->words[0] >> 32 != controller->epoch) return;
    for (uint32_t i = 0; i < worker_count(&worker->lockmgr->config); i++) {
        struct worker_state *state = &controller->workers[i];
        if (!state->loads || state->next_lock != wire->lock || state->holder != netchain_to(wire->words[1])) continue;
        state->loads = false;
        state->client = state->next_client;
        state->lock = state->next_lock;
        state->again_ns = 0;
    }
}

void netchain_controller_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                                 const struct lockmgr_message_wire *wire)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct controller *controller = worker->own;
    uint32_t member = message->from_cn - config->switch_cn;
    bool from_worker = message->from_cn < config->cn_count && message->from_worker < config->workers_per_cn;
    if (worker->number) return;
    if (wire->kind == NETCHAIN_PONG && member < config->switches) note_role(worker, member, wire->words[1]);
    if (wire->kind == NETCHAIN_DONE && member < config->switches) note_loaded(worker, wire);
    if (!from_worker) return;
    uint32_t number = message->from_cn * config->workers_per_cn + message->from_worker;
    if (wire->kind == NETCHAIN_HOLD || wire->kind == NETCHAIN_END)
        note_report(worker, &controller->workers[number], wire);
    if (wire->kind == NETCHAIN_WHICH && controller->phase == RUNNING)
        tell_view(worker, message->from_cn, message->from_worker);
}

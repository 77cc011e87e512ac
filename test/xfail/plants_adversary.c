#include "plants_adversary.h"

#include "layout.h"

#define FAULTS_MAX 3 /* of one schedule */
#define HOLD_EVENTS 8
#define HOLD_EVENTS_BITS 3
#define READS 64 /* of a recovery of a small pool */
#define REUSING_CHOICES 2000
#define OVERTAKING_NS 60000
#define STANDING_NS 5000000
#define OUTLASTED_OPS 64 /* of three small transactions of one client */
#define LAGS 3           /* additions */
#define LAG_OPS 32       /* of a small transaction or two */
#define HOLD_NS 4000     /* two round trips */
#define HOLD_NS_BITS 12  /* far below the deadline of a call */
#define MUTED_FROM 6     /* log WRITEs of a worker in a small scenario */
#define REFUSED 16       /* in a row: a memory node that does so counts as lost */
#define CHANGES 4        /* unlocks of a delete and an insert: record and bucket each */
#define PASSING 2        /* WRITEs of an insert to one replica: record and bucket */
#define UNLOCKS 2        /* of a delete, or an insert: record and bucket */
#define APPLIES 4        /* WRITEs of one */

static uint32_t client_count(const struct sim_scenario *scenario)
{
    uint32_t clients = 0;
    for (uint32_t i = 0; i < sim_scenario_txn_count(scenario); i++)
        if (scenario->txns[i].client >= clients) clients = scenario->txns[i].client + 1;
    return clients;
}

uint32_t plants_client_cns(const struct sim_scenario *scenario, const struct sim_scenario_options *options)
{
    uint32_t per_cn = options->clients_per_cn ? options->clients_per_cn : 1;
    return (client_count(scenario) + per_cn - 1) / per_cn;
}

/* ---- operations that fail ---- */

void plants_strike(struct plants_striking *striking, uint64_t seed)
{
    *striking = (struct plants_striking){.one_in = 3ull << seed % 4};
    prng_seed(&striking->prng, seed);
}

enum fabric_sim_fault plants_striking_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                            const struct fabric_op *op)
{
    struct plants_striking *striking = arg;
    (void)index, (void)ep, (void)op;
    if (striking->faults == FAULTS_MAX || prng_below(&striking->prng, striking->one_in) != 0) return FABRIC_SIM_NONE;
    striking->faults++;
    return prng_below(&striking->prng, 4) ? FABRIC_SIM_REPLY_LOST : FABRIC_SIM_NOT_RUN;
}

void plants_mute(struct plants_muting *muting, uint64_t seed, const struct sim_scenario_options *options)
{
    struct prng prng;
    prng_seed(&prng, seed);
    uint32_t workers = options->threads ? options->clients_per_cn : 1;
    *muting = (struct plants_muting){.worker = (uint32_t)prng_below(&prng, workers),
                                     .from = (uint32_t)prng_below(&prng, MUTED_FROM)};
    muting->count = 4 * (options->replicas + 1);
}

enum fabric_sim_fault plants_muting_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                          const struct fabric_op *op)
{
    struct plants_muting *muting = arg;
    (void)index;
    if (ep->cn != muting->cn || ep->worker != muting->worker || op->phase != CELLAR_PHASE_LOG) return FABRIC_SIM_NONE;
    uint32_t asked = muting->asked++;
    return asked >= muting->from && asked < muting->from + muting->count ? FABRIC_SIM_REPLY_LOST : FABRIC_SIM_NONE;
}

/* ---- nodes that die ---- */

enum fabric_sim_fault plants_dying_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                         const struct fabric_op *op)
{
    struct plants_dying *dying = arg;
    (void)index, (void)op;
    if (dying->after && !plants_holding_over(dying->after)) return FABRIC_SIM_NONE;
    if (ep->cn < dying->client_cns) return dying->asked++ == dying->at ? dying->how : FABRIC_SIM_NONE;
    if (ep->cn > dying->client_cns) return FABRIC_SIM_NONE;
    return dying->spare_asked++ == dying->spare_at ? dying->how : FABRIC_SIM_NONE;
}

enum fabric_sim_fault plants_both_dying_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                              const struct fabric_op *op)
{
    struct plants_both_dying *both = arg;
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = both->node};
    if (both->crashed && !both->killed) both->killed = ep->fabric->ops->control(ep->fabric, &kill, NULL) == 0;
    enum fabric_sim_fault fault = plants_dying_fault(&both->dying, index, ep, op);
    both->crashed = both->crashed || fault != FABRIC_SIM_NONE;
    return fault;
}

/* ---- workers that stand still ---- */

/* Below least .. least * 2^bits, each scale as likely. */
static uint64_t draw_scale(struct prng *prng, uint64_t least, uint32_t bits)
{
    return prng_below(prng, least << prng_below(prng, bits + 1));
}

void plants_hold(struct plants_holding *holding, uint64_t seed, const struct sim_scenario *scenario,
                 const struct sim_scenario_options *options)
{
    uint32_t clients = client_count(scenario), per_cn = options->clients_per_cn ? options->clients_per_cn : 1;
    *holding = (struct plants_holding){0};
    prng_seed_stream(&holding->prng, seed, 1);
    holding->count = 1 + (uint32_t)prng_below(&holding->prng, PLANTS_HOLDS_MAX);
    for (uint32_t i = 0; i < holding->count; i++) {
        uint32_t client = (uint32_t)prng_below(&holding->prng, clients);
        holding->holds[i] =
            (struct plants_hold){.cn = client / per_cn,
                                 .worker = options->threads ? client % per_cn : 0,
                                 .wires = prng_below(&holding->prng, 4) != 0,
                                 .from = draw_scale(&holding->prng, HOLD_EVENTS, HOLD_EVENTS_BITS),
                                 .until_ns = HOLD_NS + draw_scale(&holding->prng, HOLD_NS, HOLD_NS_BITS)};
    }
}

bool plants_holding_over(const struct plants_holding *holding)
{
    bool over = true;
    for (uint32_t i = 0; i < holding->count; i++)
        over = over && holding->now_ns - holding->start_ns >= holding->holds[i].until_ns;
    return over;
}

static bool is_of(const struct plants_hold *hold, const struct fabric_sim_choice *choice)
{
    bool run = choice->kind == FABRIC_SIM_RUN || choice->kind == FABRIC_SIM_EXPIRE;
    return choice->ep->cn == hold->cn && choice->ep->worker == hold->worker && !(hold->wires && run);
}

static bool held(const struct plants_holding *holding, const struct fabric_sim_choice *choice)
{
    for (uint32_t i = 0; i < holding->count; i++) {
        const struct plants_hold *hold = &holding->holds[i];
        if (is_of(hold, choice) && hold->events >= hold->from && holding->now_ns - holding->start_ns < hold->until_ns)
            return true;
    }
    return false;
}

uint32_t plants_holding_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count)
{
    struct plants_holding *holding = arg;
    if (choices[0].kind == FABRIC_SIM_ORDER) return (uint32_t)prng_below(&holding->prng, count);
    if (!holding->start_ns) holding->start_ns = choices[0].now_ns;
    holding->now_ns = choices[0].now_ns;
    uint32_t chosen = count;
    for (uint32_t i = 0; i < count; i++)
        if (!held(holding, &choices[i]) && (chosen == count || choices[i].time_ns < choices[chosen].time_ns))
            chosen = i;
    if (chosen == count) chosen = 0;
    for (uint32_t i = 0; i < holding->count; i++)
        holding->holds[i].events += is_of(&holding->holds[i], &choices[chosen]);
    return chosen;
}

/* ---- a node outlasts a recovery ---- */

void plants_outlast(struct plants_outlasting *outlasting, uint64_t seed)
{
    struct prng *prng = &outlasting->holding.prng;
    *outlasting = (struct plants_outlasting){.holding = {.count = 1}};
    prng_seed(prng, seed);
    outlasting->at = prng_below(prng, OUTLASTED_OPS);
    outlasting->how = FABRIC_SIM_CRASH_AMID + (enum fabric_sim_fault)prng_below(prng, 2);
    outlasting->holding.holds[0] =
        (struct plants_hold){.wires = true, .from = prng_below(prng, HOLD_EVENTS), .until_ns = 2 * STANDING_NS};
}

enum fabric_sim_fault plants_outlasting_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                              const struct fabric_op *op)
{
    struct plants_outlasting *outlasting = arg;
    (void)index, (void)op;
    if (ep->cn != 1) return FABRIC_SIM_NONE;
    return outlasting->asked++ == outlasting->at ? outlasting->how : FABRIC_SIM_NONE;
}

/* ---- a backup's clock lags ---- */

void plants_lag(struct plants_lagging *lagging, uint64_t seed)
{
    struct prng prng;
    prng_seed(&prng, seed);
    *lagging = (struct plants_lagging){.missed = 1 + (uint32_t)prng_below(&prng, LAGS)};
    lagging->left = 1 + (uint32_t)prng_below(&prng, LAG_OPS);
}

enum fabric_sim_fault plants_lagging_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                           const struct fabric_op *op)
{
    struct plants_lagging *lagging = arg;
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = 0};
    bool adds = op->kind == FABRIC_FAA && op->phase == CELLAR_PHASE_VALIDATE && fabric_addr_node(op->addr) == 1;
    (void)index;
    if (adds && lagging->missed && lagging->missed--) return FABRIC_SIM_NOT_RUN;
    lagging->added = lagging->added || adds;
    if (lagging->added && lagging->left && --lagging->left == 0)
        (void)!ep->fabric->ops->control(ep->fabric, &kill, NULL);
    return FABRIC_SIM_NONE;
}

/* ---- the recoverer is overtaken ---- */

void plants_overtake(struct plants_overtaking *overtaking, uint64_t seed, const struct sim_scenario *scenario,
                     const struct sim_scenario_options *options)
{
    *overtaking = (struct plants_overtaking){.spare = plants_client_cns(scenario, options)};
    struct plants_holding *holding = &overtaking->holding;
    prng_seed(&holding->prng, seed);
    overtaking->unlock = prng_below(&holding->prng, 2);
    overtaking->read = prng_below(&holding->prng, READS);
    holding->count = 2;
    holding->holds[0] = (struct plants_hold){.until_ns = STANDING_NS};
    holding->holds[1] = (struct plants_hold){.cn = overtaking->spare, .wires = true, .from = UINT64_MAX};
}

enum fabric_sim_fault plants_overtaking_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                              const struct fabric_op *op)
{
    struct plants_overtaking *overtaking = arg;
    struct plants_holding *holding = &overtaking->holding;
    (void)index;
    if (ep->cn == 1 && op->kind == FABRIC_MASKED_CAS && op->phase == CELLAR_PHASE_APPLY)
        return overtaking->unlocks++ == overtaking->unlock ? FABRIC_SIM_CRASH_AFTER : FABRIC_SIM_NONE;
    if (ep->cn == overtaking->spare && op->kind == FABRIC_READ && overtaking->unlocks > overtaking->unlock &&
        overtaking->reads++ == overtaking->read) {
        holding->holds[0].until_ns = 0;
        holding->holds[1].from = 0;
        holding->holds[1].until_ns = holding->now_ns - holding->start_ns + OVERTAKING_NS;
    }
    return FABRIC_SIM_NONE;
}

/* ---- log space is used again ---- */

enum fabric_sim_fault plants_reusing_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                           const struct fabric_op *op)
{
    struct plants_reusing *reusing = arg;
    (void)index;
    if (ep->cn != 0 || op->phase != CELLAR_PHASE_LOG) return FABRIC_SIM_NONE;
    return ++reusing->logs[ep->worker] == 3 && ep->worker == 0 ? FABRIC_SIM_CRASH_AMID : FABRIC_SIM_NONE;
}

static bool stands(const struct plants_reusing *reusing, const struct fabric_sim_choice *choice)
{
    bool deliver = choice->kind == FABRIC_SIM_DELIVER || choice->kind == FABRIC_SIM_PASS;
    if (!deliver || choice->ep->cn != 0 || choice->op->phase != CELLAR_PHASE_LOG) return false;
    if (reusing->choices > REUSING_CHOICES) return false;
    switch (choice->ep->worker) {
    case 0:
        return reusing->logs[0] == 0 && reusing->logs[1] == 0;
    case 2:
        return reusing->logs[0] < 2;
    case 3:
        return true;
    default:
        return false;
    }
}

uint32_t plants_reusing_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count)
{
    struct plants_reusing *reusing = arg;
    uint32_t chosen = count;
    reusing->choices++;
    for (uint32_t i = 0; i < count; i++)
        if (!stands(reusing, &choices[i]) && (chosen == count || choices[i].time_ns < choices[chosen].time_ns))
            chosen = i;
    return chosen == count ? 0 : chosen;
}

/* ---- the recoverer is refused ---- */

void plants_refuse(struct plants_refusing *refusing, uint64_t seed, const struct sim_scenario *scenario,
                   const struct sim_scenario_options *options)
{
    struct prng prng;
    prng_seed(&prng, seed);
    *refusing = (struct plants_refusing){.node = (uint32_t)prng_below(&prng, options->mns),
                                         .from = (uint32_t)prng_below(&prng, MUTED_FROM)};
    refusing->spare = plants_client_cns(scenario, options);
}

enum fabric_sim_fault plants_refusing_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                            const struct fabric_op *op)
{
    struct plants_refusing *refusing = arg;
    (void)index;
    if (ep->cn == 0 && op->phase == CELLAR_PHASE_LOG && refusing->asked++ >= refusing->from) {
        if (fabric_addr_node(op->addr) != refusing->node) return FABRIC_SIM_NOT_RUN;
        refusing->copy = op->addr;
        return FABRIC_SIM_REPLY_LOST;
    }
    bool reads = ep->cn == refusing->spare && op->kind == FABRIC_READ && op->addr.bits <= refusing->copy.bits &&
                 op->addr.bits + op->size_bytes > refusing->copy.bits;
    return reads && refusing->refused++ < REFUSED ? FABRIC_SIM_NOT_RUN : FABRIC_SIM_NONE;
}

/* ---- a recovery is taken over ---- */

void plants_supplant(struct plants_supplanting *supplanting, uint64_t seed, const struct sim_scenario *scenario,
                     const struct sim_scenario_options *options)
{
    struct prng prng;
    prng_seed(&prng, seed);
    *supplanting =
        (struct plants_supplanting){.apply = prng_below(&prng, APPLIES),
                                    .how = FABRIC_SIM_CRASH_BEFORE + (enum fabric_sim_fault)prng_below(&prng, 3)};
    supplanting->spare = plants_client_cns(scenario, options);
}

enum fabric_sim_fault plants_supplanting_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                               const struct fabric_op *op)
{
    struct plants_supplanting *supplanting = arg;
    (void)index;
    if (op->phase != CELLAR_PHASE_APPLY) return FABRIC_SIM_NONE;
    supplanting->changed = supplanting->changed || (ep->cn == 0 && op->kind == FABRIC_MASKED_CAS);
    if (ep->cn != 1 || op->kind != FABRIC_WRITE || supplanting->applies++ != supplanting->apply) return FABRIC_SIM_NONE;
    supplanting->dead = true;
    return supplanting->how;
}

static bool waits(const struct plants_supplanting *supplanting, const struct fabric_sim_choice *choice)
{
    bool deliver = choice->kind == FABRIC_SIM_DELIVER || choice->kind == FABRIC_SIM_PASS;
    if (choice->now_ns - supplanting->start_ns > STANDING_NS) return false;
    if (choice->ep->cn == 0) return !supplanting->dead;
    return choice->ep->cn == supplanting->spare && deliver && choice->op->kind == FABRIC_WRITE && !supplanting->changed;
}

uint32_t plants_supplanting_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count)
{
    struct plants_supplanting *supplanting = arg;
    uint32_t chosen = count;
    if (!supplanting->start_ns) supplanting->start_ns = choices[0].now_ns;
    for (uint32_t i = 0; i < count; i++)
        if (!waits(supplanting, &choices[i]) && (chosen == count || choices[i].time_ns < choices[chosen].time_ns))
            chosen = i;
    return chosen == count ? 0 : chosen;
}

/* ---- a slot is met again by an old address ---- */

enum fabric_sim_fault plants_meeting_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                           const struct fabric_op *op)
{
    struct plants_meeting *meeting = arg;
    bool apply = op->phase == CELLAR_PHASE_APPLY;
    (void)index;
    if (ep->cn == 0 && ep->worker == 0) meeting->logged |= op->phase == CELLAR_PHASE_LOG;
    if (ep->cn > 1 || op->kind != FABRIC_MASKED_CAS) return FABRIC_SIM_NONE;
    struct plants_met *met = &meeting->workers[ep->cn ? 2 : ep->worker];
    uint32_t before = apply ? met->unlocks++ : met->locks++;
    if (ep->cn || ep->worker || before || apply != meeting->applied) return FABRIC_SIM_NONE;
    return apply ? FABRIC_SIM_REPLY_LOST : FABRIC_SIM_NOT_RUN;
}

static bool own_waits(const struct plants_meeting *meeting, const struct fabric_op *op)
{
    const struct plants_met *old = &meeting->workers[1], *other = &meeting->workers[2];
    if (meeting->applied) return meeting->workers[0].unlocks == 1 && old->locks == 0;
    if (op && op->kind == FABRIC_MASKED_CAS && op->phase == CELLAR_PHASE_EXECUTE) return old->locks == 0;
    return meeting->logged && op && op->phase == CELLAR_PHASE_APPLY && other->unlocks == CHANGES;
}

static bool old_waits(const struct plants_meeting *meeting, const struct fabric_op *op)
{
    const struct plants_met *own = &meeting->workers[0];
    if (!op || op->kind != FABRIC_MASKED_CAS) return false;
    bool lock = op->phase == CELLAR_PHASE_EXECUTE;
    if (meeting->applied) return lock ? meeting->workers[2].unlocks == CHANGES : own->unlocks < 2;
    return !lock && !meeting->logged;
}

/* Node 1 ends deleting and inserting before node 0 begins; and updates when that may go wrong. */
static bool meeting_waits(const struct plants_meeting *meeting, const struct fabric_sim_choice *choice)
{
    const struct plants_met *own = &meeting->workers[0], *old = &meeting->workers[1];
    uint32_t changes = meeting->workers[2].unlocks;
    bool deliver = choice->kind == FABRIC_SIM_DELIVER || choice->kind == FABRIC_SIM_PASS;
    if (choice->now_ns - meeting->start_ns > STANDING_NS || choice->ep->cn > 1) return false;
    if (choice->ep->cn == 1) return changes == CHANGES && (meeting->applied ? own : old)->unlocks == 0;
    if (changes < CHANGES) return true;
    const struct fabric_op *op = deliver ? choice->op : NULL;
    return choice->ep->worker ? old_waits(meeting, op) : own_waits(meeting, op);
}

uint32_t plants_meeting_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count)
{
    struct plants_meeting *meeting = arg;
    uint32_t chosen = count;
    if (!meeting->start_ns) meeting->start_ns = choices[0].now_ns;
    for (uint32_t i = 0; i < count; i++)
        if (!meeting_waits(meeting, &choices[i]) && (chosen == count || choices[i].time_ns < choices[chosen].time_ns))
            chosen = i;
    return chosen == count ? 0 : chosen;
}

/* ---- a new record is found before its tag is set ---- */

enum fabric_sim_fault plants_passing_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                           const struct fabric_op *op)
{
    struct plants_passing *passing = arg;
    bool primary = passing->primary == fabric_addr_node(op->addr) + 1;
    (void)index;
    if (op->phase != CELLAR_PHASE_APPLY) return FABRIC_SIM_NONE;
    passing->written += ep->cn == 0 && op->kind == FABRIC_WRITE && primary;
    passing->changed = passing->changed || (ep->cn == 1 && op->kind == FABRIC_MASKED_CAS);
    return FABRIC_SIM_NONE;
}

static bool passing_waits(struct plants_passing *passing, const struct fabric_sim_choice *choice)
{
    bool deliver = choice->kind == FABRIC_SIM_DELIVER || choice->kind == FABRIC_SIM_PASS;
    if (choice->now_ns - passing->start_ns > STANDING_NS || passing->changed) return false;
    if (choice->ep->cn == 1) return passing->written < PASSING;
    if (choice->ep->cn > 1 || !deliver || choice->op->phase != CELLAR_PHASE_APPLY) return false;
    uint32_t node = fabric_addr_node(choice->op->addr) + 1;
    if (choice->op->kind == FABRIC_MASKED_CAS) passing->primary = node;
    return choice->op->kind == FABRIC_MASKED_CAS || passing->primary != node;
}

uint32_t plants_passing_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count)
{
    struct plants_passing *passing = arg;
    uint32_t chosen = count;
    if (!passing->start_ns) passing->start_ns = choices[0].now_ns;
    for (uint32_t i = 0; i < count; i++)
        if (!passing_waits(passing, &choices[i]) && (chosen == count || choices[i].time_ns < choices[chosen].time_ns))
            chosen = i;
    return chosen == count ? 0 : chosen;
}

enum fabric_sim_fault plants_half_seeing_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                               const struct fabric_op *op)
{
    struct plants_half_seeing *half = arg;
    bool applies = ep->cn == 0 && op->phase == CELLAR_PHASE_APPLY;
    bool fetches = ep->cn == 1 && op->phase == CELLAR_PHASE_EXECUTE;
    bool version = applies && half->looked && op->kind == FABRIC_WRITE && op->size_bytes == sizeof(uint64_t);
    (void)index;
    half->unlocks += applies && op->kind == FABRIC_MASKED_CAS;
    if (version) half->unlocks = 0;
    half->written = half->written || version;
    half->looked = half->looked || (fetches && op->kind == FABRIC_READ && op->size_bytes == LAYOUT_LINE);
    return FABRIC_SIM_NONE;
}

static bool half_seeing_waits(struct plants_half_seeing *half, const struct fabric_sim_choice *choice)
{
    if (choice->now_ns - half->start_ns > STANDING_NS || choice->ep->cn > 1) return false;
    bool done = half->unlocks >= UNLOCKS;
    if (choice->ep->cn == 0) return half->looked ? half->written && !half->seen : done;
    if (!half->written) return half->looked || !done;
    bool checks = choice->op && choice->op->phase == CELLAR_PHASE_VALIDATE;
    half->seen = half->seen || checks;
    return checks && !done;
}

uint32_t plants_half_seeing_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count)
{
    struct plants_half_seeing *half = arg;
    uint32_t chosen = count;
    if (!half->start_ns) half->start_ns = choices[0].now_ns;
    for (uint32_t i = 0; i < count; i++)
        if (!half_seeing_waits(half, &choices[i]) && (chosen == count || choices[i].time_ns < choices[chosen].time_ns))
            chosen = i;
    return chosen == count ? 0 : chosen;
}

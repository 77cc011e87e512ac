/* restart_run.c - see restart_run.h. */
#include "restart_run.h"

#include "numbered.h"
#include "bulk.h"
#include "coordinator.h"
#include "db_open.h"
#include "worker.h"

#include <stdio.h>
#include <string.h>

#define CNS RESTART_RUN_CNS
#define MNS RESTART_RUN_MNS
#define COROS RESTART_RUN_COROS
#define ACCOUNTS RESTART_RUN_ACCOUNTS
#define LIVES RESTART_RUN_LIVES
#define CENTS 1000
#define POOL_BYTES (4u << 20)
#define LEASE_NS 4000000ull /* a life that opens the pool shows between two READs of a log that it is at it */
#define STEPS_MAX 2000000
#define LAST_OPS 600       /* that all work on once they are there again */
#define FIRST_OPS_MAX 1200 /* before the first of them dies */
#define GAP_DOUBLINGS 9
#define CLAIM_OPS_MAX 4000 /* no transaction wants what it has locked: they die all the same */

struct account {
    uint64_t cents, moves;
};

struct life {
    struct cellar *db;
    const struct cellar_table *accounts;
    const struct cellar_proc *move;
    struct db_request requests[COROS];
    uint32_t pending;
    struct lab *lab;
};

struct lab {
    const struct restart_run_plan *plan;
    struct fabric *fabric;
    struct life lives[CNS][LIVES];
    uint32_t count[CNS]; /* of lives */
    bool dead[CNS];      /* by the plan */
    bool armed, stop;
    uint32_t next;      /* event */
    uint64_t ops, then; /* executed; at the event before */
    uint32_t still;     /* 0: something has happened */
    uint64_t commits[ACCOUNTS], perhaps[ACCOUNTS];
    uint64_t cents, moves[ACCOUNTS];
    struct cellar_error error;
    char *verdict;
    size_t verdict_bytes;
};

static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct account, cents),
                                                      CELLAR_COLUMN(struct account, moves)};
static const struct cellar_schema schema = {.name = "accounts",
                                            .row_bytes = sizeof(struct account),
                                            .columns = columns,
                                            .column_count = 2,
                                            .records_max = ACCOUNTS};

/* ---- transactions ---- */

static int move(struct cellar_txn *txn, void *args)
{
    const uint64_t *keys = args; /* from, to, and then the table's handle */
    const struct cellar_table *accounts = (const struct cellar_table *)(uintptr_t)keys[2];
    struct account from, to;
    int a = cellar_proc_access(txn, accounts, keys[0], CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    if (a < 0) return a;
    int b = cellar_proc_access(txn, accounts, keys[1], CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    if (b < 0) return b;
    int rc = cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get_row(txn, a, &from);
    if (rc == 0) rc = cellar_proc_get_row(txn, b, &to);
    if (rc) return rc;
    from.cents--, from.moves++, to.cents++;
    rc = cellar_proc_put_row(txn, a, &from);
    return rc ? rc : cellar_proc_put_row(txn, b, &to);
}

/* Until its compute node is dead, or all is over. */
static int client(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct life *life = arg;
    struct lab *lab = life->lab;
    int rc = 0;
    (void)co;
    for (uint64_t i = coordinator->worker->cn; !lab->stop && rc != CELLAR_FENCED && rc != CELLAR_CLOSED; i++) {
        uint64_t keys[] = {(coordinator->index + i) % ACCOUNTS, (coordinator->index + i + 1) % ACCOUNTS,
                           (uintptr_t)life->accounts};
        struct cellar_result result;
        rc = cellar_lab_exec(coordinator->client, life->move, keys, NULL, &result);
        lab->commits[keys[0]] += rc == 0;
        lab->perhaps[keys[0]] += rc == CELLAR_INDETERMINATE || rc == CELLAR_FENCED;
    }
    return 0;
}

static int load(struct cellar_lab_client *self, void *arg)
{
    struct life *life = arg;
    const struct account account = {.cents = CENTS};
    int rc = 0;
    if (cellar_lab_index(self) != 0) return 0;
    for (uint64_t key = 0; key < ACCOUNTS && rc == 0; key++)
        rc = db_load(self, life->accounts, key, &account, &life->lab->error);
    return rc;
}

static int add(void *arg, uint64_t key, const void *row)
{
    struct lab *lab = arg;
    const struct account *account = row;
    lab->cents += account->cents;
    lab->moves[key] = account->moves;
    return 0;
}

static int look(struct cellar_lab_client *self, void *arg)
{
    struct life *life = arg;
    if (cellar_lab_index(self) != 0) return 0;
    int rc = db_scan(self, life->accounts, add, life->lab, &life->lab->error);
    return rc ? rc : db_audit(self, &life->lab->error);
}

/* ---- events ---- */

static void cn_dies(struct lab *lab, uint32_t cn)
{
    struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = cn};
    (void)!lab->fabric->ops->control(lab->fabric, &fence, NULL);
    lab->dead[cn] = true;
}

static bool claims(const struct fabric_ep *ep, const struct fabric_op *op, uint32_t cn)
{
    uint64_t offset = LAYOUT_MEMBERS_OFFSET + cn * sizeof(struct member_wire) + offsetof(struct member_wire, word);
    return ep->cn != cn && op->kind == FABRIC_CAS && !fabric_sim_mn_lost(ep->fabric, fabric_addr_node(op->addr)) &&
           (fabric_addr_offset(op->addr) & (POOL_BYTES / 2 - 1)) == offset &&
           members_state_of(op->swap).recoverer == (int32_t)ep->cn;
}

static enum fabric_sim_fault happen(struct lab *lab, const struct restart_run_event *event, const struct fabric_ep *ep,
                                    const struct fabric_op *op)
{
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = event->which};
    bool claimer = event->kind == RESTART_RUN_CLAIMER_DIES;
    if (claimer && !claims(ep, op, event->which) && lab->ops - lab->then < CLAIM_OPS_MAX) return FABRIC_SIM_NONE;
    if (event->kind == RESTART_RUN_CN_DIES) cn_dies(lab, event->which);
    if (event->kind == RESTART_RUN_MN_DIES) (void)!lab->fabric->ops->control(lab->fabric, &kill, NULL);
    for (uint32_t cn = 0; claimer && cn < CNS; cn++)
        if (cn != ep->cn) cn_dies(lab, cn);
    __atomic_store_n(&lab->still, 0, __ATOMIC_SEQ_CST);
    if (event->kind == RESTART_RUN_CN_COMES) return FABRIC_SIM_NONE; /* made from outside */
    lab->then = lab->ops;
    lab->next++;
    if (!claimer) return FABRIC_SIM_NONE;
    lab->dead[ep->cn] = true;
    return FABRIC_SIM_CRASH_AFTER;
}

static enum fabric_sim_fault watch(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct lab *lab = arg;
    (void)index;
    if (!lab->armed) return FABRIC_SIM_NONE;
    lab->ops++;
    if (lab->next < lab->plan->count && lab->ops - lab->then >= lab->plan->events[lab->next].ops)
        return happen(lab, &lab->plan->events[lab->next], ep, op);
    if (lab->next == lab->plan->count && lab->ops - lab->then >= LAST_OPS)
        __atomic_store_n(&lab->still, 0, __ATOMIC_SEQ_CST);
    return FABRIC_SIM_NONE;
}

/* ---- lives ---- */

static bool wrong(struct lab *lab, const char *what, uint32_t which, int rc)
{
    if (rc && !lab->verdict[0])
        snprintf(lab->verdict, lab->verdict_bytes, "%s %u: %s (%s)", what, which, cellar_strerror(rc), lab->error.text);
    return rc != 0;
}

static struct life *life_of(struct lab *lab, uint32_t cn)
{
    return lab->count[cn] ? &lab->lives[cn][lab->count[cn] - 1] : NULL;
}

static bool begin_life(struct lab *lab, uint32_t cn)
{
    const struct cellar_proc_def def = {.name = "move", .fn = move, .records_max = 2, .writes_max = 2};
    const struct engine_config config = {.fabric = "sim",
                                         .cc = lab->plan->cc,
                                         .cn_index = cn,
                                         .mns = MNS,
                                         .coros = COROS,
                                         .replicas = 1,
                                         .memnodes = "simulated",
                                         .lease_ns = LEASE_NS,
                                         .pool_bytes = POOL_BYTES,
                                         .log_bytes = 64 << 10};
    if (lab->count[cn] == LIVES) return false;
    if (lab->count[cn]) cn_dies(lab, cn); /* it may have been about to */
    if (lab->count[cn]) fabric_sim_cn_again(lab->fabric, cn);
    struct life *life = &lab->lives[cn][lab->count[cn]++];
    life->lab = lab;
    lab->dead[cn] = false;
    int rc = db_open_on(lab->fabric, &config, &life->db, &lab->error);
    /* It may have been killed meanwhile, as the plan has it. */
    if (rc && lab->dead[cn]) return true;
    /* A memory node was lost when it had joined, and was not yet open: that is said, and it comes again. */
    if (rc == CELLAR_UNREACHABLE && lab->count[cn] < LIVES) return begin_life(lab, cn);
    if (wrong(lab, "opening by compute node", cn, rc)) return false;
    life->accounts = cellar_table_find(life->db, schema.name);
    rc = life->accounts ? 0 : db_table_create(life->db, &schema, &life->accounts, &lab->error);
    if (rc == 0) rc = db_proc_register(life->db, &def, &life->move, &lab->error);
    if (rc && lab->dead[cn]) return true;
    return !wrong(lab, "the table of compute node", cn, rc);
}

static void work(struct life *life)
{
    if (!life->db || !life->move) return;
    life->pending = COROS;
    for (uint32_t i = 0; i < COROS; i++) {
        life->requests[i] = (struct db_request){.fn = client, .arg = life, .pending = &life->pending};
        life->requests[i].target = &life->db->workers[0].coordinators[i];
        worker_submit(&life->db->workers[0], &life->requests[i]);
    }
}

static bool all_dead(const struct lab *lab)
{
    bool all = true;
    for (uint32_t cn = 0; cn < CNS; cn++) all = all && lab->dead[cn];
    return all;
}

static bool come(struct lab *lab, uint32_t cn)
{
    if (!lab->dead[cn]) return true;
    if (!begin_life(lab, cn)) return false;
    work(life_of(lab, cn));
    return true;
}

/* A node there died though the test did not kill it? */
static bool all_well(struct lab *lab)
{
    for (uint32_t cn = 0; cn < CNS; cn++) {
        struct fabric_control ask = {.kind = FABRIC_CN_EVICT, .cn = cn, .only_dead = true};
        if (lab->dead[cn] || lab->fabric->ops->control(lab->fabric, &ask, NULL) == CELLAR_EXISTS) continue;
        if (!lab->verdict[0])
            snprintf(lab->verdict, lab->verdict_bytes, "life %u of compute node %u was fenced, and had not been killed",
                     lab->count[cn] - 1, cn);
        return false;
    }
    return true;
}

static bool happens(struct lab *lab)
{
    const struct restart_run_plan *plan = lab->plan;
    while (lab->next < plan->count) {
        const struct restart_run_event *event = &plan->events[lab->next];
        if (event->kind == RESTART_RUN_CN_COMES && (all_dead(lab) || lab->ops - lab->then >= event->ops)) {
            lab->next++;
            lab->then = lab->ops;
            if (!come(lab, event->which) || !all_well(lab)) return false;
            continue;
        }
        if (all_dead(lab)) { /* whatever else was to die then is not there, or is of no use */
            lab->next++;
            continue;
        }
        lab->still = 1;
        if (wrong(lab, "event", lab->next, lab->fabric->ops->wait(lab->fabric, &lab->still, UINT64_MAX))) return false;
    }
    for (uint32_t cn = 0; cn < CNS; cn++)
        if (!come(lab, cn)) return false;
    return all_well(lab);
}

static void judge(struct lab *lab, uint32_t cn)
{
    struct life *life = life_of(lab, cn);
    if (wrong(lab, "reading the pool by compute node", cn, cellar_lab_run(life->db, look, life))) return;
    if (lab->cents != ACCOUNTS * CENTS)
        snprintf(lab->verdict, lab->verdict_bytes, "a sum of %llu", (unsigned long long)lab->cents);
    for (uint32_t i = 0; i < ACCOUNTS; i++)
        if (lab->moves[i] < lab->commits[i] || lab->moves[i] > lab->commits[i] + lab->perhaps[i])
            snprintf(lab->verdict, lab->verdict_bytes, "%llu commits of account %u, %llu were told, and %llu perhaps",
                     (unsigned long long)lab->moves[i], i, (unsigned long long)lab->commits[i],
                     (unsigned long long)lab->perhaps[i]);
}

static bool run(struct lab *lab)
{
    for (uint32_t cn = 0; cn < CNS; cn++)
        if (!begin_life(lab, cn)) return false;
    if (wrong(lab, "loading", 0, cellar_lab_run(lab->lives[0][0].db, load, &lab->lives[0][0]))) return false;
    lab->armed = true;
    for (uint32_t cn = 0; cn < CNS; cn++) work(life_of(lab, cn));
    if (!happens(lab)) return false;
    lab->still = 1;
    lab->then = lab->ops;
    if (wrong(lab, "the last", 0, lab->fabric->ops->wait(lab->fabric, &lab->still, UINT64_MAX))) return false;
    lab->stop = true;
    for (uint32_t cn = 0; cn < CNS; cn++)
        for (uint32_t i = 0; i < lab->count[cn]; i++)
            if (wrong(lab, "clients of compute node", cn,
                      lab->fabric->ops->wait(lab->fabric, &lab->lives[cn][i].pending, UINT64_MAX)))
                return false;
    if (!all_well(lab)) return false;
    lab->armed = false;
    judge(lab, 0);
    return true;
}

/* A client that hangs keeps what it uses. */
static void end(struct lab *lab, bool whole)
{
    for (uint32_t cn = 0; cn < CNS && whole; cn++)
        for (uint32_t i = 0; i < lab->count[cn]; i++) cellar_close(lab->lives[cn][i].db);
    fabric_close(lab->fabric);
}

void restart_run(const struct restart_run_plan *plan, char *verdict, size_t verdict_bytes)
{
    struct lab lab = {.plan = plan, .verdict = verdict, .verdict_bytes = verdict_bytes};
    struct fabric_sim_config sim;
    verdict[0] = 0;
    fabric_sim_config_default(&sim);
    sim.mn_count = MNS;
    sim.cn_count = CNS;
    sim.mn_bytes = POOL_BYTES;
    sim.seed = plan->seed + 1;
    sim.torn = plan->seed % 2;
    sim.steps_max = STEPS_MAX;
    sim.fault = watch;
    sim.fault_arg = &lab;
    if (wrong(&lab, "a cluster", 0, fabric_sim_open(&sim, &lab.fabric, &lab.error))) return;
    end(&lab, run(&lab));
}

/* ---- plans ---- */

static void plan_add(struct restart_run_plan *plan, struct prng *prng, enum restart_run_kind kind, uint32_t which)
{
    uint32_t gap = (uint32_t)prng_below(prng, 1u << prng_below(prng, GAP_DOUBLINGS + 1));
    if (plan->count == 0) gap = (uint32_t)prng_below(prng, FIRST_OPS_MAX);
    plan->events[plan->count++] = (struct restart_run_event){kind, which, gap};
}

struct restart_run_plan restart_run_draw(enum cellar_lab_cc cc, uint64_t seed)
{
    struct restart_run_plan plan = {.cc = cc, .seed = seed};
    struct prng prng;
    bool dead[CNS] = {false}, lost = false;
    prng_seed_stream(&prng, seed, 77);
    for (uint32_t deaths[CNS] = {0}; plan.count < RESTART_RUN_EVENTS - 1;) {
        uint32_t cn = (uint32_t)prng_below(&prng, CNS);
        bool last = prng_below(&prng, 10) == 0;
        if (last) break;
        if (!lost && prng_below(&prng, 3) == 0) {
            plan_add(&plan, &prng, RESTART_RUN_MN_DIES, (uint32_t)prng_below(&prng, MNS));
            lost = true;
        } else if (dead[cn]) {
            plan_add(&plan, &prng, RESTART_RUN_CN_COMES, cn);
            dead[cn] = false;
        } else if (deaths[cn] < LIVES - 3) {
            plan_add(&plan, &prng, RESTART_RUN_CN_DIES, cn);
            dead[cn] = true;
            deaths[cn]++;
        }
    }
    return plan;
}

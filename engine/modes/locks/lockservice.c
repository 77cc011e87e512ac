#include "lockservice.h"

#include "lockmgr.h"
#include "lockservice_plants.h"
#include "node.h"
#include "txn.h"

#define STACK_BYTES (64u << 10)

/* ---- dead compute nodes ---- */

static bool dead(void *arg, uint32_t cn)
{
    const struct lockservice *service = arg;
    /* A node that closes or has stopped waits for no acknowledgement of its own. */
    if (cn == service->cn) return atomic_load(&service->stopping) || atomic_load(&service->gate->failed);
    if (atomic_load_explicit(&service->abandons, memory_order_relaxed)) return true;
    return view_dead(&service->view, cn);
}

static bool stopped(void *arg) { return atomic_load(&((const struct lockservice *)arg)->gate->failed); }

static int look_again(void *arg, struct coro *co, struct fabric_ep *ep, uint32_t cn)
{
    struct lockservice *service = arg;
    return view_look(co, &service->view, ep, cn);
}

static uint64_t deaths(void *arg) { return view_deaths(&((const struct lockservice *)arg)->view); }

struct lockmgr_view lockservice_view(struct lockservice *service)
{
    return (struct lockmgr_view){
        .dead = dead, .arg = service, .look = look_again, .deaths = deaths, .stopped = stopped};
}

/* ---- the watcher ---- */

void lockservice_look(struct coro *co, struct lockservice_worker *first)
{
    first->watcher_busy = true;
    view_renew(co, &first->service->view, first->home->ep, first->home->halt);
    first->watcher_busy = false;
}

static void watcher_main(struct coro *co, void *arg)
{
    struct lockservice_worker *own = arg;
    for (;;) {
        uint64_t until_ns = own->service->watch(co, own);
        (void)sched_wait(co, own->home->sched, &own->watcher, &own->signal, until_ns);
    }
}

void lockservice_wake(struct lockservice *service, struct sched *from)
{
    struct lockservice_worker *first = service->first;
    if (first && !atomic_load(&service->watched))
        sched_signal(from, first->home->sched, &first->watcher, &first->signal);
}

void lockservice_asked_begin(struct lockservice *service, struct sched *from)
{
    atomic_fetch_add(&service->asked, 1);
    lockservice_wake(service, from);
}

void lockservice_asked_end(struct lockservice *service) { atomic_fetch_sub(&service->asked, 1); }

/* ---- tenders ---- */

/* The tender waits for others by itself, perhaps long after the last client has gone. */
static void tender_asks(struct lockservice_worker *own)
{
    bool asks = lockmgr_awaits(own->lockmgr);
    if (asks && !own->tender_asks) atomic_fetch_add(&own->service->asked, 1);
    if (asks) lockservice_wake(own->service, own->home->sched);
    if (!asks && own->tender_asks) lockservice_asked_end(own->service);
    own->tender_asks = asks;
}

static void tender_main(struct coro *co, void *arg)
{
    struct lockservice_worker *own = arg;
    /*
     * What has much to look after comes to no end by itself: what it waits for may be left to a worker that has gone.
     */
    while (!atomic_load(&own->service->abandons) || PLANT(twopl_tends_for_ever)) {
        own->tender_busy = true;
        uint64_t until_ns = lockmgr_tend(co, own->lockmgr);
        own->tender_busy = false;
        tender_asks(own);
        lockmgr_tend_wait(co, own->lockmgr, until_ns);
    }
    sched_park(co, &own->tender);
}

/* ---- birth and death ---- */

void lockservice_init(struct lockservice *service, const struct node *node, lockservice_watch_fn watch)
{
    service->cn = node->cn;
    service->gate = &node->gate;
    service->view.member = &node->opening->member;
    service->watch = watch;
}

int lockservice_open(struct lockservice *service, const struct lockmgr_config *config, const struct node *node,
                     struct cellar_error *error)
{
    return lockmgr_open(config, node->fabric, node->cn, &service->lockmgr, error);
}

void lockservice_close(struct lockservice *service) { lockmgr_close(service->lockmgr); }

int lockservice_worker_open(struct lockservice *service, struct lockservice_worker *own, uint32_t number,
                            struct txn_home *home, struct cellar_error *error)
{
    own->service = service;
    own->home = home;
    own->tender.co = coro_new(STACK_BYTES, tender_main, own);
    if (number == 0) own->watcher.co = coro_new(STACK_BYTES, watcher_main, own);
    if (!own->tender.co || (number == 0 && !own->watcher.co))
        return err_set(error, CELLAR_NOMEM, "no memory for a worker's locks");
    return lockmgr_worker_open(service->lockmgr, number, home->ep, home->sched, &own->lockmgr, error);
}

void lockservice_worker_start(struct lockservice_worker *own)
{
    sched_ready(own->home->sched, &own->tender);
    own->home->receives = true;
    if (!own->watcher.co) return;
    sched_ready(own->home->sched, &own->watcher);
    own->service->first = own;
}

void lockservice_worker_close(struct lockservice_worker *own)
{
    lockmgr_worker_close(own->lockmgr);
    coro_free(own->tender.co);
    coro_free(own->watcher.co);
}

/* ---- messages, and leaving ---- */

bool lockservice_receive(const struct lockservice_worker *own, struct fabric_ep *ep)
{
    struct fabric_message message;
    bool others = false;
    uint64_t due = own->lockmgr ? lockmgr_due(own->lockmgr) : 0;
    while (fabric_recv(ep, &message))
        if (!own->lockmgr || !lockmgr_deliver(own->lockmgr, &message)) others = true;
    if (due) lockmgr_begin(own->lockmgr, due);
    return others;
}

bool lockservice_rests(struct lockservice_worker *own)
{
    struct lockservice *service = own->service;
    uint64_t now_ns = fabric_now_ns(own->home->ep);
    if (!own->stop_ns) own->stop_ns = now_ns;
    bool abandons = now_ns - own->stop_ns >= LOCKSERVICE_STOP_NS;
    atomic_store(&service->stopping, true);
    if (abandons) atomic_store(&service->abandons, true);
    /* Whatever they have posted is still to come back. */
    if (own->watcher_busy || own->tender_busy) return false;
    return lockmgr_quiet(own->lockmgr) || abandons;
}

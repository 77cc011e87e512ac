/* fabric_switch.c - passes, recirculation, the control plane's turns, and what can happen to a switch. */
#include "fabric_switch.h"

#include "must.h"

#include <stdlib.h>
#include <string.h>

#define LETTERS 1024 /* packets out that the fabric has not answered yet */
#define STRAYS 64    /* second copies under way at once, at most */

struct array {
    uint64_t *cells;
    uint64_t pass; /* the last one that accessed it */
    uint64_t seen; /* what that pass has left in the cell, once it has gone on */
    uint64_t *cell;
};

struct late_packet {
    uint64_t due_ns;
    struct fabric_switch_packet packet;
};

struct ring {
    struct late_packet *packets;
    uint32_t head, tail, capacity; /* head and tail run freely; capacity is a power of two */
};

struct letter {
    struct fabric_op op;
    struct fabric_wait wait;
};

struct fabric_switch {
    struct fabric_ep *ep;
    const struct fabric_switch_program *program;
    void *arg;
    const struct fabric_switch_faults *faults;
    struct fabric_switch_stats stats;
    uint32_t incarnation;
    uint64_t up_ns; /* 0: it is up */
    struct array arrays[FABRIC_SWITCH_ARRAYS_MAX];
    /* the pass */
    struct fabric_switch_packet *packet; /* NULL: none */
    uint64_t pass;                       /* counts them */
    uint32_t accessed[FABRIC_SWITCH_ARRAYS_MAX], accesses, copies;
    bool again;
    /* what comes later */
    struct ring looping, punted;
    uint64_t port_free_ps; /* of the port that recirculates */
    struct late_packet strays[STRAYS];
    uint32_t stray_count;
    uint64_t control_ns, control_free_ns; /* when it wants its turn, and the earliest time at which it may have one */
    uint32_t control_cells;               /* that this turn may still access */
    bool controls;                        /* its turn is on */
    /* what the fabric has not answered */
    struct letter *letters;
    uint8_t *bytes; /* registered, FABRIC_MESSAGE_BYTES a letter */
    uint32_t next_letter;
};

/* ---- opening ---- */

static int check_arrays(const struct fabric_switch_program *program, struct cellar_error *error)
{
    uint64_t used[FABRIC_SWITCH_STAGES] = {0};
    if (program->array_count > FABRIC_SWITCH_ARRAYS_MAX)
        return err_set(error, CELLAR_INVALID, "program %s has %u register arrays: at most %d", program->name,
                       program->array_count, FABRIC_SWITCH_ARRAYS_MAX);
    for (uint32_t i = 0; i < program->array_count; i++) {
        const struct fabric_switch_array *array = &program->arrays[i];
        uint32_t bytes = array->cell_bytes;
        if (array->stage >= FABRIC_SWITCH_STAGES || array->cells == 0 || bytes == 0 || bytes > 8 || bytes & (bytes - 1))
            return err_set(error, CELLAR_INVALID, "program %s, register array %s: no such stage, or no such cells",
                           program->name, array->name);
        used[array->stage] += (uint64_t)array->cells * bytes;
        if (used[array->stage] > FABRIC_SWITCH_STAGE_BYTES)
            return err_set(error, CELLAR_INVALID,
                           "program %s, register array %s of %u cells: stage %u has no room for more than %d bytes",
                           program->name, array->name, array->cells, array->stage, FABRIC_SWITCH_STAGE_BYTES);
    }
    return 0;
}

static bool allocate(struct fabric_switch *self)
{
    self->looping.capacity = FABRIC_SWITCH_LOOPING_MAX;
    self->punted.capacity = FABRIC_SWITCH_PUNTED_MAX;
    self->looping.packets = calloc(self->looping.capacity, sizeof *self->looping.packets);
    self->punted.packets = calloc(self->punted.capacity, sizeof *self->punted.packets);
    self->letters = calloc(LETTERS, sizeof *self->letters);
    self->bytes = aligned_alloc(FABRIC_MESSAGE_BYTES, LETTERS * FABRIC_MESSAGE_BYTES);
    bool well = self->looping.packets && self->punted.packets && self->letters && self->bytes;
    for (uint32_t i = 0; well && i < self->program->array_count; i++) {
        self->arrays[i].cells = calloc(self->program->arrays[i].cells, sizeof(uint64_t));
        well = self->arrays[i].cells;
    }
    return well && fabric_register_local(self->ep->fabric, self->bytes, LETTERS * FABRIC_MESSAGE_BYTES) == 0;
}

static void free_all(struct fabric_switch *self)
{
    for (uint32_t i = 0; i < self->program->array_count; i++) free(self->arrays[i].cells);
    free(self->bytes);
    free(self->letters);
    free(self->punted.packets);
    free(self->looping.packets);
    free(self);
}

int fabric_switch_open(struct fabric_ep *ep, const struct fabric_switch_program *program, void *arg,
                       const struct fabric_switch_faults *faults, struct fabric_switch **out,
                       struct cellar_error *error)
{
    *out = NULL;
    int code = check_arrays(program, error);
    if (code) return code;
    struct fabric_switch *self = calloc(1, sizeof *self);
    if (!self) return err_set(error, CELLAR_NOMEM, "no memory for a switch");
    *self = (struct fabric_switch){.ep = ep, .program = program, .arg = arg, .faults = faults, .incarnation = 1};
    if (!allocate(self)) {
        free_all(self);
        return err_set(error, CELLAR_NOMEM, "no memory for a switch's registers");
    }
    *out = self;
    return 0;
}

void fabric_switch_close(struct fabric_switch *self)
{
    if (self) free_all(self);
}

/* ---- time and chance ---- */

uint64_t fabric_switch_now_ns(const struct fabric_switch *self) { return fabric_now_ns(self->ep); }
uint32_t fabric_switch_incarnation(const struct fabric_switch *self) { return self->incarnation; }
const struct fabric_switch_stats *fabric_switch_stats_of(const struct fabric_switch *self) { return &self->stats; }

static bool strikes(struct fabric_switch *self, const _Atomic uint32_t *ppm)
{
    uint32_t rate = atomic_load_explicit(ppm, memory_order_relaxed);
    return rate && prng_below(&self->ep->prng, 1000000) < rate;
}

static uint64_t up_to(struct fabric_switch *self, uint64_t ns) { return ns ? prng_below(&self->ep->prng, ns) : 0; }

/* ---- packets for later ---- */

static struct late_packet *ring_at(const struct ring *ring, uint32_t i)
{
    return &ring->packets[i & (ring->capacity - 1)];
}

static void keep(struct fabric_switch *self, struct ring *ring, const struct fabric_switch_packet *packet,
                 uint64_t due_ns)
{
    if (ring->tail - ring->head == ring->capacity) {
        self->stats.lost++;
        return;
    }
    *ring_at(ring, ring->tail++) = (struct late_packet){.due_ns = due_ns, .packet = *packet};
}

/* The port's packets come one after the other, so the ring is in the order of time. */
static void loop(struct fabric_switch *self, const struct fabric_switch_packet *packet)
{
    const struct fabric_switch_times *times = &self->ep->fabric->switch_times;
    uint64_t there_ps = (fabric_switch_now_ns(self) + times->pass_ns) * 1000;
    if (self->port_free_ps < there_ps) self->port_free_ps = there_ps;
    self->port_free_ps += times->recirculate_ps;
    keep(self, &self->looping, packet, self->port_free_ps / 1000);
}

/* ---- a pass ---- */

/*
 * What hardware could not have done: a cell that changed when later stages were on, or that holds more than it has
 * room for.
 */
static void check_cell(const struct fabric_switch *self, uint32_t number)
{
    const struct array *array = &self->arrays[number];
    uint32_t bits = self->program->arrays[number].cell_bytes * 8;
    must(*array->cell == array->seen);
    must(bits == 64 || array->seen >> bits == 0);
}

static void leave_cell(struct fabric_switch *self)
{
    if (self->accesses == 0) return;
    struct array *array = &self->arrays[self->accessed[self->accesses - 1]];
    array->seen = *array->cell;
}

uint64_t *fabric_switch_cell(struct fabric_switch *self, uint32_t number, uint32_t index)
{
    must(self->packet);
    must(number < self->program->array_count);
    must(index < self->program->arrays[number].cells);
    struct array *array = &self->arrays[number];
    must(array->pass != self->pass);
    if (self->accesses) {
        uint32_t before = self->accessed[self->accesses - 1];
        must(self->program->arrays[before].stage <= self->program->arrays[number].stage);
    }
    leave_cell(self);
    array->pass = self->pass;
    array->cell = &array->cells[index];
    self->accessed[self->accesses++] = number;
    return array->cell;
}

static void make_pass(struct fabric_switch *self, struct fabric_switch_packet *packet)
{
    self->packet = packet;
    self->pass++;
    self->accesses = self->copies = 0;
    self->again = false;
    self->stats.passes++;
    self->program->pass(self, self->arg, packet);
    leave_cell(self);
    for (uint32_t i = 0; i < self->accesses; i++) check_cell(self, self->accessed[i]);
    packet->passes++;
    self->packet = NULL;
    if (!self->again) return;
    self->stats.recirculated++;
    loop(self, packet);
}

static void count_copy(struct fabric_switch *self)
{
    must(self->packet);
    must(self->copies < FABRIC_SWITCH_COPIES_MAX);
    self->copies++;
}

void fabric_switch_recirculate(struct fabric_switch *self)
{
    must(!self->again);
    count_copy(self);
    self->again = true;
}

void fabric_switch_punt(struct fabric_switch *self)
{
    count_copy(self);
    self->stats.punted++;
    keep(self, &self->punted, self->packet, fabric_switch_now_ns(self) + self->ep->fabric->switch_times.control_ns);
}

/* ---- packets out ---- */

/* A free one; NULL: there is none. They come back about in the order they went, but one may be stuck for long. */
static struct letter *free_letter(struct fabric_switch *self)
{
    for (uint32_t i = 0; i < LETTERS; i++) {
        struct letter *letter = &self->letters[self->next_letter++ % LETTERS];
        if (letter->wait.pending == 0) return letter;
    }
    return NULL;
}

void fabric_switch_send(struct fabric_switch *self, uint32_t cn, uint32_t worker, const void *bytes,
                        uint32_t size_bytes)
{
    must(size_bytes <= FABRIC_MESSAGE_BYTES);
    if (!self->controls) count_copy(self);
    struct letter *letter = self->faults && strikes(self, &self->faults->loss_ppm) ? NULL : free_letter(self);
    if (!letter) {
        self->stats.lost++;
        return;
    }
    uint8_t *copy = self->bytes + (size_t)(letter - self->letters) * FABRIC_MESSAGE_BYTES;
    memcpy(copy, bytes, size_bytes);
    *letter = (struct letter){
        .op = {.kind = FABRIC_SEND, .addr = fabric_endpoint_addr(cn, worker), .local = copy, .size_bytes = size_bytes}};
    self->stats.sent++;
    fabric_post(self->ep, &letter->op, 1, &letter->wait);
}

/* ---- packets in ---- */

void fabric_switch_fail(struct fabric_switch *self, uint64_t down_ns)
{
    for (uint32_t i = 0; i < self->program->array_count; i++)
        memset(self->arrays[i].cells, 0, self->program->arrays[i].cells * sizeof(uint64_t));
    self->looping.head = self->looping.tail;
    self->punted.head = self->punted.tail;
    self->stray_count = 0;
    self->up_ns = fabric_switch_now_ns(self) + down_ns + 1;
    self->stats.failures++;
}

/* False: it is down. */
static bool is_up(struct fabric_switch *self, uint64_t now_ns)
{
    if (self->up_ns > now_ns) return false;
    if (self->up_ns == 0) return true;
    self->up_ns = 0;
    self->incarnation++;
    self->control_ns = now_ns;
    return true;
}

static void keep_stray(struct fabric_switch *self, const struct fabric_switch_packet *packet, uint64_t now_ns)
{
    if (self->stray_count == STRAYS) return;
    self->strays[self->stray_count++] =
        (struct late_packet){.due_ns = now_ns + up_to(self, self->faults->stray_ns), .packet = *packet};
}

void fabric_switch_receive(struct fabric_switch *self, const struct fabric_message *message)
{
    uint64_t now_ns = fabric_switch_now_ns(self);
    struct fabric_switch_packet packet = {
        .from_cn = message->from_cn, .from_worker = message->from_worker, .size_bytes = message->size_bytes};
    memcpy(packet.bytes, message->bytes, sizeof packet.bytes);
    self->stats.packets++;
    if (self->faults && strikes(self, &self->faults->fail_ppm))
        fabric_switch_fail(self, up_to(self, self->faults->down_ns));
    if (!is_up(self, now_ns) || (self->faults && strikes(self, &self->faults->loss_ppm))) {
        self->stats.lost++;
        return;
    }
    if (self->faults && strikes(self, &self->faults->twice_ppm)) keep_stray(self, &packet, now_ns);
    make_pass(self, &packet);
}

/* ---- what is due ---- */

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns) { return a_ns < b_ns ? a_ns : b_ns; }

static uint64_t run_strays(struct fabric_switch *self, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (uint32_t i = 0; i < self->stray_count;) {
        if (self->strays[i].due_ns > now_ns) {
            next_ns = sooner(next_ns, self->strays[i++].due_ns);
            continue;
        }
        struct fabric_switch_packet packet = self->strays[i].packet;
        self->strays[i] = self->strays[--self->stray_count];
        make_pass(self, &packet);
    }
    return next_ns;
}

/* Those that are due now: what they send around again comes after the packets that have arrived meanwhile. */
static void run_looping(struct fabric_switch *self, uint64_t now_ns)
{
    uint32_t end = self->looping.tail;
    while (self->looping.head != end && ring_at(&self->looping, self->looping.head)->due_ns <= now_ns) {
        struct fabric_switch_packet packet = ring_at(&self->looping, self->looping.head++)->packet;
        make_pass(self, &packet);
    }
}

/* When the control plane has its turn. */
static uint64_t turn_ns(const struct fabric_switch *self)
{
    uint64_t wanted_ns = self->control_ns;
    if (!self->program->control) return UINT64_MAX;
    if (self->punted.head != self->punted.tail)
        wanted_ns = sooner(wanted_ns, ring_at(&self->punted, self->punted.head)->due_ns);
    return wanted_ns > self->control_free_ns ? wanted_ns : self->control_free_ns;
}

static void run_control(struct fabric_switch *self, uint64_t now_ns)
{
    if (turn_ns(self) > now_ns) return;
    struct ring *ring = &self->punted;
    /* Its own time first: a switch that has just come up looks at nothing before. */
    bool punted = self->control_ns > now_ns && ring->head != ring->tail && ring_at(ring, ring->head)->due_ns <= now_ns;
    struct fabric_switch_packet packet;
    if (punted) packet = ring_at(ring, ring->head++)->packet;
    self->controls = true;
    self->control_cells = FABRIC_SWITCH_CONTROL_CELLS;
    self->control_ns = self->program->control(self, self->arg, punted ? &packet : NULL);
    self->controls = false;
    self->control_free_ns = fabric_switch_now_ns(self) + self->ep->fabric->switch_times.control_ns;
}

uint64_t fabric_switch_run(struct fabric_switch *self)
{
    uint64_t now_ns = fabric_switch_now_ns(self);
    if (!is_up(self, now_ns)) return self->up_ns;
    uint64_t next_ns = run_strays(self, now_ns);
    run_looping(self, now_ns);
    run_control(self, now_ns);
    if (self->up_ns) return self->up_ns; /* it was told to fail */
    if (self->looping.head != self->looping.tail)
        next_ns = sooner(next_ns, ring_at(&self->looping, self->looping.head)->due_ns);
    return sooner(next_ns, turn_ns(self));
}

bool fabric_switch_quiet(const struct fabric_switch *self)
{
    return self->up_ns == 0 && self->stray_count == 0 && self->looping.head == self->looping.tail &&
           self->punted.head == self->punted.tail;
}

/* ---- the control plane ---- */

static uint64_t *cell_of(struct fabric_switch *self, uint32_t number, uint32_t index)
{
    must(!self->packet);
    must(number < self->program->array_count);
    must(index < self->program->arrays[number].cells);
    if (self->controls) {
        must(self->control_cells > 0);
        self->control_cells--;
    }
    return &self->arrays[number].cells[index];
}

uint64_t fabric_switch_peek(struct fabric_switch *self, uint32_t number, uint32_t index)
{
    return *cell_of(self, number, index);
}

void fabric_switch_poke(struct fabric_switch *self, uint32_t number, uint32_t index, uint64_t value)
{
    must(self->controls);
    *cell_of(self, number, index) = value;
}

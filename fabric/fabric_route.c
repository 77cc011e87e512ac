/* fabric_route.c - operations to a node that is away go to the one that stands in for it. */
#include "fabric_route.h"

struct fabric_addr fabric_route_addr(const struct fabric_route *route, enum fabric_op_kind kind,
                                     struct fabric_addr addr)
{
    uint64_t offset = fabric_addr_offset(addr), area = offset / route->area_bytes;
    uint32_t node = fabric_addr_node(addr);

    if (node != route->away || area >= route->mn_count) return addr;
    if (kind == FABRIC_WRITE && route->fresh) return addr;
    if (area > 0) {
        uint32_t primary = (node + route->mn_count - (uint32_t)area) % route->mn_count;
        return fabric_addr_of(primary, offset - area * route->area_bytes);
    }
    if (kind != FABRIC_WRITE && !route->promoted) return addr;
    return fabric_addr_of((node + 1) % route->mn_count, offset + route->area_bytes);
}

static void watch_op(struct fabric_watch *watch, const struct fabric_op *op)
{
    if (op->kind == FABRIC_READ || op->kind == FABRIC_SEND) return;
    uint8_t generation = atomic_load_explicit(&watch->generation, memory_order_relaxed);
    uint64_t offset = fabric_addr_offset(op->addr), bytes = op->size_bytes ? op->size_bytes : sizeof(uint64_t);
    uint64_t last = (offset + bytes - 1) / FABRIC_WATCH_BYTES;
    for (uint64_t i = offset / FABRIC_WATCH_BYTES; i <= last && i < watch->count; i++)
        if (__atomic_load_n(&watch->marks[i], __ATOMIC_RELAXED) < generation)
            __atomic_store_n(&watch->marks[i], generation, __ATOMIC_RELAXED);
}

void fabric_route_ops(const struct fabric_route *route, struct fabric_op *ops, uint32_t count)
{
    if (route->watch) {
        for (uint32_t i = 0; i < count; i++) watch_op(route->watch, &ops[i]);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (ops[i].kind != FABRIC_SEND && !(ops[i].flags & FABRIC_DIRECT))
            ops[i].addr = fabric_route_addr(route, (enum fabric_op_kind)ops[i].kind, ops[i].addr);
}

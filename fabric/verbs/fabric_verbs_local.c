/*
 * fabric_verbs_local.c - local memory that operations may name: registered with the device, and found again by address.
 *
 * Not all memory is forgotten before it is freed, and what is allocated there later is registered anew. So the newest
 * registration of an address is the one that counts; older ones are cut back, and go when nothing is left of them, or
 * with the fabric. Each endpoint looks up in a copy of its own.
 */
#include "fabric_verbs_internal.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

/* What is left of a piece when [first, end) belongs to another: at most one before it and one after it. */
static uint32_t cut(struct fabric_verbs_piece piece, uintptr_t first, uintptr_t end, struct fabric_verbs_piece left[2])
{
    uint32_t count = 0;
    if (piece.first < first) {
        left[count] = piece;
        if (left[count].end > first) left[count].end = first;
        count++;
    }
    if (piece.end > end) {
        left[count] = piece;
        if (left[count].first < end) left[count].first = end;
        count++;
    }
    return count;
}

/* Puts the piece in the place of all that overlap with it, or nothing but a hole. */
static int insert(struct fabric_verbs_pieces *all, struct fabric_verbs_piece piece, bool hole)
{
    struct fabric_verbs_piece *pieces = malloc((2ull * all->count + 2) * sizeof *pieces), left[2];
    uint32_t count = 0;
    bool placed = hole;

    if (!pieces) return CELLAR_NOMEM;
    for (uint32_t i = 0; i < all->count; i++) {
        uint32_t kept = cut(all->pieces[i], piece.first, piece.end, left);
        for (uint32_t k = 0; k < kept; k++) {
            if (!placed && left[k].first > piece.first) pieces[count++] = piece, placed = true;
            pieces[count++] = left[k];
        }
    }
    if (!placed) pieces[count++] = piece;
    free(all->pieces);
    all->pieces = pieces;
    all->count = count;
    __atomic_fetch_add(&all->version, 1, __ATOMIC_RELEASE);
    return 0;
}

/*
 * Registrations of which no piece is left. No operation names what they were of: it was forgotten, or freed and
 * registered again.
 */
static void drop_unused(struct fabric_verbs_local *local)
{
    for (uint32_t i = local->mr_count; i-- > 0;) {
        bool used = false;
        for (uint32_t k = 0; k < local->all.count && !used; k++)
            used = local->all.pieces[k].lkey == local->mrs[i]->lkey;
        if (used) continue;
        ibv_dereg_mr(local->mrs[i]);
        local->mrs[i] = local->mrs[--local->mr_count];
    }
}

int fabric_verbs_local_forget(struct fabric_verbs_local *local, void *base, uint64_t bytes)
{
    uintptr_t first = (uintptr_t)base;

    pthread_mutex_lock(&local->lock);
    int code = insert(&local->all, (struct fabric_verbs_piece){.first = first, .end = first + bytes}, true);
    if (code == 0) drop_unused(local);
    pthread_mutex_unlock(&local->lock);
    return code;
}

int fabric_verbs_local_add(struct fabric_verbs_local *local, struct ibv_pd *pd, void *base, uint64_t bytes,
                           struct cellar_error *error)
{
    uintptr_t first = (uintptr_t)base;
    if (bytes == 0 || first + bytes < first)
        return err_set(error, CELLAR_INVALID, "%llu bytes of local memory cannot be registered",
                       (unsigned long long)bytes);
    struct ibv_mr *mr = ibv_reg_mr(pd, base, bytes, IBV_ACCESS_LOCAL_WRITE);
    if (!mr) {
        fabric_verbs_register_failed(error, "local memory", bytes);
        return CELLAR_NOMEM;
    }
    pthread_mutex_lock(&local->lock);
    struct ibv_mr **mrs = realloc(local->mrs, (local->mr_count + 1ull) * sizeof *mrs);
    if (mrs) local->mrs = mrs;
    int code =
        mrs ? insert(&local->all, (struct fabric_verbs_piece){first, first + bytes, mr->lkey}, false) : CELLAR_NOMEM;
    if (code == 0) {
        local->mrs[local->mr_count++] = mr;
        drop_unused(local);
    }
    pthread_mutex_unlock(&local->lock);
    if (code != 0) {
        ibv_dereg_mr(mr);
        return err_set(error, CELLAR_NOMEM, "no memory to register memory");
    }
    return 0;
}

void fabric_verbs_local_close(struct fabric_verbs_local *local)
{
    for (uint32_t i = 0; i < local->mr_count; i++) ibv_dereg_mr(local->mrs[i]);
    free(local->mrs);
    free(local->all.pieces);
    local->mrs = NULL;
    local->all.pieces = NULL;
}

static bool refresh(struct fabric_verbs_local *local, struct fabric_verbs_pieces *copy)
{
    pthread_mutex_lock(&local->lock);
    size_t bytes = local->all.count * sizeof *copy->pieces;
    struct fabric_verbs_piece *pieces = realloc(copy->pieces, bytes + sizeof *pieces);
    if (pieces) {
        if (bytes) memcpy(pieces, local->all.pieces, bytes);
        *copy = (struct fabric_verbs_pieces){pieces, local->all.count, local->all.version};
    }
    pthread_mutex_unlock(&local->lock);
    return pieces != NULL;
}

bool fabric_verbs_local_key(struct fabric_verbs_local *local, struct fabric_verbs_pieces *copy, const void *base,
                            uint64_t bytes, uint32_t *lkey)
{
    uintptr_t first = (uintptr_t)base;
    if (__builtin_expect(copy->version != __atomic_load_n(&local->all.version, __ATOMIC_ACQUIRE), 0) &&
        !refresh(local, copy))
        return false;
    uint32_t low = 0, high = copy->count; /* the first piece that begins after the address is high */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (copy->pieces[middle].first <= first)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || bytes > copy->pieces[low - 1].end - first || first >= copy->pieces[low - 1].end) return false;
    *lkey = copy->pieces[low - 1].lkey;
    return true;
}

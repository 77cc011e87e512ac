/*
 * commit.pml - transactions in mode `crest`, step by step as engine/crest_*.c execute them, over two
 * compute nodes (CN): 1..on_first run on CN 0, the others on CN 1. With -DCRASH, CN 0 is fenced at any moment and recovered, while CN 1 goes on.
 *
 *     join -> claim -> fetch -> publish -> take, block_end -> ... -> serialize: v, check -> validate -> committable -> placed -> durable
 *          -> leave -> apply -> applied          and, without effect:  take_back, release
 *
 * One step is one verb at a memory node, or one critical section under a slot's lock. A version is named by its writer (0: the first one), so
 * "same epoch number" is "same version". A record has CPR cells; an index bucket is a cell that transactions change with B and look at with L.
 *
 * At the end: no cycle of dependencies, nothing aborted was read, the pool holds the last versions, no tag, announcement, claim or fetch is left,
 * nobody waits for ever. At the crash: what was acknowledged survives, and what survives rests on survivors only.
 *
 * `template` chooses the transactions, 0: any. `removed` takes one rule away.
 */
#ifndef NT
#define NT 3
#endif
#define NC 4
#define ACC 3
#define B(x) (1 << (x))
#define CN(t) ((t) > on_first)

/* kinds of access */
#define R 1 /* read a record's cell */
#define W 2 /* read and write it */
#define D 3 /* delete the record */
#define I 4 /* insert it: its bucket is changed in the same block */
#define C 5 /* change an index bucket */
#define L 6 /* look at one */
#define SHARED(k) ((k) == R || (k) == W || (k) == D)
#define WRITES(k) ((k) == W || (k) == D)

/* status */
#define EXECUTING 0
#define VALIDATING 1
#define COMMITTABLE 2
#define DURABLE 3
#define ABORTED 4
#define LOST 5
#define UNDECIDED(s) ((s) == EXECUTING || (s) == VALIDATING)
#define PAST_V(s) \
    ((s) == COMMITTABLE || (s) == DURABLE || (s) == LOST || ((s) == VALIDATING && !WITHOUT(crest_validating_ignored)))

/* phase */
#define OPEN 0
#define DRAINING 1
#define APPLYING 2

#define NONE 15 /* no version read */
#define SAME 14 /* the cell was read by an earlier access */

#define CPR cells_per_record
#define ABSENT0 absent_at_first
#define BUCKET(c) ((c) + 1) /* of the one key that templates insert and delete */

/* what is run: from the environment, see run.sh */
byte template, removed, on_first, cells_per_record = 1, absent_at_first;
bit draining, user_aborts, stops, all_commit;

/* The rules that `removed` can take away, by the names of their plants in base/plant.h, where there is one. */
#define WITHOUT(rule) (removed == rule)
#define crest_validating_ignored 1
#define crest_base_stale 2
#define order_unasked 3         /* TS_exec is not compared */
#define crest_dep_forgotten 4
#define dep_until_committable 5 /* log-deps on undecided transactions only */
#define crest_order_newest 6
#define crest_held_unchecked 7
#define validation_ignores_locks 8
#define ts_not_above 9
#define crest_oldest_applied 10
#define copy_overwritten 11     /* who takes back an announcement applies others' versions through a copy it has read before */
#define closed_waited_holding 12 /* for a closed object is waited with announcements kept */
#define bucket_unclaimed 13
#define absence_ignores_locks 14
#define crest_decided_unawaited 15
#define absence_unchecked 16
#define crest_ack_early 17
#define crest_abort_kept 18
#define crest_versions_uncounted 19 /* log space is used again before all versions are applied */
#define crest_ring_unwatched 20
#define recover_tags_first 21
#define recover_ts_ignored 22
#define recover_deps_ignored 23
#define recover_watermark_ignored 24
#define recover_unfenced 25
#define held_until_untagged 26 /* cells count as held while they are applied */
#define closed_not 27          /* objects take new writers while they are applied */
#define bucket_own_tag 28      /* an absent read takes this CN's tag on the bucket for its own */

/* the pool */
byte val[NC], tag[NC];

/* local objects: one for each record of each CN */
byte phase[2 * NC], pins[2 * NC], writers[2 * NC], gone[2 * NC]; /* pins, writers, gone: a bit for each transaction */
bit fetching[2 * NC], exclusive[2 * NC];
byte base[2 * NC];
bit known[2 * NC], held[2 * NC], tagged[2 * NC], origin[2 * NC]; /* origin: the base is a version that was applied here */
short chain[2 * NC];                                             /* local versions: nibbles, the newest lowest */
bit bucket_claim[2 * NC];
#define OBJ(n, c) ((n)*NC + (c) / CPR)
#define CELL(n, c) ((n)*NC + (c))
#define TAIL(n, c) (phase[OBJ(n, c)] == APPLYING -> 0 : chain[CELL(n, c)])

/* transactions */
byte cell[ACC * (NT + 1)], kind[ACC * (NT + 1)], block[ACC * (NT + 1)];
byte seen[ACC * (NT + 1)];  /* the version read */
byte image[ACC * (NT + 1)]; /* what the own copy says it is */
bit base_ref[ACC * (NT + 1)]; /* it was a base that was fetched, not a version of this CN */
byte status[NT + 1], exec_ts[NT + 1], waits[NT + 1], deps[NT + 1], buckets[NT + 1], dirty[NT + 1];
byte exec_next[2];
byte unapplied[NT + 1]; /* cells: its versions that are in chains */
byte acked, ended;
byte order[4 * NC]; /* committed versions of each cell, in order: only to judge by */
byte order_count[NC];
#define AT(t, i) ((t)*ACC + (i))

/* the log of CN 0 */
#ifdef CRASH
byte placed, erased, below_watermark, log_deps[NT + 1], ts[NT + 1];
bit fenced, recovered, stopped;
#define OUT(n) (fenced && (n) == 0)
#define STOPPED(n) (stopped && (n) == 0)
#else
#define OUT(n) (0)
#define STOPPED(n) (0)
#endif

hidden byte h, k, x, y, z;
hidden short s, u;
hidden byte edges[NT + 1];

inline newest(n, c) /* x: the newest version there that is not aborted; 0: the base */
{
    s = TAIL(n, c);
    do
    :: s == 0 -> x = 0; break
    :: s != 0 && status[s & 15] != ABORTED -> x = s & 15; break
    :: else -> s = s >> 4
    od;
    skip
}

inline unlink(n, c, t)
{
    s = chain[CELL(n, c)];
    u = 0;
    h = 0;
    do
    :: s == 0 -> break
    :: else ->
       if
       :: (s & 15) != t -> u = u | ((s & 15) << h); h = h + 4
       :: else
       fi;
       s = s >> 4
    od;
    chain[CELL(n, c)] = u
}

/* y: the kind of v's access to c */
inline kind_of(v, c)
{
    y = 0;
    h = 0;
    do
    :: h < ACC -> if :: cell[AT(v, h)] == c && kind[AT(v, h)] > y -> y = kind[AT(v, h)] :: else fi; h++
    :: else -> break
    od;
    skip
}
inline is_dead(v, c) /* y: no such record any more */
{
    if
    :: v == 0 -> y = (ABSENT0 >> c) & 1
    :: else -> kind_of(v, c); y = (y == D)
    fi
}
inline is_listed(v, c) /* y: version v of c's bucket lists it */
{
    if
    :: v == 0 -> y = !((ABSENT0 >> c) & 1)
    :: else -> kind_of(v, c); y = (y != D)
    fi
}

/* ---- execution ---- */

#define CLOSED_TO(o, i) ((phase[o] != OPEN && !(phase[o] == APPLYING && WITHOUT(closed_not))) || exclusive[o] || (kind[AT(t, i)] == D && writers[o]))

inline join(i)
{
    x = OBJ(n, cell[AT(t, i)]);
    pins[x] = pins[x] | B(t);
    result = 0;
    if
    :: WRITES(kind[AT(t, i)]) && !(writers[x] & B(t)) ->
       if
       :: gone[x] & B(t) -> result = 2
       :: !(gone[x] & B(t)) && CLOSED_TO(x, i) ->
          result = 1;
          if :: phase[x] == OPEN && writers[x] && !exclusive[x] -> phase[x] = DRAINING :: else fi
       :: else ->
          writers[x] = writers[x] | B(t);
          if :: kind[AT(t, i)] == D -> exclusive[x] = 1 :: else fi
       fi
    :: else
    fi
}

inline was_read(i) /* z: by an earlier access */
{
    z = 0;
    h = 0;
    do
    :: h < ACC -> if :: h != i && cell[AT(t, h)] == cell[AT(t, i)] && seen[AT(t, h)] < SAME -> z = 1 :: else fi; h++
    :: else -> break
    od;
    skip
}

#define WANTS_LOCK(i) (WRITES(kind[AT(t, i)]) && (writers[OBJ(n, cell[AT(t, i)])] & B(t)) && !held[CELL(n, cell[AT(t, i)])])
inline claim(i)
{
    was_read(i);
    result = 0;
    if
    :: (seen[AT(t, i)] == NONE && !z && !known[CELL(n, cell[AT(t, i)])]) || WANTS_LOCK(i) ->
       if
       :: fetching[OBJ(n, cell[AT(t, i)])] && !(claimed & B(cell[AT(t, i)] / CPR)) -> others = i + 1
       :: else ->
          fetching[OBJ(n, cell[AT(t, i)])] = 1;
          claimed = claimed | B(cell[AT(t, i)] / CPR);
          fetch = fetch | B(i);
          if :: WANTS_LOCK(i) -> lock = lock | B(i) :: else fi
       fi
    :: else
    fi
}

/* The base becomes what was fetched, unless it is known to be that. */
inline publish(i)
{
    x = CELL(n, cell[AT(t, i)]);
    if
    :: known[x] && (base[x] == image[AT(t, i)] || WITHOUT(crest_base_stale)) -> skip
    :: else -> base[x] = image[AT(t, i)]; origin[x] = 0
    fi;
    known[x] = 1;
    if :: lock & B(i) -> held[x] = 1; tagged[x] = 1; lock = lock & ~B(i); taken_tags = taken_tags & ~B(i) :: else fi;
    fetch = fetch & ~B(i)
}

/* Another one's version is met. */
inline meet(v, read)
{
    if
    :: v != t && UNDECIDED(status[v]) ->
       if
       :: exec_ts[t] && exec_ts[v] > exec_ts[t] && !WITHOUT(order_unasked) -> result = 2
       :: else -> waits[t] = waits[t] | B(v)
       fi
    :: else
    fi;
    if
    :: read && v != t && (UNDECIDED(status[v]) || (PAST_V(status[v]) && status[v] != DURABLE && !WITHOUT(dep_until_committable))) &&
       !WITHOUT(crest_dep_forgotten) -> deps[t] = deps[t] | B(v)
    :: else
    fi
}

inline take(i)
{
    was_read(i);
    if
    :: z -> seen[AT(t, i)] = SAME
    :: else ->
       newest(n, cell[AT(t, i)]);
       k = x;
       if
       :: k != 0 ->
          kind_of(k, cell[AT(t, i)]);
          if
          :: y == D -> result = 2
          :: else ->
             meet(k, 1);
             seen[AT(t, i)] = k;
             image[AT(t, i)] = k;
             base_ref[AT(t, i)] = 0
          fi
       :: else ->
          if
          :: gone[OBJ(n, cell[AT(t, i)])] & B(t) -> result = 2
          :: !known[CELL(n, cell[AT(t, i)])] -> result = 3
          :: else ->
             seen[AT(t, i)] = base[CELL(n, cell[AT(t, i)])];
             image[AT(t, i)] = seen[AT(t, i)];
             base_ref[AT(t, i)] = !origin[CELL(n, cell[AT(t, i)])]
          fi
       fi
    fi
}
inline order_behind(i)
{
    u = TAIL(n, cell[AT(t, i)]);
    do
    :: u == 0 || result == 2 -> break
    :: else -> meet(u & 15, 0);
       u = (WITHOUT(crest_order_newest) -> 0 : u >> 4)
    od;
    skip
}
/* The slots of what it writes are locked from here until the block's end: one step. */
inline take_locked_and_block_end()
{
    result = 0;
    i = 0;
    do
    :: i < ACC && !result ->
       if :: block[AT(t, i)] == blk && WRITES(kind[AT(t, i)]) -> take(i); if :: !result -> order_behind(i) :: else fi :: else fi;
       i++
    :: else -> break
    od;
    if
    :: !result ->
       if :: exec_ts[t] == 0 -> exec_next[n]++; exec_ts[t] = exec_next[n] :: else fi;
       i = 0;
       do
       :: i < ACC ->
          if
          :: block[AT(t, i)] == blk && WRITES(kind[AT(t, i)]) ->
             chain[CELL(n, cell[AT(t, i)])] = (chain[CELL(n, cell[AT(t, i)])] << 4) | t;
             unapplied[t] = unapplied[t] | B(cell[AT(t, i)])
          :: else
          fi;
          i++
       :: else -> break
       od
    :: result && result != 3 -> skip
    :: result == 3 ->
       i = 0; /* what this round took is taken again in the next */
       do
       :: i < ACC -> if :: block[AT(t, i)] == blk && WRITES(kind[AT(t, i)]) -> seen[AT(t, i)] = NONE :: else fi; i++
       :: else -> break
       od
    fi
}

/* ---- commit ---- */

inline current(i) /* x: the newest past its v, but for the own one; 0: the base */
{
    s = TAIL(n, cell[AT(t, i)]);
    x = 0;
    do
    :: s == 0 -> break
    :: s != 0 && (s & 15) != t && PAST_V(status[s & 15]) -> x = s & 15; break
    :: else -> s = s >> 4
    od;
    skip
}
/* One record's cell under its lock: current, to be validated in the pool (check), or not (result). */
inline check_held(i)
{
    result = 0;
    current(i);
    if
    :: x != 0 -> result = (base_ref[AT(t, i)] || x != seen[AT(t, i)])
    :: else ->
       y = CELL(n, cell[AT(t, i)]);
       if
       :: !known[y] || (gone[OBJ(n, cell[AT(t, i)])] & B(t)) -> result = 1
       :: else ->
          if
          :: base_ref[AT(t, i)] -> result = (image[AT(t, i)] != base[y])
          :: else -> result = !(origin[y] && base[y] == seen[AT(t, i)])
          fi;
          image[AT(t, i)] = base[y]
       fi
    fi;
    if :: WITHOUT(crest_held_unchecked) -> result = 0 :: else fi;
    if :: !held[CELL(n, cell[AT(t, i)])] -> check = check | B(i) :: else fi
}
#define TAG_OK(i) \
    (tag[cell[AT(t, i)]] == 0 || WITHOUT(validation_ignores_locks) || \
     (tag[cell[AT(t, i)]] == n + 1 && (kind[AT(t, i)] != L || (buckets[t] & B(cell[AT(t, i)])) || WITHOUT(bucket_own_tag))))
inline check_pool(i)
{
    result = !(TAG_OK(i) && val[cell[AT(t, i)]] == image[AT(t, i)]);
    check = check & ~B(i)
}

/* Where t's version of c stands among the committed ones: behind its predecessor in the chain, or last. */
inline order_insert(c)
{
    z = order_count[c];
    if
    :: WRITES(kind[AT(t, i)]) ->
       u = chain[CELL(n, c)];
       x = base[CELL(n, c)];
       h = 0;
       do
       :: u == 0 -> break
       :: u != 0 && (u & 15) == t -> h = 1; u = u >> 4
       :: u != 0 && (u & 15) != t && h && (status[u & 15] == COMMITTABLE || status[u & 15] == DURABLE) -> x = u & 15; break
       :: else -> u = u >> 4
       od;
       h = 0;
       z = 0;
       do
       :: h < order_count[c] -> if :: order[c * 4 + h] == x -> z = h + 1 :: else fi; h++
       :: else -> break
       od
    :: else
    fi;
    h = order_count[c];
    do
    :: h > z -> order[c * 4 + h] = order[c * 4 + h - 1]; h--
    :: else -> break
    od;
    order[c * 4 + z] = t;
    order_count[c]++;
#ifdef CRASH
    h = (z > 0 -> order[c * 4 + z - 1] : 0);
    if :: ts[h] >= ts[t] && !WITHOUT(ts_not_above) -> ts[t] = ts[h] + 1 :: else fi
#endif
}
inline committable()
{
#ifdef CRASH
    ts[t] = 1;
    log_deps[t] = 0;
    h = 1;
    do
    :: h <= NT -> if :: (deps[t] & B(h)) && status[h] != DURABLE -> log_deps[t] = log_deps[t] | B(h) :: else fi; h++
    :: else -> break
    od;
#endif
    i = 0;
    do
    :: i < ACC -> if :: kind[AT(t, i)] > R && kind[AT(t, i)] < L -> order_insert(cell[AT(t, i)]) :: else fi; i++
    :: else -> break
    od;
    status[t] = COMMITTABLE
}

#define IS_DURABLE(t, v) (!(deps[t] & B(v)) || status[v] == DURABLE || status[v] == ABORTED)
#define IS_LOST(m, v) (((m) & B(v)) && status[v] == LOST)
#define IS_DECIDED(t, v) (!(waits[t] & B(v)) || !UNDECIDED(status[v]))
#if NT == 3
#define EACH(f, t) (f(t, 1) && f(t, 2) && f(t, 3))
#define ANY_LOST(m) (IS_LOST(m, 1) || IS_LOST(m, 2) || IS_LOST(m, 3))
#else
#define EACH(f, t) (f(t, 1) && f(t, 2))
#define ANY_LOST(m) (IS_LOST(m, 1) || IS_LOST(m, 2))
#endif
#define DEPS_DURABLE(t) EACH(IS_DURABLE, t)
#define DEPS_LOST(t) ANY_LOST(deps[t])
#define WAITS_DECIDED(t) EACH(IS_DECIDED, t)
#define WAITS_LOST(t) ANY_LOST(waits[t])

/* ---- leaving ---- */

#define FIRST(r) ((r)*CPR)
#define TAGGED(n, r) (tagged[CELL(n, FIRST(r))] || tagged[CELL(n, FIRST(r) + CPR - 1)])

/* The newest versions are the base from now on, and go into the own copy. */
inline apply_take(r)
{
    z = FIRST(r);
    do
    :: z < FIRST(r) + CPR ->
       y = CELL(n, z);
       if
       :: held[y] && chain[y] ->
          x = chain[y] & 15;
          s = (WITHOUT(crest_oldest_applied) -> chain[y] : 0);
          do
          :: s == 0 -> break
          :: else -> x = s & 15; s = s >> 4
          od;
          base[y] = x;
          origin[y] = 1;
          todo = todo | B(z);
          h = 0;
          do
          :: h < ACC -> if :: cell[AT(t, h)] == z && seen[AT(t, h)] < SAME -> image[AT(t, h)] = x :: else fi; h++
          :: else -> break
          od
       :: else
       fi;
       held[y] = held[y] && WITHOUT(held_until_untagged);
       z++
    :: else -> break
    od;
    skip
}
inline leave(r)
{
    k = OBJ(n, FIRST(r));
    writers[k] = writers[k] & ~B(t);
    if
    :: writers[k] == 0 && TAGGED(n, r) ->
       apply_take(r);
       phase[k] = APPLYING;
       mine = mine | B(r)
    :: writers[k] == 0 && !TAGGED(n, r) -> phase[k] = OPEN; exclusive[k] = 0
    :: else
    fi
}
/* Held for long: at any leave, or never. */
#define ANNOUNCED(r) (FIRST(r) < NC && (writers[OBJ(n, FIRST(r))] & B(t)))
#define LONG_HELD(r) \
    :: atomic { draining && ANNOUNCED(r) && TAGGED(n, r) && phase[OBJ(n, FIRST(r))] == OPEN && (writers[OBJ(n, FIRST(r))] & ~B(t)) -> \
                d_step { phase[OBJ(n, FIRST(r))] = DRAINING; leave(r) } }
inline leave_all()
{
    do
    :: atomic { ANNOUNCED(0) -> d_step { leave(0) } } LONG_HELD(0)
    :: atomic { ANNOUNCED(1) -> d_step { leave(1) } } LONG_HELD(1)
    :: atomic { ANNOUNCED(2) -> d_step { leave(2) } } LONG_HELD(2)
    :: atomic { ANNOUNCED(3) -> d_step { leave(3) } } LONG_HELD(3)
    :: atomic { !ANNOUNCED(0) && !ANNOUNCED(1) && !ANNOUNCED(2) && !ANNOUNCED(3) -> break }
    od;
    skip
}

/* mine: records that are this transaction's to apply; todo: cells to write; inserts, dirty: records and buckets of its own. */
#define APPLY_WRITE(c) \
    :: atomic { (todo & B(c)) -> d_step { val[c] = base[CELL(n, c)]; todo = todo & ~B(c) } } \
    :: atomic { (inserts & B(c)) -> d_step { val[c] = t; inserts = inserts & ~B(c) } } \
    :: atomic { (dirty[t] & B(c)) && !inserts -> d_step { val[c] = t; dirty[t] = dirty[t] & ~B(c) } } \
    :: atomic { (buckets[t] & B(c)) && !(dirty[t] & B(c)) && !inserts && !mine -> d_step { tag[c] = 0; buckets[t] = buckets[t] & ~B(c) } }
#define CELLS(r) ((B(CPR) - 1) << FIRST(r))
#define UNTAG(r) \
    if :: tagged[CELL(n, FIRST(r))] -> tag[FIRST(r)] = 0 :: else fi; \
    if :: tagged[CELL(n, FIRST(r) + CPR - 1)] -> tag[FIRST(r) + CPR - 1] = 0 :: else fi
/* A writer is durable: nothing of its log entry is needed for that cell any more. */
inline versions_free(c)
{
    s = chain[CELL(n, c)];
    do
    :: s == 0 -> break
    :: else -> unapplied[s & 15] = unapplied[s & 15] & ~B(c); s = s >> 4
    od;
    chain[CELL(n, c)] = 0
}
inline applied(r)
{
    k = OBJ(n, FIRST(r));
    z = FIRST(r);
    h = 0;
    do
    :: z < FIRST(r) + CPR ->
       versions_free(z);
       tagged[CELL(n, z)] = 0;
       held[CELL(n, z)] = 0;
       z++
    :: else -> break
    od;
    phase[k] = OPEN;
    if
    :: exclusive[k] && status[t] == DURABLE -> /* deleted: whoever comes makes a new object */
       gone[k] = gone[k] | pins[k];
       pins[k] = 0;
       known[CELL(n, FIRST(r))] = 0;
       base[CELL(n, FIRST(r))] = 0;
       origin[CELL(n, FIRST(r))] = 0
    :: else
    fi;
    exclusive[k] = 0;
    untagged = untagged & ~B(r)
}
#define APPLY_UNLOCK(r) \
    :: atomic { (mine & B(r)) && !(todo & CELLS(r)) -> d_step { UNTAG(r); mine = mine & ~B(r); untagged = untagged | B(r) } }
inline apply_all()
{
    do
    APPLY_WRITE(0) APPLY_WRITE(1) APPLY_WRITE(2) APPLY_WRITE(3)
    APPLY_UNLOCK(0) APPLY_UNLOCK(1)
    APPLY_UNLOCK(2) APPLY_UNLOCK(3)
    :: atomic { !mine && !todo && !inserts && !buckets[t] -> break }
    od;
    do
    :: atomic { untagged & 1 -> d_step { applied(0) } }
    :: atomic { untagged & 2 -> d_step { applied(1) } }
    :: atomic { untagged & 4 -> d_step { applied(2) } }
    :: atomic { untagged & 8 -> d_step { applied(3) } }
    :: atomic { untagged == 0 -> break }
    od;
    skip
}
inline unpin_all()
{
    k = 0;
    do
    :: k < NC / CPR ->
       x = OBJ(n, FIRST(k));
       gone[x] = gone[x] & ~B(t);
       if
       :: pins[x] & B(t) ->
          pins[x] = pins[x] & ~B(t);
          if
          :: pins[x] == 0 ->
             z = FIRST(k);
             do
             :: z < FIRST(k) + CPR ->
                known[CELL(n, z)] = 0; base[CELL(n, z)] = 0; origin[CELL(n, z)] = 0;
                z++
             :: else -> break
             od
          :: else
          fi
       :: else
       fi;
       k++
    :: else -> break
    od;
    k = 0;
    do
    :: k < NC -> if :: bucket_claims & B(k) -> bucket_claim[CELL(n, k)] = 0 :: else fi; k++
    :: else -> break
    od;
    bucket_claims = 0
}

/* ---- a transaction ---- */

#define JOINS(i) (block[AT(t, i)] == blk && SHARED(kind[AT(t, i)]))
#define LOOKS(i) (block[AT(t, i)] == blk && (kind[AT(t, i)] == L || kind[AT(t, i)] == C) && seen[AT(t, i)] == NONE)
#define TAKES(i) (block[AT(t, i)] == blk && kind[AT(t, i)] == R && seen[AT(t, i)] == NONE)
#define CHECKS(i) (SHARED(kind[AT(t, i)]) && seen[AT(t, i)] < SAME)
inline seek(P) /* the next access, from i on, of which P holds */
{
    do
    :: i < ACC && !(P) -> i++
    :: else -> break
    od;
    skip
}

/* Does it hold anything that others may wait for, from earlier blocks? */
inline look_back()
{
    before = 0;
    k = 0;
    do
    :: k < NC / CPR -> if :: writers[OBJ(n, FIRST(k))] & B(t) -> before = 1 :: else fi; k++
    :: else -> break
    od;
    if :: bucket_claims -> before = 1 :: else fi
}
/* result: an object that it has announced itself on is one that it has read before, too. */
inline own_copy_at_stake()
{
    result = 0;
    h = 0;
    do
    :: h < ACC ->
       if :: seen[AT(t, h)] < SAME && SHARED(kind[AT(t, h)]) && (writers[OBJ(n, cell[AT(t, h)])] & B(t)) -> result = 1 :: else fi;
       h++
    :: else -> break
    od;
    skip
}
/* One bucket's turn: result: no effect is possible. */
inline bucket_read(i)
{
    if :: kind[AT(t, i)] == C -> tag[cell[AT(t, i)]] = n + 1; buckets[t] = buckets[t] | B(cell[AT(t, i)]) :: else fi;
    seen[AT(t, i)] = val[cell[AT(t, i)]];
    image[AT(t, i)] = seen[AT(t, i)];
    is_listed(seen[AT(t, i)], cell[AT(t, i)] - 1);
    x = y;
    kind_of(t, cell[AT(t, i)] - 1);
    result = kind[AT(t, i)] == C && ((y == I && x) || (y == D && !x))
}
/* The CAS, and the READ behind it. result: no such record. */
inline record_read(i)
{
    is_dead(val[cell[AT(t, i)]], cell[AT(t, i)]);
    result = y;
    if
    :: !y ->
       if :: lock & B(i) -> tag[cell[AT(t, i)]] = n + 1; taken_tags = taken_tags | B(i) :: else fi;
       image[AT(t, i)] = val[cell[AT(t, i)]]
    :: else
    fi
}
/* The bucket has no such key either: the announcement ends, and the bucket is what was read. result: the key is there. */
inline absent_read(i)
{
    is_listed(val[BUCKET(cell[AT(t, i)])], cell[AT(t, i)]);
    result = y || kind[AT(t, i)] == D;
    if
    :: !result ->
       k = OBJ(n, cell[AT(t, i)]);
       writers[k] = writers[k] & ~B(t);
       exclusive[k] = 0;
       if :: writers[k] == 0 && !TAGGED(n, cell[AT(t, i)] / CPR) -> phase[k] = OPEN :: else fi;
       fetching[k] = 0;
       claimed = claimed & ~B(cell[AT(t, i)] / CPR);
       fetch = fetch & ~B(i);
       lock = lock & ~B(i);
       cell[AT(t, i)] = BUCKET(cell[AT(t, i)]);
       kind[AT(t, i)] = L;
       seen[AT(t, i)] = val[cell[AT(t, i)]];
       image[AT(t, i)] = seen[AT(t, i)]
    :: else
    fi
}
inline fetches_end()
{
    k = 0;
    do
    :: k < NC / CPR -> if :: claimed & B(k) -> fetching[OBJ(n, FIRST(k))] = 0 :: else fi; k++
    :: else -> break
    od;
    claimed = 0;
    fetch = 0;
    lock = 0
}
/* result: some access lacks its base or its tag still. */
inline look_for_gaps()
{
    result = 0;
    i = 0;
    do
    :: i < ACC ->
       if
       :: JOINS(i) ->
          was_read(i);
          if
          :: (seen[AT(t, i)] == NONE && !z && !known[CELL(n, cell[AT(t, i)])]) || WANTS_LOCK(i) -> result = 1
          :: else
          fi
       :: else
       fi;
       i++
    :: else -> break
    od;
    skip
}
inline own_changes()
{
    i = 0;
    do
    :: i < ACC ->
       if
       :: kind[AT(t, i)] == I -> inserts = inserts | B(cell[AT(t, i)])
       :: kind[AT(t, i)] == C -> dirty[t] = dirty[t] | B(cell[AT(t, i)])
       :: else
       fi;
       i++
    :: else -> break
    od;
    skip
}
inline versions_take_back()
{
    i = 0;
    do
    :: i < NC -> if :: unapplied[t] & B(i) -> unlink(n, i, t); unapplied[t] = unapplied[t] & ~B(i) :: else fi; i++
    :: else -> break
    od;
    skip
}
inline tags_give_back()
{
    i = 0;
    do
    :: i < ACC -> if :: taken_tags & B(i) -> tag[cell[AT(t, i)]] = 0 :: else fi; i++
    :: else -> break
    od;
    taken_tags = 0;
    i = 0
}

#ifdef CRASH
#define ALLOWED provided(!(fenced && _pid <= on_first))
#else
#define ALLOWED
#endif
proctype Txn(byte t) ALLOWED
{
    byte n, i, blk, result, fetch, lock, taken_tags, claimed, others, check, mine, todo, inserts, untagged, before, bucket_claims;
    {
        atomic { n = CN(t); d_step { look_back(); i = 0; seek(JOINS(i)) } };
join_again:
        do
        :: i == ACC -> break
        :: atomic {
               i < ACC -> d_step { join(i) };
               if
               :: result == 0 -> d_step { i++; seek(JOINS(i)) }
               :: result == 2 -> goto release
               :: result == 1 ->
                  result = 0;
                  if :: before && !WITHOUT(closed_waited_holding) -> goto release :: else fi;
                  if :: !WITHOUT(copy_overwritten) && !WITHOUT(closed_waited_holding) -> d_step { own_copy_at_stake() } :: else fi;
                  if :: result -> goto release :: else fi;
                  goto closed
               fi
           }
        od;
        goto joined;
closed:
        if
        :: WITHOUT(closed_waited_holding) -> goto closed_wait
        :: else
        fi;
        leave_all(); /* take_back */
        apply_all();
closed_wait:
        atomic {
            !CLOSED_TO(OBJ(n, cell[AT(t, i)]), i) || STOPPED(n) -> d_step { i = 0; seek(JOINS(i)) };
            if :: STOPPED(n) -> goto release :: else fi
        };
        goto join_again;

joined:
        atomic { others = 0; i = 0; d_step { seek(JOINS(i)) } };
claim_again:
        do
        :: i == ACC -> break
        :: atomic { i < ACC -> d_step { claim(i); i++; seek(JOINS(i)) } }
        od;
        atomic { i = 0; d_step { seek(LOOKS(i)) } };
        do /* fetch rounds: buckets, then records */
        :: i == ACC -> break
        :: atomic {
               i < ACC && kind[AT(t, i)] == C && !(bucket_claims & B(cell[AT(t, i)])) ->
               if :: bucket_claim[CELL(n, cell[AT(t, i)])] && !WITHOUT(bucket_unclaimed) -> goto release :: else fi;
               bucket_claim[CELL(n, cell[AT(t, i)])] = 1;
               bucket_claims = bucket_claims | B(cell[AT(t, i)])
           }
        :: atomic {
               i < ACC && (kind[AT(t, i)] == L || (bucket_claims & B(cell[AT(t, i)]))) ->
               if
               :: tag[cell[AT(t, i)]] != 0 && !(buckets[t] & B(cell[AT(t, i)])) && !WITHOUT(absence_ignores_locks) -> goto release
               :: else -> d_step { bucket_read(i); i++; seek(LOOKS(i)) }
               fi;
               if :: result -> goto release :: else fi
           }
        od;
        atomic { i = 0; d_step { seek(fetch & B(i)) } };
        do
        :: i == ACC -> break
        :: atomic {
               i < ACC ->
               if
               :: tag[cell[AT(t, i)]] != 0 -> goto release /* for the lock, or for a read of what somebody changes */
               :: else -> d_step { record_read(i) }
               fi;
               if
               :: result == 0 -> d_step { i++; seek(fetch & B(i)) }
               :: else -> result = 0; goto bucket_asked
               fi
           }
        od;
        goto fetched;
bucket_asked:
        atomic {
            if
            :: tag[BUCKET(cell[AT(t, i)])] != 0 -> goto release
            :: else -> d_step { absent_read(i) }
            fi;
            if :: result -> goto release :: else -> d_step { i++; seek(fetch & B(i)) } fi;
            /* templates have one keyed record for each transaction: what is left are others' */
        };
        do
        :: i == ACC -> break
        :: atomic { i < ACC -> if :: tag[cell[AT(t, i)]] != 0 -> goto release :: else -> d_step { record_read(i); i++; seek(fetch & B(i)) } fi }
        od;
fetched:
        do
        :: atomic { fetch & 1 -> d_step { publish(0) } }
        :: atomic { fetch & 2 -> d_step { publish(1) } }
        :: atomic { fetch & 4 -> d_step { publish(2) } }
        :: fetch == 0 -> break
        od;
        atomic {
            d_step { fetches_end(); i = 0 };
            if :: STOPPED(n) -> goto release :: else fi
        };
        atomic {
            others == 0 || !fetching[OBJ(n, cell[AT(t, others - (others > 0))])] || STOPPED(n) ->
            if :: STOPPED(n) -> goto release :: else fi;
            result = others;
            others = 0;
            if :: result == 0 -> d_step { look_for_gaps() } :: else fi;
            if
            :: result -> result = 0; i = 0; d_step { seek(JOINS(i)) }; goto claim_again
            :: else -> i = 0; d_step { seek(TAKES(i)) }
            fi
        };
        do
        :: i == ACC -> break
        :: atomic {
               i < ACC -> d_step { result = 0; take(i) };
               if
               :: result == 0 -> d_step { i++; seek(TAKES(i)) }
               :: result == 2 -> goto release
               :: result == 3 -> result = 0; i = 0; d_step { seek(JOINS(i)) }; goto claim_again
               fi
           }
        od;
        atomic {
            d_step { take_locked_and_block_end() };
            if
            :: result == 2 -> goto release
            :: result == 3 -> result = 0; i = 0; d_step { seek(JOINS(i)) }; goto claim_again
            :: result == 0 -> blk++
            fi;
            d_step { look_back(); i = 0; seek(JOINS(i)) };
            if :: blk < 2 -> goto join_again :: else -> before = 0; i = 0 fi;
            if
            :: skip
            :: user_aborts -> goto release
            fi
        };
        atomic {
            WAITS_DECIDED(t) || WITHOUT(crest_decided_unawaited) ->
            if :: WAITS_LOST(t) -> goto release :: else fi;
            status[t] = VALIDATING; /* v */
            d_step { i = 0; seek(CHECKS(i)) }
        };
        do
        :: i == ACC -> break
        :: atomic { i < ACC -> d_step { check_held(i); i++; seek(CHECKS(i)) }; if :: result -> goto release :: else fi }
        od;
        atomic {
            d_step {
                i = 0;
                do
                :: i < ACC -> if :: kind[AT(t, i)] == L && !WITHOUT(absence_unchecked) -> check = check | B(i) :: else fi; i++
                :: else -> break
                od;
                i = 0
            };
        };
        do
        :: atomic { check & 1 -> d_step { check_pool(0) }; if :: result -> goto release :: else fi }
        :: atomic { check & 2 -> d_step { check_pool(1) }; if :: result -> goto release :: else fi }
        :: atomic { check & 4 -> d_step { check_pool(2) }; if :: result -> goto release :: else fi }
        :: check == 0 -> break
        od;
        atomic { d_step { committable(); i = 0 } };
#ifdef CRASH
        if
        :: atomic { n == 0 -> placed = placed | B(t) }
        :: n != 0 -> skip
        :: atomic { n == 0 && stops && !stopped -> stopped = 1; goto lost } /* no replica says that it has the entry, */
        :: atomic { n == 0 && stops && !stopped -> placed = placed | B(t); stopped = 1; goto lost } /* though one may */
        fi;
#endif
        atomic {
            DEPS_DURABLE(t) || DEPS_LOST(t) || WITHOUT(crest_ack_early) ->
            if :: DEPS_LOST(t) && !WITHOUT(crest_ack_early) -> goto lost :: else fi;
            status[t] = DURABLE;
            acked = acked | B(t);
            d_step { own_changes(); i = 0 };
            goto left
        };
release:
        atomic { status[t] = ABORTED; check = 0; result = 0; others = 0; before = 0; blk = 2; i = 0 };
        if
        :: unapplied[t] == 0 || WITHOUT(crest_abort_kept) -> skip
        :: atomic { unapplied[t] != 0 && !WITHOUT(crest_abort_kept) -> d_step { versions_take_back(); i = 0 } }
        fi;
        if
        :: taken_tags == 0 -> skip
        :: atomic { taken_tags != 0 -> d_step { tags_give_back() } }
        fi;
        if
        :: claimed == 0 -> skip
        :: atomic { claimed != 0 -> d_step { fetches_end() } }
        fi;
left:
        leave_all();
        apply_all();
        atomic { d_step { unpin_all(); fetch = 0; lock = 0 } };
#ifdef CRASH
        if
        :: status[t] != DURABLE || n != 0 -> skip
        :: atomic {
               status[t] == DURABLE && n == 0 && (unapplied[t] == 0 || WITHOUT(crest_versions_uncounted)) ->
               if :: !WITHOUT(crest_ring_unwatched) -> below_watermark = below_watermark | B(t) :: else fi
           };
           erased = erased | B(t) /* its space is used again */
        fi;
#endif
        ended = ended | B(t);
        goto done;
lost:
        atomic { status[t] = LOST; ended = ended | B(t) };
done:
        skip
    }
}

#ifdef CRASH
#include "commit_recover.pml"
#endif

/* ---- templates, and the judgement ---- */

inline access(t, i, b, k_, c) { block[AT(t, i)] = b; kind[AT(t, i)] = k_; cell[AT(t, i)] = c }

#include "commit_templates.pml"

inline edge(a, b) { if :: (a) != (b) && (a) != 0 && (b) != 0 -> edges[a] = edges[a] | B(b) :: else fi }

#define COMMITTED(t) (status[t] == DURABLE || (SURVIVED(t)))
#ifdef CRASH
#define SURVIVED(t) (CN(t) == 0 && recovered && (survivors & B(t)))
#else
#define SURVIVED(t) (0)
#endif

inline judge()
{
    h = 0;
    do
    :: h <= NT -> edges[h] = 0; h++
    :: else -> break
    od;
    k = 0;
    do
    :: k < NC ->
       x = 0; /* the version before */
       h = 0;
       do
       :: h < order_count[k] ->
          if :: COMMITTED(order[k * 4 + h]) -> edge(x, order[k * 4 + h]); x = order[k * 4 + h] :: else fi;
          h++
       :: else -> break
       od;
       assert(val[k] == x); /* the pool holds the last version */
       assert(tag[k] == 0);
       k++
    :: else -> break
    od;
    k = ACC;
    do
    :: k < ACC * (NT + 1) ->
       z = k / ACC;
       if
       :: COMMITTED(z) && kind[k] != 0 && kind[k] != I && seen[k] < SAME ->
          x = seen[k];
          assert(x == 0 || COMMITTED(x)); /* nothing was read that is not there */
          edge(x, z);
          y = 0; /* behind what was read */
          u = (x == 0 -> 1 : 0);
          h = 0;
          do
          :: h < order_count[cell[k]] ->
             if
             :: u == 1 && COMMITTED(order[cell[k] * 4 + h]) && order[cell[k] * 4 + h] != z -> y = order[cell[k] * 4 + h]; u = 2
             :: u == 1 && order[cell[k] * 4 + h] == z -> u = 2 /* its own version follows */
             :: else -> if :: order[cell[k] * 4 + h] == x -> u = 1 :: else fi
             fi;
             h++
          :: else -> break
          od;
          edge(z, y)
       :: else
       fi;
       k++
    :: else -> break
    od;
    k = 0;
    do
    :: k < NT ->
       x = 1;
       do
       :: x <= NT ->
          y = 1;
          do
          :: y <= NT -> if :: edges[x] & B(y) -> edges[x] = edges[x] | edges[y] :: else fi; y++
          :: else -> break
          od;
          x++
       :: else -> break
       od;
       k++
    :: else -> break
    od;
    x = 1;
    do
    :: x <= NT -> assert(!(edges[x] & B(x))); x++ /* no cycle */
    :: else -> break
    od;
    skip
}

init
{
    byte q;
    atomic {
        c_code {
            now.template = atoi(getenv("TEMPLATE"));
            now.on_first = atoi(getenv("ON_FIRST"));
            now.removed = atoi(getenv("REMOVED"));
            now.draining = getenv("DRAINING") != NULL;
            now.user_aborts = getenv("USER_ABORTS") != NULL;
            now.stops = getenv("STOPS") != NULL;
            now.all_commit = getenv("ALL_COMMIT") != NULL;
        };
        d_step {
            q = 0;
            do
            :: q < ACC * (NT + 1) -> seen[q] = NONE; image[q] = NONE; q++
            :: else -> break
            od
        };
        templates();
        q = 1;
        do
        :: q <= NT -> run Txn(q); q++
        :: else -> break
        od;
#ifdef CRASH
        run Recovery();
        run Watch();
#endif
        q = 0
    };
    atomic {
#ifdef CRASH
        ended == (2 << NT) - 2 && recovered ->
#else
        ended == (2 << NT) - 2 ->
#endif
        d_step {
            judge();
            q = 0;
            do
            :: q < 2 * NC ->
               if
               :: !OUT(q / NC) ->
                  assert(writers[q] == 0 && !fetching[q] && phase[q] == OPEN && !exclusive[q] && !tagged[q]);
                  assert(pins[q] == 0 && chain[q] == 0 && !bucket_claim[q])
               :: else
               fi;
               q++
            :: else -> break
            od;
            q = 0
        };
#ifdef CRASH
        judged = 1;
#endif
        assert(!(all_commit && acked == (2 << NT) - 2)) /* can they all? */
    }
}

/* commit_execute.pml - a block: join, claim, publish, take, and its end (engine/modes/crest/crest_block.c). */
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
    newest(n, cell[AT(t, i)]);
    k = known[CELL(n, cell[AT(t, i)])] && !(HOLLOW(CELL(n, cell[AT(t, i)])) && x == 0);
    if
    :: BUSY(cell[AT(t, i)]) ->
       if
       :: seen[AT(t, i)] == NONE -> fetch = fetch | B(i); if :: WANTS_LOCK(i) -> lock = lock | B(i) :: else fi
       :: else
       fi
    :: !BUSY(cell[AT(t, i)]) && ((seen[AT(t, i)] == NONE && !z && !k) || WANTS_LOCK(i)) ->
       if
       :: fetching[OBJ(n, cell[AT(t, i)])] && !(claimed & B(cell[AT(t, i)] / CPR)) -> others = i + 1
       :: else ->
          fetching[OBJ(n, cell[AT(t, i)])] = 1;
          claimed = claimed | B(cell[AT(t, i)] / CPR);
          fetch = fetch | B(i);
          SOLE_ONLY(if :: (writers[OBJ(n, cell[AT(t, i)])] & B(t)) && held[CELL(n, cell[AT(t, i)])] -> behind = behind | B(i) :: else fi;)
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
    :: BUSY(cell[AT(t, i)]) -> seen[AT(t, i)] = image[AT(t, i)]; base_ref[AT(t, i)] = 1; lock = lock & ~B(i)
    :: else
    fi;
    if
    :: BUSY(cell[AT(t, i)]) -> skip
    :: !BUSY(cell[AT(t, i)]) && known[x] && !HOLLOW(x) && (base[x] == image[AT(t, i)] || WITHOUT(crest_base_stale)) -> skip
    :: else -> base[x] = image[AT(t, i)]; origin[x] = 0
    fi;
    if :: !BUSY(cell[AT(t, i)]) -> known[x] = 1; SOLE_ONLY(hollow[x] = 0) :: else fi;
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
          :: !(gone[OBJ(n, cell[AT(t, i)])] & B(t)) && (!known[CELL(n, cell[AT(t, i)])] || HOLLOW(CELL(n, cell[AT(t, i)]))) -> result = 3
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
    SOLE_ONLY(any_shared = 0;)
    i = 0;
    do
    :: i < ACC && !result ->
       SOLE_ONLY(if :: block[AT(t, i)] == blk && SHARED(kind[AT(t, i)]) && !ALONE(cell[AT(t, i)]) -> any_shared = 1 :: else fi;)
       if :: block[AT(t, i)] == blk && WRITES(kind[AT(t, i)]) && !ALONE(cell[AT(t, i)]) -> take(i); if :: !result -> order_behind(i) :: else fi :: else fi;
       i++
    :: else -> break
    od;
    if
    :: !result ->
       if :: exec_ts[t] == 0 SOLE_ONLY(&& any_shared) -> exec_next[n]++; exec_ts[t] = exec_next[n] :: else fi;
       i = 0;
       do
       :: i < ACC ->
          if
          :: block[AT(t, i)] == blk && WRITES(kind[AT(t, i)]) ->
             if :: !ALONE(cell[AT(t, i)]) -> chain[CELL(n, cell[AT(t, i)])] = (chain[CELL(n, cell[AT(t, i)])] << 4) | t :: else fi;
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
       :: i < ACC -> if :: block[AT(t, i)] == blk && WRITES(kind[AT(t, i)]) && !ALONE(cell[AT(t, i)]) -> seen[AT(t, i)] = NONE :: else fi; i++
       :: else -> break
       od
    fi
}

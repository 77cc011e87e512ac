/* commit_decide.pml - from v to committable: what is checked here, and in the pool (engine/modes/crest/crest_commit.c, commit.c). */
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
inline check_shared(i)
{
    SOLE_ONLY(if :: ALONE(cell[AT(t, i)]) -> lost_sole(cell[AT(t, i)] / CPR) :: else fi;)
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
/* What nobody else has is current here, and who comes now has its own v later. */
inline check_held(i)
{
    result = 0;
    SOLE_ONLY(if :: BUSY(cell[AT(t, i)]) && !stays -> sole_ready(cell[AT(t, i)] / CPR) :: else fi;)
    if
    :: ALONE(cell[AT(t, i)]) && (STAYS || OWN_WORD(cell[AT(t, i)]) || WITHOUT(crest_sole_unlooked)) ->
       if :: !TAGS_KEPT(i) -> check = check | B(i) :: else fi
    :: else -> check_shared(i)
    fi
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
       x = (ALONE(c) && u == 0 -> seen[AT(t, i)] : base[CELL(n, c)]);
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
    status[t] = (STAYS -> EXECUTING : COMMITTABLE)
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

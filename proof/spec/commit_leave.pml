/* commit_leave.pml - the last writer's apply, and what it leaves (engine/modes/crest/crest_commit.c, apply.c). */

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
          SOLE_ONLY(hollow[y] = 0;)
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
#define ANNOUNCED(r) (FIRST(r) < NC && (writers[OBJ(n, FIRST(r))] & B(t)) && !ALONE_IN(r))
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

/* alone_todo: cells to write of objects in sole use; mine: records that are this transaction's to apply; todo: cells to write; inserts, dirty: records and buckets of its own. */
#define APPLY_WRITE(c) \
    :: atomic { (todo & B(c)) -> d_step { val[c] = base[CELL(n, c)]; todo = todo & ~B(c) } } \
    SOLE_ONLY(:: atomic { (alone_todo & B(c)) -> d_step { if :: status[t] == DURABLE -> val[c] = t :: else fi; tag[c] = 0; alone_todo = alone_todo & ~B(c) } }) \
    :: atomic { (inserts & B(c)) -> d_step { val[c] = t; inserts = inserts & ~B(c) } } \
    :: atomic { (dirty[t] & B(c)) && !inserts -> d_step { val[c] = t; dirty[t] = dirty[t] & ~B(c) } } \
    :: atomic { (buckets[t] & B(c)) && !(dirty[t] & B(c)) && !inserts && !mine SOLE_ONLY(&& !alone_todo) -> d_step { tag[c] = 0; buckets[t] = buckets[t] & ~B(c) } }
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
    :: atomic { !mine && !todo SOLE_ONLY(&& !alone_todo) && !inserts && !buckets[t] -> break }
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
inline unpin(r)
{
    x = OBJ(n, FIRST(r));
    pins[x] = pins[x] & ~B(t);
    if
    :: pins[x] == 0 ->
       z = FIRST(r);
       do
       :: z < FIRST(r) + CPR -> known[CELL(n, z)] = 0; base[CELL(n, z)] = 0; origin[CELL(n, z)] = 0; SOLE_ONLY(hollow[CELL(n, z)] = 0;) z++
       :: else -> break
       od
    :: else
    fi
}
inline unpin_all()
{
    k = 0;
    do
    :: k < NC / CPR ->
       x = OBJ(n, FIRST(k));
       gone[x] = gone[x] & ~B(t);
       if :: pins[x] & B(t) -> unpin(k) :: else fi;
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

/*
 * commit_sole.pml - objects that one transaction has alone (engine/modes/crest/crest_sole.c), with -DSOLE: nothing of
 * them is told to anybody until another one joins. The word `shared` of the copy: busy while its owner fetches,
 * computes, applies or gives up; SHARING while a newcomer reads it. A newcomer holds the slot's lock from the exchange
 * to its end: !sharing stands for asking for that lock. A cell that the owner has put is hollow when it is shared: its
 * base is known by its version only, and fetched again if the owner aborts.
 */
#ifndef SOLE
#define SOLE_ONLY(steps)
#define ALONE(c) (0)
#define ALONE_IN(r) (0)
#define BUSY(c) (0)
#define OWN_WORD(c) (0)
#define TAGS_KEPT(i) (0)
#define HOLLOW(y) (0)
#define STAYS (0)
#else
#define SOLE_ONLY(steps) steps
#define ALONE(c) (alone & B((c) / CPR))
#define ALONE_IN(r) (alone & B(r))
#define BUSY(c) (busied & B((c) / CPR))
#define SOLE_WORD(c) sole[OBJ(n, c)]
#define OWN_WORD(c) (SOLE_WORD(c) == t)
#define TAGS_KEPT(i) (taken_tags & B(i))
#define HOLLOW(y) hollow[y]
#define STAYS (stays)
#define ONE_BLOCK (block[AT(t, 0)] == 0 && block[AT(t, 1)] == 0 && block[AT(t, 2)] == 0)
#define KEEPS(i) (kind[AT(t, i)] == 0 || kind[AT(t, i)] == L || BUSY(cell[AT(t, i)]))
byte sole[2 * NC]; /* the transaction that has it alone */
bit busy[2 * NC], sharing[2 * NC], hollow[2 * NC];

/* The first time, and nobody has it: for its sole use. */
inline join_alone(i)
{
    x = OBJ(n, cell[AT(t, i)]);
    pins[x] = B(t);
    sole[x] = t;
    busy[x] = 1;
    alone = alone | B(cell[AT(t, i)] / CPR);
    busied = busied | B(cell[AT(t, i)] / CPR);
    if :: WRITES(kind[AT(t, i)]) -> writers[x] = B(t) :: else fi;
    result = 0
}
/* Under the lock, v's copy becomes the object's: bases, tags, and a version of each cell that it has put. */
inline publish_copy(v, r)
{
    h = 0;
    do
    :: h < ACC ->
       z = cell[AT(v, h)];
       if
       :: z / CPR == (r) && SHARED(kind[AT(v, h)]) && seen[AT(v, h)] < SAME ->
          y = CELL(n, z);
          known[y] = 1;
          origin[y] = 0;
          base[y] = (WITHOUT(crest_undo_forgotten) && (unapplied[v] & B(z)) -> v : seen[AT(v, h)]);
          hollow[y] = (unapplied[v] & B(z)) != 0 && !WITHOUT(crest_undo_forgotten);
          if :: tag[z] == n + 1 -> held[y] = 1; tagged[y] = 1 :: else fi;
          if
          :: unapplied[v] & B(z) ->
             chain[y] = v;
             if :: exec_ts[v] == 0 -> exec_next[n]++; exec_ts[v] = exec_next[n] :: else fi
          :: else
          fi
       :: else
       fi;
       h++
    :: else -> break
    od;
    skip
}
/* What the copy stood for is the object's. */
inline lost_sole(r)
{
    alone = alone & ~B(r);
    busied = busied & ~B(r);
    h = 0;
    do
    :: h < ACC -> if :: SHARED(kind[AT(t, h)]) && cell[AT(t, h)] / CPR == (r) && seen[AT(t, h)] < SAME -> taken_tags = taken_tags & ~B(h) :: else fi; h++
    :: else -> break
    od;
    skip
}
/* From ready to busy, or lost. */
inline make_busy(r)
{
    if
    :: SOLE_WORD(FIRST(r)) == t -> busy[OBJ(n, FIRST(r))] = 1; busied = busied | B(r)
    :: else -> lost_sole(r)
    fi
}
/* The owner's own doing: everybody may see its copy. */
inline share_own(r)
{
    publish_copy(t, r);
    fetching[OBJ(n, FIRST(r))] = 0;
    SOLE_WORD(FIRST(r)) = 0;
    busy[OBJ(n, FIRST(r))] = 0;
    lost_sole(r)
}
/* The step in which it was busy is over. */
inline sole_ready(r)
{
    if
    :: SOLE_WORD(FIRST(r)) == t -> busy[OBJ(n, FIRST(r))] = 0; busied = busied & ~B(r)
    :: else -> share_own(r)
    fi
}
/* Before it waits for another one's fetch; what it has read is taken again. */
inline share_fetched(r)
{
    h = 0;
    share_own(r);
    h = 0;
    do
    :: h < ACC -> if :: cell[AT(t, h)] / CPR == (r) && block[AT(t, h)] == blk && SHARED(kind[AT(t, h)]) -> seen[AT(t, h)] = NONE :: else fi; h++
    :: else -> break
    od;
    skip
}
/* Others wait for what has become of it. */
inline hand_over(r)
{
    writers[OBJ(n, FIRST(r))] = writers[OBJ(n, FIRST(r))] & ~B(t);
    if
    :: writers[OBJ(n, FIRST(r))] == 0 && !TAGGED(n, r) -> phase[OBJ(n, FIRST(r))] = OPEN; exclusive[OBJ(n, FIRST(r))] = 0
    :: else
    fi;
    if
    :: busied & B(r) ->
       h = 0;
       do
       :: h < ACC ->
          z = cell[AT(t, h)];
          y = CELL(n, z);
          if
          :: status[t] == DURABLE && SHARED(kind[AT(t, h)]) && z / CPR == (r) && seen[AT(t, h)] < SAME ->
             known[y] = 1;
             origin[y] = WRITES(kind[AT(t, h)]);
             base[y] = (WRITES(kind[AT(t, h)]) -> t : seen[AT(t, h)])
          :: else
          fi;
          h++
       :: else -> break
       od;
       fetching[OBJ(n, FIRST(r))] = 0
    :: else
    fi
}
inline sole_end(r)
{
    if
    :: SOLE_WORD(FIRST(r)) == 0 -> hand_over(r)
    :: else -> SOLE_WORD(FIRST(r)) = 0; busy[OBJ(n, FIRST(r))] = 0; writers[OBJ(n, FIRST(r))] = 0
    fi;
    if
    :: busied & B(r) ->
       h = 0;
       do
       :: h < CPR -> unapplied[t] = unapplied[t] & ~B(FIRST(r) + h); h++
       :: else -> break
       od
    :: else
    fi;
    alone = alone & ~B(r);
    busied = busied & ~B(r);
    unpin(r)
}

/* which: of the records in sole use those that it means to write. */
inline announced_alone()
{
    which = 0;
    i = 0;
    do
    :: i < NC / CPR -> if :: (alone & B(i)) && (writers[OBJ(n, FIRST(i))] & B(t)) -> which = which | B(i) :: else fi; i++
    :: else -> break
    od;
    i = 0
}
/* The cells of busy objects that carry its tags. */
inline alone_changes()
{
    i = 0;
    do
    :: i < ACC -> if :: (taken_tags & B(i)) && BUSY(cell[AT(t, i)]) -> alone_todo = alone_todo | B(cell[AT(t, i)]) :: else fi; i++
    :: else -> break
    od;
    taken_tags = 0;
    i = 0
}

/* A step for each of the records in `which`, when nobody is reading its copy. */
#define SOLE_STEP(which, r, step) :: atomic { ((which) & B(r)) && !sharing[OBJ(n, FIRST(r))] -> d_step { step(r) } }
#define EACH_SOLE(which, step) \
    do \
    SOLE_STEP(which, 0, step) SOLE_STEP(which, 1, step) SOLE_STEP(which, 2, step) SOLE_STEP(which, 3, step) \
    :: atomic { (which) == 0 -> break } \
    od
#endif

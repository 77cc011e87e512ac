/* tree_steps.pml - an attempt, and the works between two of them, step by step. */
/* ---- the way ---- */

/* Of those leaves, the last one whose low fence is not above the key. */
inline child_of(leaves, k)
{
    n = 0;
    i = 1;
    do
    :: i < LEAVES ->
       if
       :: (leaves) & BIT(i) && pool[i].low <= k && pool[i].low >= pool[n].low -> n = i
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0
}

inline begin()
{
    step = WALK;
    n = 0;
    c = 0;
    hops = 0;
    more = OK;
    if
    :: job == PROGRAM ->
       part = (low < high -> FIRST : INSERT);
       at = (low < high -> low : key);
       child_of(hints, at)
    :: else -> step = ROOT_READ
    fi
}
inline leave() /* an attempt or a work that cannot go on */
{
    if
    :: went == MEND && job != PROGRAM -> went = AGAIN /* it begins at the root in any case */
    :: else
    fi;
    if
    :: went != OK -> step = UNLOCK; done = 0
    :: else
    fi
}

/* ---- an attempt ---- */

inline part_next()
{
    hops = 0;
    c = 0;
    if
    :: part == FIRST && key < KEYS && (got == 0 || !(how & IF_EMPTY)) ->
       part = INSERT;
       at = key;
       child_of(hints, key);
       step = (guesses -> GUESS : WALK)
    :: part == INSERT && how & TWICE -> part = LAST; at = low; child_of(hints, low); step = WALK
    :: else -> n = 0; at = 0; step = V
    fi
}

/* A leaf's shape: this leaf, the next one, or none. */
inline walk()
{
    fetch(n, 0);
    if
    :: went == OK && !WITHOUT((part == INSERT -> tree_insert_blind : tree_shape_unread)) -> checked(n, SHAPE)
    :: else
    fi;
    if
    :: went == OK && at < MINE(n).low && !WITHOUT(tree_hint_trusted) -> went = MEND
    :: went == OK && at >= MINE(n).high && !WITHOUT(tree_hint_trusted) ->
       if
       :: hops == HOPS -> went = MEND
       :: else -> hops++; n = MINE(n).right
       fi
    :: went == OK && (WITHOUT(tree_hint_trusted) || (at >= MINE(n).low && at < MINE(n).high)) ->
       c = (at >= MINE(n).sep -> 1 : 0);
       hops = 0;
       step = (part == INSERT -> LOCK : CELL)
    :: else
    fi
}

inline cell_scan()
{
    fetch(n, c + 1);
    if
    :: went == OK && !(WITHOUT(tree_cell_unread) && MINE(n).data[c] == 0) -> checked(n, DATA(c))
    :: else
    fi;
    if
    :: went != OK -> skip
    :: else ->
       if
       :: part == FIRST ->
          shown_twice = shown_twice || (got & MINE(n).data[c] & RANGE(at, high));
          got = got | (MINE(n).data[c] & RANGE(at, high))
       :: else -> got_again = got_again | (MINE(n).data[c] & RANGE(at, high))
       fi;
       if
       :: c == 0 && MINE(n).sep < MINE(n).high && MINE(n).sep < high -> c = 1
       :: else ->
          at = MINE(n).high;
          if
          :: at >= high || WITHOUT(right_unfollowed) -> part_next()
          :: else -> n = MINE(n).right; c = 0; step = WALK
          fi
       fi
    fi
}

/* A run goes on at the end of its leaf. */
#define FOLLOWS (key > 0 && (MINE(n).data[0] | MINE(n).data[1]) & BIT(key) >> 1)
inline entry_add()
{
    lock(n, DATA(c));
    if
    :: went != OK -> skip
    :: went == OK && how & REMOVES ->
       contradicts = !(MINE(n).data[c] & BIT(key)); /* nobody else takes it out */
       MINE(n).data[c] = MINE(n).data[c] & ~BIT(key);
       put(n, DATA(c));
       part_next()
    :: went == OK && !(how & REMOVES) && MINE(n).data[c] == 0 ->
       MINE(n).data[c] = BIT(key);
       put(n, DATA(c));
       part_next()
    :: went == OK && !(how & REMOVES) && MINE(n).data[c] != 0 && FOLLOWS && MINE(n).sep < MINE(n).high -> went = SPLIT
    :: else -> step = ROOM
    fi
}
/* The next cell is taken into use; or the entries are shared out to both anew. */
inline room_make()
{
    lock(n, ALL);
    if
    :: went != OK -> skip
    :: went == OK && MINE(n).data[0] != 0 && MINE(n).data[1] != 0 -> went = SPLIT
    :: went == OK && MINE(n).sep < MINE(n).high && (MINE(n).data[0] == 0 || MINE(n).data[1] == 0) ->
       got_again = MINE(n).data[0] | MINE(n).data[1] | BIT(key);
       MINE(n).sep = KEY_OF(got_again & ~LEAST(got_again));
       MINE(n).data[0] = LEAST(got_again);
       MINE(n).data[1] = got_again & ~LEAST(got_again);
       got_again = 0;
       put(n, ALL);
       part_next()
    :: else ->
       if
       :: MINE(n).data[0] < BIT(key) -> MINE(n).sep = key; MINE(n).data[1] = BIT(key)
       :: else ->
          MINE(n).sep = KEY_OF(MINE(n).data[0]);
          MINE(n).data[1] = MINE(n).data[0];
          MINE(n).data[0] = BIT(key) | (WITHOUT(tree_open_kept) -> MINE(n).data[0] : 0)
       fi;
       put(n, ALL);
       part_next()
    fi
}

/* ---- works ---- */

inline root_read()
{
    fetch(ROOT, 1);
    if
    :: went == OK -> checked(ROOT, DATA(0)); child_of(MINE(ROOT).data[0], key); step = CHILD
    :: else
    fi
}
inline child_shape()
{
    fetch(n, 0);
    if
    :: went == OK ->
       if
       :: !(WITHOUT(post_unchecked) && key >= MINE(n).high) -> checked(n, SHAPE)
       :: else
       fi;
       if
       :: key >= MINE(n).high -> step = SIBLING
       :: key < MINE(n).high && job == MEND ->
          hints = MINE(ROOT).data[0];
          n = 0;
          step = UNLOCK;
          done = 1;
          more = PROGRAM
       :: key < MINE(n).high && job == SPLIT -> step = LEAF_CELLS; c = 0
       :: else ->
          if
          :: MINE(n).low == 0 -> n = 0; step = UNLOCK; done = 0; more = NONE /* given up */
          :: else -> right = n; child_of(MINE(ROOT).data[0], MINE(n).low - 1); step = ROOT_LOCK
          fi
       fi
    :: else
    fi
}
/* The right sibling has no entry in the root: it gets one. */
inline sibling_shape()
{
    right = MINE(n).right;
    fetch(right, 0);
    if
    :: went == OK ->
       if
       :: !WITHOUT(post_unchecked) -> checked(right, SHAPE)
       :: else
       fi;
       contradicts = MINE(right).low != MINE(n).high;
       posts = 1;
       step = ROOT_LOCK
    :: else
    fi
}
inline root_lock()
{
    lock(ROOT, DATA(0));
    if
    :: went != OK -> skip
    :: went == OK && !posts -> step = LEFT_LOCK
    :: else ->
       MINE(ROOT).data[0] = MINE(ROOT).data[0] | BIT(right);
       put(ROOT, DATA(0));
       more = job;
       step = V
    fi
}
inline leaf_cells()
{
    fetch(n, c + 1);
    if
    :: went == OK && !WITHOUT(split_cells_unread) -> checked(n, DATA(c))
    :: else
    fi;
    if
    :: went == OK && c == 0 -> c = 1
    :: went == OK && c == 1 ->
       if
       :: MINE(n).sep == MINE(n).high || MINE(n).data[(key >= MINE(n).sep -> 1 : 0)] == 0 ||
          (!FOLLOWS && (MINE(n).data[0] == 0 || MINE(n).data[1] == 0)) ->
          step = V; /* there is room */
          more = PROGRAM
       :: else -> step = LEAF_LOCK
       fi;
       c = 0
    :: else
    fi
}
inline number_draw()
{
    if
    :: WITHOUT(number_unlocked) -> fetch(META, 1)
    :: else -> lock(META, DATA(0))
    fi;
    if
    :: went != OK -> skip
    :: else ->
       right = MINE(META).data[0];
       assert(right < LEAVES);
       MINE(META).data[0]++;
       put(META, DATA(0));
       step = HALVES
    fi
}
/* The lowest entry stays, and the others go; what the attempt adds has its room. */
inline leaf_split()
{
    assert(!pool[right].there && pool[right].tag[0] == 0); /* a number names one node */
    pool[right].tag[0] = w + 1;
    pool[right].tag[1] = w + 1;
    pool[right].tag[2] = w + 1;
    got = MINE(n).data[0] | MINE(n).data[1];
    at = (got | BIT(key)) & ~LEAST(got | BIT(key));
    MINE(right).comes = 1;
    MINE(right).holds = ALL;
    put(right, ALL);
    MINE(right).low = KEY_OF(LEAST(at));
    MINE(right).high = MINE(n).high;
    MINE(right).right = MINE(n).right;
    MINE(right).sep = (at & ~LEAST(at) -> KEY_OF(at & ~LEAST(at)) : MINE(n).high);
    MINE(right).data[0] = got & LEAST(at);
    MINE(right).data[1] = got & at & ~LEAST(at);
    put(n, ALL);
    if
    :: WITHOUT(tree_fence_kept) -> skip
    :: else -> MINE(n).high = MINE(right).low
    fi;
    MINE(n).sep = MINE(n).high;
    MINE(n).right = right;
    MINE(n).data[0] = got & ~at;
    MINE(n).data[1] = 0;
    half = n;
    got = 0;
    at = 0;
    more = MEND;
    step = V
}
/* An empty leaf and its neighbour under the same parent: the left one gets all. */
inline leaves_join()
{
    lock(right, ALL);
    if
    :: went != OK -> skip
    :: else ->
       got = MINE(n).data[0] | MINE(n).data[1] | MINE(right).data[0] | MINE(right).data[1];
       at = got & ~LEAST(got); /* the second entry */
       if
       :: MINE(n).right != right || (at & ~LEAST(at)) != 0 ||
          ((MINE(n).data[0] | MINE(n).data[1]) != 0 && (MINE(right).data[0] | MINE(right).data[1]) != 0) ->
          step = UNLOCK;
          done = 0;
          more = NONE
       :: else ->
          MINE(n).high = MINE(right).high;
          MINE(n).right = MINE(right).right;
          MINE(n).sep = (at -> KEY_OF(at) : MINE(n).high);
          MINE(n).data[0] = got & ~at;
          MINE(n).data[1] = at;
          put(n, ALL);
          MINE(right).goes = 1;
          put(right, (WITHOUT(deletion_unseen) -> 0 : ALL));
          MINE(ROOT).data[0] = MINE(ROOT).data[0] & ~BIT(right);
          put(ROOT, DATA(0));
          more = NONE;
          step = V
       fi;
       got = 0;
       at = 0
    fi
}

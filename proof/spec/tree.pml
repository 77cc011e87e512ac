/*
 * tree.pml - an ordered index (docs/ordered.md): up to three workers scan ranges, put entries, split and join leaves,
 * and mend the way to them. Nodes are records with a shape cell and two data cells, each with a version and a tag; a
 * transaction locks what it writes, then checks what it has read (v), logs, applies, unlocks. Worker 0 may die at any
 * step, and is recovered while the others go on.
 *
 *     walk -> shape -> data cells ... -> lock a data cell -> put -> v -> check -> log -> apply -> unlock
 *     no way: mend    no room: split, then mend    -> the attempt again
 *
 * Keys are 0 .. 7, sets of them bit masks. A data cell has room for one entry. Leaf 0 begins at key 0, for ever; the
 * root is one data cell: which leaves have an entry in it.
 *
 * Always: who commits has seen at its serialization point (v) what was committed in its range, and its own entry. At
 * rest: leaves cover all keys without gap or overlap, each entry that was committed is in its data cell, and only
 * there; the root leads to leaves that are there, and what was added to it is there.
 */
#include "tree_state.pml"
#include "tree_steps.pml"

/* ---- commit ---- */

/* The transaction's point in the serial order, if it commits. */
inline serialize()
{
    saw_truth = job != PROGRAM || (got == (truth & RANGE(low, high)) && !shown_twice &&
        (part != LAST || got_again == (CHANGED_SET(truth) & RANGE(low, high))));
    i = 0;
    todo = 0;
    do
    :: i < RECORDS ->
       if
       :: MINE(i).checks -> todo = todo | BIT(i)
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0;
    step = CHECK
}
inline decide()
{
    assert(saw_truth);
    assert(!contradicts);
    logged[w] = (job == SPLIT && more == MEND && WITHOUT(split_in_two) && !logged[w] -> 1 : 2);
    done = 1;
    if
    :: job == PROGRAM ->
       committed = committed | BIT(w);
       truth = CHANGED_SET(truth)
    :: posts ->
       posted = posted | BIT(right);
       mended_of_dead = mended_of_dead || (w != 0 && dead && split_by == 1)
    :: job == TIDY && !posts -> joined = 1; posted = posted & ~BIT(right)
    :: else -> split_by = (more == MEND -> split_by | BIT(w) : split_by)
    fi;
    i = 0;
    do
    :: i < RECORDS ->
       if
       :: MINE(i).puts || MINE(i).goes -> todo = todo | BIT(i)
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0;
    if
    :: logged[w] == 1 -> todo = 0; step = DECIDE
    :: else -> step = APPLY
    fi
}

/* All is unlocked: what comes next. */
inline over()
{
    i = 0;
    do
    :: i < RECORDS ->
       MINE(i).low = 0;
       MINE(i).high = 0;
       MINE(i).right = 0;
       MINE(i).sep = 0;
       MINE(i).data[0] = 0;
       MINE(i).data[1] = 0;
       MINE(i).version[0] = 0;
       MINE(i).version[1] = 0;
       MINE(i).version[2] = 0;
       MINE(i).has = 0;
       MINE(i).checks = 0;
       MINE(i).holds = 0;
       MINE(i).puts = 0;
       MINE(i).comes = 0;
       MINE(i).goes = 0;
       i++
    :: else -> break
    od;
    i = 0;
    logged[w] = 0;
    got = 0;
    got_again = 0;
    right = 0;
    at = 0;
    todo = 0;
    saw_truth = 0;
    contradicts = 0;
    posts = 0;
    shown_twice = 0;
    patience--;
    if
    :: patience == 0 || more == NONE || (job == PROGRAM && done) -> step = END
    :: else ->
       job = (done -> more : (went == AGAIN -> job : went));
       begin()
    fi;
    went = OK;
    done = 0
}

#define ONE_OF(mask) \
    if \
    :: (mask) & 1 -> r = 0 \
    :: (mask) & 2 -> r = 1 \
    :: (mask) & 4 -> r = 2 \
    :: (mask) & 8 -> r = 3 \
    :: (mask) & 16 -> r = 4 \
    :: (mask) & 32 -> r = 5 \
    fi

/* Scans low .. high - 1 (nothing if they are equal), then adds `key`. */
proctype Worker(byte w, first_job, low, high, key, how; bit guesses; byte patience, hints)
{
    mtype step;
    byte job, went, more, part, n, c, r, i, at, hops, right, got, got_again, todo;
    bit done, saw_truth, contradicts, posts, shown_twice;
    {
        d_step { job = first_job; begin() };
        do
        :: d_step { step == WALK -> walk(); leave() }
        :: d_step { step == CELL -> cell_scan(); leave() }
        :: atomic { /* a cell is locked before the shape says that it is the right one */
               step == GUESS ->
               if
               :: true -> d_step { lock(n, DATA(0)) }
               :: true -> d_step { lock(n, DATA(1)) }
               :: skip
               fi;
               step = WALK;
               leave()
           }
        :: d_step { step == LOCK -> entry_add(); leave() }
        :: d_step { step == ROOM -> room_make(); leave() }
        :: d_step { step == ROOT_READ -> root_read(); leave() }
        :: d_step { step == CHILD -> child_shape(); leave() }
        :: d_step { step == SIBLING -> sibling_shape(); leave() }
        :: d_step { step == ROOT_LOCK -> root_lock(); leave() }
        :: d_step { step == LEAF_CELLS -> leaf_cells(); leave() }
        :: d_step {
               step == LEAF_LOCK -> lock(n, (WITHOUT(split_cells_unread) -> SHAPE : ALL));
               step = NUMBER;
               leave()
           }
        :: d_step { step == NUMBER -> number_draw(); leave() }
        :: d_step { step == HALVES -> leaf_split() }
        :: d_step {
               step == LEFT_LOCK -> lock(n, ALL);
               step = RIGHT_LOCK;
               leave()
           }
        :: d_step {
               step == RIGHT_LOCK -> leaves_join();
               leave()
           }
        :: d_step { step == V -> serialize() }
        :: atomic {
               step == CHECK && todo ->
               ONE_OF(todo);
               d_step { todo = todo & ~BIT(r); check(r); r = 0; leave() }
           }
        :: d_step { step == CHECK && !todo -> step = DECIDE }
        :: d_step { step == DECIDE -> decide() }
        :: atomic {
               step == APPLY && todo ->
               ONE_OF(todo);
               d_step { todo = todo & ~BIT(r); write(r); r = 0 }
           }
        :: d_step { step == APPLY && !todo -> step = UNLOCK }
        :: d_step {
               step == UNLOCK ->
               r = 0;
               do
               :: r < RECORDS && MINE(r).holds == 0 -> r++
               :: else -> break
               od;
               if
               :: r < RECORDS -> untag(r); MINE(r).holds = 0
               :: else -> over()
               fi;
               r = 0
           }
        :: step == END -> break
        od
    } unless { dead && w == 0 }
}

#define TAGGED(r) (pool[r].tag[0] == 1 || pool[r].tag[1] == 1 || pool[r].tag[2] == 1)
/* Worker 0 dies, or not: what its log has is written wherever its tags are still; then its tags go. */
proctype Death()
{
    byte w, r, i;
    bit last; /* the second of two rounds */
    if
    :: skip
    :: dead = 1;
       do
       :: d_step {
              r < RECORDS ->
              if
              :: last != WITHOUT(recover_tags_first) -> untag(r)
              :: else ->
                 if
                 :: (logged[0] == 2 || (logged[0] == 1 && r == half)) && (MINE(r).puts || MINE(r).goes) &&
                    (WITHOUT(recover_tags_first) || TAGGED(r)) -> write(r)
                 :: else
                 fi
              fi;
              r++
          }
       :: d_step { r == RECORDS && !last -> last = 1; r = 0 }
       :: r == RECORDS && last -> break
       od
    fi
}

inline at_rest()
{
    do
    :: n != NONE ->
       assert(pool[n].there && pool[n].low == at && pool[n].high > at);
       assert(pool[n].data[0] == (pool[n].data[0] & RANGE(pool[n].low, pool[n].sep)));
       assert(pool[n].data[1] == (pool[n].data[1] & RANGE(pool[n].sep, pool[n].high)));
       all = all | pool[n].data[0] | pool[n].data[1];
       chain = chain | BIT(n);
       at = pool[n].high;
       n = pool[n].right
    :: else -> break
    od;
    assert(at == KEYS);
    assert(all == truth);
    assert((pool[ROOT].data[0] & ~chain) == 0); /* who is missing there is found by going right */
    assert((posted & ~pool[ROOT].data[0]) == 0);
    n = 0;
    do
    :: n < RECORDS ->
       assert(pool[n].tag[0] == 0 && pool[n].tag[1] == 0 && pool[n].tag[2] == 0);
       assert(n >= LEAVES || !pool[n].there || (chain & BIT(n)));
       n++
    :: else -> break
    od
}

inline leaf(r, from, end, to, separator, lower, upper)
{
    pool[r].there = 1;
    pool[r].low = from;
    pool[r].high = end;
    pool[r].right = to;
    pool[r].sep = separator;
    pool[r].data[0] = lower;
    pool[r].data[1] = upper;
    truth = truth | lower | upper;
    posted = posted | BIT(r)
}

init
{
    byte template, with, n, at, all, chain;
    bit guesses;
    byte tries = 5;
    atomic {
        c_code { now.removed = atoi(getenv("REMOVED")); };
        c_code { now.reached = getenv("REACHED") ? atoi(getenv("REACHED")) : 0; };
        c_code { Pinit->template = atoi(getenv("TEMPLATE")); Pinit->with = atoi(getenv("ON_FIRST")); };
        c_code { Pinit->guesses = getenv("GUESSES") != NULL; };
        c_code { if (getenv("TRIES")) Pinit->tries = atoi(getenv("TRIES")); };
        pool[ROOT].there = 1;
        pool[META].there = 1;
        if
        :: template == 1 -> /* the gap between two leaves */
           leaf(0, 0, 4, 1, 2, BIT(1), 0);
           leaf(1, 4, KEYS, NONE, 6, 0, BIT(6));
           run Worker(0, PROGRAM, 3, 5, 3, IF_EMPTY, guesses, tries, 3);
           run Worker(1, PROGRAM, 3, 5, 4, IF_EMPTY, guesses, tries, 3)
        :: template == 2 -> /* ... and a split of the first one */
           leaf(0, 0, 4, 1, 2, BIT(1), BIT(2));
           leaf(1, 4, KEYS, NONE, 6, 0, BIT(6));
           run Worker(0, PROGRAM, 0, 0, 3, 0, guesses, tries, 3);
           run Worker(1, PROGRAM, 3, 5, 4, IF_EMPTY, guesses, tries, 3)
        :: template == 3 -> /* two splits of one parent */
           leaf(0, 0, 4, 1, 2, BIT(1), BIT(2));
           leaf(1, 4, KEYS, NONE, 6, BIT(4), BIT(6));
           run Worker(0, PROGRAM, 3, 6, 3, 0, guesses, tries, 3);
           run Worker(1, PROGRAM, 2, 6, 5, 0, guesses, tries, 3)
        :: template == 4 -> /* own entries, and cells that are read and then locked */
           leaf(0, 0, 4, 1, 2, BIT(1), BIT(2));
           leaf(1, 4, KEYS, NONE, 6, 0, BIT(6));
           run Worker(0, PROGRAM, 2, 5, 3, TWICE, guesses, tries, 3);
           run Worker(1, PROGRAM, 1, 4, 2, TWICE | REMOVES, guesses, tries, 3)
        :: template == 5 -> /* a cell is taken into use */
           leaf(0, 0, 4, 1, 4, BIT(2), 0);
           leaf(1, 4, KEYS, NONE, 6, 0, BIT(6));
           run Worker(0, PROGRAM, 0, 0, 1, 0, guesses, tries, 3);
           run Worker(1, PROGRAM, 1, 4, 3, 0, guesses, tries, 3)
        :: template == 6 -> /* two leaves are joined */
           leaf(0, 0, 4, 1, 2, 0, 0);
           leaf(1, 4, KEYS, NONE, 6, 0, 0);
           run Worker(0, TIDY, 0, 0, 4, 0, 0, tries, 3);
           run Worker(1, PROGRAM, 4, 6, 3, IF_EMPTY, guesses, tries, 3);
           run Worker(2, PROGRAM, 3, 4, 4, IF_EMPTY, guesses, 3, 3)
        :: template == 7 -> /* one leaf, split and split again */
           leaf(0, 0, KEYS, NONE, 3, BIT(1), BIT(3));
           run Worker(0, PROGRAM, 0, 0, 5, 0, guesses, tries, 1);
           run Worker(1, PROGRAM, 3, 6, 4, 0, guesses, tries + 2, 1)
        :: template == 8 -> /* an entry comes beside a split */
           leaf(0, 0, KEYS, NONE, 4, BIT(1), 0);
           run Worker(0, PROGRAM, 0, 0, 2, 0, guesses, tries, 1);
           run Worker(1, PROGRAM, 4, 7, 5, IF_EMPTY, guesses, tries, 1)
        :: template == 9 -> /* the right leaf has no entry in the root; it gets one twice, and is joined */
           leaf(0, 0, 2, 1, 2, BIT(1), 0);
           leaf(1, 2, KEYS, NONE, 4, 0, 0);
           posted = 1;
           run Worker(0, TIDY, 0, 0, 4, 0, 0, tries, 1);
           run Worker(1, TIDY, 0, 0, 4, 0, 0, tries, 1);
           run Worker(2, PROGRAM, 2, 5, 3, IF_EMPTY, guesses, 2, 1)
        fi;
        pool[ROOT].data[0] = posted;
        pool[META].data[0] = (template == 7 || template == 8 -> 1 : 2);
        if
        :: with & 1 -> run Worker(2, PROGRAM, 2, 6, KEYS, 0, 0, 3, posted) /* a reader */
        :: else
        fi;
        if
        :: with & 2 -> run Death()
        :: else
        fi
    };
    atomic {
        _nr_pr == 1 ->
        d_step { at_rest() };
        assert(!(reached == 1 && committed == 3 && !dead));
        assert(!(reached == 2 && mended_of_dead));
        assert(!(reached == 3 && joined && committed))
    }
}

/* commit_judge.pml - what is run, and what must hold in the end. */
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
#ifdef HOT
        c_code {
            now.hot_locks = getenv("LOCKS") ? atoi(getenv("LOCKS")) : 1;
            now.cold = getenv("COLD") ? atoi(getenv("COLD")) : 0;
            now.gives_up = getenv("GIVES_UP") != NULL;
            now.readers = getenv("READERS") != NULL;
        };
#endif
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
#ifdef HOT
        if :: hot_locks & 1 -> run Keeper(0, 0) :: else fi;
        if :: hot_locks & 2 -> run Keeper(0, 1) :: else fi;
        if :: hot_locks & 1 -> run Keeper(1, 0) :: else fi;
        if :: hot_locks & 2 -> run Keeper(1, 1) :: else fi;
        run Heat();
#ifdef CRASH
        living_keepers = NT + 1 + (hot_locks == 3 -> 2 : 1);
        run Death();
        run Reset();
#endif
#endif
#ifdef CRASH
        run Recovery();
        run Watch();
#endif
        q = 0
    };
    atomic {
#ifdef CRASH
        ended == (2 << NT) - 2 && recovered HOT_ONLY(&& ALL_REST) ->
#else
        ended == (2 << NT) - 2 HOT_ONLY(&& ALL_REST) ->
#endif
        d_step {
            judge();
            q = 0;
            do
            :: q < 2 * NC ->
               if
               :: !OUT(q / NC) ->
                  assert(writers[q] == 0 && !fetching[q] && phase[q] == OPEN && !exclusive[q] && !tagged[q]);
                  assert(pins[q] == 0 && chain[q] == 0 && !bucket_claim[q]);
                  SOLE_ONLY(assert(!sole[q] && !busy[q] && !sharing[q]))
               :: else
               fi;
               q++
            :: else -> break
            od;
            HOT_ONLY(assert((FIRST_IN(0) == 0 || DEAD(FIRST_IN(0) - 1)) && (FIRST_IN(1) == 0 || DEAD(FIRST_IN(1) - 1)) && !SECOND_IN(0) && !SECOND_IN(1)););
            q = 0
        };
#ifdef CRASH
        judged = 1;
#endif
        assert(!(all_commit && acked == (2 << NT) - 2)) /* can they all? */
    }
}

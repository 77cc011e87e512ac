/*
 * commit_recover.pml - CN 0 of commit.pml is fenced at some moment, and recovered while CN 1 goes on: fence, read and
 * decide (what counts), redo in TS order, change by change, scrub, free. What happens within one change, and to the
 * recoverer, is in recover.pml.
 */
byte survivors;
bit judged;

/* x: its entry counts or is below the watermark: so does all that it rests on. */
inline decide()
{
    survivors = 0;
    h = 1;
    do
    :: h <= on_first -> if :: (placed & B(h)) && !(erased & B(h)) -> survivors = survivors | B(h) :: else fi; h++
    :: else -> break
    od;
    k = 0;
    do
    :: k < NT ->
       h = 1;
       do
       :: h <= on_first ->
          x = log_deps[h] & ~survivors & ~(WITHOUT(recover_watermark_ignored) -> 0 : below_watermark);
          if :: (survivors & B(h)) && x && !(below_watermark & B(h)) && !WITHOUT(recover_deps_ignored) -> survivors = survivors & ~B(h) :: else fi;
          h++
       :: else -> break
       od;
       k++
    :: else -> break
    od;
    due = survivors & ~below_watermark;
    survivors = survivors | erased
}
inline judge_survivors()
{
    h = 1;
    do
    :: h <= on_first ->
       if
       :: acked & B(h) -> assert(survivors & B(h)) /* acknowledged: survives */
       :: else
       fi;
       if
       :: survivors & B(h) -> assert((log_deps[h] & ~survivors) == 0) /* and rests on survivors */
       :: else
       fi;
       h++
    :: else -> break
    od
}
/* x: the due entry with the least TS; 0: none is left. */
inline least()
{
    x = 0;
    h = 1;
    do
    :: h <= on_first -> if :: (due & B(h)) && (x == 0 || ts[h] < ts[x]) -> x = h :: else fi; h++
    :: else -> break
    od
}
inline redo(c)
{
    h = 0;
    do
    :: h < ACC ->
       if
       :: cell[AT(who, h)] == c && kind[AT(who, h)] > R && kind[AT(who, h)] < L ->
          if
          :: (tag[c] == 1 || (kind[AT(who, h)] == I && tag[BUCKET(c)] == 1)) && (ts[who] > ts[val[c]] || WITHOUT(recover_ts_ignored)) ->
             val[c] = who
          :: else
          fi
       :: else
       fi;
       h++
    :: else -> break
    od
}
inline scrub(c) { if :: tag[c] == 1 -> tag[c] = 0 :: else fi }

proctype Recovery()
{
    byte who, due, at;
    atomic {
        HOT_ONLY(died && (met || (ended | OF_CN(0)) == (2 << NT) - 2) ->)
        fenced = !WITHOUT(recover_unfenced); /* from here on nothing of CN 0 has an effect */
        stopped = 1;
        ended = ended | (WITHOUT(recover_unfenced) -> 0 : (2 << on_first) - 2);
        d_step { decide(); judge_survivors() }
    };
    if
    :: WITHOUT(recover_tags_first) ->
       do
       :: atomic { at < NC -> d_step { scrub(at); at++ } }
       :: at == NC -> break
       od;
       at = 0
    :: else
    fi;
    do
    :: atomic {
           who == 0 && due != 0 -> d_step { least(); who = x; due = due & ~B(x); at = NC }
       }
    :: atomic { /* records before the bucket that leads to them */
           who != 0 -> d_step {
               at--;
               redo(NC - 1 - at);
               if :: at == 0 -> who = 0 :: else fi
           }
       }
    :: who == 0 && due == 0 -> break
    od;
    at = 0;
    HOT_ONLY(redone = 1;)
    do
    :: atomic { at < NC -> d_step { scrub(at); at++ } }
    :: at == NC -> break
    od;
    recovered = 1
}

/* A fenced node's transactions stop anywhere; if nothing else can go on either, all must be over. */
proctype Watch() { atomic { timeout -> assert(judged) } }

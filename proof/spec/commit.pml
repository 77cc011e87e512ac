/*
 * commit.pml - transactions in mode `crest`, step by step as engine/modes/crest/crest_*.c execute them, over two
 * compute nodes (CN): 1..on_first run on CN 0, the others on CN 1. With -DCRASH, CN 0 is fenced at any moment and
 * recovered, while CN 1 goes on.
 *
 *     join -> claim -> fetch -> publish -> take, block_end -> ... -> serialize: v, check -> validate -> committable ->
 *     placed -> durable
 *          -> leave -> apply -> applied          and, without effect:  take_back, release
 *
 * One step is one verb at a memory node, or one critical section under a slot's lock. A version is named by its writer
 * (0: the first one), so "same epoch number" is "same version". A record has CPR cells; an index bucket is a cell that
 * transactions change with B and look at with L.
 *
 * At the end: no cycle of dependencies, nothing aborted was read, the pool holds the last versions, no tag,
 * announcement, claim or fetch is left, nobody waits for ever. At the crash: what was acknowledged survives, and what
 * survives rests on survivors only.
 *
 * `template` chooses the transactions, 0: any. `removed` takes one rule away.
 */
#include "commit_state.pml"
#define FIRST(r) ((r)*CPR)
#define TAGGED(n, r) (tagged[CELL(n, FIRST(r))] || tagged[CELL(n, FIRST(r) + CPR - 1)])
#include "commit_sole.pml"
#include "commit_hot.pml"
#include "commit_execute.pml"
#include "commit_decide.pml"
#include "commit_leave.pml"

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
       SOLE_ONLY(if
       :: BUSY(cell[AT(t, i)]) ->
          sole[k] = 0;
          busy[k] = 0;
          alone = alone & ~B(cell[AT(t, i)] / CPR);
          busied = busied & ~B(cell[AT(t, i)] / CPR)
       :: else
       fi;)
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
    SOLE_ONLY(behind = 0;)
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
          :: !ALONE(cell[AT(t, i)]) && ((seen[AT(t, i)] == NONE && !z && !known[CELL(n, cell[AT(t, i)])]) || WANTS_LOCK(i)) -> result = 1
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
#ifdef HOT
#define ALLOWED provided(!(died && _pid <= on_first))
#else
#define ALLOWED provided(!(fenced && _pid <= on_first))
#endif
#else
#define ALLOWED
#endif
proctype Txn(byte t) ALLOWED
{
    byte n, i, blk, result, fetch, lock, taken_tags, claimed, others, check, mine, todo, inserts, untagged, before, bucket_claims;
#ifdef SOLE
    byte alone, busied, alone_todo, which; /* records: in sole use, as far as it knows; of these, busy; cells and records of a step */
    bit any_shared;
    bit stays; /* past v, and nobody has been told anything: all it has is in sole use and busy */
    byte behind; /* fetched behind tags of this CN, which stay while it is announced */
#endif
    HOT_ONLY(byte want; byte want_writing; byte used; byte number;) /* locks: of this block, those that it has entered, the one it waits for */
    {
        atomic { n = CN(t); d_step { look_back(); i = 0; seek(JOINS(i)) } };
        HOT_ONLY(enter_locks();)
join_again:
        do
        :: i == ACC -> break
#ifdef SOLE
        :: atomic { /* it has it alone: of this block, or of an earlier one, which it gives up */
               i < ACC && ALONE(cell[AT(t, i)]) && !sharing[OBJ(n, cell[AT(t, i)])] ->
               if
               :: BUSY(cell[AT(t, i)]) -> d_step { i++; seek(JOINS(i)) }
               :: else -> d_step { if :: SOLE_WORD(cell[AT(t, i)]) == t -> share_own(cell[AT(t, i)] / CPR) :: else -> lost_sole(cell[AT(t, i)] / CPR) fi }
               fi
           }
        :: atomic {
               i < ACC && !ALONE(cell[AT(t, i)]) && pins[OBJ(n, cell[AT(t, i)])] == 0 && kind[AT(t, i)] != D ->
               d_step { join_alone(i); i++; seek(JOINS(i)) }
           }
        :: atomic { /* another one has it alone: its copy is made the object's */
               i < ACC && !ALONE(cell[AT(t, i)]) && SOLE_WORD(cell[AT(t, i)]) != 0 && !sharing[OBJ(n, cell[AT(t, i)])] ->
               pins[OBJ(n, cell[AT(t, i)])] = pins[OBJ(n, cell[AT(t, i)])] | B(t);
               sharing[OBJ(n, cell[AT(t, i)])] = 1
           };
           d_step {
               if
               :: busy[OBJ(n, cell[AT(t, i)])] -> fetching[OBJ(n, cell[AT(t, i)])] = 1
               :: else -> publish_copy(SOLE_WORD(cell[AT(t, i)]), cell[AT(t, i)] / CPR)
               fi
           };
           atomic { /* and on under the same lock */
               SOLE_WORD(cell[AT(t, i)]) = 0;
               busy[OBJ(n, cell[AT(t, i)])] = 0;
               sharing[OBJ(n, cell[AT(t, i)])] = 0;
               goto join_shared
           }
        :: atomic {
               i < ACC && !ALONE(cell[AT(t, i)]) && SOLE_WORD(cell[AT(t, i)]) == 0 &&
               !(pins[OBJ(n, cell[AT(t, i)])] == 0 && kind[AT(t, i)] != D) ->
join_shared:
               skip;
#else
        :: atomic {
               i < ACC ->
#endif
               d_step { join(i) };
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
        SOLE_ONLY(EACH_SOLE(busied, sole_end);) /* take_back */
        leave_all();
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
               :: BARRED(i) || (tag[cell[AT(t, i)]] != 0 && MUST_CLEAR(i) SOLE_ONLY(&& !(behind & B(i)))) -> /* for the lock, or for a read of what somebody changes */
                  HOT_ONLY(d_step { meet_tag(i) };)
                  goto release
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
            SOLE_ONLY(!sharing[OBJ(n, cell[AT(t, i)])] ->)
            if
            :: tag[BUCKET(cell[AT(t, i)])] != 0 -> goto release
            :: else -> d_step { absent_read(i) }
            fi;
            if :: result -> goto release :: else -> d_step { i++; seek(fetch & B(i)) } fi;
            /* templates have one keyed record for each transaction: what is left are others' */
        };
        do
        :: i == ACC -> break
        :: atomic { i < ACC -> if :: BARRED(i) || tag[cell[AT(t, i)]] != 0 SOLE_ONLY(&& !(behind & B(i))) -> goto release :: else -> d_step { record_read(i); i++; seek(fetch & B(i)) } fi }
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
        SOLE_ONLY(if
        :: others && !WITHOUT(crest_sole_waits) -> EACH_SOLE(busied, share_fetched)
        :: else
        fi;)
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
            :: result == 0 -> skip
            fi;
#ifdef SOLE
        };
        if
        :: EACH_SOLE(busied, sole_ready)
        :: (blk == 1 || ONE_BLOCK) && !waits[t] -> skip /* it waits for nobody, and goes to v at once */
        fi;
        atomic {
            if :: blk == 0 && exec_ts[t] == 0 -> exec_next[n]++; exec_ts[t] = exec_next[n] :: else fi;
#endif
            blk++;
            d_step { look_back(); i = 0; seek(JOINS(i)) };
            if :: blk < 2 -> goto BLOCK_BEGIN :: else -> before = 0; i = 0 fi;
            if
            :: skip
            :: user_aborts -> goto release
            fi
        };
        atomic {
            WAITS_DECIDED(t) || WITHOUT(crest_decided_unawaited) ->
            if :: WAITS_LOST(t) -> goto release :: else fi;
            SOLE_ONLY(if :: (KEEPS(0) && KEEPS(1) && KEEPS(2) && busied) || WITHOUT(crest_shared_silent) -> stays = 1 :: skip fi;)
            status[t] = (STAYS -> EXECUTING : VALIDATING); /* v */
            d_step { i = 0; seek(CHECKS(i)) }
        };
        do
        :: i == ACC -> break
        :: atomic { i < ACC SOLE_ONLY(&& !(BUSY(cell[AT(t, i)]) && sharing[OBJ(n, cell[AT(t, i)])])) -> d_step { check_held(i); i++; seek(CHECKS(i)) }; if :: result -> goto release :: else fi }
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
        SOLE_ONLY(EACH_SOLE(alone & ~busied, make_busy);) /* or it is shared, and its versions are taken back with the others */
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
#ifdef SOLE
        if
        :: stays && status[t] == DURABLE -> EACH_SOLE(busied, sole_ready) /* somebody has come */
        :: skip
        fi;
        stays = 0;
        atomic { d_step { announced_alone() } };
        if
        :: WITHOUT(sole_left_ready) -> busied = busied | which
        :: else -> EACH_SOLE(which & alone & ~busied, make_busy)
        fi;
#endif
        HOT_ONLY(if :: WITHOUT(hot_untag_late) -> leave_locks() :: else fi;)
        leave_all();
        SOLE_ONLY(atomic { d_step { which = 0; alone_changes() } };)
        apply_all();
        SOLE_ONLY(EACH_SOLE(alone, sole_end);)
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
        HOT_ONLY(leave_locks();)
        ended = ended | B(t);
        goto done;
lost:
        HOT_ONLY(leave_locks();)
        atomic { status[t] = LOST; ended = ended | B(t) };
done:
        skip
    }
}

#ifdef CRASH
#include "commit_recover.pml"
#endif

#include "commit_judge.pml"

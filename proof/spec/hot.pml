/*
 * hot.pml - the hand-over of a hot record between two compute nodes (engine/modes/hot/hot*.c), with what of the commit
 * rules it rests on: the tag, HOT, one fetcher for a node, the last writer's apply and untag. Two transactions on each
 * node; each reads the newest version and puts the next one.
 *
 * A step is one verb's effect or one section under a lock. DecLock is its promise: first come, first served, by node
 * (declock.pml has how). The template says who is cold: transactions of that bit do not know at first that the record
 * is hot. The template's bit 4: waiters may give up.
 *
 * Always: no update is lost, whatever the queue does (INV-HOT-1); a lock is released without users (INV-HOT-2), and who
 * has it meets no tag but those of cold ones. At the end: nobody is stuck, the tag is clear, the queue empty
 * (INV-HOT-5).
 */
#define CNS 2
#define TXNS 4
#define CN(t) (t / 2)

byte removed, template;
#define WITHOUT(rule) (removed == rule)
#define hot_given_early 1      /* released while somebody uses it */
#define hot_keeper_uncalled 2  /* the last user does not tell the keeper */
#define hot_unwanted_kept 3    /* granted when nobody wants it any more: kept */
#define hot_grant_untold 4     /* waiters are not told of the grant */
#define hot_untag_late 5       /* leaves the lock before its apply */
#define hot_lock_only 6        /* who has the lock does without the tag */
#define GIVES_UP (template & 16)

#define IDLE 0
#define WANTED 1
#define OPEN 2
#define CLOSING 3
#define RELEASING 4

/* the memory node */
byte tag;     /* 1 + node */
bit hot = 1;
byte version; /* as applied */
byte queue[CNS], queued; /* nodes in DecLock's queue; the first has the lock */
/* of each node */
byte state[CNS], users[CNS], waiting[CNS], writers[CNS], newest[CNS];
bit held[CNS], fetching[CNS], applying[CNS], called[CNS], told[TXNS], under[TXNS];
byte cold_writers, done, committed;

inline leave_lock(t)
{
    atomic {
        if
        :: under[t] ->
           under[t] = 0;
           users[CN(t)]--;
           if :: users[CN(t)] == 0 && !WITHOUT(hot_keeper_uncalled) -> called[CN(t)] = 1 :: else fi
        :: else
        fi
    }
}

proctype transaction(byte t)
{
    bit cold = (template >> t) & 1;
    byte read;
again:
    if
    :: cold
    :: !cold ->
       atomic { waiting[CN(t)]++; told[t] = 0; if :: state[CN(t)] == IDLE -> state[CN(t)] = WANTED :: else fi };
       do
       :: atomic { state[CN(t)] == OPEN && (told[t] || !WITHOUT(hot_grant_untold)) ->
                   waiting[CN(t)]--; users[CN(t)]++; under[t] = 1; break }
       :: atomic { GIVES_UP && state[CN(t)] != OPEN -> waiting[CN(t)]--; goto over }
       od
    fi;
    /* join: not while an apply is posted */
    atomic { !applying[CN(t)] -> writers[CN(t)]++; if :: cold -> cold_writers++ :: else fi };
fetch:
    if
    :: atomic { held[CN(t)] -> skip }
    :: atomic { !held[CN(t)] && !fetching[CN(t)] -> fetching[CN(t)] = 1 };
       atomic {
           if
           :: WITHOUT(hot_lock_only) && under[t] -> tag = CN(t) + 1; held[CN(t)] = 1; newest[CN(t)] = version
           :: !(WITHOUT(hot_lock_only) && under[t]) && tag == 0 && !(cold && hot) ->
              tag = CN(t) + 1; held[CN(t)] = 1; newest[CN(t)] = version
           :: else -> /* aborts: what it has announced goes, the lock with it */
              assert(!under[t] || tag == 0 || cold_writers > 0);
              fetching[CN(t)] = 0;
              writers[CN(t)]--;
              if :: cold -> cold_writers-- :: else fi;
              if :: cold && hot -> cold = 0 :: else fi;
              goto aborted
           fi;
           fetching[CN(t)] = 0
       }
    fi;
    /* block: read and put in one step; v, log: decided here */
    atomic { read = newest[CN(t)]; newest[CN(t)] = read + 1; committed++ };
    if :: WITHOUT(hot_untag_late) -> leave_lock(t) :: else fi;
    /* leave: the last writer applies, then clears the tag */
    atomic {
        writers[CN(t)]--;
        if
        :: writers[CN(t)] == 0 -> applying[CN(t)] = 1; held[CN(t)] = 0
        :: else -> if :: cold -> cold_writers-- :: else fi; goto left
        fi
    };
    atomic { version = newest[CN(t)] };
    atomic { tag = 0; applying[CN(t)] = 0; if :: cold -> cold_writers-- :: else fi };
left:
    leave_lock(t);
    goto over;
aborted:
    leave_lock(t);
    goto again;
over:
    done++
}

proctype keeper(byte n)
{
end:
    do
    :: atomic { state[n] == WANTED -> queue[queued] = n; queued++ };
       atomic { queue[0] == n && queued > 0 -> state[n] = OPEN; called[n] = 0; told[2 * n] = 1; told[2 * n + 1] = 1 };
endhold:
       do
       :: atomic { state[n] == OPEN && queued > 1 -> state[n] = CLOSING }
       :: atomic { WITHOUT(hot_given_early) && state[n] == CLOSING -> assert(users[n] == 0); state[n] = RELEASING; break }
       :: atomic { users[n] == 0 && (called[n] || state[n] == CLOSING || waiting[n] == 0) &&
                   (!WITHOUT(hot_keeper_uncalled) || called[n]) && (state[n] == CLOSING || waiting[n] == 0) &&
                   !(WITHOUT(hot_unwanted_kept) && state[n] == OPEN) -> state[n] = RELEASING; break }
       od;
       atomic { queue[0] = queue[1]; queued--; if :: waiting[n] > 0 -> state[n] = WANTED :: else -> state[n] = IDLE fi }
    od
}

init
{
    atomic {
        c_code { now.removed = atoi(getenv("REMOVED")); now.template = atoi(getenv("TEMPLATE")); };
        skip
    };
    atomic { run transaction(0); run transaction(1); run transaction(2); run transaction(3); run keeper(0); run keeper(1) };
    done == TXNS;
    (queued == 0);
    assert(tag == 0);
    assert(version == committed)
}

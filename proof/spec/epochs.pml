/*
 * epochs.pml - durable epochs of two memory nodes with a checkpoint each, power loss at any step, recovery, and a
 * second power loss in the life after it (docs/durability.md).
 *
 * Transaction 0 writes a on node 0 and b on node 1; its log ring is on node 0. Transaction 1 reads a and writes c on
 * node 1, where its ring is; in scenario 0 its worker joins at any time. Each node has an agent, which closes epochs and
 * syncs what it has taken out of the ring that it holds. In scenario 1 each makes a checkpoint of its bytes, in place of
 * the empty one that it has. A clock moves the epoch on.
 *
 * After each power loss: what was acknowledged is there; transaction 0 is there whole or not at all; what transaction 1
 * has read is there if it is; and what the first recovery has found is what the second one finds.
 */
byte last_epoch = 2; /* as far as the clock goes; or EPOCHS */
#define ABSENT 255 /* the bound of a worker that a node does not know: it bars nothing */

byte removed;
bit checkpoints; /* scenario 1; scenario 0 has none, and each step of workers and their bounds for itself */
bit reached; /* with REACHED=1: a counterexample shows that all can happen */
#define WITHOUT(rule) (removed == rule)
#define epoch_cached 1             /* the epoch is read before the last fetch */
#define epoch_flag_late 2          /* in flight only after the READ of the epoch */
#define epoch_bound_late 3         /* the bound is read after the test of what is in flight */
#define epoch_join_late 4          /* a worker's first READ comes before nodes know the worker */
#define epoch_at_word 5            /* a node closes the epoch that the word names */
#define epoch_bound_ignored 6      /* ... whatever is in flight */
#define epoch_walk_first 7         /* a node takes entries out of its ring before it looks at the bounds */
#define epoch_one_node 8           /* acknowledged when the ring's own node has synced */
#define epoch_unsynced 9           /* a node publishes the epoch before the sync */
#define cut_own 10                 /* each node restores as far as it has synced itself */
#define checkpoint_early 11        /* a checkpoint counts though effects in it are beyond the cut */
#define checkpoint_last_first 12   /* its last epoch is read before the copying */
#define checkpoint_other_life 13   /* a checkpoint of an earlier life is judged by the cut of this one */
#define log_freed_early 14         /* entries are freed before both checkpoints count */
#define log_freed_own 15           /* ... when that of the ring's node counts */
#define log_freed_applied 16       /* ... though they were applied after a checkpoint had begun */
#define generation_unsynced 17     /* the cut is not synced before going on */
#define generation_one_node 18     /* ... on one node only */

byte life = 1;     /* 2: after the first power loss */
byte word = 1;     /* the global epoch */
byte bound[2];     /* of a worker, written to both nodes: no entry of an epoch below it will come */
bit flying[2];     /* the worker has a transaction in flight */
byte epoch[2];     /* of the transactions; 0: not read yet */
bit saw;           /* transaction 1 has read a's new value */
bit placed[2];     /* the entry is in its ring */
bit a;             /* node 0's bytes */
bit applied[2];    /* the nodes' bytes have all that the transaction wrote; its watermark */
#define b applied[0] /* ... node 1's */
#define c applied[1]
bit acked[2];

byte published[2]; /* what a node says to have synced */
byte durable[2];   /* what its disk has: closed up to this epoch */
bit logged[2];     /* its disk has the entry of the ring it holds */
bit freed[2];      /* ... had it */
bit file[2];       /* its disk has a checkpoint: */
byte last[2];      /* ... whose effects are of this epoch or an earlier one */
bit has_a, has_b, has_c;
bit began_applied[4]; /* ... transaction t was applied when node m's began, 2 * t + m */

byte cut;          /* of life 1, once power was lost */
bit synced_cut[2]; /* the node's disk has it */
bit found_a, found_c;
byte was[2];

#define LEAST(x, y) (x < y -> x : y)
#define ALL_DURABLE(e) (published[0] >= e && published[1] >= e)
#define BEYOND(w, e) (checkpoints -> (!flying[w] || epoch[w] > e) : bound[w] > e)
#define ALL_BEYOND(e) ((BEYOND(0, e) && BEYOND(1, e)) || WITHOUT(epoch_bound_ignored))
#define MAY_CLOSE(e) (e < word || (WITHOUT(epoch_at_word) && e == word))

/* With checkpoints: what scenario 0 goes through step by step is one step here. */
inline run_at_once(w)
{
    atomic { saw = (w == 1 && applied[0]); flying[w] = 1; epoch[w] = word };
    atomic { placed[w] = 1; flying[w] = 0 }
}

inline run_by_steps(w)
{
    if
    :: w == 1 && !WITHOUT(epoch_join_late) -> bound[1] = 0
    :: else
    fi;
    if
    :: WITHOUT(epoch_flag_late) -> skip
    :: else -> flying[w] = 1
    fi;
    if
    :: WITHOUT(epoch_cached) -> epoch[w] = word
    :: else
    fi;
    if
    :: w == 1 -> saw = applied[0] /* it is unlocked when all is written */
    :: else
    fi;
    if
    :: WITHOUT(epoch_cached) -> skip
    :: else -> epoch[w] = word
    fi;
    if
    :: w == 1 && WITHOUT(epoch_join_late) -> bound[1] = 0
    :: else
    fi;
    flying[w] = 1;
    placed[w] = 1;
    flying[w] = 0
}

proctype Worker(byte w)
{
    if
    :: checkpoints -> run_at_once(w)
    :: else -> run_by_steps(w)
    fi;
    do
    :: !applied[w] && w == 0 -> a = 1; applied[0] = 1
    :: !applied[w] && w == 1 -> applied[1] = 1
    :: !acked[w] && (ALL_DURABLE(epoch[w]) || (WITHOUT(epoch_one_node) && published[w] >= epoch[w])) -> acked[w] = 1
    :: applied[w] && acked[w] -> break
    od
}

/* Tells the nodes which epochs the worker has done with. */
proctype Bound(byte w)
{
    byte t;
    bit idle;
    do
    :: bound[w] != ABSENT && word > bound[w] ->
       if
       :: WITHOUT(epoch_bound_late) -> idle = !flying[w]; t = word
       :: else -> t = word; idle = !flying[w]
       fi;
       atomic {
           if
           :: idle -> bound[w] = t
           :: else
           fi;
           idle = 0;
           t = 0
       }
    od
}

proctype Clock()
{
    do
    :: word < last_epoch -> word++
    od
}

proctype Agent(byte m)
{
    bit taken;
    do
    :: MAY_CLOSE(durable[m] + 1) ->
       if
       :: WITHOUT(epoch_walk_first) -> taken = placed[m]; ALL_BEYOND(durable[m] + 1)
       :: else -> atomic { ALL_BEYOND(durable[m] + 1); taken = placed[m] }
       fi;
       if
       :: WITHOUT(epoch_unsynced) -> published[m] = durable[m] + 1
       :: else
       fi;
       atomic { /* one group, whole or not there */
           logged[m] = logged[m] || (taken && !freed[m]);
           durable[m]++;
           taken = 0
       }
       published[m] = durable[m]
    /* a group without an epoch's end */
    :: placed[m] && !logged[m] && !freed[m] -> logged[m] = 1
    od
}

#define COUNTS(m) (file[m] && (ALL_DURABLE(last[m]) || WITHOUT(log_freed_early)))
#define BEGAN(t) ((began_applied[2 * t] && began_applied[2 * t + 1]) || (WITHOUT(log_freed_applied) && applied[t]) || \
                  (WITHOUT(log_freed_own) && began_applied[2 * t + t]))
#define MAY_FREE(t) (logged[t] && BEGAN(t) && ((COUNTS(0) && COUNTS(1)) || (WITHOUT(log_freed_own) && COUNTS(t))))

proctype Checkpoint(byte m)
{
    atomic { began_applied[m] = applied[0]; began_applied[2 + m] = applied[1] }
    if
    :: WITHOUT(checkpoint_last_first) -> last[m] = word
    :: else
    fi;
    if
    :: m == 0 -> has_a = a
    :: else -> atomic { has_b = b; has_c = c }
    fi;
    if
    :: WITHOUT(checkpoint_last_first) -> skip
    :: else -> last[m] = word
    fi;
    file[m] = 1;
    atomic { MAY_FREE(m); logged[m] = 0; freed[m] = 1 }
}

/* What a node's disk has beyond the cut of its life does not count, in no later life. */
#define CUT_OF(m) (life == 2 && synced_cut[m] -> cut : (WITHOUT(cut_own) -> durable[m] : LEAST(durable[0], durable[1])))
#define REDONE(t) (logged[t] && epoch[t] <= CUT_OF(t))
#define CUT_OF_FILE(m) (WITHOUT(checkpoint_other_life) -> LEAST(durable[0], durable[1]) : CUT_OF(m))
#define USED(m) (file[m] && (last[m] <= CUT_OF_FILE(m) || WITHOUT(checkpoint_early)))
#define A_IS ((USED(0) && has_a) || REDONE(0))
#define B_IS ((USED(1) && has_b) || REDONE(0))
#define C_IS ((USED(1) && has_c) || REDONE(1))

inline judge()
{
    assert(A_IS == B_IS);
    assert(!acked[0] || A_IS);
    assert(!acked[1] || C_IS);
    assert(!(C_IS && saw) || A_IS);
    assert(!(reached && acked[0] && acked[1] && saw && ((freed[0] && freed[1]) || !checkpoints)))
}

/*
 * Power is lost in this state: what follows is computed, and taken back. Nothing but the disks' bytes counts from here
 * on, and recovery only reads them until it syncs the cut; so power loss amid a recovery is one before it. The life after
 * it closes epochs of its own, up to one above all that were ever used, and loses power, too.
 */
proctype Power()
{
    do
    :: d_step {
           judge();
           cut = LEAST(durable[0], durable[1]);
           was[0] = durable[0];
           was[1] = durable[1];
           found_a = A_IS;
           found_c = C_IS;
           life = 2;
           synced_cut[0] = !WITHOUT(generation_unsynced);
           synced_cut[1] = !WITHOUT(generation_unsynced) && !WITHOUT(generation_one_node);
           durable[0] = last_epoch + 1;
           durable[1] = last_epoch + 1;
           judge();
           assert(A_IS == found_a && C_IS == found_c);
           durable[0] = was[0];
           durable[1] = was[1];
           cut = 0;
           was[0] = 0;
           was[1] = 0;
           found_a = 0;
           found_c = 0;
           synced_cut[0] = 0;
           synced_cut[1] = 0;
           life = 1
       }
    od
}

init
{
    atomic {
        c_code { now.removed = atoi(getenv("REMOVED")); };
        c_code { now.reached = getenv("REACHED") != NULL; };
        c_code { now.checkpoints = atoi(getenv("TEMPLATE")); };
        c_code { if (getenv("EPOCHS")) now.last_epoch = atoi(getenv("EPOCHS")); };
        bound[1] = ABSENT;
        run Worker(0);
        run Worker(1);
        run Clock();
        run Agent(0);
        run Agent(1);
        if
        :: checkpoints -> run Checkpoint(0); run Checkpoint(1)
        :: else -> run Bound(0); run Bound(1)
        fi;
        run Power()
    }
}

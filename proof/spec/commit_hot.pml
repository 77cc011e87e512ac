/*
 * commit_hot.pml - mode `cellar`, with -DHOT: the transactions of commit.pml, with all their rules, behind the
 * hand-over of hot records (engine/modes/hot/hot*.c). Records 0 and 2 may be hot, each with a lock of its own; a
 * compute node (CN) has one place in DecLock's queue for all its transactions together, which a keeper takes and gives
 * back.
 *
 *     enter: OPEN -> use it, else wait to be told -> block (join ... take) -> v ... leave, apply, untag -> leave the
 *     lock -> keeper: release
 *
 * From the environment: LOCKS, a bit for each lock that counts; COLD, transactions (a bit each) that do not know that
 * anything is hot;
 * GIVES_UP: waits may end at any moment; READERS: who reads enters, too, shared. With -DCRASH the nodes of CN 0 die at
 * any moment, users, waiters and keepers, and are recovered when a living transaction has met one of its tags, or has
 * nothing left to do; DecLock's queue forgets them behind the redo.
 *
 * Always: who has entered meets no tag but those of dead or of cold ones (INV-HOT-2). At the end, besides what
 * commit.pml asks: locks are free, nobody waits (INV-HOT-4, 5), and what committed has an order, though HOT, locks and
 * queue may say what they like (INV-HOT-1).
 */
#ifndef HOT
#define HOT_ONLY(steps)
#define BLOCK_BEGIN join_again
#define BARRED(i) (0)
#define MUST_CLEAR(i) (1)
#else
#define HOT_ONLY(steps) steps
#define BLOCK_BEGIN enter_block
#define IDLE 0
#define WANTED 1
#define OPENED 2
#define CLOSING 3
#define RELEASING 4
#define LOCK(c) ((c) / 2)
#define HAS_LOCK(c) (((c) & 1) == 0 && (hot_locks & B(LOCK(c))))
#define KEPT(n, l) ((n)*2 + (l))
byte hot_locks, cold, passed, hot; /* cold, passed: transactions; hot: a bit for each record that has a lock */
bit gives_up, readers;
byte queue[4];                                              /* lock * 2 + place: 1 + CN */
byte state[4], users[4], waiting[4], waiting_writers[4], told[4]; /* of each CN and lock; a bit for each transaction */
bit called[4], shared[4];
#ifdef CRASH
bit died, met, redone;
byte living_keepers; /* the first one's process */
#define DEAD(n) (died && (n) == 0)
#else
#define DEAD(n) (0)
#endif

#define FIRST_IN(l) queue[(l)*2]
#define SECOND_IN(l) queue[(l)*2 + 1]
#define GRANTED(n, l) \
    (FIRST_IN(l) == (n) + 1 || (SECOND_IN(l) == (n) + 1 && shared[KEPT(n, l)] && FIRST_IN(l) && shared[KEPT(FIRST_IN(l) - 1, l)]))
#define FOLLOWED(n, l) (SECOND_IN(l) != 0 && !GRANTED(SECOND_IN(l) - 1, l))

/* Its lock is used; of a record that has one. */
#define QUEUED(i) (HAS_LOCK(cell[AT(t, i)]) && (used & B(LOCK(cell[AT(t, i)]))))
/* HOT bars whoever does not know of it from taking a tag. */
#define BARRED(i) ((lock & B(i)) && HAS_LOCK(cell[AT(t, i)]) && (hot & B(LOCK(cell[AT(t, i)]))) && (cold & B(t)))
#define MUST_CLEAR(i) (!(WITHOUT(hot_lock_only) && QUEUED(i)))
#define OF_CN(n) ((n) == 0 -> (2 << on_first) - 2 : ((2 << NT) - 2) & ~((2 << on_first) - 2))

/* A tag is met: whose may it be? */
inline meet_tag(i)
{
    z = tag[cell[AT(t, i)]];
    if
    :: z != 0 && QUEUED(i) && z != n + 1 && MUST_CLEAR(i) -> assert(DEAD(z - 1) || STOPPED(z - 1) || ((cold | passed) & ~ended & OF_CN(z - 1)))
    :: else
    fi;
#ifdef CRASH
    if :: z == 1 && n == 1 -> met = 1 :: else fi;
#endif
    z = 0
}

/* want: the locks of this block's cells, but for those it uses; want_writing: of these, those whose cells it writes. */
inline want_locks()
{
    want = 0;
    want_writing = 0;
    h = 0;
    do
    :: h < ACC ->
       if
       :: block[AT(t, h)] == blk && HAS_LOCK(cell[AT(t, h)]) && !(cold & B(t)) && WRITES(kind[AT(t, h)]) ->
          want = want | B(LOCK(cell[AT(t, h)]));
          want_writing = want_writing | B(LOCK(cell[AT(t, h)]))
       :: block[AT(t, h)] == blk && HAS_LOCK(cell[AT(t, h)]) && !(cold & B(t)) && kind[AT(t, h)] == R && readers ->
          want = want | B(LOCK(cell[AT(t, h)]))
       :: else
       fi;
       h++
    :: else -> break
    od;
    want = want & ~used
}
#define WRITING(l) ((want_writing & B(l)) != 0)
#define OPEN_TO(l) (state[KEPT(n, l)] == OPENED && !(shared[KEPT(n, l)] && WRITING(l)))
inline wait_over(l)
{
    waiting[KEPT(n, l)] = waiting[KEPT(n, l)] & ~B(t);
    waiting_writers[KEPT(n, l)] = waiting_writers[KEPT(n, l)] & ~B(t);
    told[KEPT(n, l)] = told[KEPT(n, l)] & ~B(t)
}
inline ask_for(l)
{
    k = KEPT(n, l);
    waiting[k] = waiting[k] | B(t);
    if :: WRITING(l) -> waiting_writers[k] = waiting_writers[k] | B(t) :: else fi;
    told[k] = told[k] & ~B(t);
    if
    :: state[k] == OPENED -> state[k] = CLOSING; if :: users[k] == 0 -> called[k] = 1 :: else fi
    :: state[k] == IDLE -> state[k] = WANTED; shared[k] = !WRITING(l)
    :: else
    fi
}
/* Whose holder is dead is not granted for too long: it is done without (INV-HOT-7). */
#ifdef CRASH
#define LEFT_ALONE(l) \
    (died && !redone && FIRST_IN(l) == 1 && n == 1 && (state[KEPT(n, l)] == WANTED || state[KEPT(n, l)] == RELEASING) && !WITHOUT(hot_stuck_awaited))
#else
#define LEFT_ALONE(l) (0)
#endif

/* Before a block joins its records: one lock behind the other, in order (INV-HOT-3). Waiters look at the lock's state only. */
inline enter_locks()
{
    skip;
enter_block:
    atomic { d_step { want_locks() } };
    do
    :: want == 0 -> break
    :: atomic { want != 0 -> number = (!(want & 1) || (want == 3 && t == 2 && WITHOUT(hot_order_ignored))) };
enter_look:
       atomic {
           if
           :: OPEN_TO(number) ->
              d_step {
                  wait_over(number);
                  users[KEPT(n, number)] = users[KEPT(n, number)] | B(t);
                  used = used | B(number);
                  want = want & ~B(number)
              };
              goto entered
           :: else -> d_step { ask_for(number) }
           fi
       };
       if
       :: atomic { told[KEPT(n, number)] & B(t) -> goto enter_look }
       :: atomic { !OPEN_TO(number) && (gives_up || STOPPED(n)) -> d_step { wait_over(number) }; goto release }
       :: atomic { LEFT_ALONE(number) -> d_step { wait_over(number); passed = passed | B(t); want = want & ~B(number) } }
       fi;
entered:
       skip
    od
}
inline leave_lock(l)
{
    k = KEPT(n, l);
    if
    :: used & B(l) ->
       users[k] = users[k] & ~B(t);
       if :: users[k] == 0 && !WITHOUT(hot_keeper_uncalled) -> called[k] = 1 :: else fi
    :: else
    fi;
    used = used & ~B(l)
}
inline leave_locks()
{
    do
    :: atomic { used & 1 -> d_step { leave_lock(0) } }
    :: atomic { !(used & 1) && (used & 2) -> d_step { leave_lock(1) } }
    :: used == 0 -> break
    od;
    skip
}

inline place_end(l)
{
    if
    :: FIRST_IN(l) == n + 1 -> FIRST_IN(l) = SECOND_IN(l); SECOND_IN(l) = 0
    :: else -> SECOND_IN(l) = 0
    fi
}
#define WANTED_AS_IT_IS ((waiting[at] & ~waiting_writers[at]) || (waiting_writers[at] && !shared[at]))
#ifdef CRASH
#define KEEPER_LIVES provided(!(died && _pid < living_keepers))
#else
#define KEEPER_LIVES
#endif
proctype Keeper(byte n; byte l) KEEPER_LIVES
{
    byte at = KEPT(n, l);
end:
    do
    :: atomic { state[at] == WANTED -> if :: FIRST_IN(l) == 0 -> FIRST_IN(l) = n + 1 :: else -> SECOND_IN(l) = n + 1 fi };
endqueued:
       if
       :: atomic {
              GRANTED(n, l) ->
              state[at] = OPENED;
              called[at] = 0;
              told[at] = (WITHOUT(hot_grant_untold) -> told[at] : told[at] | waiting[at])
          }
       :: atomic { !GRANTED(n, l) && waiting[at] == 0 -> d_step { place_end(l) }; state[at] = IDLE; goto end }
       fi;
endhold:
       do
       :: atomic { state[at] == OPENED && FOLLOWED(n, l) -> if :: users[at] == 0 -> state[at] = RELEASING; break :: else -> state[at] = CLOSING fi }
       :: atomic { state[at] == OPENED && users[at] == 0 && !WANTED_AS_IT_IS && !WITHOUT(hot_unwanted_kept) -> state[at] = RELEASING; break }
       :: atomic { state[at] == CLOSING && WITHOUT(hot_given_early) -> state[at] = RELEASING; break }
       :: atomic { state[at] == CLOSING && called[at] -> called[at] = 0; if :: users[at] == 0 -> state[at] = RELEASING; break :: else fi }
       od;
       atomic {
           d_step { place_end(l) };
           if
           :: waiting[at] != 0 -> state[at] = WANTED; shared[at] = (waiting_writers[at] == 0)
           :: else -> state[at] = IDLE
           fi
       }
    od
}

/* Somebody has lost often enough. */
proctype Heat()
{
    if
    :: cold -> hot = hot_locks
    :: !cold -> skip
    fi
}

#ifdef CRASH
proctype Death() { died = 1 }
/* DecLock's queue forgets who is dead and fenced, when somebody waits. */
proctype Reset()
{
end:
    do
    :: atomic { (redone || (died && WITHOUT(hot_reset_unfenced))) && FIRST_IN(0) == 1 && SECOND_IN(0) && !WITHOUT(declock_dead_awaited) ->
                FIRST_IN(0) = SECOND_IN(0); SECOND_IN(0) = 0 }
    :: atomic { (redone || (died && WITHOUT(hot_reset_unfenced))) && FIRST_IN(1) == 1 && SECOND_IN(1) && !WITHOUT(declock_dead_awaited) ->
                FIRST_IN(1) = SECOND_IN(1); SECOND_IN(1) = 0 }
    od
}
#define RESTS(n, l) (((n) == 0 && died) || state[KEPT(n, l)] == IDLE)
#else
#define RESTS(n, l) (state[KEPT(n, l)] == IDLE)
#endif
#define ALL_REST (RESTS(0, 0) && RESTS(0, 1) && RESTS(1, 0) && RESTS(1, 1))
#endif

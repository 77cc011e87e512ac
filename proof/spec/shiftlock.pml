/*
 * shiftlock.pml - ShiftLock's entry, its queue of writers and its reset (lockmgr/lockmgr_shiftlock*.c): three clients,
 * each a worker of its own; client 0 has ON_FIRST rounds, the others one; each round shared or exclusive. Operations
 * take effect in one step, and their answers are seen in a later one; messages come late. TEMPLATE chooses the
 * scenario:
 *
 *     1 nobody fails 2 writers give up 3 the server resets the lock once, whoever lives (a false suspicion)
 *     4 client 0 may die in the queue, holding, or before it passes on, and the server resets the lock when nothing
 *     else moves 5 2 and 3
 *
 * Always: one writer or readers only hold. At the end everybody has had its rounds, and nobody is in the entry (unless
 * somebody died).
 */
#define N 3
#define NOBODY 3

byte removed, scenario, first_rounds;
#define WITHOUT(rule) (removed == rule)
#define shiftlock_resets_unasked 1
#define shiftlock_frozen_at_once 2
#define shiftlock_takes_frozen 3
#define shiftlock_takes_thawed 4
#define shiftlock_ignores_readers 5
#define shiftlock_drain_too_few 6
#define shiftlock_leave_no_flip 7
#define shiftlock_ghost_hurries 8

/* the entry */
bit epoch;
byte counted, tail = NOBODY, released, era;
/* messages: grant of an era: 1 handover, 2 wait until `released` is so much */
chan grants[N] = [3] of { byte, byte, byte };
byte successor[N], successor_era[N]; /* as told; NOBODY */
/* a worker's half of a reset: what is frozen + 1, and up to where nothing counts + 1 */
byte frozen[N], floor[N];
bit freeze[N], thaw[N], acked[N], dead[N], asked[N];
byte asking; /* the era that the server resets + 1 */
/* who holds, and who is not yet done with releasing */
byte readers, writers, finished;
bit busy[N], is_writer[N], is_reader[N];
byte resets;
bit resetting;

#define VOID(me, e) ((frozen[me] > e && !WITHOUT(shiftlock_takes_frozen)) || \
                     (floor[me] > e && !WITHOUT(shiftlock_takes_thawed) && !WITHOUT(shiftlock_takes_frozen)))

inline take(me, exclusive)
{
    busy[me] = 1;
    if
    :: exclusive -> writers++; is_writer[me] = 1
    :: else -> readers++; is_reader[me] = 1
    fi;
    assert(writers == 0 || (writers == 1 && readers == 0))
}
inline let_go(me)
{
    writers = writers - is_writer[me];
    readers = readers - is_reader[me];
    is_writer[me] = 0;
    is_reader[me] = 0
}
/* Client 0: nothing of it executes from here on. */
inline may_die(me)
{
    if
    :: scenario == 4 && me == 0 -> atomic { let_go(me); busy[me] = 0; dead[me] = 1; goto dies }
    :: 1
    fi
}

proctype Client(byte me; byte rounds)
{
    byte my_era, first_tail, expected, seen_released, seen_era, limit;
    bit first_epoch, seen_epoch, exclusive, ghost, drain;

round:
    do
    :: rounds == 0 -> break
    :: else ->
        if
        :: exclusive = 0
        :: exclusive = 1
        fi;
again:
        frozen[me] == 0; /* THAW has come */
        ghost = 0; drain = 0;
        if
        :: !exclusive ->
            atomic { counted++; first_epoch = epoch; my_era = era; first_tail = tail; floor[me] = 0 };
            atomic {
                if
                :: VOID(me, my_era) -> goto again
                :: else
                fi;
                if
                :: first_tail == NOBODY -> take(me, 0); goto shared
                :: else
                fi
            };
poll:
            atomic { (epoch != first_epoch || era != my_era || VOID(me, my_era)); seen_epoch = epoch; seen_era = era };
            atomic {
                if
                :: VOID(me, my_era) || seen_era != my_era -> goto again
                :: !VOID(me, my_era) && seen_era == my_era && seen_epoch == first_epoch -> goto poll
                :: else
                fi;
                take(me, 0)
            };
shared:
            may_die(me);
            atomic { let_go(me) };
            atomic { counted--; released++ };
            atomic { busy[me] = 0; rounds-- }
        :: exclusive ->
            atomic {
                successor[me] = NOBODY; floor[me] = 0;
                first_tail = tail; tail = me; my_era = era; first_epoch = epoch; expected = released + counted;
                drain = (counted > 0)
            };
            may_die(me);
            atomic {
                if
                :: VOID(me, my_era) -> goto again
                :: else
                fi;
                if
                :: first_tail != NOBODY -> successor[first_tail] = me; successor_era[first_tail] = my_era
                :: else -> goto turn
                fi
            };
wait:
            atomic {
                if
                :: grants[me]?limit, expected, seen_era -> 
                    if
                    :: seen_era != my_era || VOID(me, my_era) -> goto wait
                    :: else -> first_epoch = limit / 2; drain = limit % 2; goto turn
                    fi
                :: VOID(me, my_era) ->
                    if
                    :: ghost -> goto gone
                    :: else -> goto again
                    fi
                :: (scenario == 2 || scenario == 5) && !ghost -> ghost = 1; goto wait
                fi
            };
turn:
            if
            :: drain && ghost && successor[me] != NOBODY -> goto pass
            :: drain && !WITHOUT(shiftlock_ignores_readers) && !(ghost && WITHOUT(shiftlock_ghost_hurries)) ->
                atomic {
                    (released == expected || era != my_era || VOID(me, my_era) ||
                     ((scenario == 2 || scenario == 5) && !ghost) || (ghost && successor[me] != NOBODY));
                    seen_released = released; seen_era = era
                };
                atomic {
                    if
                    :: VOID(me, my_era) || seen_era != my_era ->
                        if
                        :: ghost -> goto gone
                        :: else -> goto again
                        fi
                    :: else
                    fi;
                    if
                    :: seen_released == expected -> drain = 0
                    :: else -> ghost = 1; goto turn
                    fi
                }
            :: else
            fi;
            drain = 0;
            atomic {
                if
                :: !ghost && VOID(me, my_era) -> goto again
                :: ghost && VOID(me, my_era) -> goto gone
                :: !ghost && !VOID(me, my_era) -> take(me, 1)
                :: else
                fi
            };
            may_die(me);
            if
            :: !ghost -> atomic { let_go(me) }
            :: else
            fi;
            /* release: leaves if it is the last one of that era, else passes on */
            atomic {
                if
                :: tail == me && era == my_era ->
                    tail = NOBODY;
                    if
                    :: WITHOUT(shiftlock_leave_no_flip)
                    :: else -> epoch = 1 - first_epoch
                    fi;
                    goto gone
                :: era != my_era -> goto gone
                :: else
                fi
            };
            atomic { (successor[me] != NOBODY || VOID(me, my_era) || era != my_era || (dead[0] && timeout)) };
            atomic {
                if
                :: successor[me] == NOBODY || successor_era[me] != my_era -> goto gone /* reset, or the one behind is dead */
                :: else
                fi
            };
            if /* after as many in a row as may be: here any number */
            :: !ghost ->
                atomic {
                    epoch = 1 - epoch; first_epoch = epoch;
                    expected = released + counted - (WITHOUT(shiftlock_drain_too_few) && counted > 0);
                    drain = (counted > 0)
                }
            :: 1
            fi;
pass:
            may_die(me);
            atomic { grants[successor[me]]!first_epoch * 2 + drain, expected, my_era };
gone:
            atomic { busy[me] = 0; rounds-- }
        fi
    od;
dies:
    finished++
}

/* The worker's half of a reset. */
proctype Tender(byte me)
{
end:
    do
    :: atomic { freeze[me] -> freeze[me] = 0; frozen[me] = asking; asked[me] = 1 }
    :: atomic { asked[me] && (!busy[me] || WITHOUT(shiftlock_frozen_at_once)) -> acked[me] = 1; asked[me] = 0 }
    :: atomic { thaw[me] -> thaw[me] = 0; floor[me] = frozen[me]; frozen[me] = 0 }
    od
}

proctype Server()
{
    byte i;
end:
    atomic {
        ((scenario == 3 || scenario == 5) && tail != NOBODY && resets == 0) || (scenario == 4 && timeout && tail != NOBODY);
        resets++;
        resetting = 1;
        asking = era + 1;
        i = 0;
        do
        :: i < N -> acked[i] = 0; freeze[i] = 1; i++
        :: else -> break
        od
    };
    if
    :: WITHOUT(shiftlock_resets_unasked)
    :: else -> (acked[0] || dead[0]) && (acked[1] || dead[1]) && (acked[2] || dead[2])
    fi;
    atomic {
        tail = NOBODY; counted = 0; era++;
        i = 0;
        do
        :: i < N ->
            if
            :: WITHOUT(shiftlock_resets_unasked) -> freeze[i] = 0
            :: else
            fi;
            thaw[i] = 1; i++
        :: else -> break
        od;
        resetting = 0
    };
    goto end
}

init
{
    atomic {
        c_code { now.removed = atoi(getenv("REMOVED")); now.scenario = atoi(getenv("TEMPLATE"));
                 now.first_rounds = atoi(getenv("ON_FIRST")); };
        successor[0] = NOBODY; successor[1] = NOBODY; successor[2] = NOBODY;
        run Client(0, first_rounds);
        run Client(1, 1);
        run Client(2, 1);
        run Tender(0);
        run Tender(1);
        run Tender(2);
        run Server()
    };
    atomic {
        finished == N && !resetting ->
        assert(dead[0] || (tail == NOBODY && counted == 0))
    }
}

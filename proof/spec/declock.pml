/*
 * declock.pml - DecLock's queue with readers and writers (lockmgr/declock/cql.c, declock_place.c) and its reset
 * (declock_reset.c): three clients, each of a compute node of its own, each with some rounds (client 0 with ON_FIRST of
 * them); each round shared or exclusive. A WRITE of an entry is on its way until the NIC executes it; grants and
 * signals come late. TEMPLATE chooses the scenario:
 *
 *     1 room for all 2 a ring too small 3 versions come to their end 4 client 0 may die at any step
 *     5  one client three rounds: readers pass a reader whose entry is on its way        6  2 and 4
 *
 * Who leaves with a round to go may take its next place by the same FAA (JOINT: a bit for each client that does); then
 * its entry is written before it waits for entries of others, or together with its grants.
 *
 * Always: one writer or readers only hold. At the end everybody has had its rounds, nobody resets, the queue is empty
 * (unless somebody died).
 * A step is one operation at the memory node, or what a client does between two. `timeout`: nothing else can happen, so
 * a stall is seen.
 */
#define N 3
#define SLOTS 3

byte removed, scenario, first_rounds, joint;
#define WITHOUT(rule) (removed == rule)
#define cql_version_unchecked 1
#define cql_refetch_missing 2
#define cql_overflow_unseen 4 /* not needed for safety: who misses the entry resets the lock */
#define cql_one_reader 5
#define declock_ack_holding 6
#define declock_ack_writing 7
#define declock_waiters_kept 8
#define declock_released_void 9
#define declock_generation_ignored 10
#define declock_reset_unawaited 11
#define declock_entries_kept 12
#define declock_refetch_for_ever 13
#define declock_reset_by_write 14
#define declock_resetter_lost 15
#define declock_stall_ignored 16
#define declock_dead_awaited 17
#define cql_enter_in_reset 18

byte head, size, writers, gen, resetter; /* the header; resetter: client + 1 */
bit unit;                                /* the NIC's atomic unit, between READ and write-back: only where WRITE is no atomic */
byte recorded;                           /* the dead that the last reset knew of */
byte version[SLOTS], client[SLOTS];
bit exclusive[SLOTS];
byte room, last_version, versions;       /* capacity; last version without a reset; their number */

bit pending[N], pending_x[N]; /* WRITEs of entries on their way */
byte pending_slot[N], pending_version[N];
chan note0 = [4] of { byte, byte };
chan note1 = [4] of { byte, byte };
chan note2 = [4] of { byte, byte };
bit signal[N], acked[N], dead[N], fresh[N]; /* fresh: READing the queue again may show something new */
byte reset_to[N];                           /* the generation that a client knows to be reset to */
byte deaths, readers, holding_x, finished;
bit holds[N], holds_x[N];

#define VERSION(index) ((index) / room % (versions - 1) + 1)
#define ALL_FRESH fresh[0] = 1; fresh[1] = 1; fresh[2] = 1

inline let_go(me)
{
    if
    :: holds[me] && holds_x[me] -> holding_x--
    :: holds[me] && !holds_x[me] -> readers--
    :: else
    fi;
    holds[me] = 0
}
inline answer(me) { signal[me] = 0; acked[me] = 1; reset_to[me] = gen + 1 }

inline grant(to, index)
{
    if
    :: to == 0 -> note0!index, g
    :: to == 1 -> note1!index, g
    :: to == 2 -> note2!index, g
    fi
}

/* What the entry of `index` is: 0: missing, 1: a reader's, 2: a writer's, 3: of a later round */
inline look_up(index, is)
{
    if
    :: version[(index) % room] == VERSION(index) || (WITHOUT(cql_version_unchecked) && version[(index) % room]) ->
       is = 1 + exclusive[(index) % room]
    :: else ->
       if :: version[(index) % room] > VERSION(index) -> is = 3 :: else -> is = 0 fi
    fi
}

#define NOBODY 0
#define NOTIFY 1
#define REFETCH 2
#define LOST 3

/* Who is next: `next` and, NOTIFY, `count` */
inline successors()
{
    next = NOBODY; count = 0; seen = 0;
    if
    :: x -> /* all that are left have waited */
       do
       :: count < left ->
          look_up(old_head + 1 + count, is);
          if
          :: is == 0 && WITHOUT(cql_refetch_missing) -> break
          :: is == 0 && !WITHOUT(cql_refetch_missing) -> next = REFETCH; break
          :: is == 3 -> next = LOST; break
          :: is == 2 -> if :: count == 0 -> count = 1 :: else fi; break
          :: is == 1 -> count++; if :: WITHOUT(cql_one_reader) -> break :: else fi
          fi
       :: else -> break
       od;
       if :: next == NOBODY && count -> next = NOTIFY :: else fi
    :: !x && old_writers ->
       look_up(old_head + 1, is);
       if
       :: is == 2 -> next = NOTIFY; count = 1
       :: is == 0 && !WITHOUT(cql_refetch_missing) ->
          next = REFETCH;
          do
          :: count < left ->
             look_up(old_head + 1 + count, is);
             if
             :: is == 2 -> seen++
             :: is == 3 -> next = NOBODY; break
             :: else
             fi;
             count++
          :: else -> break
          od;
          if :: seen >= old_writers -> next = NOBODY :: else fi
       :: else
       fi
    :: else
    fi
}

proctype Nic()
{
end:
    do
    :: atomic { pending[0] -> version[pending_slot[0]] = pending_version[0]; client[pending_slot[0]] = 0;
                exclusive[pending_slot[0]] = pending_x[0]; pending[0] = 0; ALL_FRESH }
    :: atomic { pending[1] -> version[pending_slot[1]] = pending_version[1]; client[pending_slot[1]] = 1;
                exclusive[pending_slot[1]] = pending_x[1]; pending[1] = 0; ALL_FRESH }
    :: atomic { pending[2] -> version[pending_slot[2]] = pending_version[2]; client[pending_slot[2]] = 2;
                exclusive[pending_slot[2]] = pending_x[2]; pending[2] = 0; ALL_FRESH }
    od
}

#define LEADER_DEAD (resetter && dead[resetter - 1] && !WITHOUT(declock_resetter_lost))
#define GONE(c) (acked[c] || (dead[c] && !WITHOUT(declock_dead_awaited)))
#define NOTE(me) (me == 0 && nempty(note0) || me == 1 && nempty(note1) || me == 2 && nempty(note2))

/* What a place that was got with a release is. */
#define NONE 0
#define HELD 1
#define WAITED_FOR 2
#define NOT_ROOM 3

/* The entry of that place is on its way. */
inline write_next()
{
    pending_slot[me] = index % room; pending_version[me] = VERSION(index); pending_x[me] = next_x; pending[me] = 1
}

proctype Client(byte me; byte rounds)
{
    byte index, g, left, old_head, old_writers, next, count, seen, is, note_index, note_gen, to[SLOTS];
    byte place;     /* of the next round, got with the last release: NONE, or */
    bit x, over, granted, blind, next_x;
    {
again:
        do
        :: atomic { signal[me] -> answer(me) }
        :: rounds == 0 -> goto done
        :: atomic { rounds && !resetter -> break }
        :: atomic { rounds && resetter && !blind -> blind = 1; break } /* who comes for the first time does not look */
        :: atomic { rounds && LEADER_DEAD -> g = gen; goto lead }
        od;
        if :: !(scenario == 3 && me) -> x = 0 :: x = 1 fi;
        /* enter */
        if
        :: atomic { WITHOUT(declock_reset_by_write) && !unit ->
                    unit = 1; old_head = head; left = size; old_writers = writers; next = resetter; g = gen };
           atomic { head = old_head; size = left + 1; writers = old_writers + x; resetter = next; gen = g; unit = 0;
                    over = next != 0 }
        :: atomic { !WITHOUT(declock_reset_by_write) ->
                    old_head = head; left = size; old_writers = writers; g = gen;
                    over = resetter != 0 && !WITHOUT(cql_enter_in_reset);
                    size++; writers = writers + x }
        fi;
        if :: over -> goto again :: else fi;
        index = old_head + left;
        if
        :: left >= room && !WITHOUT(cql_overflow_unseen) -> goto lead
        :: index / room + 1 > last_version -> goto lead
        :: else
        fi;
        if :: left == 0 || (!x && old_writers == 0) -> goto critical :: else fi;
        atomic { pending_slot[me] = index % room; pending_version[me] = VERSION(index); pending_x[me] = x; pending[me] = 1 };
        if
        :: !pending[me]
        :: atomic { WITHOUT(declock_ack_writing) && signal[me] -> answer(me); goto again }
        fi;
wait:
        if
        :: atomic { NOTE(me) ->
                    if :: me == 0 -> note0?note_index, note_gen :: me == 1 -> note1?note_index, note_gen
                       :: me == 2 -> note2?note_index, note_gen fi;
                    granted = note_index == index && (note_gen == g || WITHOUT(declock_generation_ignored)) };
           if :: granted -> goto critical :: else -> goto wait fi
        :: atomic { signal[me] -> answer(me) };
           if :: WITHOUT(declock_waiters_kept) -> goto wait :: else -> goto again fi
        :: atomic { timeout && !WITHOUT(declock_stall_ignored) && (deaths > recorded || LEADER_DEAD) -> goto lead }
        fi;
critical:
        /* signalled meanwhile: the place is void already */
        atomic {
            if
            :: reset_to[me] > g && !WITHOUT(declock_waiters_kept) && !WITHOUT(declock_generation_ignored) -> goto again
            :: else
            fi;
            assert(holding_x == 0 && (!x || readers == 0));
            holds[me] = 1; holds_x[me] = x;
            if :: x -> holding_x++ :: else -> readers++ fi
        };
        if
        :: atomic { WITHOUT(declock_ack_holding) && signal[me] -> answer(me) }
        :: skip
        fi;
        /* leave */
        atomic {
            !unit || !WITHOUT(declock_reset_by_write) ->
            let_go(me);
            rounds--;
            blind = 0;
            over = (signal[me] || reset_to[me] > g) && !WITHOUT(declock_released_void);
            if :: over -> goto again :: else fi;
            if :: WITHOUT(declock_released_void) && signal[me] -> answer(me); goto late :: else fi;
            old_head = head; old_writers = writers; left = size - 1;
            over = resetter != 0 || left == 0;
            assert(gen == g && size > 0);
            head++; size--; writers = writers - x;
            fresh[me] = 1;
            place = NONE;
            if
            :: (joint >> me & 1) && rounds ->
               if :: !(scenario == 3 && me) -> next_x = 0 :: next_x = 1 fi;
               index = head + size;
               if
               :: resetter -> place = NONE
               :: !resetter && (size >= room || index / room + 1 > last_version) -> place = NOT_ROOM
               :: !resetter && size < room && index / room + 1 <= last_version ->
                  if :: size == 0 || (!next_x && writers == 0) -> place = HELD :: else -> place = WAITED_FOR fi
               fi;
               size++; writers = writers + next_x
            :: else
            fi
        };
        if :: over -> goto entered :: else fi;
        /* Its own entry first, or beside the grants: either way before it waits for others' entries. */
        if
        :: atomic { place == WAITED_FOR -> write_next() }
        :: place != WAITED_FOR
        fi;
        do
        :: atomic {
               fresh[me] ->
               fresh[me] = 0;
               if
               :: resetter || gen != g -> next = NOBODY
               :: else ->
                  successors(); /* the names are of the same READ */
                  to[0] = client[(old_head + 1) % room];
                  to[1] = client[(old_head + 2) % room];
                  to[2] = client[(old_head + 3) % room]
               fi
           };
           if
           :: next == REFETCH
           :: next == LOST -> goto lose
           :: next == NOBODY -> goto entered
           :: next == NOTIFY ->
              do
              :: count > 0 ->
                 atomic { count--; grant(to[count], old_head + 1 + count) }
              :: else -> atomic { to[0] = 0; to[1] = 0; to[2] = 0; goto entered }
              od
           fi
        :: atomic { timeout && !WITHOUT(declock_refetch_for_ever) -> goto lose }
        od;
entered: /* the place that came with the release, if any */
        if
        :: place == NONE -> goto again
        :: place == NOT_ROOM -> place = NONE; goto lead
        :: place == HELD -> x = next_x; place = NONE; goto critical
        :: place == WAITED_FOR && !pending[me] -> x = next_x; place = NONE; goto wait
        fi;
lose: /* an entry that is not to be found; its own has landed */
        !pending[me];
        place = NONE;
        goto lead;
late: /* it acknowledged before it left */
        atomic {
            !resetter || !signal[me] -> assert(gen == g && size > 0);
            head++; size--; writers = writers - x
        };
        goto again;
lead:
        atomic {
            !unit ->
            if
            :: gen != g -> goto again
            :: gen == g && resetter && resetter != me + 1 && !LEADER_DEAD -> goto again
            :: else
            fi;
            resetter = me + 1;
            count = deaths;
            acked[0] = 0; acked[1] = 0; acked[2] = 0;
            if :: me != 0 -> signal[0] = 1 :: else fi;
            if :: me != 1 -> signal[1] = 1 :: else fi;
            if :: me != 2 -> signal[2] = 1 :: else fi;
            signal[me] = 0; acked[me] = 1; reset_to[me] = gen + 1;
            ALL_FRESH
        };
        if
        :: (GONE(0) && GONE(1) && GONE(2)) || WITHOUT(declock_reset_unawaited)
        fi;
        atomic {
            recorded = count;
            if :: !WITHOUT(declock_entries_kept) -> version[0] = 0; version[1] = 0; version[2] = 0 :: else fi
        };
        atomic {
            !unit || WITHOUT(declock_reset_by_write) ->
            head = 0; size = 0; writers = 0; resetter = 0; gen = g + 1;
            assert(gen < 12);
            ALL_FRESH
        };
        goto again;
done:
        finished++;
end_idle:
        do
        :: atomic { signal[me] -> answer(me) }
        od
    } unless { dead[me] }
}

proctype Death()
{
    if
    :: atomic { (scenario == 4 || scenario == 6) && finished < N -> dead[0] = 1; deaths++; pending[0] = 0; let_go(0); finished++; ALL_FRESH }
    :: skip
    fi
}

init
{
    atomic {
        c_code { now.removed = atoi(getenv("REMOVED")); now.scenario = atoi(getenv("TEMPLATE"));
                 now.first_rounds = atoi(getenv("ON_FIRST"));
                 now.joint = getenv("JOINT") ? atoi(getenv("JOINT")) : 0; };
        room = SLOTS; last_version = 20; versions = 30;
        if
        :: scenario == 2 || scenario == 6 -> room = 2
        :: scenario == 3 -> last_version = 1; versions = 2
        :: else
        fi;
        run Nic();
        run Client(0, first_rounds);
        run Client(1, 1);
        run Client(2, 1 + 2 * (scenario == 5));
        run Death()
    };
    atomic {
        finished >= N -> 
        if
        :: deaths == 0 -> assert(size == 0 && writers == 0 && resetter == 0)
        :: else
        fi
    }
}

/* commit_state.pml - what commit.pml is about: the rules that can be taken away, the pool, the local objects, the transactions. */
#ifndef NT
#define NT 3
#endif
#define NC 4
#define ACC 3
#define B(x) (1 << (x))
#define CN(t) ((t) > on_first)

/* kinds of access */
#define R 1 /* read a record's cell */
#define W 2 /* read and write it */
#define D 3 /* delete the record */
#define I 4 /* insert it: its bucket is changed in the same block */
#define C 5 /* change an index bucket */
#define L 6 /* look at one */
#define SHARED(k) ((k) == R || (k) == W || (k) == D)
#define WRITES(k) ((k) == W || (k) == D)

/* status */
#define EXECUTING 0
#define VALIDATING 1
#define COMMITTABLE 2
#define DURABLE 3
#define ABORTED 4
#define LOST 5
#define UNDECIDED(s) ((s) == EXECUTING || (s) == VALIDATING)
#define PAST_V(s) \
    ((s) == COMMITTABLE || (s) == DURABLE || (s) == LOST || ((s) == VALIDATING && !WITHOUT(crest_validating_ignored)))

/* phase */
#define OPEN 0
#define DRAINING 1
#define APPLYING 2

#define NONE 15 /* no version read */
#define SAME 14 /* the cell was read by an earlier access */

#define CPR cells_per_record
#define ABSENT0 absent_at_first
#define BUCKET(c) ((c) + 1) /* of the one key that templates insert and delete */

/* what is run: from the environment, see run.sh */
byte template, removed, on_first, cells_per_record = 1, absent_at_first;
bit draining, user_aborts, stops, all_commit;

/* The rules that `removed` can take away, by the names of their plants (*_plants.h), where there is one. */
#define WITHOUT(rule) (removed == rule)
#define crest_validating_ignored 1
#define crest_base_stale 2
#define order_unasked 3         /* TS_exec is not compared */
#define crest_dep_forgotten 4
#define dep_until_committable 5 /* log-deps on undecided transactions only */
#define crest_order_newest 6
#define crest_held_unchecked 7
#define validation_ignores_locks 8
#define ts_not_above 9
#define crest_oldest_applied 10
#define copy_overwritten 11     /* who takes back an announcement applies others' versions through a copy it has read before */
#define closed_waited_holding 12 /* for a closed object is waited with announcements kept */
#define bucket_unclaimed 13
#define absence_ignores_locks 14
#define crest_decided_unawaited 15
#define absence_unchecked 16
#define crest_ack_early 17
#define crest_abort_kept 18
#define crest_versions_uncounted 19 /* log space is used again before all versions are applied */
#define crest_ring_unwatched 20
#define recover_tags_first 21
#define recover_ts_ignored 22
#define recover_deps_ignored 23
#define recover_watermark_ignored 24
#define recover_unfenced 25
#define held_until_untagged 26 /* cells count as held while they are applied */
#define closed_not 27          /* objects take new writers while they are applied */
#define bucket_own_tag 28      /* an absent read takes this CN's tag on the bucket for its own */
#define crest_sole_unlooked 29  /* at v nobody looks whether it is alone still */
#define crest_sole_waits 30     /* it waits for another's fetch while others wait for its own */
#define crest_undo_forgotten 31 /* what it has put counts as what it fetched */
#define sole_left_ready 32      /* it applies without having made the object busy */
#define crest_shared_silent 33  /* it says nothing of its v, though others know of it */
#define hot_given_early 34      /* a hot lock is released while somebody uses it */
#define hot_keeper_uncalled 35
#define hot_unwanted_kept 36
#define hot_grant_untold 37
#define hot_untag_late 38       /* the lock is left before the apply */
#define hot_lock_only 39        /* who has the lock takes the tag from others */
#define hot_order_ignored 40
#define hot_stuck_awaited 41
#define hot_reset_unfenced 42   /* DecLock's queue forgets a node that is dead and not recovered */
#define declock_dead_awaited 43

/* the pool */
byte val[NC], tag[NC];

/* local objects: one for each record of each CN */
byte phase[2 * NC], pins[2 * NC], writers[2 * NC], gone[2 * NC]; /* pins, writers, gone: a bit for each transaction */
bit fetching[2 * NC], exclusive[2 * NC];
byte base[2 * NC];
bit known[2 * NC], held[2 * NC], tagged[2 * NC], origin[2 * NC]; /* origin: the base is a version that was applied here */
short chain[2 * NC];                                             /* local versions: nibbles, the newest lowest */
bit bucket_claim[2 * NC];
#define OBJ(n, c) ((n)*NC + (c) / CPR)
#define CELL(n, c) ((n)*NC + (c))
#define TAIL(n, c) (phase[OBJ(n, c)] == APPLYING -> 0 : chain[CELL(n, c)])

/* transactions */
byte cell[ACC * (NT + 1)], kind[ACC * (NT + 1)], block[ACC * (NT + 1)];
byte seen[ACC * (NT + 1)];  /* the version read */
byte image[ACC * (NT + 1)]; /* what the own copy says it is */
bit base_ref[ACC * (NT + 1)]; /* it was a base that was fetched, not a version of this CN */
byte status[NT + 1], exec_ts[NT + 1], waits[NT + 1], deps[NT + 1], buckets[NT + 1], dirty[NT + 1];
byte exec_next[2];
byte unapplied[NT + 1]; /* cells: its versions that are in chains */
byte acked, ended;
byte order[4 * NC]; /* committed versions of each cell, in order: only to judge by */
byte order_count[NC];
#define AT(t, i) ((t)*ACC + (i))

/* the log of CN 0 */
#ifdef CRASH
byte placed, erased, below_watermark, log_deps[NT + 1], ts[NT + 1];
bit fenced, recovered, stopped;
#define OUT(n) (fenced && (n) == 0)
#define STOPPED(n) (stopped && (n) == 0)
#else
#define OUT(n) (0)
#define STOPPED(n) (0)
#endif

hidden byte h, k, x, y, z;
hidden short s, u;
hidden byte edges[NT + 1];

inline newest(n, c) /* x: the newest version there that is not aborted; 0: the base */
{
    s = TAIL(n, c);
    do
    :: s == 0 -> x = 0; break
    :: s != 0 && status[s & 15] != ABORTED -> x = s & 15; break
    :: else -> s = s >> 4
    od;
    skip
}

inline unlink(n, c, t)
{
    s = chain[CELL(n, c)];
    u = 0;
    h = 0;
    do
    :: s == 0 -> break
    :: else ->
       if
       :: (s & 15) != t -> u = u | ((s & 15) << h); h = h + 4
       :: else
       fi;
       s = s >> 4
    od;
    chain[CELL(n, c)] = u
}

/* y: the kind of v's access to c */
inline kind_of(v, c)
{
    y = 0;
    h = 0;
    do
    :: h < ACC -> if :: cell[AT(v, h)] == c && kind[AT(v, h)] > y -> y = kind[AT(v, h)] :: else fi; h++
    :: else -> break
    od;
    skip
}
inline is_dead(v, c) /* y: no such record any more */
{
    if
    :: v == 0 -> y = (ABSENT0 >> c) & 1
    :: else -> kind_of(v, c); y = (y == D)
    fi
}
inline is_listed(v, c) /* y: version v of c's bucket lists it */
{
    if
    :: v == 0 -> y = !((ABSENT0 >> c) & 1)
    :: else -> kind_of(v, c); y = (y != D)
    fi
}

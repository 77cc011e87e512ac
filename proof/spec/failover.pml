/*
 * failover.pml - the loss of a memory node and the filling of a fresh one, write by write, as
 * engine/cluster/failover*.c and engine/cluster/agent.c execute them: one cell at place 0 with one backup; two compute
 * nodes (CN) that lock it, read its version, log the next one, are told, write all replicas and unlock; one of them may
 * crash at any step. The leader is a third CN.
 *
 *     epoch 1 LOST: stand still, redo the dead by versions alone, clear tags -> 2 -> 3 JOINING: stand still -> 4, copy
 *     -> 5 stand still -> 6, compare
 *     -> 7 STEADY: stand still, redo the dead, copy what differed, clear tags -> 8
 *
 * Always: no version is committed twice (a lost update). At the end: what was acknowledged is there, and replicas are
 * equal.
 */
#define P 0 /* what has the cell: the old primary, its backup, the fresh node */
#define B 1
#define F 2
#define CNS 2
#define ATTEMPTS 1

byte removed;
#define WITHOUT(rule) (removed == rule)
#define failover_unawaited 1
#define failover_undrained 2
#define failover_dead_unredone 3
#define failover_tags_asked 4
#define failover_fresh_unwritten 5
#define failover_copy_undrained 6
#define failover_copy_once 7
#define failover_back_unwritten 8
#define failover_log_short 9
#define failover_joining_unawaited 10 /* a fresh node is filled before all write it */

bit node_dead;
byte epoch;
byte cell[3], tag[3];
byte entry[CNS]; /* of each CN's log, on the backup's node; the other replica of the log dies with the primary */
bit there[CNS];  /* ... and that one has it too, while it lives */
byte ack[CNS], seen[CNS]; /* the epoch in which it stands still; the last even one that it follows */
bit dead[CNS];
bit committed[16];
byte told; /* the newest version that somebody was told of */

#define PRIMARY(cn) (seen[cn] == 0 -> P : (seen[cn] == 8 -> F : B))
#define REACHED(place) (place != P || !node_dead)
#define DRAINING (epoch >= 1)

/* Both replicas of the entry. The one on a node that is lost is waited for until the epoch says so. */
inline log_write(cn, version)
{
    entry[cn] = version;
    if
    :: seen[cn] > 0 -> skip
    :: seen[cn] == 0 ->
       if
       :: !node_dead -> there[cn] = 1
       :: node_dead && (DRAINING || WITHOUT(failover_log_short)) -> skip
       fi
    fi
}

inline cell_write(place, version)
{
    if
    :: REACHED(place) -> cell[place] = version
    :: else -> DRAINING
    fi
}

/* Its replicas, as the CN knows them, in any order. */
inline apply(cn, version)
{
    if
    :: seen[cn] == 0 -> if :: cell_write(P, version); cell[B] = version :: cell[B] = version; cell_write(P, version) fi
    :: seen[cn] == 2 || (seen[cn] > 2 && seen[cn] < 8 && WITHOUT(failover_fresh_unwritten)) -> cell[B] = version
    :: else -> if :: cell[B] = version; cell[F] = version :: cell[F] = version; cell[B] = version fi
    fi
}

inline attempt(cn)
{
    mine = PRIMARY(cn);
    version = 0;
    atomic {
        if
        :: REACHED(mine) && tag[mine] == 0 -> tag[mine] = cn + 1; version = cell[mine] + 1
        :: else
        fi
    }
    if
    :: version == 0
    :: else ->
       log_write(cn, version);
       atomic { assert(!committed[version]); committed[version] = 1; told = (version > told -> version : told) }
       apply(cn, version);
       if :: REACHED(mine) -> tag[mine] = 0 :: else fi
    fi
}

/* It stands still between attempts only, and then until it follows an even epoch. Once dead it makes no step. */
proctype Node(byte cn) provided (!dead[_pid - 1])
{
    byte mine, version, word, left = ATTEMPTS;
    do
    :: epoch > word && epoch > ack[cn] && epoch > seen[cn] ->
       word = epoch; /* as it is read; it may change before the next step */
       if
       :: word % 2 == 1 -> ack[cn] = word
       :: else -> seen[cn] = word
       fi
    :: left > 0 && seen[cn] >= ack[cn] -> attempt(cn); left--
    :: left == 0 && seen[cn] == 8 -> break
    od
}

#define STILL(cn) (ack[cn] == epoch || dead[cn] || WITHOUT(failover_undrained))

/* The dead CN's entry, if it is due: over older versions only, on all replicas. */
inline redo(fresh)
{
    if
    :: WITHOUT(failover_dead_unredone)
    :: else ->
       if
       :: dead[0] && entry[0] && cell[B] <= entry[0] && (epoch > 1 || !WITHOUT(failover_tags_asked) || tag[B] == 1) ->
          cell[B] = entry[0];
          if :: fresh -> cell[F] = entry[0] :: else fi
       :: else
       fi
    fi
}

proctype Leader()
{
    byte seen_old, seen_new;
    bit differs = 0;
    node_dead;
    epoch = 1;
    if :: WITHOUT(failover_unawaited) :: else -> STILL(0) && STILL(1) fi;
    redo(0);
    tag[B] = 0;
    epoch = 2;
    epoch = 3;
    if :: WITHOUT(failover_joining_unawaited) :: else -> STILL(0) && STILL(1) fi;
    epoch = 4;
    seen_old = cell[B];
    cell[F] = seen_old;
    if
    :: WITHOUT(failover_copy_undrained)
    :: else -> epoch = 5; STILL(0) && STILL(1); epoch = 6
    fi;
    seen_old = cell[B];
    seen_new = cell[F];
    differs = seen_old != seen_new && !WITHOUT(failover_copy_once);
    epoch = 7;
    STILL(0) && STILL(1);
    redo(1);
    if :: differs && !WITHOUT(failover_back_unwritten) -> cell[F] = cell[B] :: else fi;
    tag[F] = 0;
    atomic { assert(cell[F] == cell[B] && cell[B] >= told); epoch = 8 }
}

proctype Loss() { node_dead = 1 }
proctype Crash() { if :: dead[0] = 1 :: skip fi }

init
{
    atomic {
        c_code { now.removed = atoi(getenv("REMOVED")); };
        run Node(0); /* number 1: `provided` */
        run Node(1);
        run Leader();
        run Loss();
        run Crash()
    }
}

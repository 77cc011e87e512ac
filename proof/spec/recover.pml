/*
 * recover.pml - recovery of a compute node (CN), write by write, as engine/recovery/recover*.c execute it: one cell of
 * two lines on a primary and a backup, two log entries of the dead CN (TS 5, and TS 6 which rests on it) on two
 * replicas of its log. The dead CN may be a zombie that goes on until it is fenced. The first recoverer may be
 * overtaken at any step by a second one; one replica of the log may be lost at any time; CN 1 takes the cell as soon as
 * its tag is clear.
 *
 *     claim -> fence -> read -> decide -> copy -> redo -> erase -> REDONE -> scrub -> SCRUBBED -> FREE
 *
 * Always: who reads a whole cell (both lines and the header with one epoch number) gets one version's bytes, and no
 * epoch number ever names two versions. At the end: replicas are equal to the byte, no tag is left, what was
 * acknowledged or seen is there.
 */
#define DEAD 1 /* tags: CN index + 1 */
#define LIVING 2
#define LIVE 0 /* the member's word */
#define FENCED 1
#define REDONE 2
#define FREE 4
#define NOBODY 2

byte removed;
#define WITHOUT(rule) (removed == rule)
#define recover_half_applied 1    /* equal TS: not written again */
#define recover_en_kept 2
#define recover_ts_ignored 3
#define recover_unfenced 4
#define recover_claim_shared 5    /* the second recoverer does not fence the first */
#define recover_uncopied 6
#define recover_one_replica 7
#define en_always_next 8          /* the epoch number that a line has already is not taken */
#define recover_tags_first 9
#define recover_header_en_missed 10
#define recover_deps_ignored 11
#define unlock_before_backups 12
#define unlogged_backup 13        /* durable when one replica of the log has it */
#define recover_unerased 14
#define primary_lines_only 15     /* the backup's lines are not asked for TS and epoch number */
#define redo_newest_first 16
#define recover_tags_unasked 17

byte line_ts[4] = 1, line_en[4] = 1; /* replica * 2 + line */
byte header_en[2] = 1, tag = DEAD;
byte log[2]; /* entries: bit 0: TS 5, bit 1: TS 6 */
bit log_lost[2], any_lost;
byte state = LIVE, holder = NOBODY;
bit dead_fenced, out[2]; /* out: recoverers that are fenced */
bit acked[2], two, last_done;
byte named[8]; /* TS that each epoch number was seen with */
byte newest_seen = 1;

inline look()
{
    if
    :: line_en[0] == header_en[0] && line_en[1] == header_en[0] ->
       assert(line_ts[0] == line_ts[1]);
       assert(named[header_en[0]] == 0 || named[header_en[0]] == line_ts[0]);
       assert(line_ts[0] >= newest_seen);
       named[header_en[0]] = line_ts[0];
       newest_seen = line_ts[0]
    :: else
    fi
}
/* step: 0, 1: the lines of that replica, 2: its header */
inline write_step(replica, step, ts, en)
{
    if
    :: step < 2 -> line_ts[replica * 2 + step] = ts; line_en[replica * 2 + step] = en
    :: step == 2 && !WITHOUT(recover_header_en_missed) -> header_en[replica] = en
    :: else
    fi;
    step++;
    look()
}

#define DURABLE(e) \
    (((log[0] & (1 << e)) && (log[1] & (1 << e))) || (WITHOUT(unlogged_backup) && ((log[0] | log[1]) & (1 << e))))

proctype Dead()
{
    byte primary, backup;
    {
        do
        :: atomic { !(log[0] & 1) -> log[0] = log[0] | 1 }
        :: atomic { !(log[1] & 1) -> log[1] = log[1] | 1 }
        :: atomic { two && !(log[0] & 2) -> log[0] = log[0] | 2 }
        :: atomic { two && !(log[1] & 2) -> log[1] = log[1] | 2 }
        :: atomic { DURABLE(0) && !acked[0] -> acked[0] = 1 }
        :: atomic { two && DURABLE(1) && acked[0] && !acked[1] -> acked[1] = 1 }
        :: acked[0] && acked[two] -> break
        od;
        do /* the last writer applies the newest version */
        :: atomic { primary < 3 -> d_step { write_step(0, primary, 5 + two, 2) } }
        :: atomic { backup < 3 -> d_step { write_step(1, backup, 5 + two, 2) } }
        :: primary == 3 && (backup == 3 || WITHOUT(unlock_before_backups)) -> break
        od;
        if :: tag == DEAD -> tag = 0 :: else fi;
        do
        :: atomic { backup < 3 -> d_step { write_step(1, backup, 5 + two, 2) } }
        :: backup == 3 -> break
        od
    } unless { dead_fenced && !WITHOUT(recover_unfenced) }
}

proctype Loss() /* of one replica of the log */
{
    if
    :: atomic { state < FREE -> log_lost[0] = 1; any_lost = 1 }
    :: atomic { state < FREE -> log_lost[1] = 1; any_lost = 1 }
    :: skip
    fi
}

inline lines_meet(r)
{
    if :: line_ts[r * 2] > most -> most = line_ts[r * 2] :: else fi;
    if :: line_ts[r * 2 + 1] > most -> most = line_ts[r * 2 + 1] :: else fi;
    if :: line_en[r * 2] > en -> en = line_en[r * 2] :: else fi;
    if :: line_en[r * 2 + 1] > en -> en = line_en[r * 2 + 1] :: else fi;
    if :: line_ts[r * 2] == ts -> had = line_en[r * 2] :: else fi;
    if :: line_ts[r * 2 + 1] == ts -> had = line_en[r * 2 + 1] :: else fi
}
/* The cell's version as it will be; ts = 0: nothing to redo. */
inline redo_read()
{
    most = 0;
    en = 0;
    had = 0;
    lines_meet(0);
    if :: !WITHOUT(primary_lines_only) -> lines_meet(1) :: else fi;
    if
    :: had && !WITHOUT(en_always_next) -> en = had
    :: WITHOUT(recover_en_kept) -> skip
    :: else ->
       if :: header_en[0] > en -> en = header_en[0] :: else fi;
       if :: header_en[1] > en && !WITHOUT(primary_lines_only) -> en = header_en[1] :: else fi;
       en++
    fi;
    if
    :: (tag != DEAD && !WITHOUT(recover_tags_unasked)) || (most > ts && !WITHOUT(recover_ts_ignored)) || (most == ts && WITHOUT(recover_half_applied)) -> ts = 0
    :: else
    fi
}

#define FIRST(due) ((due) & 1 && !(WITHOUT(redo_newest_first) && (due) & 2)) /* of what is due, TS 5 is next */

proctype Recoverer(byte id)
{
    byte found, due, ts, en, had, most, primary, backup;
    bit copied[2];
    {
        if /* claim */
        :: atomic { state == LIVE && holder == NOBODY && id == 0 -> state = FENCED; holder = id }
        :: atomic {
               id == 1 && holder == 0 && state < FREE -> out[0] = !WITHOUT(recover_claim_shared); holder = 1
           }
        :: id == 1 && state == FREE -> goto done
        fi;
        dead_fenced = 1; /* fence */
        if :: state >= REDONE -> goto scrub :: else fi;
        if
        :: WITHOUT(recover_tags_first) -> if :: tag == DEAD -> tag = 0 :: else fi
        :: else
        fi;
        atomic { /* read */
            if :: !log_lost[0] -> found = log[0]; copied[0] = 1 :: else fi;
            if :: !log_lost[1] && !(WITHOUT(recover_one_replica) && !log_lost[0]) -> found = found | log[1]; copied[1] = 1 :: else fi;
            due = found; /* decide */
            if :: !(found & 1) && !WITHOUT(recover_deps_ignored) -> due = 0 :: else fi;
            if :: WITHOUT(recover_uncopied) -> copied[0] = 0; copied[1] = 0 :: else fi;
            found = 0
        };
        if :: copied[0] -> log[0] = log[0] | due :: else fi; /* copy */
        if :: copied[1] -> log[1] = log[1] | due :: else fi;
        copied[0] = 0;
        copied[1] = 0;
        do /* redo */
        :: atomic { due != 0 && ts == 0 -> ts = (FIRST(due) -> 5 : 6); due = due & ~(FIRST(due) -> 1 : 2); d_step { redo_read(); primary = 0; backup = 0; most = 0; had = 0 } }
        :: atomic { ts != 0 && primary < 3 -> d_step { write_step(0, primary, ts, en) } }
        :: atomic { ts != 0 && backup < 3 -> d_step { write_step(1, backup, ts, en) } }
        :: atomic { ts != 0 && primary == 3 && backup == 3 -> ts = 0; primary = 0; backup = 0; en = 0 }
        :: atomic { due == 0 && ts == 0 -> en = 0; break }
        od;
        /* erase: an entry that does not count must not count for others later */
        if
        :: atomic { !WITHOUT(recover_unerased) && !(log[0] & 1) && !(log[1] & 1) -> log[0] = 0; log[1] = 0 }
        :: else
        fi;
        if
        :: atomic { holder == id -> state = REDONE }
        :: holder != id -> goto done
        fi;
scrub:
        if :: atomic { tag == DEAD -> tag = 0 } :: tag != DEAD -> skip fi;
        if
        :: atomic { holder == id -> state = FREE }
        :: else
        fi;
done:
        skip
    } unless { out[id] }
}

proctype Living() /* CN 1 changes the cell once it can */
{
    byte primary, backup, ts, en;
    if
    :: atomic {
           tag == 0 -> tag = LIVING;
           ts = line_ts[0] + 1;
           en = line_en[0] + 1;
           assert(line_ts[0] == line_ts[1] && line_en[0] == line_en[1] && header_en[0] == line_en[0]) /* its READ finds it whole */
       }
    fi;
    do
    :: atomic { primary < 3 -> d_step { write_step(0, primary, ts, en) } }
    :: atomic { backup < 3 -> d_step { write_step(1, backup, ts, en) } }
    :: primary == 3 && backup == 3 -> break
    od;
    assert(tag == LIVING);
    tag = 0;
    last_done = 1
}

init
{
    atomic {
        c_code { now.removed = atoi(getenv("REMOVED")); };
        if :: two = 0 :: two = 1 fi;
        run Dead();
        run Loss();
        run Recoverer(0);
        run Recoverer(1);
        run Living()
    };
    atomic {
        _nr_pr == 1 ->
        assert(state == FREE && last_done && tag == 0);
        assert(line_ts[0] == line_ts[2] && line_ts[1] == line_ts[3] && line_en[0] == line_en[2] && line_en[1] == line_en[3]);
        assert(header_en[0] == header_en[1] && line_en[0] == line_en[1] && line_en[0] == header_en[0]);
        /* CN 1's version is on top of what was acknowledged, or decided */
        assert(!acked[0] || line_ts[0] >= 6);
        assert(!acked[1] || line_ts[0] >= 7)
    }
}

/*
 * replicas.pml - an insert of a compute node (CN) that dies between any two of its writes, with one backup of
 * everything: its log entry, the record (a header and a cell), the entry of its bucket; as engine/txn/apply.c and
 * engine/recovery/recover*.c write them. A memory node may refuse to show its log and answer the next time. The first
 * recoverer may die between any two of its writes, too. CN 1 changes the record as soon as the primary's bucket shows it.
 *
 *     the dead: log ∥ log -> acknowledged -> record ∥ (record, bucket) -> bucket of the primary -> untag bucket
 *     recovery:  read logs -> copy -> record, where it is due -> bucket -> untag bucket
 *
 * At the end: replicas are equal, no tag is left, what was acknowledged is there; and each replica of the log tells
 * what became of it.
 */
#define NOBODY 0 /* tags: CN index + 1 */
#define DEAD 1
#define LIVING 2

byte removed;
#define WITHOUT(rule) (removed == rule)
#define recover_refusal_passed 1 /* a log that is not shown is passed over */
#define recover_lines_only 2     /* whether an insert is redone is told by lines, of the primary only */
#define recover_uncopied 3
#define recover_one_replica 4
#define insert_shown_early 5     /* the primary's bucket shows a new record before the backup has that */
#define unlock_before_backups 6
#define recover_tags_first 7
#define insert_redone_blindly 8  /* the record is written whatever is there */

bit log[2], header[2], entry[2]; /* entry: in the bucket */
byte cell[2];                    /* 0: what the slot held, 1: inserted, 2: changed by CN 1 */
byte record_tag = NOBODY, bucket_tag = DEAD; /* of the record CN 1's alone: a new one is not tagged */
bit acked, crashed, first_over, changed, recovered;

/* One WRITE more of that replica, in the order of its connection; done: how many have run. */
inline replica_write(r, done)
{
    if
    :: done == 0 -> header[r] = 1
    :: done == 1 -> cell[r] = 1
    :: done == 2 -> entry[r] = 1
    fi;
    done++
}

#define SHOWN_EARLY (WITHOUT(insert_shown_early) || WITHOUT(unlock_before_backups))

proctype Dead()
{
    byte primary, backup;
    {
        do
        :: atomic { !log[0] -> log[0] = 1 }
        :: atomic { !log[1] -> log[1] = 1 }
        :: log[0] && log[1] -> break
        od;
        acked = 1;
        do
        :: atomic { primary < 2 -> replica_write(0, primary) }
        :: atomic { primary == 2 && (backup == 3 || SHOWN_EARLY) -> replica_write(0, primary) }
        :: atomic { backup < 3 -> replica_write(1, backup) }
        :: primary == 3 && (backup == 3 || WITHOUT(unlock_before_backups)) -> break
        od;
        bucket_tag = NOBODY;
        do
        :: atomic { backup < 3 -> replica_write(1, backup) }
        :: backup == 3 -> break
        od
    } unless { crashed }
}

#define OLDER(r) (cell[r] < 1 || !header[r])
#define NEWER (cell[0] > 1 || cell[1] > 1)

inline untag()
{
    if :: atomic { bucket_tag == DEAD -> bucket_tag = NOBODY } :: else fi
}

proctype Recoverer(byte id)
{
    byte primary, backup;
    bit found, seen[2], write;
    {
        if :: id == 0 -> crashed :: id == 1 -> first_over fi;
        if :: WITHOUT(recover_tags_first) -> untag() :: else fi;
again:
        atomic {
            found = 0;
            seen[0] = 0;
            seen[1] = 0;
            if
            :: found = log[0]; seen[0] = 1
            :: goto again /* refused: nothing is decided, and somebody tries again */
            fi
        };
        if
        :: WITHOUT(recover_one_replica) -> skip
        :: else ->
           if
           :: atomic { found = found || log[1]; seen[1] = 1 }
           :: WITHOUT(recover_refusal_passed) -> skip
           :: !WITHOUT(recover_refusal_passed) -> goto again
           fi
        fi;
        if :: found && seen[0] && !WITHOUT(recover_uncopied) -> log[0] = 1 :: else fi;
        if :: found && seen[1] && !WITHOUT(recover_uncopied) -> log[1] = 1 :: else fi;
        atomic {
            write = found && bucket_tag == DEAD;
            if
            :: WITHOUT(insert_redone_blindly) -> skip
            :: else -> write = write && !NEWER && (WITHOUT(recover_lines_only) -> OLDER(0) : !entry[0])
            fi
        };
        do
        :: atomic { write && primary < 2 -> replica_write(0, primary) }
        :: atomic { write && backup < 2 -> replica_write(1, backup) }
        :: !write || (primary == 2 && backup == 2) -> break
        od;
        primary = 2;
        backup = 2;
        write = found && bucket_tag == DEAD;
        do
        :: atomic { write && primary < 3 -> replica_write(0, primary) }
        :: atomic { write && backup < 3 -> replica_write(1, backup) }
        :: !write || (primary == 3 && backup == 3) -> break
        od;
        untag();
        recovered = 1;
        first_over = 1
    } unless { id == 0 && first_over }
}

/* The dead one dies somewhere, or ends and is recovered all the same; its first recoverer likewise. */
proctype Death()
{
    crashed = 1;
    first_over = 1
}

proctype Living() /* CN 1, once */
{
    if
    :: atomic { entry[0] && record_tag == NOBODY -> record_tag = LIVING };
       assert(cell[0] == 1 && header[0]);
       cell[0] = 2;
       cell[1] = 2;
       assert(record_tag == LIVING);
       record_tag = NOBODY;
       changed = 1
    :: recovered && !entry[0]
    fi
}

init
{
    atomic {
        c_code { now.removed = atoi(getenv("REMOVED")); };
        run Dead();
        run Recoverer(0);
        run Recoverer(1);
        run Death();
        run Living()
    };
    atomic {
        _nr_pr == 1 ->
        assert(record_tag == NOBODY && bucket_tag == NOBODY);
        assert(header[0] == header[1] && cell[0] == cell[1] && entry[0] == entry[1]);
        assert(!acked || entry[0]);
        assert(!changed || cell[0] == 2);
        assert(log[0] == entry[0] && log[1] == entry[0])
    }
}

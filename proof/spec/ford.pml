/*
 * ford.pml - mode `ford` with one backup of everything, write by write, on a compute node (CN) that dies between any
 * two of them; as lab/modes/ford.c and lab/modes/recover_undo.c have it. Two coordinators of the dead CN: T1
 * writes records X and Y, T2 writes X. CN 1 writes X (T3), and reads both (R).
 *
 *     T1, T2, T3:  tag and read -> old values to the log -> cells, epoch numbers -> told -> tags cleared
 *     R:           header, cell of each -> headers again: unchanged, and no tag
 *     recovery: log of all replicas -> for each entry: stays, or is undone -> erased -> tags cleared; the first
 *     recoverer may die likewise
 *
 * template 1: T1, T3, R; the log lies where the records are, and its WRITE goes ahead of theirs; in the others
 * elsewhere, and is awaited; 2: T1, T3, R;
 * 3: T1, T2; T1 may end behind its log entry, and try again; 4: T1, T3, and a first recoverer that dies. At the end:
 * replicas are equal, no tag is left, what was told or read is there, T1 whole or not.
 */
#define X 0
#define Y 1
#define NOBODY 0 /* tags: CN index + 1 */
#define DEAD 1
#define LIVING 2

byte removed, template;
#define WITHOUT(rule) (removed == rule)
#define ford_log_unawaited 1
#define ford_unlock_early 2
#define ford_part_kept 3
#define ford_whole_undone 4
#define ford_ts_collides 5
#define validation_ignores_locks 6
#define undone_en_kept 7 /* what was there comes back with the epoch number that it had */
#define recover_one_replica 8
#define recover_tags_first 9
#define recover_unfenced 10
#define undone_primary_only 11 /* the primary alone is asked whether a change is whole */
#define told_before_written 12

typedef Replica {
    byte value; /* who wrote it, 0: loaded; its TS, too */
    byte en;    /* of the cell's version */
    byte header_en
}
Replica replicas[4]; /* X, X's backup, Y, Y's backup */
byte tag[2];
#define AT(record, replica) replicas[2 * (record) + (replica)]

/* Entries of T1 and T2. */
bit logged[4];            /* T1's, its copy; T2's, its copy */
byte old_value[4], old_en[4]; /* as the entry tells: T1's X, Y; T2's X */
#define LOGGED(t, replica) logged[2 * ((t) - 1) + (replica)]
#define OLD(t, record) (2 * ((t) - 1) + (record))
#define TS(t) ((t) == 2 && WITHOUT(ford_ts_collides) -> 1 : (t))

byte base[4]; /* of X: what each of T1, T2, T3 found there */
bit told[4];
bit crashed, first_over, read_done;
byte read_x, read_y;

/* ---- a transaction ---- */

inline take(t, record)
{
    atomic {
        tag[record] == NOBODY ->
        tag[record] = (t == 3 -> LIVING : DEAD);
        assert(AT(record, 0).en == AT(record, 0).header_en || removed);
        if
        :: record == X -> base[t] = AT(X, 0).value
        :: else
        fi;
        if
        :: t < 3 ->
           old_value[OLD(t, record)] = AT(record, 0).value;
           old_en[OLD(t, record)] = AT(record, 0).en
        :: else
        fi
    }
}

/* The next WRITE of a connection: cell and epoch number of X, and of Y. */
inline write_next(t, replica, done)
{
    if
    :: t == 3 ->
       AT(X, replica).value = t;
       AT(X, replica).en = next_en[X];
       AT(X, replica).header_en = next_en[X];
       done++
    :: t != 3 && done == 0 -> AT(X, replica).value = t; AT(X, replica).en = next_en[X]
    :: t != 3 && done == 1 -> AT(X, replica).header_en = next_en[X]
    :: t != 3 && done == 2 -> AT(Y, replica).value = t; AT(Y, replica).en = next_en[Y]
    :: t != 3 && done == 3 -> AT(Y, replica).header_en = next_en[Y]
    fi;
    done++
}

#define RIDES(t) (template == 1 && (t) < 3)
/* May that connection's next WRITE of a record be executed? */
#define AHEAD(t, replica) \
    ((t) == 3 || (RIDES(t) && LOGGED(t, replica)) || (!RIDES(t) && LOGGED(t, 0) && LOGGED(t, 1)) || WITHOUT(ford_log_unawaited))

inline untag(cn)
{
    if :: atomic { tag[X] == cn -> tag[X] = NOBODY } :: else fi;
    if :: atomic { tag[Y] == cn -> tag[Y] = NOBODY } :: else fi
}

inline publish(t)
{
    atomic {
        next_en[X] = AT(X, 0).header_en + 1;
        next_en[Y] = AT(Y, 0).header_en + 1;
        writes = (t == 1 -> 4 : 2)
    };
    if :: WITHOUT(told_before_written) -> told[t] = 1 :: else fi;
    do
    :: atomic { t < 3 && !LOGGED(t, 0) -> LOGGED(t, 0) = 1 }
    :: atomic { t < 3 && !LOGGED(t, 1) -> LOGGED(t, 1) = 1 }
    :: atomic { primary < writes && AHEAD(t, 0) -> write_next(t, 0, primary) }
    :: atomic { backup < writes && AHEAD(t, 1) -> write_next(t, 1, backup) }
    :: primary == writes && (backup == writes || (WITHOUT(ford_unlock_early) && t < 3)) -> break
    od;
    told[t] = 1;
    if
    :: atomic { tag[X] == (t == 3 -> LIVING : DEAD) -> tag[X] = NOBODY }
    :: else
    fi;
    if
    :: t == 1 -> if :: atomic { tag[Y] == DEAD -> tag[Y] = NOBODY } :: else fi
    :: else
    fi;
    do
    :: atomic { backup < writes -> write_next(t, 1, backup) }
    :: backup == writes -> break
    od
}

proctype Coordinator(byte t)
{
    byte primary, backup, writes, next_en[2];
    {
        take(t, X);
        if
        :: t == 1 ->
           take(t, Y);
           if
           :: template == 3 -> /* its check fails: it ends behind its entry, and begins again */
              LOGGED(t, 0) = 1;
              LOGGED(t, 1) = 1;
              tag[X] = NOBODY;
              tag[Y] = NOBODY;
              atomic { tag[Y] == NOBODY -> tag[Y] = DEAD };
              crashed
           :: skip
           fi
        :: else
        fi;
        publish(t)
    } unless { crashed && !WITHOUT(recover_unfenced) && t < 3 };
    atomic {
        primary = 0;
        backup = 0;
        writes = 0;
        next_en[X] = 0;
        next_en[Y] = 0
    }
}

proctype Reader()
{
    byte en[2];
    atomic { en[X] = AT(X, 0).header_en };
    atomic { AT(X, 0).en == en[X] -> read_x = AT(X, 0).value };
    atomic { en[Y] = AT(Y, 0).header_en };
    atomic { AT(Y, 0).en == en[Y] -> read_y = AT(Y, 0).value };
    if
    :: atomic { AT(X, 0).header_en == en[X] && (tag[X] == NOBODY || WITHOUT(validation_ignores_locks)) };
       atomic { AT(Y, 0).header_en == en[Y] && (tag[Y] == NOBODY || WITHOUT(validation_ignores_locks)) -> read_done = 1 }
    :: skip
    fi;
    atomic {
        en[X] = 0;
        en[Y] = 0;
        if :: !read_done -> read_x = 0; read_y = 0 :: else fi
    }
}

/* ---- recovery ---- */

#define SHOWN_OLD 1
#define SHOWN_NEW 2
#define SHOWN_PARTLY 3
#define SHOWN_OTHER 4

inline line_look(t, record, replica, one)
{
    if
    :: TS(AT(record, replica).value) == TS(t) && AT(record, replica).value != 0 ->
       one = (AT(record, replica).header_en == old_en[OLD(t, record)] -> SHOWN_PARTLY : SHOWN_NEW)
    :: else ->
       if
       :: AT(record, replica).value != old_value[OLD(t, record)] -> one = SHOWN_OTHER
       :: else ->
          one = (AT(record, replica).en == old_en[OLD(t, record)] && AT(record, replica).header_en == old_en[OLD(t, record)]
                 -> SHOWN_OLD : SHOWN_PARTLY)
       fi
    fi
}

/* What the change shows on all replicas. */
inline look(t, record)
{
    if
    :: tag[record] != DEAD -> shown = SHOWN_OTHER
    :: else ->
       line_look(t, record, 0, shown);
       if
       :: WITHOUT(undone_primary_only) -> skip
       :: else ->
          line_look(t, record, 1, other);
          if
          :: shown == SHOWN_OTHER || other == SHOWN_OTHER -> shown = SHOWN_OTHER
          :: else -> if :: shown != other -> shown = SHOWN_PARTLY :: else fi
          fi
       fi
    fi;
    other = 0
}

inline undo(t, record)
{
    atomic {
        look(t, record);
        undoes = shown != SHOWN_OTHER && shown != SHOWN_OLD;
        shown = 0;
        undone = old_en[OLD(t, record)] + (WITHOUT(undone_en_kept) -> 0 : 2)
    };
    done[0] = 0;
    done[1] = 0;
    do
    :: atomic { undoes && !done[0] -> AT(record, 0).value = old_value[OLD(t, record)]; AT(record, 0).en = undone; done[0] = 1 }
    :: atomic { undoes && !done[1] -> AT(record, 1).value = old_value[OLD(t, record)]; AT(record, 1).en = undone; done[1] = 1 }
    :: !undoes || (done[0] && done[1]) -> break
    od;
    if
    :: undoes -> AT(record, 0).header_en = undone; AT(record, 1).header_en = undone
    :: else
    fi
}

inline entry_end(t)
{
    atomic {
        found = LOGGED(t, 0) || (LOGGED(t, 1) && !WITHOUT(recover_one_replica));
        stays = !WITHOUT(ford_whole_undone);
        look(t, X);
        stays = stays && (shown == SHOWN_OTHER || shown == SHOWN_NEW || WITHOUT(ford_part_kept));
        if
        :: t == 1 ->
           look(t, Y);
           stays = stays && (shown == SHOWN_OTHER || shown == SHOWN_NEW || WITHOUT(ford_part_kept))
        :: else
        fi;
        shown = 0
    };
    if
    :: found && !stays ->
       undo(t, X);
       if :: t == 1 -> undo(t, Y) :: else fi
    :: else
    fi
}

inline erase(t)
{
    if
    :: found && !stays -> LOGGED(t, 0) = 0; LOGGED(t, 1) = 0
    :: else
    fi
}

proctype Recoverer(byte id)
{
    byte shown, other, undone;
    bit found, stays, undoes, done[2], erased;
    {
        if :: id == 0 -> crashed :: id == 1 -> first_over fi;
        if :: WITHOUT(recover_tags_first) -> untag(DEAD) :: else fi;
        entry_end(1);
        erased = found && !stays;
        entry_end(2);
        erase(2);
        if :: erased -> LOGGED(1, 0) = 0; LOGGED(1, 1) = 0 :: else fi;
        untag(DEAD);
        first_over = 1
    } unless { id == 0 && first_over };
    atomic {
        shown = 0;
        other = 0;
        undone = 0;
        found = 0;
        stays = 0;
        undoes = 0;
        erased = 0;
        done[0] = 0;
        done[1] = 0
    }
}

/* The dead CN dies somewhere, or ends and is recovered all the same; its first recoverer likewise. */
proctype Death()
{
    crashed = 1;
    first_over = 1
}

/* Was that value there, or is it below another one that is? */
#define HOLDS(value, t) ((value) == (t) || base[value] == (t) || base[base[value]] == (t))

init
{
    atomic {
        c_code {
            now.removed = atoi(getenv("REMOVED"));
            now.template = atoi(getenv("TEMPLATE"));
        };
        run Coordinator(1);
        if :: template == 3 -> run Coordinator(2) :: else -> run Coordinator(3) fi;
        if :: template < 3 -> run Reader() :: else fi;
        if :: template == 4 -> run Recoverer(0) :: else fi;
        run Recoverer(1);
        run Death()
    };
    atomic {
        timeout ->
        assert(tag[X] == NOBODY && tag[Y] == NOBODY);
        assert(AT(X, 0).value == AT(X, 1).value && AT(Y, 0).value == AT(Y, 1).value);
        assert(AT(X, 0).en == AT(X, 0).header_en && AT(X, 1).en == AT(X, 0).en && AT(X, 1).header_en == AT(X, 0).en);
        assert(AT(Y, 0).en == AT(Y, 0).header_en && AT(Y, 1).en == AT(Y, 0).en && AT(Y, 1).header_en == AT(Y, 0).en);
        assert(!told[1] || (HOLDS(AT(X, 0).value, 1) && AT(Y, 0).value == 1));
        assert(!told[2] || HOLDS(AT(X, 0).value, 2));
        assert(!told[3] || HOLDS(AT(X, 0).value, 3));
        assert(HOLDS(AT(X, 0).value, 1) == (AT(Y, 0).value == 1));
        assert(!read_done || (HOLDS(read_x, 1) == (read_y == 1) && (read_y != 1 || AT(Y, 0).value == 1)))
    }
}

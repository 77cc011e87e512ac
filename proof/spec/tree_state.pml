/* tree_state.pml - rules that can be removed, records, a transaction's copies of them, and what a step does to one. */
#define LEAVES 4
#define ROOT 4
#define META 5 /* data cell 0: the next node's number */
#define RECORDS 6
#define NONE 7
#define KEYS 8 /* the last leaf's high fence: endless */
#define SHAPE 1 /* cells, a bit each */
#define DATA(c) (2 << (c))
#define ALL 7
#define HOPS 1 /* to the right, before the way is mended */

#define BIT(k) (1 << (k))
#define BELOW(k) (BIT(k) - 1)
#define RANGE(low, high) (BELOW(high) & ~BELOW(low))
#define LEAST(set) ((set) & (0 - (set)))
#define KEY_OF(bit) \
    ((bit) < 16 -> ((bit) < 4 -> (bit) >> 1 : 1 + ((bit) >> 2)) : 4 + ((bit) < 64 -> (bit) >> 5 : 1 + ((bit) >> 6)))

byte removed;
byte reached; /* with REACHED: a counterexample shows that it can: 1 all commit; 2 another one mends; 3 a join */
#define WITHOUT(rule) (removed == rule)
#define validation_ignores_locks 1
#define tree_shape_unread 2   /* shapes that a scan has read are not checked */
#define tree_cell_unread 3    /* data cells that were found empty are not checked */
#define tree_insert_blind 4   /* the shape that says where an entry goes is not checked */
#define tree_hint_trusted 5   /* fences are not compared */
#define tree_fence_kept 6     /* a split leaves the left half's high fence where it was */
#define tree_open_kept 7      /* a full cell keeps what the one that is taken into use gets */
#define upgrade_unchecked 8   /* a cell that was read is not compared when it is locked */
#define right_unfollowed 9    /* a scan ends with the leaf that it began in */
#define split_in_two 10       /* the halves are logged one after the other */
#define number_unlocked 11    /* a node's number is drawn without a lock */
#define deletion_unseen 12    /* a deletion changes no version, and checks do not look for it */
#define recover_tags_first 13
#define split_cells_unread 14 /* a split takes a leaf's entries as they were, and locks the shape alone */
#define post_unchecked 15     /* the shapes that say that an entry is missing are not checked */

typedef record {
    bit there;
    byte low, high, right, sep; /* sep: keys from there on belong to data cell 1; the high fence: that is not in use */
    byte data[2];
    byte version[3], tag[3] /* worker + 1 */
};
typedef copy { /* of a record, in a transaction */
    byte low, high, right, sep;
    byte data[2];
    byte version[3];
    byte has, checks, holds, puts; /* cells: fetched, to be checked, locked, to be written */
    bit comes, goes
};
record pool[RECORDS];
copy copies[18]; /* worker * RECORDS + record */
#define MINE(r) copies[w * RECORDS + r]
#define FOREIGN(r, c) (pool[r].tag[c] != 0 && pool[r].tag[c] != w + 1)

byte logged[3]; /* 2: the entry is in the log; 1: of a split in two, the left half's */
byte half;      /* ... which leaf that is */
bit dead;       /* worker 0 */
byte truth;     /* entries that were committed */
byte posted;    /* leaves whose entry was added to the root, and not taken out since */
byte committed; /* workers, a bit each */
byte split_by;  /* likewise */
bit mended_of_dead, joined;

#define OK 0 /* how a step went: `went` */
#define AGAIN 1
#define MEND 2 /* ... and what a transaction does: `job` */
#define SPLIT 3
#define TIDY 4
#define PROGRAM 5
#define FIRST 0 /* parts of the program: it scans, */
#define INSERT 1
#define LAST 2 /* and scans again */
#define IF_EMPTY 1 /* how: it adds only if the scan found nothing; */
#define TWICE 2    /* scans again then; */
#define REMOVES 4  /* takes the entry out instead */
#define CHANGED_SET(set) (part == FIRST -> set : (how & REMOVES -> (set) & ~BIT(key) : (set) | BIT(key)))

mtype = { WALK, CELL, GUESS, LOCK, ROOM, ROOT_READ, CHILD, SIBLING, ROOT_LOCK, LEAF_CELLS, LEAF_LOCK, NUMBER, HALVES,
    LEFT_LOCK, RIGHT_LOCK, V, CHECK, DECIDE, APPLY, UNLOCK, END };

/* ---- verbs ---- */

inline cell_copy(r, i)
{
    if
    :: i == 0 ->
       MINE(r).low = pool[r].low;
       MINE(r).high = pool[r].high;
       MINE(r).right = pool[r].right;
       MINE(r).sep = pool[r].sep
    :: else -> MINE(r).data[i - 1] = pool[r].data[i - 1]
    fi;
    MINE(r).version[i] = pool[r].version[i];
    MINE(r).has = MINE(r).has | BIT(i)
}
/* One cell, if it was not fetched before. */
inline fetch(r, i)
{
    if
    :: MINE(r).has & BIT(i) -> skip
    :: !(MINE(r).has & BIT(i)) && !pool[r].there -> went = MEND
    :: !(MINE(r).has & BIT(i)) && pool[r].there && FOREIGN(r, i) -> went = AGAIN
    :: else -> cell_copy(r, i)
    fi
}
inline checked(r, cells) { MINE(r).checks = MINE(r).checks | (cells) }

/* Tags by one masked CAS; then the cells, which must be what they were if they have been read. */
#define FOREIGN_AMONG(r, cells) \
    (((cells) & 1 && FOREIGN(r, 0)) || ((cells) & 2 && FOREIGN(r, 1)) || ((cells) & 4 && FOREIGN(r, 2)))
inline lock(r, cells)
{
    if
    :: !pool[r].there -> went = MEND
    :: pool[r].there && FOREIGN_AMONG(r, cells) -> went = AGAIN
    :: else ->
       i = 0;
       do
       :: i < 3 ->
          if
          :: (cells) & BIT(i) ->
             if
             :: !(MINE(r).has & BIT(i)) -> cell_copy(r, i)
             :: (MINE(r).has & BIT(i)) && !(MINE(r).holds & BIT(i)) && MINE(r).version[i] != pool[r].version[i] ->
                if
                :: WITHOUT(upgrade_unchecked) && job == PROGRAM -> cell_copy(r, i)
                :: WITHOUT(upgrade_unchecked) && job != PROGRAM -> MINE(r).version[i] = pool[r].version[i]
                :: else -> went = AGAIN
                fi
             :: else
             fi;
             pool[r].tag[i] = w + 1;
             MINE(r).holds = MINE(r).holds | BIT(i)
          :: else
          fi;
          i++
       :: else -> break
       od;
       i = 0
    fi
}
/* READs a record's header: tags and versions. */
#define CHANGED(r, i) \
    (MINE(r).checks & BIT(i) && \
     (MINE(r).version[i] != pool[r].version[i] || (FOREIGN(r, i) && !WITHOUT(validation_ignores_locks))))
inline check(r)
{
    if
    :: (!pool[r].there && !WITHOUT(deletion_unseen)) || CHANGED(r, 0) || CHANGED(r, 1) || CHANGED(r, 2) -> went = AGAIN
    :: else
    fi
}
inline write(r)
{
    if
    :: MINE(r).puts & 1 ->
       pool[r].low = MINE(r).low;
       pool[r].high = MINE(r).high;
       pool[r].right = MINE(r).right;
       pool[r].sep = MINE(r).sep;
       pool[r].version[0] = MINE(r).version[0] + 1
    :: else
    fi;
    if
    :: MINE(r).puts & 2 -> pool[r].data[0] = MINE(r).data[0]; pool[r].version[1] = MINE(r).version[1] + 1
    :: else
    fi;
    if
    :: MINE(r).puts & 4 -> pool[r].data[1] = MINE(r).data[1]; pool[r].version[2] = MINE(r).version[2] + 1
    :: else
    fi;
    if
    :: MINE(r).comes -> pool[r].there = 1
    :: else
    fi;
    if
    :: MINE(r).goes -> pool[r].there = 0
    :: else
    fi
}
inline untag(r)
{
    i = 0;
    do
    :: i < 3 ->
       if
       :: pool[r].tag[i] == w + 1 -> pool[r].tag[i] = 0
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0
}
inline put(r, cells) { MINE(r).puts = MINE(r).puts | (cells) }

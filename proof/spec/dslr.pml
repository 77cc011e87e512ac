/*
 * dslr.pml - DSLR's tickets with leases (lab/locks/dslr/dslr_ticket.c, policy field): three clients, as many slots of tickets
 * as TICKETS. (That a counter comes full circle while somebody waits is kept out by time, in the code:
 * FORGOTTEN_LEASES.)
 *
 * A step is one atomic or READ at the memory node. Time is what a client knows: `fresh` from a READ (or its ticket's
 * FAA) that showed that its turn was not there, until half a lease is over, which may be at any moment. Who has seen
 * nothing change for two leases may pass over those before it: so nobody whose turn is there by the word is fresh then.
 * A fresh release is an FAA, executed in time; any other one is a masked CAS.
 *
 * Who gives up takes its ticket back if it is the newest; else it leaves a ghost, which is as a client that ends its
 * turn at once. Update locks are left out.
 *
 * Always: nobody gets the lock beside a holder that is fresh. At the end: nobody alive is stuck.
 */
#define WRAP 32
#define TICKETS 7
#define CLIENTS 3

byte removed, scenario, first_rounds;
#define WITHOUT(rule) (removed == rule)
#define lockmgr_dslr_readers_unasked 1
#define lockmgr_dslr_undone_blindly 2   /* a late release is an FAA, too */
#define lockmgr_dslr_known_late 3       /* a lease counts from the READ that showed the turn */
#define lockmgr_dslr_skips_in_place 4   /* a writer that passes over others takes its turn there */
#define lockmgr_dslr_skip_unseen 5
#define lockmgr_dslr_late_turn_taken 6  /* a turn is taken however late it comes */
#define lockmgr_dslr_taken_back_blindly 7 /* a ticket is taken back though somebody came behind */
#define lockmgr_dslr_slots_kept 8

byte nX, nS, mX, mS;
byte tX[CLIENTS], tS[CLIENTS]; /* tickets */
byte slots[CLIENTS];           /* of each of its tickets */
bit shared[CLIENTS], waits[CLIENTS], holds[CLIENTS], fresh[CLIENTS], dead[CLIENTS], gives_up[CLIENTS], mortal;

#define AHEAD(n, t) ((n + WRAP - t) % WRAP) /* how far the counter is past the ticket */
#define IS_PAST(n, t) (AHEAD(n, t) > 0 && AHEAD(n, t) < WRAP / 2)
#define THERE(i) \
    (nX == tX[i] && (shared[i] || nS == tS[i] || WITHOUT(lockmgr_dslr_readers_unasked)))
#define PASSED(i) \
    ((IS_PAST(nX, tX[i]) || (nX == tX[i] && !shared[i] && IS_PAST(nS, tS[i]))) && !WITHOUT(lockmgr_dslr_skip_unseen))
#define CONFLICT(i, j) (i != j && !(shared[i] && shared[j]))
#define DUE(j) ((waits[j] || holds[j]) && THERE(j) && fresh[j] && !dead[j])
#define HELD(i, j) (CONFLICT(i, j) && holds[j] && fresh[j] && !dead[j])

#define NEWEST(i) (shared[i] -> mS == (tS[i] + slots[i]) % WRAP && mX == tX[i] : mX == (tX[i] + slots[i]) % WRAP && mS == tS[i])
#define BACK(m, i) ((m + WRAP - slots[i]) % WRAP)
#define GIVEN(i) (WITHOUT(lockmgr_dslr_slots_kept) -> 1 : slots[i])

inline finish(i) /* releases: an FAA in time, or a masked CAS */
{
    atomic {
        if
        :: fresh[i] || WITHOUT(lockmgr_dslr_undone_blindly) ->
           if :: shared[i] -> nS = (nS + GIVEN(i)) % WRAP :: else -> nX = (nX + GIVEN(i)) % WRAP fi
        :: else ->
           if
           :: nX != tX[i] /* FENCED */
           :: nX == tX[i] && shared[i] -> nS = (nS + slots[i]) % WRAP
           :: nX == tX[i] && !shared[i] -> nX = (nX + slots[i]) % WRAP
           fi
        fi;
        holds[i] = 0;
        waits[i] = 0
    }
}

proctype Client(byte i; byte rounds)
{
    bit there, decided;
    byte seenX, seenS;
    do
    :: rounds == 0 || mX + mS >= TICKETS -> break
    :: rounds > 0 && mX + mS < TICKETS ->
       atomic { /* the ticket */
           tX[i] = mX;
           tS[i] = mS;
           if :: shared[i] -> mS = (mS + slots[i]) % WRAP :: else -> mX = (mX + slots[i]) % WRAP fi;
           waits[i] = 1;
           fresh[i] = 1;
           there = THERE(i)
       };
       do /* until the turn is there, or was passed over */
       :: there -> break
       :: !there && !decided && PASSED(i) -> atomic { waits[i] = 0; break }
       :: atomic { /* gives up: the CAS finds the word as it was, with nobody behind */
              !there && !decided && gives_up[i] && !THERE(i) && !PASSED(i) &&
              (NEWEST(i) || WITHOUT(lockmgr_dslr_taken_back_blindly)) ->
              if :: shared[i] -> mS = BACK(mS, i) :: else -> mX = BACK(mX, i) fi;
              gives_up[i] = 0;
              waits[i] = 0;
              rounds--;
              break
          }
       :: atomic { !there && !decided && THERE(i) -> there = 1; if :: WITHOUT(lockmgr_dslr_known_late) -> fresh[i] = 1 :: else fi }
       :: atomic { !there && !decided && !THERE(i) && !PASSED(i) && !fresh[i] -> fresh[i] = 1 } /* one more READ */
       :: atomic { /* nothing has changed for two leases: the CAS is on its way */
              !there && !decided && !THERE(i) && !PASSED(i) && !DUE(0) && !DUE(1) && !DUE(2) ->
              decided = 1;
              seenX = nX;
              seenS = nS
          }
       :: atomic {
              !there && decided ->
              decided = 0;
              if
              :: nX != seenX || nS != seenS
              :: nX == seenX && nS == seenS && shared[i] -> nX = tX[i]; there = 1
              :: nX == seenX && nS == seenS && !shared[i] ->
                 nS = tS[i];
                 if :: WITHOUT(lockmgr_dslr_skips_in_place) -> nX = tX[i] :: else -> nX = (tX[i] + slots[i]) % WRAP fi
              fi;
              seenX = 0;
              seenS = 0
          }
       od;
       if
       :: !waits[i]
       :: waits[i] && !fresh[i] && !WITHOUT(lockmgr_dslr_late_turn_taken) -> finish(i)
       :: atomic {
              waits[i] && (fresh[i] || WITHOUT(lockmgr_dslr_late_turn_taken)) ->
              assert(!HELD(i, 0) && !HELD(i, 1) && !HELD(i, 2));
              waits[i] = 0;
              holds[i] = 1
          };
          if
          :: i == 0 && mortal -> atomic { dead[0] = 1; holds[0] = 0; rounds = 0 }
          :: finish(i); rounds--
          fi
       fi;
       there = 0
    od
}

proctype Time() /* half a lease is over, for somebody */
{
end:
    do
    :: atomic { (waits[0] || holds[0]) && fresh[0] -> fresh[0] = 0 }
    :: atomic { (waits[1] || holds[1]) && fresh[1] -> fresh[1] = 0 }
    :: atomic { (waits[2] || holds[2]) && fresh[2] -> fresh[2] = 0 }
    od
}

/* Scenarios: which clients read; + 4: client 0 may die; + 8: client 1's tickets have two slots; + 16: clients 1 and 2 may each give up once. */
init
{
    atomic {
        c_code { now.removed = atoi(getenv("REMOVED")); now.scenario = atoi(getenv("TEMPLATE"));
                 now.first_rounds = atoi(getenv("ON_FIRST")); };
        mortal = (scenario / 4) % 2;
        slots[0] = 1;
        slots[1] = 1 + (scenario / 8) % 2;
        slots[2] = 1;
        gives_up[1] = (scenario / 16) % 2;
        gives_up[2] = gives_up[1];
        shared[0] = scenario % 4 == 3;
        shared[1] = scenario % 4 >= 2;
        shared[2] = scenario % 4 >= 1 && scenario % 4 < 3;
        run Client(0, first_rounds);
        run Client(1, first_rounds);
        run Client(2, 1);
        run Time()
    }
}

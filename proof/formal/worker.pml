/* One relay, one lane at a time (lanes are independent). It can be killed before every step: then it starts again with nothing in memory. */

#define CAN_LOOK(e) (!ASKS(e))

proctype relay(byte r) {
  byte l, f, c, other, h, i, done0, done1, mode, fin, answer;
  bit sus, seen, saw_run, as_none, head_said, keeps_lost, looks, soon, again, was_lost, was_looked;
  bit fresh, uncertain, silent;
  byte was_trouble;
#ifdef M_LANE_DELETED_UNSEEN
  bit behind;
#endif
restart:
  { skip;
idle:
  atomic {
    l = 0; f = 0; c = NO; other = NO; h = 0; i = 0; done0 = NO; done1 = NO; mode = 0; fin = 0; answer = 0;
    sus = 0; seen = 0; saw_run = 0; as_none = 0; head_said = 0; keeps_lost = 0; looks = 0; soon = 0; again = 0; was_lost = 0; was_looked = 0; was_trouble = 0;
    wire[r] = 0; carried[r] = NO; leaving[r] = 0 }
end:
  if
  :: atomic { state[0] == DUE && !rowlock[0] && adopted -> l = 0; seen = running }
#if LOOSE_EFFECTS > 0
  :: atomic { state[1] == DUE && !rowlock[1] && adopted -> l = 1; seen = running }
#endif
  fi;

  /* the claim has read the switch in an earlier snapshot than the lanes */
  atomic {
    if
    :: state[l] != DUE || rowlock[l] -> goto idle
    :: else
    fi;
    if
    :: !seen && trouble[l] != UNKNOWN -> printf("relay %d parks the lane: off\n", r); park(l); goto idle
    :: else
    fi;
    was_trouble = trouble[l];
    was_lost = (owned[l] -> 1 : lost[l]);
    was_looked = (owned[l] && trouble[l] == 0 -> 0 : looked[l]);
    seen = 0;
    lease(l);
    if
    :: was_trouble == UNKNOWN -> sus = 1
    :: else
    fi;
    printf("relay %d claims effect %d under fence %d, suspect: %d\n", r, c, f, sus) }

  /* payloads, then the judgement of a suspect */
  atomic {
    if
    :: !sus -> goto turn
    :: else
    fi;
    if
    :: evidence[c] -> fin = COMPLETED; mode = NEXT; goto write
    :: !evidence[c] && KEYED(c) && was_trouble != UNKNOWN -> goto turn
#ifdef M_UNKNOWN_RETRIED
    :: NONE(c) -> sus = 0; goto turn
#endif
    :: NONE(c) && !evidence[c] && !started[c] && was_trouble != UNKNOWN -> sus = 0; goto turn      /* never sent: clean */
    :: else
    fi;
    if
#ifdef M_ABSENT_AT_ONCE
    :: 0 -> skip
#else
    :: was_lost && !was_looked -> mode = ((NATURAL(c) && was_trouble != UNKNOWN) -> UNSURE : LOOK); keeps_lost = 1; looks = 1; goto write
#endif
    :: else
    fi;
    if
    :: NATURAL(c) && was_trouble != UNKNOWN -> goto turn
    :: else
    fi;
    if
    :: !CAN_LOOK(c) -> mode = BLOCK_UNKNOWN; goto write
    :: else
    fi }

  /* the look-up; what it says is written under the lease */
  atomic {
#ifdef FENCED_TARGET
    if
    :: look_budget == 0 -> mode = BLOCK_UNKNOWN; goto write
    :: else -> look_budget--; floor_fence[c] = f
    fi;
#endif
    head_said = 1;
    if
    :: accepted[c] > 0 -> fin = COMPLETED; mode = NEXT; head_said = 0
    :: accepted[c] == 0 -> mode = ABSENT
    :: doubts > 0 -> doubts--; looks = 1; soon = 1; mode = (doubts > 0 -> LOOK : BLOCK_UNKNOWN)
    fi;
    printf("relay %d looks up effect %d: <found %d>\n", r, c, (fin == COMPLETED -> 1 : (mode == ABSENT -> 2 : 3)));
    goto write }

turn:
  atomic { may_send(l, c);
#ifdef STALL
    leaving[r] = 1 }
  atomic {
#endif
    start_row(c);
    leaving[r] = (answer == GO);
    if
    :: answer == GO -> goto dispatch
    :: answer == GONE && done0 == NO && done1 == NO -> printf("relay %d is told that its lane is gone\n", r); goto idle
    :: answer == GONE && !(done0 == NO && done1 == NO) -> mode = NEXT
    :: answer == SHORT -> mode = RETRY
    :: answer == OFF -> mode = BLOCK_SWITCH
    :: answer == APPLIED -> fin = COMPLETED; mode = NEXT
    :: answer == CANCEL -> fin = CANCELLED; mode = NEXT
    :: answer == FORGOTTEN -> mode = (CAN_LOOK(c) -> LOOK : BLOCK_UNKNOWN)
    fi;
    answer = 0;
    if
    :: fin != 0 && other != NO -> mode = KEEP      /* an end without a send is written before anything behind it is sent */
    :: else
    fi;
    goto write }

dispatch:
  if
#ifdef STALL
  :: atomic { state[l] == LEASED && fence[l] == f && owned[l] -> skip }
#else
  :: skip
#endif
  :: atomic { state[l] != LEASED || fence[l] != f || !owned[l] ->      /* its own clock says that the turn is over: nothing leaves */
       printf("relay %d does not send effect %d: its turn is over\n", r, c);
       leaving[r] = 0; mode = RETRY; head_said = 1; goto write }
  :: atomic { replies > 0 -> replies--; leaving[r] = 0; mode = RETRY; head_said = 1; goto write }
  fi;
  atomic {
    printf("relay %d sends effect %d\n", r, c);
    check_send(c); answer = 0; saw_run = 0; leaving[r] = 0; wire[r] = REQUEST
#ifdef FENCED_TARGET
    ; carried_fence[r] = f
#endif
  }
  if
  :: atomic { wire[r] == OK ->
       wire[r] = 0;
       if
       :: done0 == NO -> done0 = c
       :: else -> done1 = c
       fi;
       if
       :: other != NO ->
          c = other; other = NO; carried[r] = c;
          if
          :: !as_none -> sus = 0; as_none = 0; goto turn
          :: sus = 0; as_none = 0; mode = KEEP
          fi
       :: else -> mode = NEXT
       fi }
  :: atomic { wire[r] == REFUSED -> wire[r] = 0; unresolved[c] = 0; mode = RETRY; head_said = 1;
#ifdef M_NOT_PREFIX
       if
       :: other != NO -> c = other; other = NO; carried[r] = c; mode = 0; head_said = 0; goto turn
       :: else
       fi
#endif
     }
  :: atomic { wire[r] == FORBIDDEN -> wire[r] = 0; unresolved[c] = 0;
       if
       :: NATURAL(c) && sus -> mode = LOOK; soon = 1; head_said = 1
       :: !(NATURAL(c) && sus) && LANE(c) == 0 -> mode = BLOCK_FAILED; head_said = 1
       :: else -> fin = FAILED; mode = NEXT
       fi }
  :: atomic { wire[r] == DROPPED || (wire[r] == REQUEST && faults > 0) ->
       printf("relay %d has no answer about effect %d\n", r, c);
       if
       :: wire[r] == REQUEST -> faults--; orphans[c]++      /* gave up; the request is still under way */
       :: else
       fi;
       wire[r] = 0; head_said = 1;
       if
#ifdef M_UNKNOWN_RETRIED
       :: NONE(c) -> mode = RETRY
#endif
       :: (NONE(c) || as_none) -> mode = (CAN_LOOK(c) -> LOOK : BLOCK_UNKNOWN)
       :: !(NONE(c) || as_none) -> mode = UNSURE
       fi }
  fi;

write:
#ifdef M_LANE_DELETED_UNSEEN
  d_step { next_of(l, c, h); behind = (h != NO || (done0 != NO && done0 != c && place[c] == QUEUED && fin == 0 && done1 != c)); h = 0 }
#endif
  atomic { !rowlock[l] ->                          /* busy: asked again */
    was_trouble = 0; was_lost = 0; was_looked = 0; as_none = 0; saw_run = 0;
    if
    :: !MINE(l) -> printf("relay %d settles too late\n", r); late_evidence(l); goto idle
    :: else
    fi;
    printf("relay %d settles effect %d: <mode %d> <end %d>\n", r, c, mode, fin);
    settle(l);
    if
    :: replies > 0 && mode != KEEP -> replies--; goto write        /* the reply was lost: the call is repeated */
    :: mode == KEEP ->
       if
       :: fin != 0 -> c = other; other = NO; carried[r] = c
       :: else
       fi;
       done0 = NO; done1 = NO; fin = 0; mode = 0; sus = 0; head_said = 0; keeps_lost = 0; looks = 0; soon = 0;
       if
       :: c == NO -> goto idle
       :: else -> goto turn
       fi
    :: else -> goto idle
    fi }
  } unless { atomic { killed[r] ->
      printf("relay %d dies\n", r);
      if
      :: wire[r] == REQUEST -> orphans[carried[r]]++
      :: else
      fi;
      wire[r] = 0; leaving[r] = 0; carried[r] = NO;
      if
      :: claimant[0] == r + 1 -> claimant[0] = 0
      :: else
      fi;
      if
      :: claimant[1] == r + 1 -> claimant[1] = 0
      :: else
      fi;
      killed[r] = 0; goto restart } } }

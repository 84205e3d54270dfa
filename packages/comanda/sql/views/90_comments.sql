-- What each thing here is for, as the question that it answers: \d+, \df+ and docs/reference/sql.md show these texts. A test fails when one is missing.
-- In the texts, objects are named without their schema: the schema can have another name.

comment on schema comanda is 'Decisions and the external effects they imply: recorded in one transaction, executed apart. Where is the order ticket, and who works on it?';

comment on sequence comanda.effect_id is 'Which number does the next effect get?';
comment on sequence comanda.fence is 'Which number does the next claim get? It only grows: a holder with a lower number is late. Cache 1, or holders would be ordered wrongly.';
comment on sequence comanda.lane_position is 'Which place does the next arrival get? Drawn at COMMIT under the lock of its lane. Cache 1, or effects would be ordered wrongly.';
comment on sequence comanda.switch_version is 'Which version does the next turn of a switch get?';
comment on sequence comanda.awake is 'Until when (milliseconds since 1970) does some relay look anyway, so that a decision need not notify?';

comment on table comanda.installation is 'What is installed here, for which environment, and is this the database that was adopted? One row.';
comment on column comanda.installation.singleton is 'Why is there only one row? Because this column can only be true.';
comment on column comanda.installation.schema_version is 'Which migrations have run?';
comment on column comanda.installation.compatible_from is 'How old may a program be that works on this schema?';
comment on column comanda.installation.routines_sha256 is 'Which build wrote the functions, views and rights that are here now?';
comment on column comanda.installation.environment is 'Is this production, staging, somebody''s laptop?';
comment on column comanda.installation.system_identifier is 'Which server was this database installed on? Part of the fingerprint that tells a copy.';
comment on column comanda.installation.database_oid is 'Which database of that server was it? Part of the fingerprint that tells a copy.';
comment on column comanda.installation.timeline is 'Which timeline was the server on? A change means a failover or a restore to a point in time.';
comment on column comanda.installation.endpoint is 'Under which host, port and name do the relays reach this database?';
comment on column comanda.installation.adopted_by is 'Who said that this database is the real one?';
comment on column comanda.installation.adopted_at is 'When did that person say so?';
comment on column comanda.installation.payload_max_bytes is 'How large may one payload be, in bytes as stored?';
comment on column comanda.installation.installed_at is 'Since when is this installed?';
comment on column comanda.installation.migrated_at is 'When was it last changed by a migration?';

comment on table comanda.run is 'The ledger: what was decided, on whose behalf, and how far is it? One row per key, kept long after its effects have ended.';
comment on column comanda.run.id is 'By which number do other tables name this decision?';
comment on column comanda.run.key is 'Which business event is this? The same key is the same decision, for ever.';
comment on column comanda.run.subject is 'What is it about, e.g. order:ORD-2041? Empty when nobody said.';
comment on column comanda.run.kind is 'What sort of decision is it, in the caller''s words?';
comment on column comanda.run.actor_type is 'Was it a human, an agent or a system that decided? Null when nobody declared it.';
comment on column comanda.run.actor_id is 'Who decided, as the caller names them?';
comment on column comanda.run.on_behalf_of is 'On whose behalf did the actor act? A chain of actors.';
comment on column comanda.run.by_agent is 'Is an agent or a model anywhere in the chain, so that the switch for AI actions stops it?';
comment on column comanda.run.tenant is 'Whose decision is it, in a database that serves several customers?';
comment on column comanda.run.reason is 'Why was it decided, in one sentence for people?';
comment on column comanda.run.trigger_origin is 'What set it off: which webhook, workflow, schedule?';
comment on column comanda.run.workflow_version is 'Which version or commit of the workflow decided?';
comment on column comanda.run.endpoint_class is 'Where did the model run: hosted, private, on the machine?';
comment on column comanda.run.model is 'Which model proposed it?';
comment on column comanda.run.model_revision is 'Which revision of that model?';
comment on column comanda.run.validation is 'What did the validation of the model''s output say?';
comment on column comanda.run.repairs is 'How often was the output repaired before it was valid?';
comment on column comanda.run.output is 'What of the output is kept, or where is it? Minimised, never a reasoning trace.';
comment on column comanda.run.input_hash is 'Was a claimed run asked to do the same work again, or other work under the same key?';
comment on column comanda.run.effects_hash is 'Does a repetition say the same? SHA-256 of the subject and the content of its effects as stored; not of actor, reason, target or times.';
comment on column comanda.run.state is 'How far is it? A plain decision stays decided here: the view run_ledger derives the rest from its effects.';
comment on column comanda.run.version is 'Has somebody else changed this row since I read it?';
comment on column comanda.run.lease_owner is 'Who is processing it now? Set exactly while the state is processing.';
comment on column comanda.run.lease_expires_at is 'Until when is that believed without a word from them?';
comment on column comanda.run.fence is 'Which claim of this run is the latest?';
comment on column comanda.run.result is 'What did it come to? JSON, returned to everyone who asks with the same key.';
comment on column comanda.run.failure_class is 'What sort of failure was it, for the retry policy?';
comment on column comanda.run.attempts is 'How often was it claimed?';
comment on column comanda.run.next_at is 'When will a failed but retryable run be looked at again?';
comment on column comanda.run.supersedes is 'Which earlier decision does this one correct?';
comment on column comanda.run.superseded_by is 'Which later decision corrected this one?';
comment on column comanda.run.created_at is 'When was it recorded?';
comment on column comanda.run.updated_at is 'When did this row last change?';
comment on column comanda.run.finished_at is 'When did it reach its end?';

comment on table comanda.effect is 'The outbox: what is to happen outside because of a decision? Written once, never changed.';
comment on column comanda.effect.id is 'By which number do people and other tables name this effect?';
comment on column comanda.effect.run_id is 'Which decision implies it?';
comment on column comanda.effect.name is 'Which of the decision''s effects is it? The kind, unless there are several of one kind.';
comment on column comanda.effect.kind is 'What sort of act is it, e.g. issue_refund? Relays execute the kinds they know.';
comment on column comanda.effect.kind_version is 'For which version of the kind was the payload written?';
comment on column comanda.effect.target is 'Which destination receives it? Breaker, pause, limits and switch are per target.';
comment on column comanda.effect.payload is 'What exactly is sent? JSON as jsonb prints it, stored and sent byte for byte.';
comment on column comanda.effect.headers is 'What travels beside the payload, the trace context among it? A JSON object of strings.';
comment on column comanda.effect.explicit_key is 'Which idempotency key did the caller choose? Null: the decision''s key, a slash and the name.';
comment on column comanda.effect.ordering_key is 'With which other effects does it keep its order? Null: with none.';
comment on column comanda.effect.subject_version is 'For which version of its subject was it decided, so that a target can refuse an older one?';
comment on column comanda.effect.due_at is 'From when on may it run? Null when it could at once.';
comment on column comanda.effect.waits is 'Was it born waiting, and why: delayed, held or window? It never changes; the table waiting says whether it still waits.';
comment on column comanda.effect.created_at is 'When was it decided?';

comment on table comanda.effect_key is 'Is this explicit idempotency key taken? One row per key that a caller chose.';
comment on column comanda.effect_key.key is 'Which key?';
comment on column comanda.effect_key.effect_id is 'Which effect has it, for ever?';

comment on table comanda.waiting is 'Which effects may not run yet, why, and when does somebody look again? Here, and only here, is a cancellation exact.';
comment on column comanda.waiting.effect_id is 'Which effect waits?';
comment on column comanda.waiting.reason is 'For what: a time (delayed), a person or another effect (held), or the end of its cancel window (window)?';
comment on column comanda.waiting.approval_id is 'For which approval?';
comment on column comanda.waiting.prerequisite_id is 'For the end of which other effect?';
comment on column comanda.waiting.next_at is 'When is it looked at next? Never without a moment.';
comment on column comanda.waiting.lane is 'In which lane will it take its place when it is released?';
comment on column comanda.waiting.kind is 'What sort of act is it?';
comment on column comanda.waiting.target is 'Which destination will receive it?';

comment on table comanda.effect_arrival is 'What has been committed and not yet put on a lane? In commit order within each ordering key.';
comment on column comanda.effect_arrival.id is 'Which place does it take in its lane?';
comment on column comanda.effect_arrival.effect_id is 'Which effect arrived?';
comment on column comanda.effect_arrival.lane is 'Which lane does it go to: k: and the ordering key, or e: and its own number?';
comment on column comanda.effect_arrival.kind is 'What sort of act is it?';
comment on column comanda.effect_arrival.target is 'Which destination will receive it?';
comment on column comanda.effect_arrival.arrived_at is 'Since when does it wait for a router?';

comment on table comanda.effect_queue is 'Which unfinished effects are on each lane, in which order?';
comment on column comanda.effect_queue.lane is 'On which lane?';
comment on column comanda.effect_queue.pos is 'In which place? The lowest of a lane is its head.';
comment on column comanda.effect_queue.effect_id is 'Which effect?';
comment on column comanda.effect_queue.kind is 'What sort of act is it?';
comment on column comanda.effect_queue.target is 'Which destination will receive it?';

comment on table comanda.lane is 'Who works on each lane, until when, and what may already have happened to its head? One row while the lane has effects.';
comment on column comanda.lane.lane is 'Which lane: k: and an ordering key, or e: and the number of an effect without one?';
comment on column comanda.lane.kind is 'What sort of act is the head, so that a relay that knows it can claim the lane?';
comment on column comanda.lane.target is 'Which destination does the head go to?';
comment on column comanda.lane.ready_at is 'When may the lane be claimed? Due time, back-off and end of the lease in one; infinity while parked.';
comment on column comanda.lane.fence is 'Who may settle the head now? Only the holder of this number, which grows with each claim and each act on the lane.';
comment on column comanda.lane.owner is 'Which relay holds, or last held, the lease? Set on a due lane, it says that the lease ran out.';
comment on column comanda.lane.attempt is 'How often has the head been claimed? Counted at the claim, given back on a clean release.';
comment on column comanda.lane.inflight_to is 'Up to which place may the present holder have sent?';
comment on column comanda.lane.suspect_to is 'Up to which place may an earlier attempt have been applied?';
comment on column comanda.lane.cleared_to is 'Which head was looked up and found not applied, so that it is no suspect?';
comment on column comanda.lane.first_at is 'Since when may the provider know the head''s key? The first claim of what is still open: the lifetime of the key counts from here.';
comment on column comanda.lane.trouble is 'Is the head''s outcome unknown, or has it failed and blocks the lane?';
comment on column comanda.lane.looks is 'How often has the provider been asked about the head in vain?';
comment on column comanda.lane.lost is 'How many processes ended while they may have been executing the head?';
comment on column comanda.lane.parked_by is 'What must change before the lane goes on: switch: and a scope, or what a person has to settle?';
comment on column comanda.lane.parked_at is 'Since when is it parked?';

comment on table comanda.effect_request is 'What have callers and people asked for that a relay has to apply, and what came of it?';
comment on column comanda.effect_request.id is 'By which number is the request named?';
comment on column comanda.effect_request.effect_id is 'For which effect?';
comment on column comanda.effect_request.action is 'What is asked for: cancel, skip, release, redrive, resolve?';
comment on column comanda.effect_request.argument is 'With which details, e.g. resolved as what?';
comment on column comanda.effect_request.requested_by is 'Who asked?';
comment on column comanda.effect_request.reason is 'Why?';
comment on column comanda.effect_request.requested_at is 'When?';
comment on column comanda.effect_request.answered_at is 'When was it answered? Null while it is open.';
comment on column comanda.effect_request.answer is 'What was done, or why was it refused?';

comment on table comanda.attempt is 'What was tried, by whom, and what did the provider say? Rows are only added: a start before the bytes leave, an end, late answers, look-ups.';
comment on column comanda.attempt.effect_id is 'Which effect was tried?';
comment on column comanda.attempt.fence is 'Under which claim?';
comment on column comanda.attempt.phase is 'Is this the start, the end, a late answer, or a look-up?';
comment on column comanda.attempt.at is 'When, by the database''s clock?';
comment on column comanda.attempt.attempt is 'Which try of the effect was it, from 1?';
comment on column comanda.attempt.owner is 'Which relay, or which person, says so?';
comment on column comanda.attempt.outcome is 'What came of it? Null for a start.';
comment on column comanda.attempt.provider_id is 'How does the provider name what it did?';
comment on column comanda.attempt.status is 'Which status did the protocol give, e.g. 503?';
comment on column comanda.attempt.error_class is 'What sort of error was it, e.g. ECONNREFUSED?';
comment on column comanda.attempt.error_text is 'What did the error say, redacted?';
comment on column comanda.attempt.response is 'What did the provider answer, redacted and cut?';
comment on column comanda.attempt.duration_ms is 'How long did it take?';

comment on table comanda.outcome is 'How did each effect end, who says so, and on what evidence? The row with the highest fence counts.';
comment on column comanda.outcome.effect_id is 'Which effect ended?';
comment on column comanda.outcome.fence is 'Under which claim or act was it written?';
comment on column comanda.outcome.state is 'Did it complete, fail, or was it cancelled?';
comment on column comanda.outcome.settled_by is 'Which relay or person wrote it?';
comment on column comanda.outcome.reason is 'Why did it end so?';
comment on column comanda.outcome.attempts is 'After how many tries?';
comment on column comanda.outcome.provider_id is 'How does the provider name what it did?';
comment on column comanda.outcome.maybe_applied is 'May it have happened all the same?';
comment on column comanda.outcome.settled_at is 'When?';

comment on table comanda.effect_kind is 'What is each kind of effect: how risky, where does it go, how does its target recognise a repetition? Published by deployments.';
comment on column comanda.effect_kind.kind is 'Which kind?';
comment on column comanda.effect_kind.version is 'Which version of it?';
comment on column comanda.effect_kind.target is 'Which destination receives it, whatever a caller says?';
comment on column comanda.effect_kind.risk is 'Can it be taken back?';
comment on column comanda.effect_kind.idempotency is 'How does the target recognise a repetition: by a key, by nature, or not at all?';
comment on column comanda.effect_kind.on_unknown is 'What is done when nobody knows whether it happened: look it up, or ask a person?';
comment on column comanda.effect_kind.contract is 'What else was agreed with the target: where the key travels, how long it is remembered?';
comment on column comanda.effect_kind.amount_pointer is 'Where in the payload is the amount that policies judge? A JSON pointer.';
comment on column comanda.effect_kind.redaction is 'Which values of the payload are masked in stored evidence? Dotted paths.';
comment on column comanda.effect_kind.input_schema is 'What must a payload look like? JSON Schema.';
comment on column comanda.effect_kind.max_attempts is 'How often is it tried?';
comment on column comanda.effect_kind.timeout_ms is 'How long may one try take?';
comment on column comanda.effect_kind.published_by is 'Which process published this?';
comment on column comanda.effect_kind.published_at is 'When did it last change?';

comment on table comanda.policy is 'Which rule decides whether an effect needs a person? Versions are kept, so that an old decision can be explained.';
comment on column comanda.policy.name is 'Which policy?';
comment on column comanda.policy.version is 'Which version of it?';
comment on column comanda.policy.rules is 'What does it say?';
comment on column comanda.policy.published_by is 'Who published it?';
comment on column comanda.policy.published_at is 'When?';

comment on table comanda.target is 'Can this destination take work now, and how much of it? Only targets with a breaker, a pause or a limit have a row.';
comment on column comanda.target.target is 'Which destination?';
comment on column comanda.target.breaker is 'Is its breaker closed (work flows), open (none does) or half open (one probe does)?';
comment on column comanda.target.breaker_reason is 'Why is the breaker open?';
comment on column comanda.target.breaker_until is 'When is the next probe allowed?';
comment on column comanda.target.paused_until is 'Until when did the target, or a person, ask for patience?';
comment on column comanda.target.paused_at is 'Since when is it paused?';
comment on column comanda.target.pause_reason is 'Why is it paused?';
comment on column comanda.target.rate_per_second is 'How many effects a second may all relays send to it together?';
comment on column comanda.target.concurrency is 'How many at the same time?';
comment on column comanda.target.shares is 'Which relay holds which part of these limits, until when?';
comment on column comanda.target.probe_by is 'Which relay holds the one probe of a half-open breaker?';
comment on column comanda.target.openings is 'How often in a row did the breaker open without a success in between?';
comment on column comanda.target.opened_at is 'Since when is the breaker not closed?';
comment on column comanda.target.set_by is 'Who set the limits by hand? Null: they are those of the relays'' configuration.';
comment on column comanda.target.updated_at is 'When did this row last change?';

comment on table comanda.aggregate is 'Which version did each aggregate reach? Its row lock is what numbers events without a gap.';
comment on column comanda.aggregate.aggregate_type is 'Which sort of thing, e.g. order?';
comment on column comanda.aggregate.aggregate_id is 'Which one of them?';
comment on column comanda.aggregate.version is 'Which version did its last event have?';
comment on column comanda.aggregate.updated_at is 'When was that?';

comment on table comanda.event is 'Which facts are there to publish? Never an effect: replaying them changes nothing outside.';
comment on column comanda.event.id is 'By which identifier does every consumer know this event, each time it is delivered?';
comment on column comanda.event.position is 'Which place has it in the feed? Null until it is stamped, then without gaps.';
comment on column comanda.event.run_id is 'Which decision told it?';
comment on column comanda.event.aggregatetype is 'Which sort of thing is it about? Named as Debezium''s outbox router expects.';
comment on column comanda.event.aggregateid is 'Which one of them? Named as Debezium''s outbox router expects.';
comment on column comanda.event.version is 'Which version of the aggregate does it make?';
comment on column comanda.event.type is 'What happened?';
comment on column comanda.event.schema_version is 'In which shape is the payload?';
comment on column comanda.event.payload is 'What are the details? JSON, published byte for byte.';
comment on column comanda.event.headers is 'What travels beside the payload, the trace context among it?';
comment on column comanda.event.created_at is 'When was it told?';

comment on table comanda.event_arrival is 'Which events are committed and not yet stamped with a place in the feed?';
comment on column comanda.event_arrival.id is 'In which order did they commit?';
comment on column comanda.event_arrival.event_id is 'Which event?';
comment on column comanda.event_arrival.event_created_at is 'In which partition is it?';
comment on column comanda.event_arrival.aggregate is 'What is it about?';

comment on table comanda.feed is 'Which place in the feed was given last? One row; the stamper locks it.';
comment on column comanda.feed.singleton is 'Why is there only one row? Because this column can only be true.';
comment on column comanda.feed.position is 'Which place was given last?';

comment on table comanda.approval is 'What is a person asked to approve, by when, and what came of it? Bound to exactly these bytes.';
comment on column comanda.approval.id is 'By which number is the request named?';
comment on column comanda.approval.run_id is 'Which decision waits for it?';
comment on column comanda.approval.effects_hash is 'Which effects exactly are approved? Others are not.';
comment on column comanda.approval.mode is 'Does it run after a yes, after a window without a no, or by a policy with exceptions?';
comment on column comanda.approval.policy_name is 'Which policy asked for a person?';
comment on column comanda.approval.policy_version is 'Which version of that policy?';
comment on column comanda.approval.requester is 'Who asks, and so may not answer?';
comment on column comanda.approval.audience is 'Who may answer?';
comment on column comanda.approval.quorum is 'How many must say yes?';
comment on column comanda.approval.state is 'Is it open, approved, rejected, expired or cancelled?';
comment on column comanda.approval.created_at is 'When was it asked?';
comment on column comanda.approval.expires_at is 'When does silence become expired? Silence never approves.';
comment on column comanda.approval.decided_at is 'When was it decided? Null while it is open.';

comment on table comanda.approval_vote is 'Who said what about an approval? One vote per person.';
comment on column comanda.approval_vote.approval_id is 'About which approval?';
comment on column comanda.approval_vote.voter is 'Who?';
comment on column comanda.approval_vote.decision is 'Yes or no?';
comment on column comanda.approval_vote.assurance is 'How surely do we know that it was them?';
comment on column comanda.approval_vote.comment is 'What did they add?';
comment on column comanda.approval_vote.voted_at is 'When?';

comment on table comanda.approval_token is 'Which links to an approval are out there? Only the hash of each token is stored.';
comment on column comanda.approval_token.token_sha256 is 'Which token? SHA-256 of it: who reads this table cannot use it.';
comment on column comanda.approval_token.approval_id is 'For which approval?';
comment on column comanda.approval_token.audience is 'For whom was it made?';
comment on column comanda.approval_token.allowed is 'What may be done with it?';
comment on column comanda.approval_token.created_at is 'When was it made?';
comment on column comanda.approval_token.expires_at is 'Until when does it work?';
comment on column comanda.approval_token.consumed_at is 'When was it used? It works once.';
comment on column comanda.approval_token.consumed_by is 'Who used it?';
comment on column comanda.approval_token.decision is 'What did they choose?';

comment on table comanda.switch is 'What may act now? A scope without a row is on; without the row for all, nothing acts.';
comment on column comanda.switch.scope is 'What is switched: all, kind:, target:, tenant:, actor: or agent: and a name?';
comment on column comanda.switch.mode is 'Does it run, drain (only what is claimed is still sent), or hold or stop (nothing is sent)?';
comment on column comanda.switch.reason is 'Why?';
comment on column comanda.switch.owner_name is 'Who is responsible for turning it?';
comment on column comanda.switch.backup_name is 'Who, when that person cannot be reached?';
comment on column comanda.switch.set_by is 'Who turned it last?';
comment on column comanda.switch.set_at is 'When?';
comment on column comanda.switch.version is 'Which turn was it? A relay that obeys this number, or a higher one, has seen it.';

comment on table comanda.inbox is 'Has this consumer seen this message? Written in the consumer''s own transaction.';
comment on column comanda.inbox.consumer is 'Which consumer?';
comment on column comanda.inbox.key is 'Which message?';
comment on column comanda.inbox.received_at is 'When was it first seen?';
comment on column comanda.inbox.expires_at is 'When can it be forgotten? Not before the sender''s last repetition.';

comment on table comanda.checkpoint is 'How far has each consumer read the feed?';
comment on column comanda.checkpoint.consumer is 'Which consumer?';
comment on column comanda.checkpoint.partition is 'Which part of the feed?';
comment on column comanda.checkpoint.position is 'Up to which place?';
comment on column comanda.checkpoint.updated_at is 'Since when?';

comment on table comanda.projection is 'Which views are built from the events, and which build of each is the one to read?';
comment on column comanda.projection.name is 'Which view?';
comment on column comanda.projection.version is 'Which build of it?';
comment on column comanda.projection.state is 'Is it being built, live, retired, or did the build fail?';
comment on column comanda.projection.snapshot_position is 'From which place of the feed does the build follow?';
comment on column comanda.projection.started_at is 'When did the build start?';
comment on column comanda.projection.live_at is 'Since when is it read?';
comment on column comanda.projection.retired_at is 'Since when is it not read any more?';
comment on column comanda.projection.detail is 'What else is known about the build?';

comment on table comanda.gap is 'Which event is a consumer missing, so that its key is parked until it comes?';
comment on column comanda.gap.consumer is 'Which consumer?';
comment on column comanda.gap.aggregate is 'Of which aggregate?';
comment on column comanda.gap.expected_version is 'Which version should have come?';
comment on column comanda.gap.seen_version is 'Which one came instead?';
comment on column comanda.gap.found_at is 'When was the gap found?';
comment on column comanda.gap.filled_at is 'When was it filled?';

comment on table comanda.audit is 'Which acts of people and of controls are on record, and is the record unbroken?';
comment on column comanda.audit.id is 'In which order were they written?';
comment on column comanda.audit.at is 'When?';
comment on column comanda.audit.actor is 'Who?';
comment on column comanda.audit.act is 'What did they do?';
comment on column comanda.audit.subject is 'To what?';
comment on column comanda.audit.reason is 'Why?';
comment on column comanda.audit.detail is 'With which details?';
comment on column comanda.audit.chain_position is 'Which link of the chain is it? Null until it is chained, after its commit.';
comment on column comanda.audit.previous_hash is 'What was the hash of the link before?';
comment on column comanda.audit.hash is 'Does this row still say what it said when it was chained?';

comment on table comanda.relay is 'Which relays live, what can they execute, and which turn of the switch do they obey?';
comment on column comanda.relay.id is 'Which process? New at each start.';
comment on column comanda.relay.kinds is 'Which kinds can it execute?';
comment on column comanda.relay.software_version is 'Which version of the software is it?';
comment on column comanda.relay.schema_version is 'For which schema version was it written?';
comment on column comanda.relay.switch_version is 'Which turn of the switch does it obey?';
comment on column comanda.relay.environment is 'For which environment was it configured?';
comment on column comanda.relay.endpoint is 'Under which host, port and database name does it reach PostgreSQL?';
comment on column comanda.relay.holds is 'Why does it act on nothing? Null while it works.';
comment on column comanda.relay.started_at is 'Since when does it live?';
comment on column comanda.relay.beat_at is 'When did it last say so?';
comment on column comanda.relay.stopped_at is 'When did it say goodbye? Null while it runs, or when it was killed.';

comment on view comanda.effect_state is 'How far is each effect, what does it wait for, and since when? In the product''s own words.';
comment on column comanda.effect_state.effect_id is 'Which effect?';
comment on column comanda.effect_state.run_key is 'Which decision, by its key?';
comment on column comanda.effect_state.run_id is 'Which decision, by its number?';
comment on column comanda.effect_state.subject is 'What is the decision about?';
comment on column comanda.effect_state.name is 'Which of the decision''s effects is it?';
comment on column comanda.effect_state.kind is 'What sort of act is it?';
comment on column comanda.effect_state.kind_version is 'For which version of the kind was it written?';
comment on column comanda.effect_state.target is 'Which destination receives it?';
comment on column comanda.effect_state.ordering_key is 'With which other effects does it keep its order?';
comment on column comanda.effect_state.subject_version is 'For which version of its subject was it decided?';
comment on column comanda.effect_state.idempotency_key is 'By which key does the target recognise a repetition?';
comment on column comanda.effect_state.state is 'How far is it: waiting, pending, sending, unknown, completed, failed or cancelled?';
comment on column comanda.effect_state.waits_for is 'What does a waiting effect wait for?';
comment on column comanda.effect_state.next_at is 'When is it looked at next? For a sending effect: when does the lease end?';
comment on column comanda.effect_state.attempts is 'How often was it tried?';
comment on column comanda.effect_state.blocked_by is 'What stands in its way: an effect in front of it, a switch, a person''s answer?';
comment on column comanda.effect_state.parked_at is 'Since when is its lane parked?';
comment on column comanda.effect_state.relay is 'Which relay holds, or last held, its lane?';
comment on column comanda.effect_state.fence is 'Under which claim or act does its lane stand?';
comment on column comanda.effect_state.ended_as is 'How did it end? Null while it has not.';
comment on column comanda.effect_state.ended_at is 'When did it end?';
comment on column comanda.effect_state.ended_by is 'Which relay or person says so?';
comment on column comanda.effect_state.ended_reason is 'Why did it end so?';
comment on column comanda.effect_state.provider_id is 'How does the provider name what it did?';
comment on column comanda.effect_state.created_at is 'When was it decided?';

comment on view comanda.outbox is 'Which effects are pending, processing, done or failed? The outbox as the pattern is usually drawn. Read-only: decide() adds, cancel() takes back, request() skips, redrives and resolves.';
comment on column comanda.outbox.id is 'Which effect?';
comment on column comanda.outbox.aggregate_id is 'What is it about: the subject without its type?';
comment on column comanda.outbox.effect_type is 'What sort of act is it?';
comment on column comanda.outbox.payload is 'What is sent?';
comment on column comanda.outbox.idempotency_key is 'By which key does the target recognise a repetition?';
comment on column comanda.outbox.status is 'Is it pending, processing, done, failed, delayed, held, unknown or cancelled?';
comment on column comanda.outbox.attempts is 'How often was it tried?';
comment on column comanda.outbox.last_error is 'What did the last try that did not succeed say?';
comment on column comanda.outbox.created_at is 'When was it decided?';
comment on column comanda.outbox.processed_at is 'When did it end?';
comment on column comanda.outbox.state is 'How far is it, in the product''s own words?';
comment on column comanda.outbox.subject is 'What is the decision about?';
comment on column comanda.outbox.run_key is 'Which decision implies it?';
comment on column comanda.outbox.name is 'Which of the decision''s effects is it?';
comment on column comanda.outbox.target is 'Which destination receives it?';
comment on column comanda.outbox.ordering_key is 'With which other effects does it keep its order?';
comment on column comanda.outbox.provider_id is 'How does the provider name what it did?';

comment on view comanda.run_ledger is 'Was this key processed, and what came of it? The ledger as the pattern is usually drawn: a plain decision is as far as its effects are. Read-only: decide() adds.';
comment on column comanda.run_ledger.id is 'Which decision, by its number?';
comment on column comanda.run_ledger.idempotency_key is 'Which decision, by its key?';
comment on column comanda.run_ledger.order_id is 'What is it about: the subject without its type?';
comment on column comanda.run_ledger.status is 'Is it pending, done or failed - or held, unknown or cancelled, which never read as pending?';
comment on column comanda.run_ledger.result is 'What did it come to?';
comment on column comanda.run_ledger.created_at is 'When was it recorded?';
comment on column comanda.run_ledger.updated_at is 'When did it, or one of its effects, last go on?';
comment on column comanda.run_ledger.state is 'How far is it, in the product''s own words?';
comment on column comanda.run_ledger.subject is 'What is it about?';
comment on column comanda.run_ledger.kind is 'What sort of decision is it?';
comment on column comanda.run_ledger.actor_type is 'Was it a human, an agent or a system that decided?';
comment on column comanda.run_ledger.actor_id is 'Who decided?';
comment on column comanda.run_ledger.tenant is 'Whose decision is it?';
comment on column comanda.run_ledger.reason is 'Why was it decided?';
comment on column comanda.run_ledger.effects is 'How many effects does it imply?';
comment on column comanda.run_ledger.open_effects is 'How many of them have not ended?';

comment on view comanda.unattended is 'What will nobody ever look at again? Structural holes: empty at all times, or the installation is damaged.';
comment on column comanda.unattended.what is 'What sort of hole is it?';
comment on column comanda.unattended.effect_id is 'Which effect is in it, when it is one effect?';
comment on column comanda.unattended.thing is 'Which effect, lane, decision or request is it?';

comment on view comanda.attention is 'What waits for a person, or should have gone on by itself and did not: since when, and what to do?';
comment on column comanda.attention.what is 'What sort of thing is it?';
comment on column comanda.attention.effect_id is 'Which effect, when it is one effect?';
comment on column comanda.attention.run_key is 'Which decision?';
comment on column comanda.attention.kind is 'Which kind of effect?';
comment on column comanda.attention.target is 'Which destination?';
comment on column comanda.attention.lane is 'Which lane does it hold up?';
comment on column comanda.attention.reason is 'What happened?';
comment on column comanda.attention.since is 'Since when?';
comment on column comanda.attention.what_to_do is 'What can be done about it?';

comment on view comanda.gauges is 'How much is unfinished, how old is the oldest of it, and does anybody work? As cheap as the unfinished work is small.';
comment on column comanda.gauges.name is 'Which number?';
comment on column comanda.gauges.label is 'Of what, when there are several: a kind, an action, a reason?';
comment on column comanda.gauges.value is 'How much?';

comment on function comanda.decide(jsonb) is
  'Record this decision and its effects in my transaction? Takes {key, effects: [{kind, payload, name?, version?, target?, key?, orderingKey?, subjectVersion?, headers?, delayMs? | dueAt? | cancelWindowMs?}], subject?, kind?, actor?, tenant?, reason?, trigger?, workflowVersion?, endpointClass?, model?, modelRevision?, validation?, repairs?, output?, headers?}. The same key again gives the same decision with created = false. A refusal raises CM001 to CM006.';
comment on function comanda.try_decide(jsonb) is
  'As decide(), but the refusal is a row, so that the transaction stays usable: status is decided, existing, conflict, invalid, invalid_payload, too_large, too_many_lanes or key_taken.';
comment on function comanda.decide_many(jsonb) is
  'Record all of these decisions? Takes an array of what decide() takes, 10000 at most; one row each, in the order given, with the status of try_decide(). The others stand when one is refused.';
comment on function comanda.cancel(jsonb) is
  'Can these effects still be taken back? Takes {key, name?, by?, reason?}. cancelled: it never ran. requested: its relay answers. too late: it has ended. CM007 when there is no such effect.';
comment on function comanda.request(jsonb) is
  'Let a person act on one effect? Takes {effect, action: skip | redrive | release | resolve, by, reason, as?: completed | failed | pending, providerId?}. A relay applies it within seconds and answers in effect_request.';
comment on function comanda.switch_set(jsonb) is
  'Turn a scope on or off? Takes {scope, mode: run | hold | drain | stop, by, reason, owner?, backup?}. Returns the version; a relay whose switch_version is as high obeys it.';
comment on function comanda.relay_beat(jsonb) is
  'I live: what does the switch say, and must I hold? Takes {relay, kinds, softwareVersion, schemaVersion, switchVersion, environment?, endpoint?, stopping?}.';
comment on function comanda.fingerprint() is 'Which server and database is this at this moment, and on which timeline? Null where the server does not tell.';
comment on function comanda.adoption(jsonb) is
  'Is this the installation that was adopted? Takes {environment?, endpoint?} of a relay. wrong: why nothing may leave; moved: only the timeline changed, so kinds without a key wait. Both null: it is.';
comment on function comanda.hidden_rows() is
  'Whose rows does row-level security hide? from_functions: from the functions of this schema too, so that nothing is sent; otherwise from roles that read the table directly.';
comment on function comanda.adopt(jsonb) is
  'Make this database the real one? Takes {by, reason, environment?, endpoint?: text or texts, acceptTimeline?}. Until then relays of a copied, restored or moved installation hold. Written to audit.';
comment on function comanda.publish_kinds(jsonb) is
  'What are the kinds of this deployment? Takes {by, kinds: [{kind, version, target, risk, idempotency, onUnknown, maxAttempts, timeoutMs, contract?, redact?, inputSchema?}]}; returns those that changed.';
comment on function comanda.route(jsonb) is
  'What has arrived? Puts arrivals on their lanes in commit order and leases new lanes to the caller. Takes {relay, leaseMs, kinds: [{kind, lanes}], batch?}. No row: nothing to do, or another router is at work.';
comment on function comanda.claim(jsonb) is
  'Which due work is mine now? Leases lanes and returns the prefix of each head with equal kind and target. Takes {relay, leaseMs, kinds: [{kind, lanes, batch}]}; batch is 1 for kinds that are not idempotent.';
comment on function comanda.payloads(jsonb) is
  'What do my claimed effects say? Takes {effects: [ids in the order of the claim], suspects: [ids], laneBytes?}; for suspects also whether an earlier start is unresolved and whether a late answer came. With laneBytes, what is behind the first of a lane only while all together have no more bytes.';
comment on function comanda.may_send(jsonb) is
  'May these effects be sent now? Asked right before sending: fence, lease, switch, cancellation. Takes {relay, floor: none | agents | agents_and_undeclared, items: [{lane, fence, effect, attempt, suspect, lost, mark, needMs}]}. go, or why not: lost, short, cancel, applied, busy, off: and a scope. With mark it writes the start row.';
comment on function comanda.settle(jsonb) is
  'What became of my claimed work? Takes {relay, leaseMs, lanes: [{lane, fence, mode: keep | next | retry | unsure | unknown | absent | block, delayMs?, reason?, trouble?, giveBack?, keepLost?, lost?, looked?, headFailed?, head?, ended?: [{pos, effect, state, …}]}]}. ok, busy (call again) or fenced (too late: tell late_evidence()).';
comment on function comanda.late_evidence(jsonb) is
  'What did I learn about work that is no longer mine? Takes {relay, items: [{fence, effect, attempt, outcome, …}]}; kept once, and believed by the next look-up.';
comment on function comanda.renew(jsonb) is
  'Do I still hold these lanes, and may I go on? Takes {relay, leaseMs, lanes: [{lane, fence}]}. ok, busy (call again) or lost (stop).';
comment on function comanda.sweep(jsonb) is
  'What is due that no lane will tell? Moves waiting effects that are due, unparks lanes whose switch is on again, applies requests, makes partitions. Takes {relay, batch?}; one sweep at a time, the others return ran = false.';
comment on function comanda.set_awake(float8) is
  'Until when does some relay look anyway, in milliseconds from now? 0: it sleeps, so decisions notify; -1: always, so they never do.';
comment on function comanda.wake_channel() is
  'On which channel do decisions of this installation notify?';

comment on function comanda.effect_content(text, text, int, text, text, text, bigint) is 'What of an effect makes a decision the same or another? Internal.';
comment on function comanda.run_fits(comanda.run) is 'May the ledger hold this row? Limits of size, and what belongs together. Internal: CHECK of run.';
comment on function comanda.effect_fits(comanda.effect) is 'May the outbox hold this row? Limits of size. Internal: CHECK of effect.';
comment on function comanda.wake() is 'Does anybody have to be told that there is work? Internal: part of try_decide() and place().';
comment on function comanda.place() is 'Which place does a keyed effect take in its lane? Drawn at COMMIT. Internal: trigger of effect.';
comment on function comanda.invalid_decision(jsonb) is 'What is wrong with the shape of this decision? Null when nothing is. Internal.';
comment on table comanda.ended_mark is 'Up to which number have all effects ended?';
comment on column comanda.ended_mark.singleton is 'Is it the only row?';
comment on column comanda.ended_mark.effect_id is 'Up to which number of effect has every one ended?';
comment on column comanda.ended_mark.candidate is 'How far may the mark move at present?';
comment on column comanda.ended_mark.candidate_xid is 'Which transactions must be over before it may? All before this one.';
comment on function comanda.advance_ended_mark(int) is 'How far have all effects ended? Internal: part of sweep().';
comment on function comanda.is_redriven(bigint) is 'Has an effect that ended been put on its way again? Internal: part of cancel() and sweep().';
comment on function comanda.raise_sequences() is 'Will fences and places be new ones, also after a move that did not copy the sequences? Internal: part of adopt().';
comment on function comanda.rows_hidden() is 'Does row-level security hide rows from the functions of this schema? Internal: part of stopped() and claim().';
comment on function comanda.is_stale(bigint) is 'Was a newer version of this effect''s subject decided since? Internal: part of may_send().';
comment on function comanda.stopped(boolean, jsonb) is 'Which scopes are off? Null: everything, because the row for all does not say run, or this is not the adopted installation. Internal.';
comment on function comanda.sweep_waiting(int) is 'Which waiting effects are due, and is their lane free to take them? Internal: part of sweep().';
comment on function comanda.sweep_parked(int) is 'Which parked lanes have no reason to be parked any more? Internal: part of sweep().';
comment on function comanda.sweep_requests(int) is 'Which requests can be answered now? Internal: part of sweep().';
comment on function comanda.apply_request(bigint) is 'What came of this request? Null when it must wait. Internal: part of sweep().';
comment on function comanda.ensure_partitions(timestamptz) is 'Are there partitions for this month and the next two? Returns how many were made. Internal: part of sweep().';
comment on function comanda.refuse_view_write() is 'Which function should have been called instead? Internal: trigger of the read-only views.';
comment on function comanda.target_report(jsonb) is
  'What did a relay learn about a target, for all of them? request: {relay, target} and one of {pauseMs, reason?} (it asked for patience), {broke: true, reason, probe?, openMs?, openMaxMs?} (it refuses us or is down), {ok: true} (the probe came through).';
comment on function comanda.target_probe(jsonb) is
  'May this relay send the one probe to a target whose breaker is open? Granted to one relay at a time; asking again prolongs it. request: {relay, target, leaseMs}.';
comment on function comanda.targets_beat(jsonb) is
  'How much of the limits of its targets may this relay use for the next moments, and which of them are closed? Asked about once a second. request: {relay, stopping?, targets: [{target, kinds, ratePerSecond?, concurrency?, held?, slots?}]}.';
comment on function comanda.target_set(jsonb) is
  'How does a person pause or resume a target, close its breaker, or set its limits? request: {target, by, reason, pauseMs?, resume?, close?, ratePerSecond?, concurrency?, limitsOfCode?}. Limits set here win over those of the relays'' configuration.';
comment on function comanda.closed_targets(text) is 'Which targets may not be sent to now, until when, and for which does this relay hold the probe? Internal.';
comment on function comanda.ms_until(timestamptz) is 'How many milliseconds from now until then? Never negative. Internal.';

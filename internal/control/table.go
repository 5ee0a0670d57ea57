package control

import (
	"context"

	"agenthost/client"
	"agenthost/internal/audit"
	"agenthost/internal/erasure"
	"agenthost/session"
)

// Operations is the table of all operations of a host.
func (s *Service) Operations() []Operation {
	h := s.host
	sessions := &sessionStore{archive: session.NewArchive(h.JS), nc: h.NC, drop: h.Fleet.Drop, known: h.known}
	sessions.waiting = func(ctx context.Context) ([]client.Waiting, error) { return h.client().Waiting(ctx) }
	var all []Operation
	for _, part := range [][]Operation{
		h.fleetOperations(), h.agentOperations(), h.waitingOperations(), sessions.operations(h), h.operators(), h.pauseOperations(), (&deadLetters{h.JS, h.NC}).operations(),
		h.keptOperations(), h.modelOperations(), h.tokenOperations(), s.hostOperations(),
	} {
		all = append(all, part...)
	}
	for i := range all {
		all[i].Record = h.record
	}
	return all
}

// record writes an entry of the audit log.
func (h Host) record(ctx context.Context, e audit.Entry) {
	e.Host = h.Name
	if err := audit.NewLog(h.JS).Write(ctx, e); err != nil {
		h.Log.Error().Err(err).Str("action", e.Action).Str("by", e.By).Str("door", e.Door).Msg("write audit log: failed")
	}
}

// fleetOperations are about hosts.
func (h Host) fleetOperations() []Operation {
	return []Operation{
		status(Operation{
			Name: "status", Subject: client.StatusSubject, Do: do(none{}, h.status),
			Path: "/status", HTTP: do(none{}, h.statuses),
			About: "what every host and its agents are doing",
		}),
		report(Operation{
			Name: "fleet", Subject: "agenthost.fleet", Path: "/fleet", Do: do(none{}, h.allHosts),
			About: "the hosts of the fleet, the lanes that each serves, and its load",
		}),
		status(Operation{
			Name: "channels", Subject: client.ChannelsSubject, Do: do(none{}, h.channels),
			Path: "/channels", HTTP: do(byAgent{}, h.allChannels),
			About: "the accounts of channels of every host: who owns each, its state, what it took and delivered, what waits",
		}),
		report(Operation{
			Name: "drain", Subject: client.DrainSubject, Do: done(DrainOrder{}, h.drain), All: true, Required: true,
			Path: "/fleet/drain", HTTP: done(DrainOrder{}, h.drainHost), Changes: true, Whole: true,
			About: "has a host end in good order, when what it serves has moved to others: host",
		}),
		status(Operation{
			Name: "reload", Subject: client.ReloadSubject, Do: do(none{}, h.reload),
			Path: "/reload", HTTP: do(none{}, h.reloadAll), Changes: true, Whole: true,
			About: "reads the configuration again on every host, and lists their results",
		}),
	}
}

// agentOperations are about agents and their runs.
func (h Host) agentOperations() []Operation {
	return []Operation{
		report(Operation{
			Name: "agents", Subject: "agenthost.agents", Path: "/agents", Do: do(byAgent{}, h.agents),
			About: "the agents of the fleet: how each is doing, what it has spent today, and what it may do: agent",
		}),
		report(Operation{
			Name: "prompt", Subject: client.PromptSubject, Path: "/agents/prompt", Do: do(client.PreviewRequest{}, h.prompt),
			About: "what the model of an agent gets with each call: agent",
		}),
		report(Operation{
			Name: "send", Subject: "agenthost.send", Path: "/agents/send", Do: do(SendRequest{}, h.send), Changes: true,
			About: "gives an agent a message; the answer is in its session: agent, text, session, id",
		}),
		{
			Name: "play", Subject: "agenthost.play", Path: "/agents/play", Do: do(PlayRequest{}, h.play), Changes: true, Within: playWithin,
			About: "asks a model what an agent would ask it; nothing is delivered or kept, and no tool runs: agent, model, system, messages, no_tools",
		},
		status(Operation{
			Name: "stream", Subject: client.StreamSubject, Required: true, Do: do(client.StreamRequest{}, h.stream),
			About: "what the model of a session has said so far: agent, session; only its host answers, and only while it speaks",
		}),
		status(Operation{
			Name: "runs", Subject: client.RunsSubject, Do: do(none{}, h.runs),
			Path: "/runs", HTTP: do(byAgent{}, h.allRuns),
			About: "the runs of every host: what each is doing, since when, what it waits for",
		}),
		order(Operation{
			Name: "abort", Subject: AbortSubject, Do: done(client.Stop{By: client.ServiceName}, h.abort),
			Path: "/runs/abort", HTTP: do(client.Stop{}, h.stop), Changes: true, Elsewhere: true,
			About: "stops the run of a session: agent, session, by, reason",
		}),
	}
}

// waitingOperations are about approvals and questions.
func (h Host) waitingOperations() []Operation {
	return []Operation{
		report(Operation{
			Name: "approvals-ls", Subject: "agenthost.approvals.ls", Path: "/approvals", Do: do(waitingRequest{}, h.waiting),
			About: "lists the approvals and questions that wait, the oldest first: agent, all",
		}),
		report(Operation{
			Name: "approvals-show", Subject: "agenthost.approvals.show", Path: "/approvals/show", Do: do(WaitingID{}, h.showWaiting),
			About: "shows what waits, with the whole call: id",
		}),
		order(Operation{
			Name: "approve", Subject: ApproveSubject, Do: done(client.Answer{By: client.ServiceName}, h.approve),
			Path: "/approvals/answer", HTTP: do(client.Answer{}, h.answer), Changes: true, Elsewhere: true,
			About: "answers a call that waits: id, answer, scope, by, args",
		}),
		report(Operation{
			Name: "approvals-allowed", Subject: "agenthost.approvals.allowed", Path: "/approvals/allowed", Do: do(byAgent{}, h.allowed),
			About: "lists the standing approvals: agent",
		}),
		report(Operation{
			Name: "approvals-revoke", Subject: "agenthost.approvals.revoke", Path: "/approvals/revoke", Do: do(AllowedID{}, h.revokeAllowed), Changes: true,
			About: "takes a standing approval back: id",
		}),
	}
}

func (s *sessionStore) operations(h Host) []Operation {
	return []Operation{
		report(Operation{
			Name: "sessions-ls", Subject: SessionsSubject, Path: "/sessions", Do: do(session.Page{}, s.list),
			About: "lists sessions, the last written first: agent, channel, state, since, limit, after",
		}),
		report(Operation{
			Name: "sessions-show", Subject: "agenthost.sessions.show", Path: "/sessions/show", Do: do(SessionName{}, s.show),
			About: "shows how far a session has come, and what waits in it: agent, session",
		}),
		report(Operation{
			Name: "sessions-events", Subject: "agenthost.sessions.events", Path: "/sessions/events", Do: do(EventsPage{}, s.events),
			About: "lists the events of a session, the oldest first: agent, session, run, from, limit",
		}),
		report(Operation{
			Name: "sessions-search", Subject: "agenthost.sessions.search", Path: "/sessions/search", Do: do(SearchRequest{}, s.search),
			About: "finds the places where a text was said, the newest first: text, agent, since, limit",
		}),
		report(Operation{
			Name: "sessions-replay", Subject: "agenthost.sessions.replay", Path: "/sessions/replay", Do: do(SessionName{}, s.replay),
			About: "checks that the log of a session makes the same session again: agent, session",
		}),
		{
			Name: "sessions-rerun", Subject: "agenthost.sessions.rerun", Path: "/sessions/rerun", Changes: true, Within: playWithin,
			Do:    do(RerunRequest{}, func(ctx context.Context, r RerunRequest) (RerunReport, error) { return h.rerun(ctx, s, r) }),
			About: "asks another model what the runs of a session asked theirs; no tool runs and nothing is kept: agent, session, model, system, run, at",
		},
		report(Operation{
			Name: "sessions-delete", Subject: client.DeleteSessionSubject, Path: "/sessions/delete", Do: do(client.Removal{}, s.delete), Changes: true,
			About: "deletes a session: agent, session",
		}),
		report(Operation{
			Name: "sessions-fork", Subject: ForkSessionSubject, Path: "/sessions/fork", Do: do(client.Branching{}, s.fork), Changes: true,
			About: "makes a session of the beginning of another: agent, session, at, to",
		}),
		{
			Name: "sessions-drop", Subject: client.DropSessionSubject, Do: done(session.Deletion{}, s.dropped), All: true, Notice: true, InOrder: true, Required: true, Within: orderWithin,
			About: "notifies hosts that a session was deleted",
		},
		{
			Name: "sessions-erase", Subject: erasure.Subject, Do: do(erasure.Order{}, h.erase), All: true, Required: true, Within: eraseWithin,
			About: "has every host forget what it holds of a person in memory: person, agent, keys, up_to",
		},
	}
}

func (u *deadLetters) operations() []Operation {
	return []Operation{
		report(Operation{
			Name: "dead-ls", Subject: DeadLettersSubject, Path: "/dead", Do: do(DeadPage{}, u.list),
			About: "lists dead letters, the oldest first: agent, limit, after",
		}),
		report(Operation{
			Name: "dead-show", Subject: ShowDeadSubject, Path: "/dead/show", Do: do(DeadNumber{}, u.show),
			About: "shows all of a dead letter: dead_seq",
		}),
		report(Operation{
			Name: "dead-retry", Subject: RetryDeadSubject, Path: "/dead/retry", Do: do(DeadChoice{}, u.retry), Changes: true,
			About: "sends the messages of dead letters again: dead_seqs, or all with agent, limit, after",
		}),
		report(Operation{
			Name: "dead-purge", Subject: PurgeDeadSubject, Path: "/dead/purge", Do: do(DeadChoice{}, u.purge), Changes: true,
			About: "deletes dead letters for good: dead_seqs, or all with agent, limit, after",
		}),
	}
}

// keptOperations are about what the fleet keeps besides sessions.
func (h Host) keptOperations() []Operation {
	return []Operation{
		report(Operation{
			Name: "schedules-ls", Subject: "agenthost.schedules.ls", Path: "/schedules", Do: do(byAgent{}, h.schedules),
			About: "lists schedules and reminders, what is due first in front: agent",
		}),
		report(Operation{
			Name: "schedules-cancel", Subject: "agenthost.schedules.cancel", Path: "/schedules/cancel", Do: do(ScheduleName{}, h.cancelSchedule), Changes: true,
			About: "cancels a reminder: agent, name",
		}),
		report(Operation{
			Name: "memory-ls", Subject: "agenthost.memory.ls", Path: "/memory", Do: do(notesRequest{}, h.notes),
			About: "lists what agents remember, the oldest first: agent, person",
		}),
		report(Operation{
			Name: "memory-delete", Subject: "agenthost.memory.delete", Path: "/memory/delete", Do: do(NoteID{}, h.deleteNote), Changes: true,
			About: "deletes a note for good: agent, id",
		}),
		report(Operation{
			Name: "pairings-ls", Subject: "agenthost.pairings.ls", Path: "/pairings", Do: do(byAgent{}, h.pairings),
			About: "lists the open codes and the people that were approved: agent",
		}),
		report(Operation{
			Name: "pairings-approve", Subject: "agenthost.pairings.approve", Path: "/pairings/approve", Do: do(PairingCode{}, h.approvePairing), Changes: true,
			About: "lets the person with a code write to the agent: code",
		}),
		report(Operation{
			Name: "pairings-deny", Subject: "agenthost.pairings.deny", Path: "/pairings/deny", Do: do(PairingCode{}, h.denyPairing), Changes: true,
			About: "ends a code: code",
		}),
		report(Operation{
			Name: "pairings-revoke", Subject: "agenthost.pairings.revoke", Path: "/pairings/revoke", Do: do(Paired{}, h.revokePairing), Changes: true,
			About: "takes the approval of a person back: person, agent",
		}),
		report(Operation{
			Name: "why", Subject: "agenthost.why", Path: "/why", Do: do(ID{}, h.why),
			About: "traces the whole way of a message, a reply, a run or a call: id",
		}),
		report(Operation{
			Name: "costs", Subject: "agenthost.costs", Path: "/costs", Do: do(CostRequest{}, h.costs),
			About: "adds up what was spent by day, agent, model and person, and what is left of budgets: agent, days, people",
		}),
	}
}

// modelOperations are about models.
func (h Host) modelOperations() []Operation {
	return []Operation{
		report(Operation{
			Name: "models", Subject: "agenthost.models", Path: "/models", Do: do(none{}, h.models),
			About: "the models of every host, with breaker, park and what was spent today",
		}),
		order(Operation{
			Name: "breaker", Subject: client.BreakerSubject, All: true, Do: done(breakerOrder{}, h.breaker),
			Path: "/models/breaker", HTTP: do(breakerOrder{}, h.setBreaker), Changes: true, Whole: true,
			About: "takes a model out of service on every host, and back: model, action (trip, reset)",
		}),
	}
}

// tokenOperations are about who may use the HTTP listener, and what was done.
func (h Host) tokenOperations() []Operation {
	return []Operation{
		report(Operation{
			Name: "tokens-ls", Subject: client.TokensSubject, Path: "/tokens", Do: do(none{}, h.tokens), Admin: true, Whole: true,
			About: "lists the tokens that were made by command, without the tokens themselves",
		}),
		report(Operation{
			Name: "tokens-add", Subject: "agenthost.tokens.add", Path: "/tokens/add", Do: do(TokenRequest{}, h.addToken), Changes: true, Whole: true,
			About: "makes a token for the HTTP listener, which is shown this once: name, role, agents, expires",
		}),
		report(Operation{
			Name: "tokens-revoke", Subject: "agenthost.tokens.revoke", Path: "/tokens/revoke", Do: do(TokenName{}, h.revokeToken), Changes: true, Whole: true,
			About: "ends a token on every host: name",
		}),
		report(Operation{
			Name: "audit", Subject: "agenthost.audit", Path: "/audit", Do: do(AuditRequest{}, h.auditLog), Admin: true,
			About: "lists what operators have done, the newest first: agent, since, limit, after",
		}),
	}
}

// hostOperations are between hosts.
func (s *Service) hostOperations() []Operation {
	return []Operation{{
		Name: "hosts-namesake", Subject: namesakeSubject, Do: done(presence{}, s.namesakes.heard), All: true, Notice: true, InOrder: true, Required: true, Within: orderWithin,
		About: "notifies hosts that one of their name has started",
	}}
}

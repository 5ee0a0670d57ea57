package audit

import (
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/run"
)

// OfCommit are the entries of a commit of a session's log: approvals that were given or
// denied, by whichever door, questions that were answered elsewhere than in their chat,
// and runs that somebody has stopped. subject is that of the log.
func OfCommit(host, subject, key, ofRun string, seq uint64, events []run.Event) (entries []Entry) {
	for i := range events {
		e := &events[i]
		entry := Entry{At: e.At, By: e.By, Door: e.Door, Session: key, Host: host}
		switch e.Type {
		case run.ApprovalAnswered:
			entry.Action, entry.Target, entry.Detail = e.Answer, e.Call, e.Name
			if e.Scope != "" {
				entry.Detail += ", " + e.Scope
			}
			if len(e.Args) > 0 {
				entry.Detail += ", with other arguments"
			}
		case run.QuestionAnswered:
			if strings.Contains(e.Door, ".") { // a chat's own answer is what the agent has asked for
				continue
			}
			entry.Action, entry.Target, entry.Detail = "answer", e.Call, e.Answer
		case run.Finished:
			if e.Outcome != run.OutcomeStopped {
				continue
			}
			entry.Action, entry.Target = "abort", e.Run
		default:
			continue
		}
		if entry.Door == bus.DoorDeadline || entry.Door == bus.DoorAgent || entry.Door == "" {
			continue // nobody has done it
		}
		entry.Agent, _, _ = strings.Cut(strings.TrimPrefix(subject, "agent.session."), ".")
		entry.ID = fmt.Sprintf("%s:%d:%d", subject, seq, i)
		entries = append(entries, entry)
	}
	return entries
}

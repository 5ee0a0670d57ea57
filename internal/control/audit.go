package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/internal/audit"
)

// auditWithin bounds the writing of an entry.
const auditWithin = 5 * time.Second

// A Recorder writes what was done into the audit log.
type Recorder func(ctx context.Context, e audit.Entry)

// record notes that an operation was carried out for the caller of ctx.
func (o Operation) record(ctx context.Context, request []byte) {
	if !o.Changes || o.Elsewhere || o.Record == nil {
		return
	}
	c := callerOf(ctx)
	e := entryOf(o.Name, request)
	e.Door, e.By = c.door(), c.by(e.By)
	if e.ID = ""; c.request != "" {
		e.ID = o.Name + ":" + c.request
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditWithin)
	defer cancel()
	o.Record(ctx, e)
}

// entryOf is what a request says of what is done, by whom and to what.
func entryOf(action string, request []byte) audit.Entry {
	in := struct {
		Agent, Session, By                 string
		ID, Name, Code, Person, Model      string
		Channel, Host                      string
		At, Action, Role, Text, To, Reason string
		All                                bool
		DeadSeqs                           []uint64 `json:"dead_seqs"`
	}{}
	_ = json.Unmarshal(request, &in) // it was read already; what is of another type says nothing here
	e := audit.Entry{Action: action, By: in.By, Agent: in.Agent, Session: in.Session}
	for _, name := range []string{in.ID, in.Name, in.Code, in.Person, in.Model, in.Channel, in.Host} {
		if name != "" && e.Target == "" {
			e.Target = name
		}
	}
	if len(in.DeadSeqs) > 0 {
		e.Target = strings.Trim(fmt.Sprint(in.DeadSeqs), "[]")
	}
	var words []string
	for _, word := range []string{in.Action, in.Role, in.At, in.To, in.Reason, in.Text} {
		if word != "" {
			words = append(words, word)
		}
	}
	if in.All {
		words = append(words, "all")
	}
	e.Detail = strings.Join(words, " ")
	return e
}

// An AuditRequest says which entries of the audit log to list.
type AuditRequest struct {
	byAgent
	Since time.Time `json:"since,omitzero" doc:"nothing older"`
	Limit int       `json:"limit,omitempty" doc:"entries at most: 100, up to 1,000"`
	After uint64    `json:"after,omitempty" doc:"goes on behind the page before, by its after"`
}

// An AuditListing is a page of the audit log, the newest first.
type AuditListing struct {
	Entries []audit.Entry `json:"entries"`
	After   uint64        `json:"after,omitempty"`
}

const (
	defaultEntries = 100
	mostEntries    = 1000
)

func (h Host) auditLog(ctx context.Context, r AuditRequest) (AuditListing, error) {
	list := AuditListing{Entries: []audit.Entry{}}
	limit := min(cmp.Or(max(r.Limit, 0), defaultEntries), mostEntries)
	for e, err := range audit.NewLog(h.JS).Since(ctx, r.Since) {
		if err != nil {
			return list, err
		}
		if r.After > 0 && e.Seq >= r.After {
			break
		}
		if !r.keeps(e.Agent) || !callerOf(ctx).reaches(e.Agent) {
			continue
		}
		if list.Entries = append(list.Entries, e); len(list.Entries) > limit {
			list.Entries = list.Entries[1:]
			list.After = list.Entries[0].Seq
		}
	}
	slices.Reverse(list.Entries)
	return list, nil
}

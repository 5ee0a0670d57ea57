package control

import (
	"context"
	"errors"
	"time"

	"agenthost/client"
	"agenthost/internal/why"
)

// A ScheduleListing is what is scheduled, what is due first in front.
type ScheduleListing struct {
	Schedules []client.Scheduled `json:"schedules"`
}

func (h Host) schedules(ctx context.Context, asked byAgent) (ScheduleListing, error) {
	all, err := h.client().Schedules(ctx)
	list := ScheduleListing{Schedules: []client.Scheduled{}}
	for _, s := range seen(ctx, all, func(s client.Scheduled) string { return s.Agent }) {
		if asked.keeps(s.Agent) {
			list.Schedules = append(list.Schedules, s)
		}
	}
	return list, err
}

// A ScheduleName names a schedule of an agent.
type ScheduleName struct {
	Agent string `json:"agent"`
	Name  string `json:"name" doc:"of the reminder, as the list has it"`
}

func (h Host) cancelSchedule(ctx context.Context, n ScheduleName) (Done, error) {
	all, err := h.schedules(ctx, byAgent{n.Agent})
	if err != nil {
		return Done{}, err
	}
	for _, s := range all.Schedules {
		switch {
		case s.Name != n.Name:
		case s.Source == "config":
			return Done{}, coded(client.CodeBad, "schedule %s of %s is one of the configuration; take it out there", n.Name, n.Agent)
		default:
			return Done{true}, h.client().CancelReminder(ctx, n.Agent, n.Name)
		}
	}
	return Done{}, coded(client.CodeNotFound, "there is no reminder %q of %q", n.Name, n.Agent)
}

// A NoteListing is what agents remember, the oldest first.
type NoteListing struct {
	Notes []client.Note `json:"notes"`
}

type notesRequest struct {
	byAgent
	Person string `json:"person,omitempty" doc:"the key of their chat, such as web/dm/ana: only notes about them"`
}

func (h Host) notes(ctx context.Context, asked notesRequest) (NoteListing, error) {
	all, err := h.client().Notes(ctx, asked.Agent, asked.Person)
	return NoteListing{seen(ctx, all, func(n client.Note) string { return n.Agent })}, err
}

// A NoteID names a note of an agent.
type NoteID struct {
	Agent string `json:"agent"`
	ID    string `json:"id"`
}

func (h Host) deleteNote(ctx context.Context, n NoteID) (client.Note, error) {
	all, err := h.notes(ctx, notesRequest{byAgent: byAgent{n.Agent}})
	if err != nil {
		return client.Note{}, err
	}
	for _, note := range all.Notes {
		if note.ID == n.ID && note.Agent == n.Agent {
			return note, h.client().DeleteNote(ctx, note)
		}
	}
	return client.Note{}, coded(client.CodeNotFound, "agent %q has no note %q", n.Agent, n.ID)
}

// A PairingListing is the open codes and the people that were approved.
type PairingListing struct {
	Pairings []client.Pairing `json:"pairings"`
}

func (h Host) pairings(ctx context.Context, asked byAgent) (PairingListing, error) {
	all, err := h.client().Pairings(ctx)
	list := PairingListing{Pairings: []client.Pairing{}}
	for _, p := range seen(ctx, all, func(p client.Pairing) string { return p.Agent }) {
		if asked.keeps(p.Agent) {
			list.Pairings = append(list.Pairings, p)
		}
	}
	return list, err
}

// A PairingCode is the code of a stranger.
type PairingCode struct {
	Code string `json:"code"`
}

// codeOfSeen refuses the code of an agent that the caller may not see.
func (h Host) codeOfSeen(ctx context.Context, code string) error {
	if !callerOf(ctx).limited() {
		return nil
	}
	all, err := h.pairings(ctx, byAgent{})
	for _, p := range all.Pairings {
		if p.Code != "" && p.Code == code {
			return nil
		}
	}
	if err == nil {
		err = client.ErrNoCode
	}
	return err
}

func (h Host) approvePairing(ctx context.Context, c PairingCode) (client.Pairing, error) {
	if err := h.codeOfSeen(ctx, c.Code); err != nil {
		return client.Pairing{}, err
	}
	return h.client().ApprovePairing(ctx, c.Code, callerOf(ctx).by(""))
}

func (h Host) denyPairing(ctx context.Context, c PairingCode) (client.Pairing, error) {
	if err := h.codeOfSeen(ctx, c.Code); err != nil {
		return client.Pairing{}, err
	}
	return h.client().DenyPairing(ctx, c.Code)
}

// A Paired names a person that was approved.
type Paired struct {
	Person string `json:"person" doc:"such as telegram.sales/42"`
	Agent  string `json:"agent,omitempty" doc:"only with this agent"`
}

func (h Host) revokePairing(ctx context.Context, p Paired) (PairingListing, error) {
	if callerOf(ctx).limited() && p.Agent == "" {
		return PairingListing{}, coded(client.CodeBad, "name the agent: this token is for some agents only")
	}
	all, err := h.pairings(ctx, byAgent{p.Agent})
	if err != nil {
		return PairingListing{}, err
	}
	for _, one := range all.Pairings {
		if one.Approved && one.Person() == p.Person {
			gone, err := h.client().RevokePairing(ctx, p.Agent, p.Person)
			return PairingListing{notNil(gone)}, err
		}
	}
	return PairingListing{}, coded(client.CodeNotFound, "nobody of the name %q is paired; want <channel>[.<instance>]/<from>", p.Person)
}

// An ID is that of a message, a reply, a run or a call.
type ID struct {
	ID string `json:"id" doc:"of a message, a reply, a run or a call"`
}

func (h Host) why(ctx context.Context, asked ID) (why.Way, error) {
	if asked.ID == "" {
		return why.Way{}, coded(client.CodeBad, "which id? want that of a message, a reply, a run or a call")
	}
	way, err := why.Find(ctx, h.JS, asked.ID, nil)
	if err == nil {
		way.Steps = seen(ctx, way.Steps, func(s why.Step) string { return s.Agent })
		if len(way.Steps) == 0 {
			err = why.ErrUnknown
		}
	}
	if errors.Is(err, why.ErrUnknown) {
		return why.Way{}, coded(client.CodeNotFound, "%w", err)
	}
	return way, err
}

// now is the time, for what depends on the day.
func now() time.Time { return time.Now().UTC() }

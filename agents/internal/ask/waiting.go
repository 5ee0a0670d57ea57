// Package ask keeps what the runs of a fleet wait for: approvals, questions and results of
// other agents, each under an id of its own, with what a person has allowed for longer
// than once, and reads what people answer.
package ask

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Waiting is a call that waits for an answer, as the bucket AGENT_WAITING
// keeps it. Its ID is its key there.
type Waiting struct {
	ID       string      `json:"id"` // <agent>.<sid>.<26 characters, random>
	Agent    string      `json:"agent"`
	Session  string      `json:"session"`
	Run      string      `json:"run"`
	Call     string      `json:"call"`
	Kind     string      `json:"kind"` // approval, question or delegate
	Tool     string      `json:"tool"`
	Prompt   string      `json:"prompt"`
	Options  []string    `json:"options,omitempty"`
	To       string      `json:"to,omitempty"`     // delegate: the agent asked
	Number   int         `json:"number,omitempty"` // what a person calls it by, where several are open in a chat
	AskedAt  time.Time   `json:"asked_at"`
	Deadline time.Time   `json:"deadline,omitzero"`
	Origin   *bus.Origin `json:"origin,omitempty"` // where the person is asked
	Model    string      `json:"model,omitempty"`  // the entry that was asked last for the run
	Host     string      `json:"host,omitempty"`   // that asked
	// Approvers are who may approve it from another chat, see Config.
	Approvers []string `json:"approvers,omitempty"`
	// Notified tells that it was put into the chats of Approvers as well.
	Notified bool `json:"notified,omitempty"`
}

// atWork reports whether a tool asks it while it runs: its time stands still meanwhile, and
// the question does not outlive it.
func (w Waiting) atWork() bool { return w.Kind == run.ForQuestion && w.Deadline.IsZero() }

// Answer is the message that brings a result to the call.
func (w Waiting) Answer(result bus.Route) (*nats.Msg, error) {
	result.Kind, result.CorrelationID = bus.RouteResult, w.ID
	msg, err := bus.NewMessage(bus.RoutePrefix+w.Agent, result)
	if err != nil {
		return nil, err
	}
	msg.Header.Set(nats.MsgIdHdr, result.ID)
	msg.Header.Set(bus.SessionKeyHeader, w.Session)
	return msg, nil
}

// ID names a call that waits, the same after every restart: the log has the
// random part. No other call of the fleet has it, and no one can guess it.
func ID(agent string, key session.Key, runID string, call run.Call) string {
	return agent + "." + session.SID(agent, key) + "." + cmp.Or(call.Wait, hashedToken(runID, call.ID))
}

// The parts of wait ids that are a call's own.
const (
	tokenLength  = 26 // 128 bits in base32
	hashedLength = 12
)

// StopToken stands in the place of a call in the correlation id of an order to stop.
const StopToken = "stop-the-run"

// What stands there in the orders of an operator, who takes a chat over, writes into
// it and hands it back. Hosts that know none of them take them for late answers.
const (
	TakeOverToken = "take-it-over"
	SayToken      = "say-it-there"
	HandBackToken = "hand-it-back"
)

// OperatorOrder is which of the tokens of an operator a correlation id ends in; empty:
// none.
func OperatorOrder(id string) string {
	switch token := id[strings.LastIndexByte(id, '.')+1:]; token {
	case TakeOverToken, SayToken, HandBackToken:
		return token
	}
	return ""
}

// NewToken is the random part of a wait id.
func NewToken() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(id[:]))
}

// hashedToken stands in its place for calls of logs that have none: they were written
// by version 0.1.
func hashedToken(runID, call string) string {
	sum := sha256.Sum256([]byte(runID + "\x00" + call))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:hashedLength])
}

// SplitID takes a wait id apart.
func SplitID(id string) (agent, sid string, ok bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 || parts[0] == "" || len(parts[1]) != 20 || len(parts[2]) != tokenLength && len(parts[2]) != hashedLength {
		return "", "", false
	}
	return parts[0], parts[1], true
}

func schedule(id string) string {
	agent, sid, _ := SplitID(id)
	return bus.SchedulePrefix + agent + ".wait-" + sid + "-" + id[strings.LastIndexByte(id, '.')+1:]
}

// reminder is the second in which the server answers: it knows no parts of one. A
// person is to have all of the time that was said; so has an agent, by its deadline.
func (w Waiting) reminder() time.Time {
	if w.Kind == run.ForDelegate {
		return w.Deadline.UTC()
	}
	return w.Deadline.UTC().Add(time.Second - 1)
}

// InTime reports whether what was stored at a time came before the server answers in the place
// of who was asked.
func (w Waiting) InTime(stored time.Time) bool {
	return w.Deadline.IsZero() || !stored.After(w.reminder().Truncate(time.Second))
}

// InTime is that of a call of a run.
func InTime(call run.Call, stored time.Time) bool {
	return Waiting{Kind: call.Asked, Deadline: call.Deadline}.InTime(stored)
}

// Deadline is that of an agent whose asker waits until end, or the next whole
// second: the timer of the asker knows no parts of one. So no agent has less time than was
// said; and the asker, whose timer rings first, learns that no answer came, not
// that the other was cut off.
func Deadline(end time.Time) time.Time {
	return end.Add(time.Second - 1).Truncate(time.Second).Add(900 * time.Millisecond)
}

// ErrNotWaiting means that nothing waits under an id.
var ErrNotWaiting = errors.New("nothing waits for this answer; it may have been given already")

// ErrTooLate tells that an answer came after the deadline of what it answers.
var ErrTooLate = errors.New("the deadline of this question had passed when the answer came, so it has no effect; limits.approval_timeout is how long a question waits")

// Read reads what waits under id.
func Read(ctx context.Context, js jetstream.JetStream, id string) (Waiting, error) {
	if _, _, ok := SplitID(id); !ok {
		return Waiting{}, fmt.Errorf("%q: %w", id, ErrNotWaiting)
	}
	entry, err := records.NewReader(js).Entry(ctx, bus.WaitingBucket, id)
	if errors.Is(err, records.ErrNotFound) {
		return Waiting{}, fmt.Errorf("%q: %w", id, ErrNotWaiting)
	}
	if err != nil {
		return Waiting{}, fmt.Errorf("read what waits: %w", err)
	}
	w := Waiting{}
	if err := json.Unmarshal(entry.Data, &w); err != nil {
		return Waiting{}, fmt.Errorf("read what waits under %q: %w", id, err)
	}
	return w, nil
}

// All lists what waits, of all agents.
func All(ctx context.Context, js jetstream.JetStream) (list []Waiting, err error) {
	for entry, err := range records.Entries(ctx, js, bus.WaitingBucket, ">") {
		if err != nil {
			return nil, fmt.Errorf("list what waits: %w", err)
		}
		w := Waiting{}
		if err := json.Unmarshal(entry.Value(), &w); err == nil {
			list = append(list, w)
		}
	}
	return list, nil
}

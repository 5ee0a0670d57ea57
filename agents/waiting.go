package agents

import (
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

// A Waiting is a call that waits for somebody, as the bucket AGENT_WAITING
// keeps it for whoever wants to answer. Its ID is its key there.
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
	// Approvers are who may approve it from another chat, see Config.
	Approvers []string `json:"approvers,omitempty"`
}

// answer is the message that brings a result to the call.
func (w Waiting) answer(result bus.Route) (*nats.Msg, error) {
	result.Kind, result.CorrelationID = bus.RouteResult, w.ID
	msg, err := bus.NewMessage(bus.RoutePrefix+w.Agent, result)
	if err != nil {
		return nil, err
	}
	msg.Header.Set(nats.MsgIdHdr, result.ID)
	msg.Header.Set(bus.SessionKeyHeader, w.Session)
	return msg, nil
}

// waitID names a call that waits, the same after every restart: the log has the
// random part. No other call of the fleet has it, and no one can guess it.
func (c *conversation) waitID(runID string, call run.Call) string {
	return c.r.id + "." + session.SID(c.r.id, c.key) + "." + orElse(call.Wait, hashedWait(runID, call.ID))
}

// The parts of wait ids that are a call's own.
const (
	waitLength   = 26 // 128 bits in base32
	hashedLength = 12
)

// newWait is the random part of a wait id.
func newWait() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(id[:]))
}

// hashedWait stands in its place for calls of logs that have none: they were written
// by version 0.1.
func hashedWait(runID, call string) string {
	sum := sha256.Sum256([]byte(runID + "\x00" + call))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:hashedLength])
}

// splitWaitID takes a wait id apart.
func splitWaitID(id string) (agent, sid string, ok bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 || parts[0] == "" || len(parts[1]) != 20 || len(parts[2]) != waitLength && len(parts[2]) != hashedLength {
		return "", "", false
	}
	return parts[0], parts[1], true
}

func waitSchedule(id string) string {
	agent, sid, _ := splitWaitID(id)
	return bus.SchedulePrefix + agent + ".wait-" + sid + "-" + id[strings.LastIndexByte(id, '.')+1:]
}

// ask puts a question to whom it is for. It is done again after a restart, and
// then changes nothing: everything in it has a name of its own.
func (t *runner) ask(ctx context.Context, call run.Call) error {
	w := Waiting{
		ID: t.c.waitID(t.id, call), Agent: t.c.r.id, Session: string(t.c.key), Run: t.id,
		Call: call.ID, Kind: call.Asked, Tool: call.Name, Prompt: call.Prompt, Options: call.Options, To: call.To,
		Number: call.Number, AskedAt: call.AskedAt, Deadline: call.Deadline, Origin: t.person(),
		Approvers: t.c.r.now().cfg.Approvers,
	}
	if call.Asked == run.ForDelegate {
		if err := t.handOver(ctx, w, call.Context); err != nil {
			return err
		}
	}
	fallback := t.fallbacks[call.ID]
	if err := t.remind(ctx, w, fallback); err != nil {
		return err
	}
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	msg := nats.NewMsg("$KV." + bus.WaitingBucket + "." + w.ID)
	msg.Data = data
	if _, err := t.c.r.parts.Publisher.PublishWait(ctx, msg); err != nil {
		return fmt.Errorf("note what is waited for: %w", err)
	}
	t.c.r.parts.questions.add(w)
	crashpoint("after-ask")
	return nil
}

// remind has the server answer for the person who does not, at the deadline.
func (t *runner) remind(ctx context.Context, w Waiting, fallback string) error {
	if w.Deadline.IsZero() {
		return nil
	}
	msg, err := w.answer(bus.Route{ID: w.ID + ":late", From: fromNobody, Text: fallback, Door: bus.DoorDeadline})
	if err != nil {
		return err
	}
	msg.Header.Del(nats.MsgIdHdr) // it may be set again, for another time
	msg.Header.Set(jetstream.ScheduleHeader, "@at "+w.reminder().Format(time.RFC3339))
	msg.Header.Set(jetstream.ScheduleTargetHeader, bus.DuePrefix+w.Agent)
	msg.Header.Set("Nats-TTL", "never")
	msg.Subject = waitSchedule(w.ID)
	t.trace.set(msg.Header)
	if _, err := t.c.r.parts.Publisher.PublishWait(ctx, msg); err != nil {
		return fmt.Errorf("set the deadline of a question: %w", err)
	}
	return nil
}

// reminder is the second in which the server answers: it knows no parts of one. A
// person is to have all of the time that was said; so has an agent, by its deadline.
func (w Waiting) reminder() time.Time {
	if w.Kind == run.ForDelegate {
		return w.Deadline.UTC()
	}
	return w.Deadline.UTC().Add(time.Second - 1)
}

// fromNobody is the sender of the answer that the server gives at a deadline.
const fromNobody = "agenthost:deadline"

// answered forgets what was waited for. It only tidies up: an answer that comes
// later finds nothing open in the log.
func (p *Parts) answered(id string) {
	p.questions.forget(id)
	p.Publisher.Publish(kvDelete(bus.WaitingBucket, id), func(uint64, bool, error) {})
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		stream, err := p.JS.Stream(ctx, bus.SchedulesStream)
		if err == nil {
			err = stream.Purge(ctx, jetstream.WithPurgeSubject(waitSchedule(id)))
		}
		if err != nil {
			p.Log.Debug().Err(err).Str("call", id).Msg("forget a deadline")
		}
	}()
}

func kvDelete(bucket, key string) *nats.Msg {
	msg := nats.NewMsg("$KV." + bucket + "." + key)
	msg.Header.Set("KV-Operation", "DEL")
	return msg
}

// ErrNotWaiting tells that nothing waits under an id.
var ErrNotWaiting = errors.New("nothing waits for this answer; it may have been given already")

// ReadWaiting reads what waits under id.
func ReadWaiting(ctx context.Context, js jetstream.JetStream, id string) (Waiting, error) {
	if _, _, ok := splitWaitID(id); !ok {
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

// AllWaiting lists what waits, of all agents.
func AllWaiting(ctx context.Context, js jetstream.JetStream) ([]Waiting, error) {
	kv, err := js.KeyValue(ctx, bus.WaitingBucket)
	if err != nil {
		return nil, fmt.Errorf("list what waits: %w", err)
	}
	watch, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("list what waits: %w", err)
	}
	defer func() { _ = watch.Stop() }()
	var list []Waiting
	for {
		select {
		case entry := <-watch.Updates():
			if entry == nil {
				return list, nil
			}
			w := Waiting{}
			if err := json.Unmarshal(entry.Value(), &w); err == nil {
				list = append(list, w)
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("list what waits: %w", ctx.Err())
		}
	}
}

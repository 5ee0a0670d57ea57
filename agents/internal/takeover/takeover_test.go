package takeover_test

import (
	"encoding/json"
	"errors"
	"testing"

	"agenthost/agents"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/takeover"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
)

// order is one of ann's for the session of a chat.
func order(token, text string) *message.Item {
	r := bus.Route{ID: "o1", Kind: bus.RouteResult, From: "ann", Door: "plugin.inbound.api", CorrelationID: token, Text: text}
	return &message.Item{
		Input: run.Input{ID: r.ID, Subject: "agent.route.ana"}, Signed: true,
		Origin: message.Origin{Subject: "agent.route.ana", Route: &r},
	}
}

func ordersFor(key session.Key, cfg agents.Config, newest *run.Address) takeover.Orders {
	agent := &inflight.Agent{ID: "ana", Parts: parts.New(parts.Options{MaxPayload: 1 << 20})}
	agent.Profile.Store(&profile.Profile{Config: cfg})
	return takeover.Orders{
		Session: inflight.Session{Agent: agent, Key: key},
		Newest:  func() *run.Address { return newest },
	}
}

func TestEvent(t *testing.T) {
	t.Parallel()
	const chat = session.Key("web/dm/ben")
	at, held := &run.Address{Subject: "plugin.outbound.web", To: "ben"}, &run.Operator{By: "ann", Address: run.Address{To: "held"}}
	tests := map[string]struct {
		key      session.Key
		cfg      agents.Config
		newest   *run.Address
		operator *run.Operator
		token    string
		text     string
		want     run.EventType
		to       string
		refused  error
	}{
		"taken over":               {newest: at, token: ask.TakeOverToken, want: run.OperatorJoined, to: "ben"},
		"taken over by another":    {newest: at, operator: held, token: ask.TakeOverToken, want: run.OperatorJoined, to: "held"},
		"no message yet":           {token: ask.TakeOverToken, refused: takeover.ErrNoAddress},
		"no chat":                  {key: "agent/ana/1", newest: at, token: ask.TakeOverToken, refused: takeover.ErrNoChat},
		"of a shadow":              {cfg: agents.Config{ShadowOf: "bob"}, newest: at, token: ask.TakeOverToken, refused: takeover.ErrNoChat},
		"handed back":              {operator: held, token: ask.HandBackToken, want: run.OperatorLeft},
		"handed back, not taken":   {token: ask.HandBackToken, refused: takeover.ErrNotTaken},
		"written":                  {operator: held, token: ask.SayToken, text: "hi", want: run.OperatorSaid},
		"written, not taken":       {token: ask.SayToken, text: "hi", refused: takeover.ErrNotTaken},
		"written without any text": {operator: held, token: ask.SayToken, refused: takeover.ErrNothingSay},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.key == "" {
				tt.key = chat
			}
			event, refused := ordersFor(tt.key, tt.cfg, tt.newest).Event(order(tt.token, tt.text), tt.operator, 0)
			if !errors.Is(refused, tt.refused) || event.Type != tt.want {
				t.Fatalf("got %q and %v, want %q and %v", event.Type, refused, tt.want, tt.refused)
			}
			if tt.to != "" && event.Address.To != tt.to {
				t.Errorf("the operator writes to %q, want %q", event.Address.To, tt.to)
			}
			if refused == nil && (event.By != "ann" || event.Input.ID != "o1") {
				t.Errorf("got an event by %q for the order %q", event.By, event.Input.ID)
			}
		})
	}
}

// What an operator writes answers the messages that are open; without any it is a notice.
func TestEventAnswersOpenMessages(t *testing.T) {
	t.Parallel()
	for kind, open := range map[string][]string{run.KindNotice: nil, run.KindReply: {"m1", "m2"}} {
		operator := &run.Operator{Address: run.Address{Subject: "plugin.outbound.web", To: "ben", ReplyTo: "m2"}, Open: open}
		event, refused := ordersFor("web/dm/ben", agents.Config{}, nil).Event(order(ask.SayToken, "hi"), operator, 0)
		if refused != nil {
			t.Fatal(refused)
		}
		var out bus.Outbound
		if err := json.Unmarshal(event.Reply.Envelope, &out); err != nil {
			t.Fatal(err)
		}
		if out.Kind != kind || out.Final != (open != nil) || out.To != "ben" || out.Text != "hi" || event.Reply.Subject != "plugin.outbound.web" {
			t.Errorf("got %+v, want a %s to ben", out, kind)
		}
		if diff := cmp.Diff(open, out.Merged); diff != "" {
			t.Errorf("messages that it answers (-want +got):\n%s", diff)
		}
	}
}

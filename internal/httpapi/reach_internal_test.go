package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/client"
	"agenthost/internal/control"
	"agenthost/internal/httpauth"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
)

// callerOf is who has a token for some agents; without any, for all.
func callerOf(t *testing.T, agents ...string) httpauth.Caller {
	t.Helper()
	auth := httpauth.New(httpauth.Options{Listen: "127.0.0.1:1", Tokens: []httpauth.Token{{Name: "wall", Token: "secret", Role: httpauth.Read, Agents: agents}}})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/api/events", nil)
	req.Header.Set("Authorization", "Bearer secret")
	caller, _, err := auth.Check(req, httpauth.Read)
	if err != nil {
		t.Fatal(err)
	}
	return caller
}

// A client hears of the agents of its token and of the agent that it asked for, and of no other; a
// session's own events come to who asked for that session alone.
func TestNewsForAClient(t *testing.T) {
	t.Parallel()
	list := []client.ChannelAccount{{Channel: "one", Agents: []string{"ana", "bo"}}, {Channel: "two", Agents: []string{"bo"}}, {Channel: "none"}}
	commit := records.Record{Data: []byte(`{"v":1,"key":"web/dm/eve","events":[{"type":"run.started","run":"r"}]}`)}
	_, facts, err := session.NewArchive(bustest.Open(t).JS).Decode(t.Context(), commit)
	if err != nil || len(facts) != 1 {
		t.Fatalf("got %v, %v", facts, err)
	}
	all, limited := callerOf(t), callerOf(t, "ana")
	for name, tt := range map[string]struct {
		filter   filter
		news     string // of ana in session s, of ana in session r, of bo in session s
		accounts string
	}{
		"all":                  {filter{caller: all}, "1 1 1", "one[ana bo] two[bo] none[]"},
		"a token of ana":       {filter{caller: limited}, "1 1 0", "one[ana]"},
		"of ana":               {filter{caller: all, agent: "ana"}, "1 1 0", "one[ana]"},
		"of bo":                {filter{caller: all, agent: "bo"}, "0 0 1", "one[bo] two[bo]"},
		"a session":            {filter{caller: all, agent: "ana", sid: "s"}, "2 0 0", "one[ana]"},
		"a token, and another": {filter{caller: limited, agent: "bo", sid: "s"}, "0 0 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count := func(n news) (events int) {
				n.items, n.facts = []item{{"session", 1}}, facts
				rec := httptest.NewRecorder()
				e := &eventWriter{to: rec, flush: http.NewResponseController(rec)}
				e.news(tt.filter, n)
				for _, line := range rec.Body.String() {
					if line == '\n' {
						events++
					}
				}
				return events / 4 // lines of an event
			}
			got := fmt.Sprint(count(news{agent: "ana", sid: "s"}), count(news{agent: "ana", sid: "r"}), count(news{agent: "bo", sid: "s"}))
			if got != tt.news {
				t.Errorf("got events %s, want %s", got, tt.news)
			}
			accounts := ""
			for i, a := range tt.filter.accounts(list) {
				if i > 0 {
					accounts += " "
				}
				accounts += fmt.Sprint(a.Channel, a.Agents)
			}
			if accounts != tt.accounts {
				t.Errorf("got accounts %s, want %s", accounts, tt.accounts)
			}
		})
	}
}

// What changes something, or is for those who may change something, needs an admin.
func TestRole(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		changes, admin bool
		method         string
		role           httpauth.Role
	}{
		{false, false, http.MethodGet, httpauth.Read},
		{true, false, http.MethodPost, httpauth.Admin},
		{false, true, http.MethodGet, httpauth.Admin},
		{true, true, http.MethodPost, httpauth.Admin},
	} {
		o := control.Operation{Changes: tt.changes, Admin: tt.admin}
		if Method(o) != tt.method || Role(o) != tt.role {
			t.Errorf("%+v: got %s for %s", tt, Method(o), Role(o))
		}
	}
}

// An account is told of when it is not as it was.
func TestChanges(t *testing.T) {
	t.Parallel()
	known := map[string]client.ChannelAccount{}
	a, b := client.ChannelAccount{Channel: "a", Owner: "kiwi"}, client.ChannelAccount{Channel: "b"}
	moved := a
	moved.Owner = "fig"
	for i, tt := range []struct{ list, want []client.ChannelAccount }{
		{[]client.ChannelAccount{a, b}, []client.ChannelAccount{a, b}},
		{[]client.ChannelAccount{a, b}, nil},
		{[]client.ChannelAccount{moved, b}, []client.ChannelAccount{moved}},
		{[]client.ChannelAccount{moved}, nil},
		{[]client.ChannelAccount{a}, []client.ChannelAccount{a}},
	} {
		if diff := cmp.Diff(tt.want, changes(known, tt.list)); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
}

// What an event of a log means for runs and for what waits.
func TestNewsOfFacts(t *testing.T) {
	t.Parallel()
	for typ, want := range map[run.EventType]string{
		run.Started: "run started", run.Suspended: "run waiting [w]", run.Finished: "run ended failed budget_exceeded",
		run.ApprovalAsked: "waiting approval asked ana.sid.w", run.ApprovalAnswered: "waiting approval answered ana.sid.w",
		run.QuestionAsked: "waiting question asked ana.sid.w", run.QuestionAnswered: "waiting question answered ana.sid.w",
		run.Delegated: "",
	} {
		n := &news{agent: "ana", sid: "sid", session: "web/dm/eve"}
		e := run.Event{Type: typ, Wait: "w", By: "bo", Waiting: []string{"w"}, Outcome: "failed", Error: &run.Error{Code: "budget_exceeded"}}
		n.ofFact(session.Fact{Of: "r", Event: e})
		got := ""
		for _, one := range n.items {
			switch c := one.data.(type) {
			case RunChange:
				got = one.name + " " + c.State
				if c.Waiting != nil {
					got += fmt.Sprint(" ", c.Waiting)
				}
				if c.Outcome != "" {
					got += " " + c.Outcome + " " + c.Error
				}
				if c.Run != "r" || c.Agent != "ana" || c.Session != "web/dm/eve" {
					t.Errorf("%s: got %+v", typ, c)
				}
			case WaitingChange:
				got = one.name + " " + c.Kind + " " + c.State + " " + c.ID
				if c.Run != "r" || c.Agent != "ana" || c.By != "bo" {
					t.Errorf("%s: got %+v", typ, c)
				}
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", typ, got, want)
		}
	}
}

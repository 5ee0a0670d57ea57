package engine_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

func TestLongIDIsRefusedWithAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{text: "${text}"}]`)))
	dead := make(chan *nats.Msg, 10)
	if _, err := w.bus.NC.ChanSubscribe("agent.dead.ana", dead); err != nil {
		t.Fatal(err)
	}
	id := strings.Repeat("i", 257)
	w.say("ana", bus.Inbound{ID: id, From: "bo", Text: "hello"})
	out := w.hear()
	if out.Kind != "error" || !out.Final || out.Error == nil || out.Error.Code != "validation" || out.InReplyTo != id || out.To != "bo" ||
		!strings.Contains(out.Text, "its id has 257 bytes; want at most 256") {
		t.Errorf("heard %+v", out)
	}
	expectLetter(t, dead, "its id has 257 bytes; want at most 256")
	w.say("ana", bus.Inbound{ID: id[1:], Text: "hello"})
	w.expect("reply", "hello")
}

// A person, a chat and a thread are named by ids as well.
func TestLongNameOfASessionIsRefusedWithAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{text: "${text}"}]`)))
	long := strings.Repeat("i", 257)
	for field, in := range map[string]bus.Inbound{
		"from":   {From: long},
		"chat":   {From: "bo", Group: true, Chat: long},
		"thread": {From: "bo", Group: true, Chat: "team", Thread: long},
	} {
		in.ID, in.Text = field, "hello"
		w.say("ana", in)
		out := w.hear()
		if out.Kind != "error" || out.InReplyTo != field || !strings.Contains(out.Text, "its "+field+" has 257 bytes; want at most 256") {
			t.Errorf("heard %+v", out)
		}
		if out.Run == "" || out.ID != out.Run+".1" {
			t.Errorf("its id is %q, its run %q; want <run>.1", out.ID, out.Run)
		}
	}
	w.say("ana", bus.Inbound{From: long[1:], Text: "hello"})
	w.expect("reply", "hello")
}

func TestLongIDOfARouteIsRefusedWithAnAnswer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("i", 300)
	for name, task := range map[string]bus.Route{
		"id":             {ID: long, CorrelationID: "c1"},
		"correlation id": {ID: "t1", CorrelationID: long},
		"from":           {ID: "t1", CorrelationID: "c1", From: long},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", script(`rules: [{text: "${text}"}]`)))
			told, dead := make(chan *nats.Msg, 10), make(chan *nats.Msg, 10)
			for subject, c := range map[string]chan *nats.Msg{"told": told, "agent.dead.ana": dead} {
				if _, err := w.bus.NC.ChanSubscribe(subject, c); err != nil {
					t.Fatal(err)
				}
			}
			task.Kind, task.From, task.Text, task.ReplyTo = bus.RouteDelegate, cmp.Or(task.From, "prog"), "do it", "told"
			w.publish("agent.route.ana", task)
			expectLetter(t, dead, " has 300 bytes; want at most 256")
			select {
			case msg := <-told:
				r := bus.Route{}
				if err := json.Unmarshal(msg.Data, &r); err != nil {
					t.Fatal(err)
				}
				if r.Kind != "result" || r.CorrelationID != task.CorrelationID || len(r.ID) > 256 || r.Error == nil || r.Error.Code != "validation" {
					t.Errorf("told %+v", r)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the program was told nothing")
			}
		})
	}
}

// A task that does not say whose it is has a session with a key that commands take.
func TestTaskOfNoName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{text: "${text}"}]`)))
	told := w.subscribe("told")
	for from, key := range map[string]session.Key{"": "route/program:anonymous/c1", strings.Repeat("i", 256): session.Key("route/program:" + strings.Repeat("i", 256) + "/c1")} {
		w.publish("agent.route.ana", bus.Route{ID: "t1", Kind: bus.RouteDelegate, From: from, CorrelationID: "c1", Text: "do it", ReplyTo: "told"})
		r := bus.Route{}
		if err := json.Unmarshal(w.next(told).Data, &r); err != nil || r.Text != "do it" {
			t.Errorf("from %q: got %+v, %v", from, r, err)
		}
		if len(w.log("ana", key)) == 0 {
			t.Errorf("from %q: the session %s is empty", from, key)
		}
	}
	w.settled()
}

// The answer to a result that is refused is a result, too: it must not be
// refused in turn, for ever.
func TestLongIDOfAResultIsRefusedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{text: "${text}"}]`)))
	dead := make(chan *nats.Msg, 100)
	if _, err := w.bus.NC.ChanSubscribe("agent.dead.ana", dead); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("i", 300)
	w.publish("agent.route.ana", bus.Route{Kind: bus.RouteResult, ID: long, CorrelationID: long, From: "kate", Text: "done"})
	expectLetter(t, dead, "its id has 300 bytes; want at most 256")
	w.say("ana", bus.Inbound{Text: "hello"})
	w.expect("reply", "hello")
	w.settled()
	if len(dead) != 0 {
		t.Errorf("got another dead letter: %s", (<-dead).Data)
	}
}

func expectLetter(t *testing.T, dead <-chan *nats.Msg, reason string) {
	t.Helper()
	select {
	case msg := <-dead:
		letter := bus.DeadLetter{}
		if err := json.Unmarshal(msg.Data, &letter); err != nil {
			t.Fatal(err)
		}
		if letter.Code != "validation" || !strings.Contains(letter.Reason, reason) {
			t.Errorf("dead letter: %s, %s", letter.Code, letter.Reason)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("no dead letter")
	}
}

// What cannot be taken is answered where it says to whom; else it is a dead letter only.
func TestUnreadableMessageIsAnswered(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		payload string
		why     string // empty: there is no answer
		to      string
		chat    string
	}{
		"neither text nor media":        {`{"id":"m1","from":"bea","text":" "}`, "it has neither text nor media", "bea", ""},
		"a group without chat":          {`{"id":"m1","from":"bea","group":true,"text":"hi"}`, "it has no chat, which a message of a group names", "bea", ""},
		"in a chat":                     {`{"id":"m1","chat":"c7"}`, "it has neither text nor media", "anonymous", "c7"},
		"a bad priority":                {`{"id":"m1","from":"bea","text":"hi","priority":"soon"}`, "priority is", "bea", ""},
		"both":                          {`{"id":"m1","from":"bea","text":"hi","edits":"a","withdraws":"b"}`, "it has both edits and withdraws", "bea", ""},
		"an id that is a number":        {`{"id":7,"from":"bea","text":""}`, "id cannot be a number", "bea", ""},
		"a name of a field in capitals": {`{"id":"m1","FROM":"bea","TEXT":"hi"}`, "", "", ""},
		"one beside the right one":      {`{"id":"m1","from":"bea","From":"eve","CHAT":"c7"}`, "it has neither text nor media", "bea", ""},
		"without an address":            {`{"id":"m1"}`, "", "", ""},
		"no JSON":                       {`{"from":"bea`, "", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bot("ana", script(`rules: [{text: "${text}"}]`)))
			dead := w.subscribe("agent.dead.ana")
			if err := w.bus.NC.Publish("plugin.inbound.ana", []byte(tt.payload)); err != nil {
				t.Fatal(err)
			}
			w.next(dead)
			if tt.why == "" {
				w.settled()
				w.silent()
				return
			}
			out := w.hear()
			if out.Kind != "error" || !out.Final || out.To != tt.to || out.Chat != tt.chat || !strings.Contains(out.Text, tt.why) || out.Error.Code != "validation" {
				t.Errorf("heard %+v", out)
			}
		})
	}
}

// Of several agents of a channel the one that a message names answers also what cannot be taken.
func TestUnreadableMessageForOneOfSeveral(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]string{
		"without a text": `{"id":"m1","from":"bea","text":" ","agent":"ben"}`,
		"a long id":      `{"id":"` + strings.Repeat("i", 300) + `","from":"bea","text":"hi","agent":"ben"}`,
		"no address":     `{"id":"m1","agent":"ben"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := func(a *actor) { a.cfg.Channels = []agents.Binding{{Channel: "shared"}} }
			echo := script(`rules: [{text: "${text}"}]`)
			w := newWorld(t, bot("ana", echo, shared), bot("ben", echo, shared), bot("cyd", echo, shared))
			dead := w.subscribe("agent.dead.*")
			if err := w.bus.NC.Publish("plugin.inbound.shared", []byte(payload)); err != nil {
				t.Fatal(err)
			}
			if msg := w.next(dead); msg.Subject != "agent.dead.ben" {
				t.Errorf("a dead letter on %s", msg.Subject)
			}
			if name != "no address" {
				if out := w.hear(); out.Agent != "ben" || out.Kind != "error" {
					t.Errorf("heard %+v", out)
				}
			}
			w.settled()
			w.silent()
			if n := len(dead); n != 0 {
				t.Errorf("%d more dead letters", n)
			}
		})
	}
}

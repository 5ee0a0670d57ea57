package session_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/fastjson"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// putCommit stores what has the header of a host's commit.
func putCommit(t testing.TB, b *bus.Bus, header, data string) {
	t.Helper()
	msg := nats.NewMsg(logSubject())
	msg.Data = []byte(data)
	msg.Header.Set(header, "x")
	if _, err := b.JS.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

// A commit of a host that is damaged is not passed over: what it says would be forgotten,
// and with it what people were promised. Once it is deleted, the session goes on without it.
func TestOpenRefusesADamagedCommit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ header, data string }{
		"half of it":          {"Agent-Commit", `{"v":1,"key":"web/dm/ana","events":[`},
		"nothing":             {"Agent-Commit", ""},
		"no commit":           {"Agent-Commit", "hello"},
		"half of a whole log": {"Agent-Replaces", `{"v":1,`},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := open(t)
			openTalk(t, s).turn()
			putCommit(t, b, tt.header, tt.data)
			_, err := s.Open(t.Context(), "bot", ana)
			wantError(t, err, "open session "+session.SID("bot", ana)+": commit 2: ")
			a := archive(b)
			if _, _, err := a.State(t.Context(), "bot", session.SID("bot", ana)); err == nil {
				t.Error("the archive has a state of it")
			}
			v, err := a.Verify(t.Context(), "bot", session.SID("bot", ana))
			if err != nil || len(v.Defects) != 1 || v.Defects[0].Kind != session.LogUnreadable || strings.Contains(v.Defects[0].Text, "pass") {
				t.Errorf("got %+v, %v", v, err)
			}
			if err := sessions(t, b).DeleteMsg(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			c := openTalk(t, s)
			c.turn()
			if n := len(c.reopen().State().Messages); n != 4 {
				t.Errorf("%d messages, want those of two turns", n)
			}
		})
	}
}

// Of a commit that holds what is nested too deep to be read, as hosts of before wrote them,
// that alone is lost.
func TestOpenReadsWhatIsNestedTooDeep(t *testing.T) {
	t.Parallel()
	nested := func(levels int) json.RawMessage {
		return json.RawMessage(`{"text":"x","meta":{"a":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}}`)
	}
	for name, limit := range map[string]int{"in a message": 1 << 19, "in a file": 1} {
		t.Run(name, func(t *testing.T) {
			b, s := open(t)
			s.Limit = limit
			c := openTalk(t, s)
			c.turn()
			deep := waiting("deep")
			deep.Input.Envelope = nested(9998)
			if err := c.add(waiting("before"), deep, waiting("behind")); err != nil {
				t.Fatal(err)
			}
			c = c.reopen()
			var ids []string
			for _, in := range c.State().Waiting {
				ids = append(ids, in.ID)
				if !json.Valid(in.Envelope) || fastjson.TooDeep(in.Envelope) {
					t.Errorf("%s is %.50s…", in.ID, in.Envelope)
				}
			}
			if got := strings.Join(ids, " "); got != "before deep behind" {
				t.Errorf("the log has %s", got)
			}
			n := 0
			for f, err := range archive(b).History(t.Context(), "bot", session.SID("bot", ana), 1) {
				if err != nil {
					t.Fatal(err)
				}
				if f.Event.Type == run.InputAdded {
					n++
				}
				if _, err := json.Marshal(f); err != nil {
					t.Error(err)
				}
			}
			if n != 3 {
				t.Errorf("the history has %d inputs, want 3", n)
			}
		})
	}
}

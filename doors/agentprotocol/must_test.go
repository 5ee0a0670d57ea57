package agentprotocol_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

const promptSubject = "agents.prompt.agenthost.default.ana"

// What an agent must do by the protocol, each sentence a case.
var musts = map[string]func(caller){
	"1 registers as agents with its metadata": func(c caller) {
		info := c.agent("default", "ana")
		want := map[string]string{"agent": "agenthost", "owner": "default", "protocol_version": "0.3"}
		if diff := cmp.Diff(want, info.Metadata); diff != "" || info.Name != "agents" || info.Version != "0.1.0" || info.Description != "Helps." {
			c.Errorf("got %+v", info)
		}
	},
	"2 has the endpoint prompt with its queue group and metadata": func(c caller) {
		want := micro.EndpointInfo{Name: "prompt", Subject: promptSubject, QueueGroup: "agents", Metadata: map[string]string{
			"max_payload": "768KB", "attachments_ok": "true", "description": "answers with a stream of chunks",
		}}
		if diff := cmp.Diff(want, endpoint(c, c.agent("default", "ana"), "prompt")); diff != "" {
			c.Error(diff)
		}
	},
	"3 answers status with a fresh heartbeat": func(c caller) {
		info := c.agent("default", "ana")
		e := endpoint(c, info, "status")
		msg, err := c.nc.RequestWithContext(bustest.Context(c), e.Subject, []byte("ignored"))
		if err != nil {
			c.Fatal(err)
		}
		if e.QueueGroup != "agents" || e.Subject != "agents.status.agenthost.default.ana" {
			c.Errorf("got %+v", e)
		}
		wantBeat(c, msg.Data, info.ID, 30)
	},
	"4 takes plain text": func(c caller) { wantText(c, c.prompt(promptSubject, "  hi"), "ana:   hi") },
	"4 takes an envelope behind white space": func(c caller) {
		wantText(c, c.prompt(promptSubject, "\t\n\r {\"prompt\":\"hi\",\"unknown\":{\"a\":1}}"), "ana: hi")
	},
	"4 takes attachments": func(c caller) {
		wantText(c, c.prompt(promptSubject, `{"prompt":"hi","attachments":[{"filename":"a.txt","content":"aGk="}]}`), "ana: hi")
	},
	"5 acknowledges first": func(c caller) {
		if f := c.prompt(promptSubject, "hi").next(); f.Type != "status" || string(f.Data) != `"ack"` {
			c.Errorf("got %+v", f)
		}
	},
	"6 sends the text in pieces as it is written": func(c caller) {
		frames := c.prompt(promptSubject, "story").all()
		n := len(slices.DeleteFunc(slices.Clone(frames), func(f frame) bool { return f.Type != "response" }))
		if said(frames) != "Once upon a time." || n < 2 {
			c.Errorf("got %q in %d chunks", said(frames), n)
		}
	},
	"7 ends with nothing, and nothing after it": func(c caller) {
		a := c.prompt(promptSubject, "hi")
		a.all()
		if err := c.nc.FlushWithContext(bustest.Context(c)); err != nil {
			c.Fatal(err)
		}
		if n, _, err := a.sub.Pending(); n > 0 || err != nil {
			c.Errorf("%d messages behind the end, %v", n, err)
		}
	},
	"7 tells an error before the end": func(c caller) {
		frames := c.prompt(promptSubject, "broken").all()
		f := frames[len(frames)-2]
		var body struct{ Error, Message string }
		if err := json.Unmarshal([]byte(f.body), &body); err != nil || f.code != "400" || f.why == "" || body.Error == "" || body.Message == "" {
			c.Errorf("got %+v, %v", f, err)
		}
	},
	"8 tells errors in one line": func(c caller) {
		frames := c.prompt(promptSubject, "{"+strings.Repeat("\n", 500)).all()
		if f := frames[0]; f.code != "400" || strings.ContainsAny(f.why, "\r\n") || len([]rune(f.why)) > 200 {
			c.Errorf("got %+v", f)
		}
	},
	"10 answers discovery": func(c caller) {
		msg, err := c.nc.RequestWithContext(bustest.Context(c), "$SRV.PING.agents", nil)
		var ping micro.Ping
		if err != nil || json.Unmarshal(msg.Data, &ping) != nil || ping.Name != "agents" || ping.ID == "" {
			c.Errorf("got %+v, %v", msg, err)
		}
	},
	"asks an approval by a query": func(c caller) {
		a := c.prompt(promptSubject, "write")
		q := a.query()
		if !strings.Contains(q.Prompt, "note.txt") {
			c.Errorf("got %+v", q)
		}
		a.reply(q, "approve")
		if text := said(a.all()); !strings.HasPrefix(text, "done: ") {
			c.Errorf("got %q", text)
		}
	},
	"asks a question by a query, again where the answer is invalid": func(c caller) {
		a := c.prompt(promptSubject, "colour")
		q := a.query()
		if q.Prompt != "Which colour?\n- Red\n- Blue" {
			c.Errorf("got %+v", q)
		}
		a.reply(q, "green")
		again := a.query()
		if again.ReplySubject == q.ReplySubject || !strings.Contains(again.Prompt, "Red, Blue") {
			c.Errorf("got %+v", again)
		}
		a.reply(again, `{"broken`)
		third := a.query()
		a.reply(third, `{"prompt":"Blue"}`)
		a.reply(third, `Red`)
		if text := said(a.all()); text != "You like Blue." {
			c.Errorf("got %q", text)
		}
	},
}

// What is refused with 400.
var badPrompts = map[string]string{
	"nothing":                 "",
	"only white space":        " \n",
	"broken JSON":             "{",
	"more behind the JSON":    `{"prompt":"a"} b`,
	"no prompt":               `{"text":"a"}`,
	"an empty prompt":         `{"prompt":""}`,
	"a prompt of a number":    `{"prompt":5}`,
	"a prompt of null":        `{"prompt":null}`,
	"a session of a number":   `{"prompt":"a","session":1}`,
	"attachments of a string": `{"prompt":"a","attachments":"b"}`,
	"no base64":               `{"prompt":"a","attachments":[{"filename":"a","content":"?"}]}`,
	"base64 without padding":  `{"prompt":"a","attachments":[{"filename":"a","content":"aGk"}]}`,
	"a file without a name":   `{"prompt":"a","attachments":[{"content":"aGk="}]}`,
	"a file without content":  `{"prompt":"a","attachments":[{"filename":"a"}]}`,
	"no UTF-8":                "\xff",
	"a NUL":                   "a\x00b",
	"too large":               strings.Repeat("a", 800<<10),
	"a long session":          `{"prompt":"a","session":"` + strings.Repeat("s", 5000) + `"}`,
	"deep nesting":            `{"prompt":` + strings.Repeat("[", 100_000),
}

func TestMusts(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	for name, must := range musts {
		t.Run(name, func(t *testing.T) { must(caller{t, c.nc}) })
	}
	for name, payload := range badPrompts {
		t.Run("4 refuses "+name, func(t *testing.T) {
			frames := caller{t, c.nc}.prompt(promptSubject, payload).all()
			if f := frames[len(frames)-2]; f.code != "400" || f.why == "" || strings.Contains(f.why, "Go ") || said(frames) != "" {
				t.Errorf("got %+v", frames)
			}
		})
	}
}

func wantText(c caller, a answer, want string) {
	c.Helper()
	if got := said(a.all()); got != want {
		c.Errorf("got %q, want %q", got, want)
	}
}

func wantBeat(t testing.TB, data []byte, id string, seconds int) {
	t.Helper()
	var beat map[string]any
	if err := json.Unmarshal(data, &beat); err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, fmt.Sprint(beat["ts"]))
	if err != nil || time.Since(at) > time.Hour || at.Location() != time.UTC {
		t.Errorf("its time is %v, %v", beat["ts"], err)
	}
	delete(beat, "ts")
	want := map[string]any{"agent": "agenthost", "instance_id": id, "interval_s": float64(seconds), "owner": beat["owner"]}
	if diff := cmp.Diff(want, beat); diff != "" {
		t.Error(diff)
	}
}

// An answer goes on no subject that would count as the host's word.
func TestRepliesGoNowhereElse(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	for _, subject := range []string{"agenthost.x", "agent.route.ana", "plugin.inbound.demo", "agents.query.x", "$JS.API.INFO", "a..b", "a.>"} {
		sub, err := c.nc.SubscribeSync(strings.NewReplacer("a..b", "a", "a.>", "a").Replace(subject))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.nc.PublishMsg(&nats.Msg{Subject: promptSubject, Reply: subject, Data: []byte("hi")})
		wantText(c, c.prompt(promptSubject, "hi"), "ana: hi") // prompts are taken one after the other
		if n, _, _ := sub.Pending(); n > 0 {
			t.Errorf("%d messages on %s", n, subject)
		}
	}
	if n := h.Inbound(t); n != 7 {
		t.Errorf("%d messages are stored, want 7: one by one without a reply subject that is allowed", n)
	}
}

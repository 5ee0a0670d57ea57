package plugins_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/texts"
	"agenthost/plugins"
	"agenthost/plugins/settings"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func taken(t *testing.T, b *bus.Bus) (list []*jetstream.RawStreamMsg) {
	t.Helper()
	return stored(t, b, bus.InboundStream, inbound)
}

func TestTake(t *testing.T) {
	t.Parallel()
	call := "ana." + session.SID("ana", "k") + "." + strings.Repeat("a", 26)
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.FixedZone("", 3600))
	tests := map[string]struct {
		in   plugins.Received
		want string // envelope; empty: it goes nowhere
		id   string
		err  error
	}{
		"a message": {
			plugins.Received{ID: "tg-1-2", From: "42", Name: "Ana", Chat: "42", Thread: "7", Text: "hi", ReplyTo: "tg-1-1", SentAt: at, Meta: map[string]any{"k": "v"}},
			`{"id":"tg-1-2","from":"42","name":"Ana","chat":"42","thread":"7","text":"hi","reply_to":"tg-1-1","sent_at":"2026-11-23T11:00:00Z","meta":{"k":"v"}}`,
			"test.one:42:tg-1-2", nil,
		},
		"an edit":               {plugins.Received{ID: "e2", From: "42", Text: "ho", Edits: "e1"}, `{"id":"e2","from":"42","text":"ho","edits":"e1"}`, "test.one:42:e2", nil},
		"what no text can have": {plugins.Received{ID: "n", From: "42", Text: "a\x00b\xff"}, "{\"id\":\"n\",\"from\":\"42\",\"text\":\"a\ufffdb\ufffd\"}", "test.one:42:n", nil},
		"a button":              {plugins.Received{ID: "p", From: "42", Pressed: "a." + call}, `{"id":"p","from":"42","text":"approve","answers":"` + call + `"}`, "test.one:42:p", nil},
		"another button":        {plugins.Received{ID: "p", From: "42", Pressed: "d." + call}, `{"id":"p","from":"42","text":"deny","answers":"` + call + `"}`, "test.one:42:p", nil},
		"an option":             {plugins.Received{ID: "p", From: "42", Pressed: "2.c1"}, `{"id":"p","from":"42","text":"2","answers":"c1","meta":{"option":2}}`, "test.one:42:p", nil},
		"a button of others":    {plugins.Received{ID: "p", From: "42", Pressed: "menu"}, "", "", plugins.ErrMalformed},
		"no such option":        {plugins.Received{ID: "p", From: "42", Pressed: "0.c1"}, "", "", plugins.ErrMalformed},
		"no id":                 {plugins.Received{From: "42", Text: "hi"}, "", "", plugins.ErrMalformed},
		"nothing":               {plugins.Received{ID: "x", From: "42"}, "", "", plugins.ErrMalformed},
		"a group without chat":  {plugins.Received{ID: "x", From: "42", Text: "a", Group: true, Mentioned: true}, "", "", plugins.ErrMalformed},
		"too long":              {plugins.Received{ID: "x", From: "42", Text: strings.Repeat("x", 1<<20)}, "", "", plugins.ErrTooLarge},
		"raw":                   {plugins.Received{Raw: json.RawMessage(`{"id":"r", "from":"42","text":"as it is"}`)}, `{"id":"r", "from":"42","text":"as it is"}`, "test.one:42:r", nil},
		"raw without an id":     {plugins.Received{ID: "w1", Raw: json.RawMessage(`{"text":"hi"}`)}, `{"text":"hi"}`, "w1", nil},
		"raw and malformed":     {plugins.Received{Raw: json.RawMessage(`{"id":"r"}`)}, "", "", plugins.ErrMalformed},
		"raw with a long chat":  {plugins.Received{Raw: json.RawMessage(`{"text":"hi","chat":"` + strings.Repeat("x", 257) + `"}`)}, "", "", plugins.ErrMalformed},
		"a long thread":         {plugins.Received{ID: "x", From: "42", Text: "a", Thread: strings.Repeat("x", 257)}, `{"id":"x","from":"42","thread":"` + strings.Repeat("x", 257) + `","text":"a"}`, "test.one:42:x", nil},
		"raw and broken":        {plugins.Received{Raw: json.RawMessage(`{"id":`)}, "", "", plugins.ErrMalformed},
		"an id with a newline":  {plugins.Received{ID: "a\nb", From: "42", Text: "hi"}, `{"id":"a\nb","from":"42","text":"hi"}`, "test.one:42:fd57165c1b4d0a4ebcd7ba9b6ff5b6f1", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := connect(t, "")
			h := newHost(t, b, "host-1", newMemory(chatLimits()), settings.Account{})
			for range 2 { // the platform may send it twice
				if err := h.courier.Inbox().Take(bustest.Context(t), tt.in); !errors.Is(err, tt.err) || err == nil && tt.err != nil {
					t.Errorf("Take: got %v, want %v", err, tt.err)
				}
			}
			list := taken(t, b)
			if tt.want == "" {
				if len(list) != 0 {
					t.Errorf("stored: %s", list[0].Data)
				}
				return
			}
			if len(list) != 1 {
				t.Fatalf("%d messages are stored, want 1", len(list))
			}
			if diff := cmp.Diff(tt.want, string(list[0].Data)); diff != "" {
				t.Error(diff)
			}
			if got := list[0].Header.Get("Nats-Msg-Id"); got != tt.id && name != "an id with a newline" {
				t.Errorf("Nats-Msg-Id: got %q, want %q", got, tt.id)
			}
		})
	}
}

// Envelopes of a program have ids that are unique in their session, not in their chat.
func TestSameIDInOtherSessions(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	h := newHost(t, b, "host-1", newMemory(chatLimits()), settings.Account{})
	all := []string{
		`{"id":"1","from":"42","chat":"c","group":true,"text":"a"}`,
		`{"id":"1","from":"42","chat":"c","group":true,"thread":"7","text":"b"}`,
		`{"id":"1","from":"42","chat":"c","conversation":"7","text":"c"}`,
		`{"id":"1","from":"42","chat":"c","agent":"7","text":"d"}`,
		`{"id":"1","from":"42","chat":"c","conversation":"7","agent":"8","text":"e"}`,
	}
	for range 2 {
		for _, envelope := range all {
			if err := h.courier.Inbox().Take(bustest.Context(t), plugins.Received{Raw: json.RawMessage(envelope)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []string
	for _, m := range taken(t, b) {
		got = append(got, string(m.Data))
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Error(diff)
	}
}

// Messages of two chats, or of two sessions of one, are two, whatever characters their ids hold.
func TestIDsWithColons(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	h := newHost(t, b, "host-1", newMemory(chatLimits()), settings.Account{})
	ids := map[string]string{
		`{"id":"2","from":"bob:1","text":"a"}`:                         "test.one:bob%3A1:2",
		`{"id":"1:2","from":"bob","text":"b"}`:                         "test.one:bob:1%3A2",
		`{"id":"2","from":"bob%3A1","text":"c"}`:                       "test.one:bob%253A1:2",
		`{"id":"2:thread=7","from":"bob","text":"d"}`:                  "test.one:bob:2%3Athread=7",
		`{"id":"2","from":"bob","thread":"7","text":"e"}`:              "test.one:bob:2:thread=7",
		`{"id":"2","from":"bob","thread":"7:agent=8","text":"f"}`:      "test.one:bob:2:thread=7%3Aagent=8",
		`{"id":"2","from":"bob","thread":"7","agent":"8","text":"g"}`:  "test.one:bob:2:thread=7:agent=8",
		`{"id":"$e","from":"@ana:x.org","chat":"!r:x.org","text":"h"}`: "test.one:!r%3Ax.org:$e",
	}
	for range 2 {
		for envelope := range ids {
			if err := h.courier.Inbox().Take(bustest.Context(t), plugins.Received{Raw: json.RawMessage(envelope)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := map[string]string{}
	for _, m := range taken(t, b) {
		got[string(m.Data)] = m.Header.Get("Nats-Msg-Id")
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Error(diff)
	}
}

func TestGroupsPolicy(t *testing.T) {
	t.Parallel()
	message := plugins.Received{ID: "g", From: "42", Chat: "c", Group: true, Text: "hi"}
	mentioned, pressed, direct := message, message, message
	mentioned.Mentioned, pressed.Pressed, direct.Group = true, "1.c1", false
	tests := map[settings.Groups][4]bool{ // message, mentioned, pressed, direct
		"":                     {false, true, true, true},
		settings.GroupsMention: {false, true, true, true},
		settings.GroupsAll:     {true, true, true, true},
		settings.GroupsOff:     {false, false, true, true},
	}
	for policy, want := range tests {
		for i, m := range []plugins.Received{message, mentioned, pressed, direct} {
			b := connect(t, "")
			h := newHost(t, b, "host-1", newMemory(chatLimits()), settings.Account{Groups: policy})
			if err := h.courier.Inbox().Take(bustest.Context(t), m); err != nil {
				t.Fatal(err)
			}
			if got := len(taken(t, b)) == 1; got != want[i] {
				t.Errorf("groups %q, message %d: taken %t, want %t", policy, i, got, want[i])
			}
		}
	}
}

func TestFilesOfMessages(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	h := newHost(t, b, "host-1", newMemory(chatLimits()), settings.Account{MaxFile: 1 << 10})
	err := h.courier.Inbox().Take(bustest.Context(t), plugins.Received{ID: "f", From: "42", Text: "see", Files: []plugins.File{
		{Name: "a.png", MIME: "image/png", Data: []byte("image")},
		{Name: "b.bin", MIME: "application/octet-stream", Data: bytes.Repeat([]byte("x"), 2<<10)},
		{Name: "c.mp4", MIME: "video/mp4", Size: 5 << 20},
		{Name: "d.ogg", MIME: "audio/ogg", URL: "https://x.y/d.ogg"},
		{Name: "e.txt", MIME: "text/plain"},
		{Name: "f.txt", MIME: "text/plain", Data: []byte{}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	in, err := bus.DecodeInbound(taken(t, b)[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	want := "see\n[file b.bin left out: 2.0 KB, more than the 1.0 KB allowed]\n[file c.mp4 left out: 5.0 MB, more than the 1.0 KB allowed]\n" +
		"[file e.txt left out: it could not be loaded]\n[file f.txt left out: it is empty]"
	if diff := cmp.Diff(want, in.Text); diff != "" {
		t.Error(diff)
	}
	if len(in.Media) != 2 || in.Media[0].Kind != "image" || in.Media[0].Size != 5 || in.Media[1].URL != "https://x.y/d.ogg" || in.Media[1].Kind != "audio" {
		t.Errorf("media: %+v", in.Media)
	}
	if data, err := h.courier.Files().Get(t.Context(), in.Media[0].Object); err != nil || string(data) != "image" {
		t.Errorf("stored file: %q, %v", data, err)
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	h := newHost(t, b, "host-1", newMemory(chatLimits()), settings.Account{})
	answer := func(sub *nats.Subscription, change func(*bus.Outbound)) {
		if _, err := sub.NextMsgWithContext(t.Context()); err != nil {
			return
		}
		other, early, final := reply("o.1", "bob", "to another"), reply("r.1", "ana", "a question"), reply("r.2", "ana", "the answer")
		early.Final, early.InReplyTo, final.InReplyTo = false, "m", "m"
		change(&final)
		sendRaw(t, b, "junk", []byte("junk"))
		send(t, b, other, early, final)
	}
	tests := map[string]struct {
		in     plugins.Received
		change func(*bus.Outbound)
	}{
		"by its id": {plugins.Received{ID: "m", From: "ana", Text: "hi"}, func(*bus.Outbound) {}},
		"with others": {plugins.Received{ID: "m", From: "ana", Text: "hi 2"}, func(out *bus.Outbound) {
			out.ID, out.InReplyTo, out.Merged = "r.3", "n", []string{"m", "n"}
		}},
		"an envelope": {plugins.Received{ID: "other", Raw: json.RawMessage(`{"id":"m","from":"ana","text":"hi"}`)}, func(out *bus.Outbound) { out.ID = "r.4" }},
	}
	for name, tt := range tests {
		sub, err := b.NC.SubscribeSync(inbound)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { defer close(done); answer(sub, tt.change) }()
		out, err := h.courier.Inbox().Ask(bustest.Context(t), tt.in)
		if err != nil || out.Text != "the answer" {
			t.Errorf("%s: got %+v, %v", name, out, err)
		}
		_ = sub.Unsubscribe() // which ends the wait for a message that did not come
		<-done
	}
	for days, want := range map[int]error{0: nil, 2: plugins.ErrIDUsed} { // the answers of above are found again
		again := plugins.Received{ID: "m", From: "ana", Text: "hi", Since: time.Now().AddDate(0, 0, days)}
		sub, err := b.NC.SubscribeSync(inbound)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			answer(sub, func(out *bus.Outbound) { out.ID, out.SentAt = fmt.Sprint("again.", days), time.Now() })
		}()
		if _, err := h.courier.Inbox().Ask(bustest.Context(t), again); !errors.Is(err, want) {
			t.Errorf("an answer of %d days before: got %v, want %v", days, err, want)
		}
		_ = sub.Unsubscribe()
		<-done
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := h.courier.Inbox().Ask(ctx, plugins.Received{ID: "late", From: "ana", Text: "hi"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without an answer: %v", err)
	}
	for _, in := range []plugins.Received{{From: "ana", Text: "no id"}, {Raw: json.RawMessage(`{}`)}, {Raw: json.RawMessage(`{"text":"no id"}`)}} {
		if _, err := h.courier.Inbox().Ask(t.Context(), in); !errors.Is(err, plugins.ErrMalformed) {
			t.Errorf("%+v: got %v, want ErrMalformed", in, err)
		}
	}
}

// A message that was answered before gets that reply also where its account is one session with
// another, whose message has the same id. Hosts of before named it in the log by its id alone.
func TestAskAgainInAJoinedSession(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	joined := session.DM("test", "other", "ana")
	for from, logged := range map[string]string{"ana": "test.one/dm/ana:m", "bo": "m"} {
		t.Run(logged, func(t *testing.T) {
			joined := joined + session.Key(from)
			h := newHost(t, b, "host-1", newMemory(chatLimits()), settings.Account{}).in(func(session.Key) session.Key { return joined })
			answered := func(run, subject, id string) map[string]any {
				said := reply(run+".1", from, "of "+subject)
				said.InReplyTo = "m"
				return map[string]any{"v": 1, "key": joined, "run": run, "events": []map[string]any{
					{"type": "run.started", "run": run, "inputs": []map[string]any{{"id": id, "subject": "plugin.inbound." + subject, "envelope": map[string]any{"text": "hi"}}}},
					{"type": "reply", "reply": map[string]any{"n": 1, "kind": "reply", "final": true, "id": said.ID, "subject": "plugin.outbound." + subject, "envelope": said}},
					{"type": "run.finished", "run": run, "outcome": "settled"},
				}}
			}
			commits := []map[string]any{answered("r2", "test.one", logged)}
			if logged != "m" {
				commits = append(commits, answered("r1", "test.other", "m"))
			}
			for _, c := range commits {
				data, err := json.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := b.JS.Publish(t.Context(), "agent.session.ana."+session.SID("ana", joined), data); err != nil {
					t.Fatal(err)
				}
			}
			out, err := h.courier.Inbox().Ask(bustest.Context(t), plugins.Received{ID: "m", From: from, Text: "hi"})
			if err != nil || out.Text != "of test.one" {
				t.Errorf("got %+v, %v, want the answer of before", out, err)
			}
		})
	}
}

type dialer func(network, address string) (net.Conn, error)

func (d dialer) Dial(network, address string) (net.Conn, error) { return d(network, address) }

// An error says once what kind it is.
func TestMalformedIsSaidOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, connect(t, ""), "host-1", newMemory(chatLimits()), settings.Account{})
	err := h.courier.Inbox().Take(t.Context(), plugins.Received{Raw: json.RawMessage(`{"group":true,"text":"hi"}`)})
	if err == nil || strings.Count(err.Error(), "malformed message") != 1 || !errors.Is(err, plugins.ErrMalformed) {
		t.Errorf("got %v", err)
	}
}

func TestNotesOfAChannel(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	one := newHost(t, b, "host-1", newMemory(chatLimits()), settings.Account{}).courier.Inbox()
	two := newHost(t, b, "host-2", newMemory(chatLimits()), settings.Account{}).courier.Inbox()
	ctx := bustest.Context(t)
	for _, name := range []string{"offset", "room !a:b/c d", ""} {
		if value, err := two.Note(ctx, name); value != nil || err != nil {
			t.Errorf("%q before: %q, %v", name, value, err)
		}
		for _, value := range []string{"1", "2"} {
			if err := one.SetNote(ctx, name, []byte(value)); err != nil {
				t.Fatal(err)
			}
		}
		if value, err := two.Note(ctx, name); string(value) != "2" || err != nil {
			t.Errorf("%q: %q, %v", name, value, err)
		}
		since := time.Time{}
		for i, in := range []*plugins.Inbox{one, two} {
			note, at, err := in.KeepNoteFor(ctx, name+" kept", []byte{byte('a' + i)}, time.Hour)
			if err != nil || string(note) != "a" || i > 0 && at.Sub(since).Abs() > time.Minute {
				t.Errorf("%q is kept by %d: %q since %v, %v, want that of the first", name, i, note, at, err)
			}
			since = at
		}
	}
	if !one.Ready() || one.MaxFile() != 20<<20 {
		t.Errorf("ready %t, files up to %d", one.Ready(), one.MaxFile())
	}
}

// A button of an agent with a long name leaves the name out: it is looked up among
// what waits.
func TestButtonOfALongName(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	platform := newMemory(chatLimits())
	h := startHost(t, b, "host-1", platform, settings.Account{}).connected()
	call := longAgent + "." + session.SID(longAgent, "k") + "." + strings.Repeat("a", 26)
	if _, err := b.JS.Publish(t.Context(), "$KV.AGENT_WAITING."+call, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	out := reply("r.1", "ana", "May I?")
	out.Kind, out.Final, out.Call, out.Options = bus.KindApproval, false, call, []string{"approve", "deny"}
	send(t, b, out)
	settled(t, b)
	buttons := platform.messages("ana")[0].Buttons
	for i, b := range buttons {
		if len(b.Data) > 64 || b.Label != out.Options[i] {
			t.Errorf("button %+v has %d bytes", b, len(b.Data))
		}
	}
	if err := h.courier.Inbox().Take(bustest.Context(t), plugins.Received{ID: "p", From: "ana", Pressed: buttons[0].Data}); err != nil {
		t.Fatal(err)
	}
	in, err := bus.DecodeInbound(taken(t, b)[0].Data)
	if err != nil || in.Answers != call || in.Text != "approve" {
		t.Errorf("got %+v, %v", in, err)
	}
}

func TestOptionsWithoutButtons(t *testing.T) {
	t.Parallel()
	question := func(text string, options ...string) bus.Outbound {
		out := reply("q.1", "ana", text)
		out.Kind, out.Call, out.Options = bus.KindQuestion, "c1", options
		return out
	}
	approval := func(text string) bus.Outbound {
		out := question(text, "approve", "deny")
		out.Kind = bus.KindApproval
		return out
	}
	tests := map[string]struct {
		out  bus.Outbound
		want string
	}{
		"options":          {question("Which one?", "red", "dark blue"), "Which one?\n\n1. red\n2. dark blue"},
		"several are open": {question("Question 2: Which one?\nReply with one of these and the number, such as: red 2", "red", "blue"), "Question 2: Which one?\nReply with one of these and the number, such as: red 2\n\n• red\n• blue"},
		"an approval":      {approval("May I write 2 files? Reply approve or deny."), "May I write 2 files? Reply approve or deny.\n\n1. approve\n2. deny"},
		"no options":       {question("What now?"), "What now?"},
		"too many":         {question("Which?", "a", "b", "c", "d", "e"), "Which?\n\n1. a\n2. b\n3. c\n4. d\n5. e"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := connect(t, "")
			limits := chatLimits()
			if name != "too many" {
				limits.Buttons = 0
			}
			platform := newMemory(limits)
			startHost(t, b, "host-1", platform, settings.Account{}).connected()
			send(t, b, tt.out)
			settled(t, b)
			if diff := cmp.Diff([]string{tt.want}, platform.texts("ana")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Where several approvals are open in a chat they have numbers themselves, in any language: those
// of the options would be taken for them.
func TestNumberedApprovalsWithoutButtons(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	limits := chatLimits()
	limits.Buttons = 0
	platform := newMemory(limits)
	startHost(t, b, "host-1", platform, settings.Account{}).connected()
	var want []string
	for _, language := range texts.Languages() {
		for i, key := range []string{"approval_reply", "approval_reply_numbered"} {
			out := reply(language+"."+strconv.Itoa(i), "ana", "ana wants to approve and deny it. "+texts.New(language, nil).Say(key, "n", "2"))
			out.Kind, out.Call, out.Options = bus.KindApproval, "c1", []string{"approve", "deny"}
			send(t, b, out)
			text := out.Text
			if i == 0 {
				text += "\n\n1. approve\n2. deny"
			}
			want = append(want, text)
		}
	}
	settled(t, b)
	if diff := cmp.Diff(want, platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
}

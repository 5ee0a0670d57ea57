//go:build long

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/internal/cli"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A talker is a model of the chat completions API: it does what the person asks for with the
// tool that fits, and else repeats what was said. It keeps what it was sent.
type talker struct {
	mu      sync.Mutex
	prompts []string
	hanging int
	release chan struct{} // closed when what it was asked to wait with is to be answered
}

// hangs is how many calls have been left without an answer.
func (k *talker) hangs() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hanging
}

type talkerMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

func (m talkerMessage) text() string {
	if s, ok := m.Content.(string); ok {
		return s
	}
	data, _ := json.Marshal(m.Content)
	return string(data)
}

func (k *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	k.mu.Lock()
	k.prompts = append(k.prompts, string(body))
	k.mu.Unlock()
	req := struct{ Messages []talkerMessage }{}
	_ = json.Unmarshal(body, &req)
	last := req.Messages[len(req.Messages)-1]
	text := last.text()
	after := last.Role == "tool" && slices.ContainsFunc(req.Messages, func(m talkerMessage) bool { return strings.Contains(m.text(), "and then hang") })
	if after || strings.Contains(text, "please hang") {
		k.mu.Lock()
		k.hanging++
		k.mu.Unlock()
		<-r.Context().Done()
		return
	}
	if strings.Contains(text, "please wait") {
		k.mu.Lock()
		k.hanging++
		k.mu.Unlock()
		select {
		case <-k.release:
		case <-r.Context().Done():
		}
	}
	delta := map[string]any{"role": "assistant", "content": "You said: " + text}
	finish := "stop"
	call := func(name string, args map[string]string) {
		data, _ := json.Marshal(args)
		finish = "tool_calls"
		delta = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
			"index": 0, "id": fmt.Sprintf("call%d", len(req.Messages)), "type": "function", "function": map[string]any{"name": name, "arguments": string(data)},
		}}}
	}
	if _, rest, ok := strings.Cut(text, "please "); ok && last.Role == "user" {
		verb, what, _ := strings.Cut(rest, " ")
		switch verb {
		case "remember":
			call("remember", map[string]string{"text": what})
		case "share":
			call("remember", map[string]string{"text": what, "about": "agent"})
		case "remind":
			call("remind", map[string]string{"when": "in 10h", "text": what})
		case "delegate":
			call("delegate", map[string]string{"agent": "bob", "task": what})
		case "write":
			call("write_file", map[string]string{"path": "x.txt", "text": what})
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, one := range []any{
		map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}},
		map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}},
	} {
		data, _ := json.Marshal(one)
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// asked is how often it was asked.
func (k *talker) asked() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.prompts)
}

// lastPrompt is the last thing the model was sent.
func (k *talker) lastPrompt() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.prompts[len(k.prompts)-1]
}

// An erasedWorld is a fleet in which Zoë, who is to be erased, and Bo have written.
type erasedWorld struct {
	*testing.T
	url   string
	js    jetstream.JetStream
	c     *client.Client
	model *talker
	dir   string
	sent  int
}

// What belongs to Zoë alone.
const (
	zoeID    = "zoe-4711x"
	zoeName  = "Zoë Quark"
	zoeWords = "zebraquartz" // in all that she writes
)

// The accounts of a person whose direct chats are one session, that of the first.
const (
	zedMain = "zed-main"
	zedID   = "zed-9113x"
)

const eraseConfig = `
nats: {url: %q}
http: {listen: "127.0.0.1:0", token: sesame-sesame-sesame}
models: {main: {provider: openai, base_url: %q, api_key: k, model: m}}
agents:
  - id: ana
    tools: [remember, recall, remind, delegate, write_file]
    delegates: [bob]
    permissions: {write_file: ask}
    channels: [web, {channel: telegram, instance: sales}, {channel: shut, senders: {pairing: true}}]
  - id: bob
    tools: [remember]
    partitions: 2
    channels: [parts]
  - id: col
    session: {queue: collect, debounce: 1ms}
    channels: [collected]
  - id: dot
    tools: [write_file]
    permissions: {write_file: ask}
    approvers: [dots/` + zedID + `]
    notify: approvers
    channels: [dots]
identities:
  zed: {accounts: [web/` + zedMain + `, telegram.sales/` + zedID + `, dots/` + zedID + `], shared: true}
`

func newErasedWorld(t *testing.T) *erasedWorld {
	t.Helper()
	w := &erasedWorld{T: t, model: &talker{}}
	w.url, _ = bustest.Server(t)
	server := httptest.NewServer(w.model)
	t.Cleanup(server.Close)
	w.dir = configured(t, fmt.Sprintf(eraseConfig, w.url, server.URL+"/v1"))
	nc, err := nats.Connect(w.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if w.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	w.c = client.New(nc, w.js, client.Options{})
	return w
}

// says publishes a message, and waits for the outbound message that answers it: its reply, or
// what its run asks.
func (w *erasedWorld) says(place string, m bus.Inbound) bus.Outbound {
	w.Helper()
	w.sent++
	m.ID = fmt.Sprint("m", w.sent)
	sub, err := w.js.Conn().SubscribeSync(bus.OutboundPrefix + place)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	data, err := json.Marshal(m)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.js.Publish(w.Context(), bus.InboundPrefix+place, data); err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			w.Fatalf("no answer to %q on %s: %v", m.Text, place, err)
		}
		out := bus.Outbound{}
		if json.Unmarshal(msg.Data, &out) == nil && out.InReplyTo == m.ID {
			return out
		}
	}
}

func (w *erasedWorld) zoe(place, text string) bus.Outbound {
	w.Helper()
	return w.says(place, bus.Inbound{From: zoeID, Name: zoeName, Text: text + " " + zoeWords})
}

func (w *erasedWorld) group(from, name, text string) bus.Outbound {
	w.Helper()
	return w.says("web", bus.Inbound{From: from, Name: name, Chat: "-100", Group: true, Text: text})
}

// fill has both write everywhere.
func (w *erasedWorld) fill(http string) {
	w.Helper()
	w.zoe("web", "hello")
	w.zoe("web", "he said \"no\" to\nme, and \\ to the")
	w.zoe("web", "please remember my allergy is")
	w.zoe("web", "please share the office of Zoë is by the")
	w.zoe("web", "please remind me to feed the")
	w.zoe("web", "please delegate find out about the")
	w.zoe("telegram.sales", "my number is 12345")
	w.zoe("parts", "over partitions")
	w.zoe("shut", "let me in")
	w.zoe("web", strings.Repeat("a long story ", 60_000)) // over half of a payload: objects
	w.door(http)
	w.group(zoeID, zoeName, "in the group I say "+zoeWords)
	w.group("bo-7", "Bo Gravel", "gravel is fine")
	w.group("bo-7", "Bo Gravel", `she said "in the group I say `+zoeWords+`", did she?`)
	w.group("bo-7", "Bo Gravel", "please remember gravel is grey")
	w.group(zoeID, zoeName, "please delegate in the group: "+zoeWords)
	w.says("web", bus.Inbound{From: "bo-7", Name: "Bo Gravel", Text: "gravel in private"})
	w.says("web", bus.Inbound{From: "bo-7", Name: "Bo Gravel", Text: "please remind me of gravel: in the group I say " + zoeWords})
	w.zoe("telegram.sales", "please write a file about the") // waits for an approval
	for _, text := range []string{
		`{"from":"` + zoeID + `","text":5,"name":"` + zoeWords + `"}`,
		`{"from":"bo-7","text":5,"name":"gravel"}`,
	} {
		if _, err := w.js.Publish(w.Context(), bus.InboundPrefix+"web", []byte(text)); err != nil {
			w.Fatal(err)
		}
	}
	bustest.Eventually(w.T, "dead letters", func() bool { return w.messages(bus.DeadStream) == 2 })
}

// door has Zoë ask by the OpenAI door.
func (w *erasedWorld) door(address string) {
	w.Helper()
	body := `{"model":"ana","user":"` + zoeID + `","messages":[{"role":"user","content":"by the door ` + zoeWords + `"}]}`
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, "http://"+address+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sesame-sesame-sesame")
	req.Header.Set("Agent-Session", "project")
	req.Header.Set("Idempotency-Key", "once")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(zoeWords)) {
		w.Fatalf("the door: %s, %s", resp.Status, answer)
	}
}

func (w *erasedWorld) messages(stream string) uint64 {
	s, err := w.js.Stream(w.Context(), stream)
	if err != nil {
		return 0
	}
	return s.CachedInfo().State.Msgs
}

// find lists where something of Zoë is, in all that NATS has.
func (w *erasedWorld) find(looked ...string) []string {
	w.Helper()
	var wants [][]byte
	for _, text := range looked {
		quoted, _ := json.Marshal(text)
		wants = append(wants, []byte(text), quoted[1:len(quoted)-1])
		for shift := range 3 { // base64 of a text that has it anywhere
			encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + text))
			wants = append(wants, []byte(encoded[[]int{0, 2, 3}[shift]:len(encoded)-2]))
		}
	}
	var places []string
	for _, info := range bustest.Streams(w, w.js) {
		for _, msg := range bustest.Stored(w, w.js, info) {
			header, _ := json.Marshal(msg.Header)
			for _, want := range wants {
				if bytes.Contains(msg.Data, want) || bytes.Contains(header, want) || strings.Contains(msg.Subject, string(want)) {
					places = append(places, fmt.Sprintf("%s:%d %s has %s: %.400s %s", info.Config.Name, msg.Sequence, msg.Subject, want, msg.Data, header))
					break
				}
			}
		}
	}
	return places
}

func (w *erasedWorld) nothingOfZoe() {
	w.Helper()
	for _, place := range w.find(zoeID, zoeName, zoeWords) {
		w.Errorf("it is still there: %s", place)
	}
}

// stoppedBy wants it on record who has stopped runs, of which there is one at least.
func (w *erasedWorld) stoppedBy(who string) {
	w.Helper()
	stopped := 0
	for entry, err := range w.c.Audit(w.Context(), time.Now().Add(-time.Hour)) {
		if err != nil {
			w.Fatal(err)
		}
		if entry.Action != "abort" {
			continue
		}
		stopped++
		if entry.By != who {
			w.Errorf("a run was stopped by %q, want %q", entry.By, who)
		}
	}
	if stopped == 0 {
		w.Error("that a run was stopped is not on record")
	}
}

// readable looks at all sessions as commands do.
func (w *erasedWorld) readable() {
	w.Helper()
	key := "web/group/-100"
	call(w.T, cli.CodeDone, "", "sessions", "ls", "-s", w.url)
	out, _ := call(w.T, cli.CodeDone, "", "sessions", "show", "ana", key, "-s", w.url)
	contains(w.T, out, "[erased]")
	call(w.T, cli.CodeDone, "", "sessions", "export", "ana", key, "-s", w.url)
	call(w.T, cli.CodeDone, "", "sessions", "replay", "ana", key, "-s", w.url)
	call(w.T, cli.CodeDone, "", "sessions", "search", "gravel", "-s", w.url)
	call(w.T, cli.CodeDone, "", "scrub", "-s", w.url)
	out, _ = call(w.T, cli.CodeDone, "", "why", "m13", "-s", w.url)
	contains(w.T, out, "answered")
	out, _ = call(w.T, cli.CodeDone, "", "audit", "-s", w.url)
	contains(w.T, out, "erase")
}

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
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A talker is a model of the chat completions API: it does what the person asks for with the
// tool that fits, and else repeats what was said. It keeps what it was sent.
type talker struct {
	mu      sync.Mutex
	prompts []string
	hanging int
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
	if strings.Contains(text, "please hang") {
		k.mu.Lock()
		k.hanging++
		k.mu.Unlock()
		<-r.Context().Done()
		return
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
	list := w.js.ListStreams(w.Context())
	for info := range list.Info() {
		s, err := w.js.Stream(w.Context(), info.Config.Name)
		if err != nil {
			w.Fatal(err)
		}
		for seq := info.State.FirstSeq; seq <= info.State.LastSeq && info.State.Msgs > 0; seq++ {
			msg, err := s.GetMsg(w.Context(), seq)
			if err != nil {
				continue
			}
			header, _ := json.Marshal(msg.Header)
			for _, want := range wants {
				if bytes.Contains(msg.Data, want) || bytes.Contains(header, want) || strings.Contains(msg.Subject, string(want)) {
					places = append(places, fmt.Sprintf("%s:%d %s has %s: %.400s %s", info.Config.Name, seq, msg.Subject, want, msg.Data, header))
					break
				}
			}
		}
	}
	if err := list.Err(); err != nil {
		w.Fatal(err)
	}
	return places
}

func (w *erasedWorld) nothingOfZoe() {
	w.Helper()
	for _, place := range w.find(zoeID, zoeName, zoeWords) {
		w.Errorf("it is still there: %s", place)
	}
}

// What another person has said in the same words is not hers, and what she has said in a group is
// found also where it is short and has her id in it.
func TestEraseTellsPeopleApart(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	startHostIn(t, w.dir, nil).until(t, "ready")
	const same = "please book the table for tonight"
	w.says("web", bus.Inbound{From: zoeID, Text: "hello. " + same})
	w.says("web", bus.Inbound{From: zoeID, Text: same})
	w.says("web", bus.Inbound{From: "bo-7", Text: same})
	w.says("telegram.sales", bus.Inbound{From: zoeID, Text: same})
	w.group(zoeID, "", zoeID+" ZEBRA")
	w.group(zoeID, "", "my ZEBRA")
	before := w.find("bo-7")
	call(t, cli.CodeDone, "", "erase", "--peer", "web/"+zoeID, "--force", "-s", w.url)
	if left := w.find("ZEBRA", "web/dm/"+zoeID); len(left) > 0 {
		t.Errorf("it is still there: %q", left)
	}
	if after := w.find("bo-7"); len(after) != len(before) {
		t.Errorf("of the other person there were %q, and are %q", before, after)
	}
	for _, place := range []string{"web/dm/bo-7", "telegram.sales/dm/" + zoeID} {
		out, _ := call(t, cli.CodeDone, "", "sessions", "export", "ana", place, "-s", w.url)
		if strings.Contains(out, "[erased]") || !strings.Contains(out, same) {
			t.Errorf("%s has %s", place, out)
		}
	}
}

// A person is erased from a fleet of two hosts, one of which is then killed.
func TestErase(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	red := startHostIn(t, w.dir, nil, "--name", "red")
	_, ready := red.until(t, "ready")
	w.fill(ready["http"].(string))
	blue := startHostIn(t, w.dir, []string{"AGENTHOST_DATA=blue"}, "--name", "blue")
	blue.until(t, "ready")
	streams := map[string]bool{}
	for _, place := range w.find(zoeID, zoeName, zoeWords) {
		stream, _, _ := strings.Cut(place, ":")
		streams[stream] = true
	}
	for _, stream := range []string{
		bus.InboundStream, bus.OutboundStream, bus.RoutesStream, bus.SchedulesStream, bus.SessionsStream, bus.DeadStream,
		"KV_AGENT_MEMORY", "KV_AGENT_PAIRINGS", "KV_AGENT_SCHEDULES", "KV_AGENT_WAITING", "OBJ_AGENT_FILES",
	} {
		if !streams[stream] {
			t.Errorf("the test has nothing of her in %s", stream)
		}
	}

	out, errs := call(t, cli.CodeDone, "", "erase", "--peer", zoeID, "--dry-run", "--json", "-s", w.url)
	contains(t, errs, zoeID+" is found as openai/"+zoeID+", parts/"+zoeID+", shut/"+zoeID+", telegram.sales/"+zoeID+", web/"+zoeID)
	look := client.Erased{}
	if err := json.Unmarshal([]byte(out), &look); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"sessions", "group_sessions", "notes", "files", "dead_letters", "inbound", "outbound", "routes", "schedules", "approvals", "pairings", "requests"} {
		if look.Counts[kind] == 0 {
			t.Errorf("--dry-run lists no %s: %v", kind, look.Counts)
		}
	}
	if len(w.find(zoeWords)) == 0 {
		t.Fatal("--dry-run has erased")
	}
	_, errs = call(t, cli.CodeUsage, "", "erase", "--peer", zoeID, "-s", w.url)
	contains(t, errs, "use --force")
	before := w.find("gravel")

	out, _ = call(t, cli.CodeDone, "", "erase", "--peer", zoeID, "--force", "--json", "-s", w.url)
	done := client.Erased{}
	if err := json.Unmarshal([]byte(out), &done); err != nil {
		t.Fatal(err)
	}
	t.Logf("removed %v", done.Counts)
	for kind, n := range look.Counts {
		if done.Counts[kind] < n && kind != "files" && kind != "inbound" {
			t.Errorf("%s: removed %d, --dry-run said %d", kind, done.Counts[kind], n)
		}
	}
	w.nothingOfZoe()
	if after := w.find("gravel"); len(after) < len(before)-4 || len(after) == 0 { // some of his were about her
		t.Errorf("%d things of Bo are left of %d", len(after), len(before))
	}
	w.stoppedBy(cli.Operator())
	list, _ := call(t, cli.CodeDone, "", "schedules", "ls", "-s", w.url)
	contains(t, list, "gravel: [erased]") // his reminder stays
	if out, _ := call(t, cli.CodeDone, "", "erase", "--peer", zoeID, "--force", "-s", w.url); out != "nothing is kept of "+zoeID+"\n" {
		t.Errorf("a second time: got %q", out)
	}
	_, note := call(t, cli.CodeDone, "", "erase", "--peer", zoeID, "--agent", "anna", "--force", "-s", w.url)
	if !strings.Contains(note, `note: no agent "anna"`) { // of which nothing is kept, as it is misspelt
		t.Errorf("erase with an unknown agent says %q", note)
	}

	// Bo's chats go on, by the host that had the group in memory and by the other.
	for _, killed := range []bool{false, true} {
		if killed {
			if err := red.cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		w.group("bo-7", "Bo Gravel", "what was said?")
		prompt := w.model.lastPrompt()
		for _, gone := range []string{zoeID, zoeName, zoeWords} {
			if strings.Contains(prompt, gone) {
				t.Errorf("the model is sent %q: %s", gone, prompt)
			}
		}
		contains(t, prompt, "[erased]")
		contains(t, prompt, "gravel is fine")
		contains(t, prompt, "did she?")
		if out := w.says("web", bus.Inbound{From: "bo-7", Name: "Bo Gravel", Text: "and mine?"}); out.Text != "You said: and mine?" {
			t.Errorf("got %q", out.Text)
		}
		contains(t, w.model.lastPrompt(), "gravel in private")
	}
	w.nothingOfZoe()
	w.readable()

	// She may come back, and starts over.
	w.zoe("web", "I am new here")
	if prompt := w.model.lastPrompt(); strings.Contains(prompt, "hello") {
		t.Errorf("she is known again: %s", prompt)
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

// The command is killed again and again, and in the end all is erased.
func TestEraseIsKilled(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	h := startHostIn(t, w.dir, nil, "--name", "red")
	_, ready := h.until(t, "ready")
	w.fill(ready["http"].(string))
	h.kill() // it works without a host
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first := w.messages(bus.SessionsStream) + w.messages(bus.OutboundStream) + w.messages(bus.InboundStream)
	for n := range uint64(6) { // each time it is let go a little further
		cmd := exec.CommandContext(t.Context(), self, "erase", "--peer", zoeID, "--force", "-s", w.url)
		cmd.Args[0] = "agenthost"
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		bustest.Eventually(t, "the command has come some way", func() bool {
			if len(ended) > 0 {
				return true
			}
			return w.messages(bus.SessionsStream)+w.messages(bus.OutboundStream)+w.messages(bus.InboundStream) < first-n*4
		})
		_ = cmd.Process.Kill()
		<-ended
		if _, _, err := session.NewArchive(w.js).State(context.WithoutCancel(t.Context()), "ana", session.SID("ana", "web/group/-100")); err != nil {
			t.Errorf("the group cannot be read after a kill: %v", err)
		}
	}
	call(t, cli.CodeDone, "", "erase", "--peer", zoeID, "--force", "-s", w.url)
	w.nothingOfZoe()
	startHostIn(t, w.dir, nil, "--name", "red").until(t, "ready")
	w.group("bo-7", "Bo Gravel", "what was said?")
	contains(t, w.model.lastPrompt(), "gravel is fine")
	w.nothingOfZoe()
	w.readable()
}

// Another person of the same name on another channel, and what another agent has, stay.
func TestEraseOnOneChannel(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	h := startHostIn(t, w.dir, nil, "--name", "red")
	h.until(t, "ready")
	w.says("web", bus.Inbound{From: "42", Text: "on the web: applepie"})
	w.says("telegram.sales", bus.Inbound{From: "42", Text: "on telegram: plumpie"})
	w.says("parts", bus.Inbound{From: "42", Text: "to bob: figpie"})
	call(t, cli.CodeDone, "", "erase", "--peer", "web/42", "--force", "-s", w.url)
	if places := w.find("applepie"); len(places) > 0 {
		t.Errorf("still there: %q", places)
	}
	if len(w.find("plumpie")) == 0 || len(w.find("figpie")) == 0 {
		t.Error("more was erased than was asked for")
	}
	call(t, cli.CodeDone, "", "erase", "--peer", "42", "--agent", "bob", "--force", "-s", w.url)
	if len(w.find("plumpie")) == 0 {
		t.Error("more was erased than one agent has")
	}
	if slices.ContainsFunc(w.find("figpie"), func(place string) bool { return !strings.HasPrefix(place, bus.InboundStream) }) {
		t.Errorf("still there: %q", w.find("figpie"))
	}
}

// What a person writes meanwhile is erased too, and a run that does not end is stopped.
func TestEraseWhileTheyWrite(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	startHostIn(t, w.dir, nil, "--name", "red").until(t, "ready")
	w.group("bo-7", "Bo Gravel", "gravel is fine")
	sends := func(n int, m bus.Inbound) {
		m.ID, m.From, m.Name = fmt.Sprint("z", n), zoeID, zoeName
		data, _ := json.Marshal(m)
		if _, err := w.js.Publish(t.Context(), bus.InboundPrefix+"web", data); err != nil {
			t.Error(err)
		}
	}
	sends(0, bus.Inbound{Text: "please hang " + zoeWords})
	bustest.Eventually(t, "the model is asked", func() bool { return w.model.hangs() == 1 })
	for n := range 5 { // they wait for their turn in the memory of the host
		sends(n+1, bus.Inbound{Text: "more " + zoeWords})
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := range 30 {
			sends(n+10, bus.Inbound{Text: "still writing " + zoeWords, Chat: "-100", Group: n%2 == 0})
		}
	})
	call(t, cli.CodeDone, "", "erase", "--peer", "web/"+zoeID, "--force", "-s", w.url)
	writing.Wait()
	call(t, cli.CodeDone, "", "erase", "--peer", "web/"+zoeID, "--force", "-s", w.url)
	w.nothingOfZoe()
	w.group("bo-7", "Bo Gravel", "and now?")
	contains(t, w.model.lastPrompt(), "gravel is fine")
	w.nothingOfZoe()
}

// The page on privacy shows commands that work, and what they print.
func TestPrivacyPage(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/privacy.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, name := range append(streams.Names(), append(streams.BucketNames(), bus.FilesBucket)...) {
		if !strings.Contains(page, "\n| `"+name+"`") && !strings.Contains(page, "\n| bucket `"+name+"`") {
			t.Errorf("the page does not say what of a person is in %s", name)
		}
	}
	w := newErasedWorld(t)
	config := fmt.Sprintf("nats: {url: %q}\nhttp: {listen: ''}\nmodels: {main: {provider: echo}}\nagents: [{id: assistant, channels: [{channel: telegram, instance: sales}]}]\n", w.url)
	startHostIn(t, configured(t, config), nil, "--name", "red").until(t, "ready")
	w.says("telegram.sales", bus.Inbound{From: "42", Text: "hello"})
	w.says("telegram.sales", bus.Inbound{From: "42", Text: "hello all", Chat: "-100", Group: true})
	w.says("telegram.sales", bus.Inbound{From: "43", Text: "good morning", Chat: "-100", Group: true})
	run := 0
	_, rest, _ := strings.Cut(page, "```\n$ agenthost ")
	shown, _, _ := strings.Cut(rest, "```")
	line, want, _ := strings.Cut(shown, "\n")
	if out, _ := call(t, cli.CodeDone, "", append(strings.Fields(line), "-s", w.url)...); strings.Join(strings.Fields(out), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("agenthost %s: got\n%s, the page shows\n%s", line, out, want)
	}
	_, rest, _ = strings.Cut(page, "```sh\n")
	block, _, _ := strings.Cut(rest, "```")
	for line := range strings.Lines(block) {
		if args, ok := strings.CutPrefix(strings.TrimSpace(line), "agenthost "); ok {
			run++
			call(t, cli.CodeDone, "", append(strings.Fields(args), "-s", w.url)...)
		}
	}
	if run != 3 {
		t.Errorf("ran %d commands of the page", run)
	}
}

//go:build unix && long

package chaos_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/tools/service"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// billingScript calls three tools for every text: two at once, then one more.
const billingScript = `rules:
  - {after_tool: bill.look, tool_calls: [{name: bill.pay, args: {what: "${text}", step: 2}}]}
  - {after_tool: "*", text: "${text}"}
  - {tool_calls: [{name: bill.pay, args: {what: "${text}", step: 1}}, {name: bill.look, args: {what: "${text}"}}]}
`

func TestServiceCallsOfKilledHosts(t *testing.T) {
	t.Parallel()
	rng := newRand(t)
	w := plan{
		scripts: map[string]string{"main": billingScript}, sources: "services: {bill: {trust: true}}",
		agents: []string{`{id: ana, model: main, channels: [chat], tools: ["bill.*"], permissions: {"bill.*": allow}}`},
	}.open(t)
	b := startBilling(t, w.nc, 100*time.Millisecond)
	h := newHost(t, w.config, "a")
	h.start()
	said := w.begin(talk{channel: chat, people: pick(20, 50), each: pick(3, 10), every: pick(time.Second, 3*time.Second)})
	kills := breakUntil(said, rng, 100*time.Millisecond, 1500*time.Millisecond, func() {
		w.rest()
		until(said, func() bool { return b.calling.Load() > 0 })
		h.kill()
		h.start()
	})
	w.audit()
	y := reconcile(t, w.calls(), b.counted())
	for _, purpose := range b.strayed() {
		t.Errorf("%s was called under several ids", purpose)
	}
	if want := 3 * len(w.said); y.calls != want {
		t.Errorf("%d calls are in the logs, want %d", y.calls, want)
	}
	t.Logf("host killed %d times: %v; %s", kills, y, w.summary())
}

// A safe call runs again after a restart of the host with its server, though the
// service connects again later than the host is up.
func TestSafeServiceCallAfterAnEmbeddedRestart(t *testing.T) {
	t.Parallel()
	w, address := plan{
		scripts: map[string]string{"main": "rules:\n  - {after_tool: \"*\", text: \"${result}\"}\n  - {tool_calls: [{name: bill.look, args: {}}]}\n"},
		sources: "services: {bill: {trust: true}}",
		agents:  []string{`{id: ana, model: main, channels: [chat], tools: ["bill.*"]}`},
	}.openEmbedded(t)
	first := newHost(t, w.config, "a")
	first.start()
	asked := make(chan string, 10)
	gone := serveLook(t, address, func(req micro.Request) { asked <- req.Headers().Get(service.CallIDHeader) })
	await(t, "the service", func() bool { return first.logged(`"tools":1`) })
	w.tell(t, bus.Inbound{ID: "look", From: "ana", Text: "look"})
	id := <-asked
	first.kill()
	gone()
	second := newHost(t, w.config, "a")
	second.start()
	await(t, "a look for the service", func() bool { return second.logged(`"tools":0`) })
	serveLook(t, address, func(req micro.Request) {
		asked <- req.Headers().Get(service.CallIDHeader)
		_ = req.Respond([]byte("looked"))
	})
	await(t, "the reply", func() bool { return len(w.heard(bus.KindReply)["look"]) == 1 })
	if text := w.heard(bus.KindReply)["look"][0].Text; text != "looked" {
		t.Fatalf("the reply is %q, want the answer to the repeated call", text)
	}
	if again := <-asked; again != id {
		t.Errorf("called again as %q, want %q", again, id)
	}
}

// serveLook offers bill.look on a connection of its own until the test ends, or
// the returned function is called.
func serveLook(t testing.TB, address string, look micro.HandlerFunc) (stop func()) {
	t.Helper()
	nc, err := nats.Connect("nats://"+address, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(pollEvery))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	svc, err := micro.AddService(nc, micro.Config{Name: "bill", Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	safe := map[string]string{"rerun": "safe", "readonly": "true"}
	if err := svc.AddEndpoint("look", look, micro.WithEndpointSubject("bill.look"), micro.WithEndpointMetadata(safe)); err != nil {
		t.Fatal(err)
	}
	return nc.Close
}

// A call of an MCP server's tool that its host did not survive runs again where the
// server says that it only reads, if the configuration trusts the server.
func TestCallOfAServerAfterACrash(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		trust   bool
		reply   string
		effects int
	}{
		"trusted": {true, "done", 2},
		"not":     {false, "interrupted; its outcome is unknown", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, file := effectSource(t, tt.trust)
			w := plan{
				scripts: map[string]string{"main": "rules:\n  - {after_tool: \"*\", text: \"${result}\"}\n  - {tool_calls: [{name: notes.stick, args: {}}]}\n"},
				sources: source,
				agents:  []string{`{id: ana, model: main, channels: [chat], tools: ["notes.*"], permissions: {"notes.*": allow}}`},
			}.open(t)
			first := newHost(t, w.config, "a")
			first.start()
			await(t, "the host", func() bool { return first.logged(`"ready"`) })
			w.tell(t, bus.Inbound{ID: "stick", From: "ana", Text: "stick"})
			await(t, "the call", func() bool { return fileSize(t, file) > 0 })
			first.kill()
			newHost(t, w.config, "a").start()
			await(t, "the reply", func() bool { return len(w.heard(bus.KindReply)["stick"]) == 1 })
			if got := w.heard(bus.KindReply)["stick"][0].Text; got != tt.reply {
				t.Errorf("the reply is %q, want %q", got, tt.reply)
			}
			if got := readEffects(t, file)["notes.stick {}"]; got != tt.effects {
				t.Errorf("the tool ran %d times, want %d", got, tt.effects)
			}
		})
	}
}

// notesScript calls three tools for every text: two at once, then one more. No
// two calls are the same, so that their effects can be told apart.
const notesScript = `rules:
  - {after_tool: notes.put, tool_calls: [{name: notes.see, args: {what: "${text}"}}]}
  - {after_tool: "*", text: "${text}"}
  - {tool_calls: [{name: write_file, args: {path: "${text}", text: "${text}"}}, {name: notes.put, args: {what: "${text}"}}]}
`

func TestFilesAndServersOfKilledHosts(t *testing.T) {
	t.Parallel()
	rng := newRand(t)
	source, file := effectSource(t, true)
	w := plan{
		scripts: map[string]string{"main": notesScript}, sources: source,
		agents: []string{`{id: ana, model: main, channels: [chat], tools: [write_file, "notes.*"], permissions: {write_file: allow, "notes.*": allow}}`},
	}.open(t)
	h := newHost(t, w.config, "a")
	h.start()
	lives := []time.Time{time.Now()}
	said := w.begin(talk{channel: chat, people: pick(20, 50), each: pick(3, 10), every: pick(time.Second, 3*time.Second)})
	kills := breakUntil(said, rng, 100*time.Millisecond, 1500*time.Millisecond, func() {
		w.rest()
		seen := fileSize(t, file)
		until(said, func() bool { return fileSize(t, file) > seen })
		<-time.After(upTo(rng, 300*time.Millisecond)) // into one of the calls
		h.kill()
		lives = append(lives, time.Now())
		h.start()
	})
	w.audit()
	calls := w.calls()
	effects := byCall(t, calls, readEffects(t, file))
	strays := w.files(calls, effects, lives)
	y := reconcile(t, calls, effects)
	if want := 3 * len(w.said); y.calls != want {
		t.Errorf("%d calls are in the logs, want %d", y.calls, want)
	}
	t.Logf("host killed %d times: %v; %d temporary files left; %s", kills, y, strays, w.summary())
}

// byCall assigns effects that are known by their purpose to the calls, each of
// which has a purpose of its own.
func byCall(t testing.TB, calls map[string]*call, effects map[string]int) map[string]int {
	t.Helper()
	count, ids := map[string]int{}, map[string]string{}
	for id, c := range calls {
		if other, ok := ids[c.purpose]; ok {
			t.Errorf("%s is the purpose of the calls %s and %s", c.purpose, id, other)
		}
		ids[c.purpose] = id
	}
	for purpose, n := range effects {
		if _, ok := ids[purpose]; !ok {
			t.Errorf("%s had an effect and is in no log", purpose)
		}
		count[ids[purpose]] = n
	}
	return count
}

// files adds to effects the calls of write_file whose file is there. Each was
// written in the life of the host that asked for it, and whole. It returns how
// many files nobody asked for.
func (w *world) files(calls map[string]*call, effects map[string]int, lives []time.Time) (strays int) {
	w.t.Helper()
	entries, err := os.ReadDir(w.workspace("ana"))
	if err != nil {
		w.t.Fatal(err)
	}
	modified := map[string]time.Time{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			w.t.Fatal(err)
		}
		modified[e.Name()] = info.ModTime()
	}
	strays = len(modified)
	for id, c := range calls {
		var args struct{ Path, Text string }
		name, text, _ := strings.Cut(c.purpose, " ")
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			w.t.Fatal(err)
		}
		at, ok := modified[args.Path]
		if name != "write_file" || !ok {
			continue
		}
		strays--
		effects[id] = 1
		if life(lives, at) != life(lives, c.at) {
			w.t.Errorf("%s was asked for at %v and written in another life of the host, at %v", args.Path, c.at, at)
		}
		if data, err := os.ReadFile(filepath.Join(w.workspace("ana"), args.Path)); string(data) != args.Text {
			w.t.Errorf("%s holds %q, %v", args.Path, data, err)
		}
	}
	return strays
}

// life is the number of the life that a moment is in.
func life(begun []time.Time, moment time.Time) int {
	n := 0
	for n < len(begun) && moment.After(begun[n]) {
		n++
	}
	return n
}

func fileSize(t testing.TB, file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		t.Error(err)
		return 0
	}
	return info.Size()
}

// until waits until is holds, or done is closed.
func until(done <-chan struct{}, is func() bool) {
	for !isClosed(done) && !is() {
		<-time.After(time.Millisecond)
	}
}

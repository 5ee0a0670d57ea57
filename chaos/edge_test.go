//go:build unix && crashtest && long

package chaos_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/internal/agenthost-chaos/proxy"
	"agenthost/internal/freeport"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// edgeVar is how long the line of the edge is cut, such as 10m.
const edgeVar = "AGENTHOST_CHAOS_EDGE"

// What is said at the edge while its line is cut is answered there, and the hub
// has all the answers when the line is back: each once, in order, at both ends.
// The files are those of docs/operations.md.
func TestEdgeCutOff(t *testing.T) {
	t.Parallel()
	const count, chats = 1000, 25
	cut := 10 * time.Second
	if s := os.Getenv(edgeVar); s != "" {
		var err error
		if cut, err = time.ParseDuration(s); err != nil {
			t.Fatalf("%s: %v", edgeVar, err)
		}
	}
	hub, line := startHub(t)
	edge := startEdge(t, line.Address)
	replies := sourceReplies(t, hub)
	say := func(i int) {
		data, err := json.Marshal(bus.Inbound{ID: fmt.Sprintf("m%04d", i), From: fmt.Sprintf("person%d", i%chats), Text: fmt.Sprintf("text %d", i)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := edge.Publish(t.Context(), bus.InboundPrefix+chat, data); err != nil {
			t.Fatalf("say %d: %v", i, err)
		}
	}
	say(0)
	await(t, "an answer at the hub", func() bool { return len(finals(t, hub, replies)) == 1 })

	line.SetCut(true)
	for i := 1; i <= count; i++ {
		say(i)
		<-time.After(cut / count) // over the whole cut
	}
	want := map[string][]string{}
	for i := range count + 1 {
		person := fmt.Sprintf("person%d", i%chats)
		want[person] = append(want[person], fmt.Sprintf("m%04d", i))
	}
	await(t, "all answers at the edge", func() bool { return len(finals(t, edge, bus.OutboundStream)) >= count+1 })
	if at := len(finals(t, hub, replies)); at != 1 {
		t.Fatalf("the hub has %d answers while the line is cut, want 1", at)
	}
	line.SetCut(false)
	back := time.Now()
	// the hub's server asks the edge again within two minutes
	await(t, "all answers at the hub", func() bool { return len(finals(t, hub, replies)) >= count+1 })
	t.Logf("cut for %v: the hub has all %d answers %v after it", cut, count, time.Since(back).Round(time.Millisecond))
	for end, got := range map[string][]bus.Outbound{"edge": finals(t, edge, bus.OutboundStream), "hub": finals(t, hub, replies)} {
		if diff := cmp.Diff(want, byPerson(got)); diff != "" {
			t.Errorf("answers at the %s: %s", end, diff)
		}
	}
}

// startHub starts the server of the hub, and the line that edges reach it by: it
// advertises no other way.
func startHub(t *testing.T) (jetstream.JetStream, *proxy.Proxy) {
	t.Helper()
	clients, leafs := freeport.Address(t), freeport.Address(t)
	file := filepath.Join(t.TempDir(), "hub.conf")
	conf := fmt.Sprintf("listen: %q\njetstream {domain: hub, store_dir: %q}\nleafnodes {listen: %q, no_advertise: true}\n", clients, t.TempDir(), leafs)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, "hub", self, "-c", file)
	p.env = []string{natsVar + "=1"}
	p.start()
	return connectAt(t, clients, "hub"), startProxy(t, leafs)
}

// startEdge starts a host that is a leaf of the hub.
func startEdge(t *testing.T, hub string) jetstream.JetStream {
	t.Helper()
	address := freeport.Address(t)
	config := setup{nats: address, embed: true}.write(t)
	replaceIn(t, config, "nats: {embedded: {", "nats: {domain: edge, embedded: {config: leaf.conf, ")
	leaf := strings.Replace(fence(t, "conf edge"), "hub.example:7422", hub, 1)
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), "leaf.conf"), []byte(leaf), 0o600); err != nil {
		t.Fatal(err)
	}
	newHost(t, config, "edge").start()
	return connectAt(t, address, "edge")
}

// connectAt connects to a server once it answers, and has the streams of its domain.
func connectAt(t *testing.T, address, domain string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect("nats://"+address, nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectWait(pollEvery))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.NewWithDomain(nc, domain)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "JetStream of "+domain, func() bool { _, err := js.AccountInfo(t.Context()); return err == nil })
	return js
}

// sourceReplies makes the stream of the docs on the hub, and returns its name.
func sourceReplies(t *testing.T, hub jetstream.JetStream) string {
	t.Helper()
	var cfg jetstream.StreamConfig
	if err := json.Unmarshal([]byte(fence(t, "json edge")), &cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := hub.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return cfg.Name
}

// finals are the final replies in a stream.
func finals(t *testing.T, js jetstream.JetStream, stream string) (list []bus.Outbound) {
	t.Helper()
	in := tape{js: js, stream: stream}
	if err := in.wind(); err != nil {
		return nil // it is not there yet
	}
	for _, msg := range in.msgs {
		var out bus.Outbound
		if err := json.Unmarshal(msg.Data, &out); err == nil && out.Final {
			list = append(list, out)
		}
	}
	return list
}

// byPerson are the messages that are answered, by whom, in order.
func byPerson(replies []bus.Outbound) map[string][]string {
	answered := map[string][]string{}
	for _, out := range replies {
		answered[out.To] = append(answered[out.To], out.InReplyTo)
	}
	return answered
}

// fence is the block of docs/operations.md with these words behind its ```.
func fence(t *testing.T, words string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```"+words+"\n")
	text, _, closed := strings.Cut(text, "```")
	if !found || !closed {
		t.Fatalf("docs/operations.md has no block ```%s", words)
	}
	return text
}

func replaceIn(t *testing.T, file, old, replacement string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s does not contain %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), old, replacement, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

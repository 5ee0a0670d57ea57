//go:build interop

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/internal/interop"
)

// A gateway is a host whose embedded server takes MQTT on a port.
type gateway struct {
	*testing.T
	pub, sub  string // programs
	dir, port string
	host      *started
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	return newGatewayWith(t, func(string) string {
		return `agents: [{id: ana, tools: [write_file], channels: [{channel: mqtt, instance: "*"}]}]`
	})
}

// newGatewayWith starts a gateway with agents and plugins of its own; they may need its port.
func newGatewayWith(t *testing.T, more func(port string) string) *gateway {
	t.Helper()
	g := &gateway{T: t, pub: interop.Program(t, "mosquitto_pub"), sub: interop.Program(t, "mosquitto_sub")}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, g.port, _ = net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	g.dir = configured(t, `
http: {listen: ""}
nats: {embedded: {listen: "", config: mqtt.conf}}
models: {main: {provider: scripted, script: rules.yaml}}
`+more(g.port)+"\n")
	writeFile(t, filepath.Join(g.dir, "mqtt.conf"), fmt.Sprintf("server_name: home\nmqtt { listen: \"127.0.0.1:%s\" }\n", g.port))
	writeFile(t, filepath.Join(g.dir, "rules.yaml"), `rules:
  - {is: write, tool_calls: [{name: write_file, args: {path: note.txt, text: x}}]}
  - {after_tool: "*", text: "done with: ${result}"}
  - {text: "${text}"}
`)
	g.start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the host: %v", g.host.logged())
		}
	})
	return g
}

func (g *gateway) start() {
	g.Helper()
	g.host = startHostIn(g.T, g.dir, nil)
	g.host.until(g.T, "ready")
}

// login begins the arguments of a program.
func (g *gateway) login(args ...string) []string {
	g.Helper()
	token, err := os.ReadFile(filepath.Join(g.dir, "data", "token"))
	if err != nil {
		g.Fatal(err)
	}
	return append([]string{"-u", "agenthost", "-P", strings.TrimSpace(string(token)), "-V", "mqttv311", "-p", g.port, "-q", "1"}, args...)
}

// publish returns when the gateway has confirmed the message.
func (g *gateway) publish(name, payload string) {
	g.Helper()
	g.publishTo("plugin/inbound/mqtt/"+name, payload)
}

// publishTo is publish for a topic.
func (g *gateway) publishTo(topic, payload string) {
	g.Helper()
	cmd := exec.CommandContext(g.Context(), g.pub, g.login("-t", topic, "-s")...)
	cmd.Stdin = strings.NewReader(payload)
	if out, err := cmd.CombinedOutput(); err != nil {
		g.Fatalf("mosquitto_pub: %v: %s", err, out)
	}
}

// envelope publishes a message of the device with that name.
func (g *gateway) envelope(name string, in bus.Inbound) {
	g.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		g.Fatal(err)
	}
	g.publish(name, string(data))
}

// A device is subscribed to its replies.
type device struct {
	g     *gateway
	heard chan bus.Outbound
	leave func()
}

// subscribe starts a device whose session the gateway keeps under an id, and waits
// until it hears what is said.
func (g *gateway) subscribe(name, id string) *device {
	g.Helper()
	return g.subscribeTo("plugin/outbound/mqtt/"+name, id)
}

// subscribeTo is subscribe for a topic.
func (g *gateway) subscribeTo(topic, id string) *device {
	g.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	// Into a pipe it would write when its buffer is full.
	args := append([]string{"-oL", g.sub}, g.login("-d", "-c", "-i", id, "-t", topic)...)
	cmd := exec.CommandContext(ctx, interop.Program(g, "stdbuf"), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		g.Fatal(err)
	}
	problems := &bytes.Buffer{}
	cmd.Stderr = problems
	if err := cmd.Start(); err != nil {
		g.Fatal(err)
	}
	d := &device{g: g, heard: make(chan bus.Outbound, 100)}
	subscribed := make(chan struct{})
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(d.heard)
		d.read(bufio.NewScanner(out), subscribed)
	}()
	d.leave = func() {
		cancel()
		<-read
		_ = cmd.Wait() // it was interrupted
	}
	g.Cleanup(d.leave)
	select {
	case <-subscribed:
	case <-read:
		_ = cmd.Wait() // what it has written says more
		g.Fatalf("mosquitto_sub ended before it was subscribed: %s", problems)
	}
	return d
}

// read takes the lines of mosquitto_sub: what it does, and each payload.
func (d *device) read(lines *bufio.Scanner, subscribed chan struct{}) {
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "Subscribed "):
			close(subscribed)
		case strings.HasPrefix(line, "{"):
			var out bus.Outbound
			if err := json.Unmarshal([]byte(line), &out); err != nil {
				d.g.Errorf("the device got %s: %v", line, err)
			}
			d.heard <- out
		}
	}
}

// hears waits for the next reply, which has this text in it.
func (d *device) hears(text string) bus.Outbound {
	d.g.Helper()
	out, ok := <-d.heard
	if !ok {
		d.g.Fatalf("the device was gone before it heard %q", text)
	}
	if !strings.Contains(out.Text, text) {
		d.g.Fatalf("the device heard %q, want %q", out.Text, text)
	}
	return out
}

// A device writes plain text and hears the reply.
func TestInteropMQTT(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	lamp := g.subscribe("lamp", "lamp")
	g.publish("lamp", "It is dark")
	if out := lamp.hears("It is dark"); out.Kind != bus.KindReply || out.Agent != "ana" || out.Session != "mqtt.lamp/dm/anonymous" {
		t.Errorf("heard %+v", out)
	}
	long := strings.Repeat("many words ", 2000)[:20_000]
	g.publish("lamp", long)
	if out := lamp.hears("many words"); out.Text != long {
		t.Errorf("heard %d characters, want %d", len(out.Text), len(long))
	}
}

// An approval has no buttons: an envelope with its call answers it, and so does a word.
func TestInteropMQTTApproval(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	lamp := g.subscribe("lamp", "lamp")
	g.publish("lamp", "write")
	asked := lamp.hears("note.txt")
	if asked.Kind != bus.KindApproval || asked.Call == "" || asked.Final {
		t.Fatalf("heard %+v", asked)
	}
	g.envelope("lamp", bus.Inbound{Text: "approve", Answers: asked.Call})
	lamp.hears("done with: wrote")
	g.publish("lamp", "write")
	lamp.hears("note.txt")
	g.publish("lamp", "deny")
	lamp.hears("done with: denied")
}

// Two devices share a chat: each hears what the agent says to the other, and both have
// one session.
func TestInteropMQTTGroup(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	lamp, door := g.subscribe("house", "lamp"), g.subscribe("house", "door")
	var sessions []string
	for _, from := range []string{"lamp", "door"} {
		text := "@ana, " + from + " here"
		g.envelope("house", bus.Inbound{ID: from + "-1", From: from, Name: from, Chat: "hall", Group: true, Text: text})
		for _, d := range []*device{lamp, door} {
			out := d.hears(text)
			if out.To != from || out.Chat != "hall" || out.InReplyTo != from+"-1" {
				t.Errorf("heard %+v", out)
			}
			sessions = append(sessions, out.Session)
		}
	}
	for _, s := range sessions {
		if s != "mqtt.house/group/hall" {
			t.Errorf("sessions %q", sessions)
			break
		}
	}
}

// The gateway hands on at once, or not at all, what the host says: a device that was away
// does not get it, though the gateway has kept its session. See docs/channels/mqtt.md.
func TestInteropMQTTAway(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	lamp, witness := g.subscribe("lamp", "lamp"), g.subscribe("lamp", "witness")
	g.publish("lamp", "one")
	lamp.hears("one")
	lamp.leave()
	g.publish("lamp", "two")
	witness.hears("one")
	witness.hears("two")
	lamp = g.subscribe("lamp", "lamp")
	g.publish("lamp", "three")
	lamp.hears("three")
}

// The program of docs/channels/mqtt.md publishes the replies with QoS 1, which the gateway
// stores: a device that was away gets them, also those of a host that has died since.
func TestInteropMQTTRelay(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/channels/mqtt.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(page), "```python relay.py\n")
	program, _, found := strings.Cut(program, "```")
	if !found {
		t.Fatal("the page has no program")
	}
	file := filepath.Join(t.TempDir(), "relay.py")
	writeFile(t, file, program)
	g := newGatewayWith(t, func(port string) string {
		return fmt.Sprintf("agents: [{id: ana, channels: [mqtt]}]\nplugins: {exec: {mqtt: {command: [%q, %q, %q]}}}", interop.Program(t, "python3"), file, port)
	})
	say := func(n int) {
		g.publishTo("plugin/inbound/mqtt", fmt.Sprintf(`{"id":"m%d","from":"lamp","text":"text %d"}`, n, n))
	}
	lamp := g.subscribeTo("replies/lamp", "lamp")
	say(1)
	lamp.hears("text 1")
	lamp.leave()
	witness := g.subscribeTo("replies/lamp", "witness")
	for n := 2; n <= 3; n++ {
		say(n)
		witness.hears(fmt.Sprintf("text %d", n))
	}
	g.host.kill()
	witness.leave()
	g.start()
	say(4)
	lamp = g.subscribeTo("replies/lamp", "lamp")
	heard := map[string]bool{}
	for !heard["text 2"] || !heard["text 3"] || !heard["text 4"] {
		heard[lamp.hears("text").Text] = true
	}
}

// A device that does not know whether its message has come sends it again under the
// same id: that is one message, also for the host that starts after a crash. What was
// said when the host died may be said again, under the id that it had.
func TestInteropMQTTKilled(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	lamp := g.subscribe("lamp", "lamp")
	g.envelope("lamp", bus.Inbound{ID: "m1", Text: "one"})
	first := lamp.hears("one")
	g.host.kill()
	lamp.leave()
	g.start()
	lamp = g.subscribe("lamp", "lamp")
	for _, id := range []string{"m1", "m2"} {
		g.envelope("lamp", bus.Inbound{ID: id, Text: "text of " + id})
	}
	out := lamp.hears("")
	for out.ID == first.ID {
		out = lamp.hears("")
	}
	if out.InReplyTo != "m2" || out.Text != "text of m2" {
		t.Errorf("heard %+v", out)
	}
}

//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"agenthost/internal/agenthost-chaos/clock"
	"agenthost/internal/agenthost-chaos/history"
	"agenthost/internal/agenthost-chaos/load"
	"agenthost/internal/agenthost-chaos/process"
	"agenthost/internal/agenthost-chaos/proxy"
)

// A fleet is the processes that are broken: NATS servers and hosts, with a line
// from each to each.
type fleet struct {
	dir    string
	binary string
	nodes  []*node
	hosts  []*member
	lines  []*proxy.Proxy
	notes  string // file of the effects of an MCP server
	disk   *disk  // of the last node; nil: its store is on that of the machine
	wire   *history.Recorder
}

// A node is a server of the NATS cluster.
type node struct {
	*process.Process
	client, route, monitor string // addresses
	store                  string // folder
	routes                 []*proxy.Proxy

	harm sync.Mutex // held while something is done to it
}

// A member is a host of the fleet.
type member struct {
	*process.Process
	lines  []*proxy.Proxy // to the nodes
	config string
	reload int
	clock  *clock.Clock

	harm sync.Mutex
}

// The variables that tell this program to be another.
const (
	natsVar  = "AGENTHOST_CHAOS_NODE"
	notesVar = "AGENTHOST_CHAOS_NOTES"
	roomVar  = "AGENTHOST_CHAOS_ROOM"
)

// nobody listens there.
const nobody = "127.0.0.1:1"

const clusterConfig = `server_name: %s
listen: "%s"
http: "%s"
jetstream: {store_dir: %q, max_mem: 64M, max_file: 4G}
cluster: {name: chaos, listen: "%s", advertise: "` + nobody + `", no_advertise: true, pool_size: -1, routes: [%s]}
accounts: {
  A: {jetstream: enabled, users: [{user: a, password: a}]}
  $SYS: {users: [{user: sys, password: sys}]}
}
no_auth_user: a
`

// servers are what hosts talk to besides NATS, by their addresses.
type servers struct{ model, platform string }

// newFleet makes all processes and lines; none is started.
func newFleet(o *options, servers servers) (*fleet, error) {
	f := &fleet{dir: o.dir, binary: o.binary, notes: filepath.Join(o.dir, "notes"), wire: history.NewRecorder()}
	addresses, release, err := freeAddresses(3 * o.nodes)
	if err != nil {
		return nil, err
	}
	defer release() // once every line has an address of its own
	for n := range o.nodes {
		addresses := addresses[3*n:]
		f.nodes = append(f.nodes, &node{
			Process: f.process(fmt.Sprintf("node-%d", n), o.self, "-c", filepath.Join(o.dir, fmt.Sprintf("node-%d.conf", n))),
			client:  addresses[0], route: addresses[1], monitor: addresses[2],
		})
		f.nodes[n].store = filepath.Join(o.dir, f.nodes[n].Name)
		f.nodes[n].Env = []string{natsVar + "=1"}
	}
	for n, own := range f.nodes {
		if err := f.connectNode(own); err != nil {
			return nil, fmt.Errorf("node %d: %w", n, err)
		}
	}
	for n := range o.hosts {
		if err := f.addHost(fmt.Sprintf("host-%d", n), servers, o.self); err != nil {
			return nil, err
		}
	}
	f.stretch(o.stretched)
	return f, nil
}

// stretch makes all lines to the last node slow, as when it is far away.
func (f *fleet) stretch(latency time.Duration) {
	far := len(f.nodes) - 1
	for _, p := range f.nodes[far].routes {
		p.Latency = latency
	}
	for _, h := range f.hosts {
		h.lines[far].Latency = latency
	}
}

// mount gives the last node a disk of its own, and returns the kinds of faults that are left
// where it cannot.
func (f *fleet) mount(chosen []string) []string {
	full := slices.Index(chosen, "node-full")
	if full < 0 {
		return chosen
	}
	var err error
	if f.disk, err = mountDisk(f.nodes[len(f.nodes)-1].store); err == nil {
		return chosen
	}
	fmt.Printf("left out: node-full; %v\n", err)
	return slices.Delete(slices.Clone(chosen), full, full+1)
}

func (f *fleet) process(name string, args ...string) *process.Process {
	return &process.Process{Name: name, Log: filepath.Join(f.dir, name+".log"), Args: args}
}

func (f *fleet) line(server string) (*proxy.Proxy, error) {
	p, err := proxy.Listen(server)
	if err == nil {
		f.lines = append(f.lines, p)
	}
	return p, err
}

// connectNode writes the configuration of a node, whose routes to the others
// each have a line of their own.
func (f *fleet) connectNode(own *node) error {
	var routes []string
	for _, other := range f.nodes {
		if other == own {
			continue
		}
		p, err := f.line(other.route)
		if err != nil {
			return err
		}
		own.routes = append(own.routes, p)
		other.routes = append(other.routes, p)
		routes = append(routes, fmt.Sprintf("%q", "nats://"+p.Address))
	}
	text := fmt.Sprintf(clusterConfig, own.Name, own.client, own.monitor, own.store, own.route, strings.Join(routes, ", "))
	return os.WriteFile(own.Args[2], []byte(text), 0o600)
}

func (f *fleet) addHost(name string, servers servers, self string) error {
	h := &member{config: filepath.Join(f.dir, name, "agenthost.yaml")}
	err := os.MkdirAll(filepath.Dir(h.config), 0o700)
	if err != nil {
		return err
	}
	if h.clock, err = clock.New(filepath.Join(f.dir, name+".clock")); err != nil {
		return err
	}
	var urls []string
	for _, n := range f.nodes {
		p, err := f.line(n.client)
		if err != nil {
			return err
		}
		p.Tap = func() (toServer, toClient func([]byte)) { return f.wire.Tap(name) }
		h.lines = append(h.lines, p)
		urls = append(urls, "nats://"+p.Address)
	}
	h.Process = f.process(name, f.binary, "run", "-c", h.config, "--name", name, "--log-format", "json", "--grace", "5s")
	h.Dir, h.Env = filepath.Dir(h.config), []string{h.clock.Env()}
	f.hosts = append(f.hosts, h)
	return h.write(f, strings.Join(urls, ","), servers, self)
}

// hostConfig has one agent for each purpose. Every call of the model costs the
// same: the price is for what it may say at most, and the server tells of no
// usage.
var hostConfig = template.Must(template.New("").Parse(`nats: {url: "{{.URL}}", replicas: {{.Replicas}}, embedded: {store: data}}
http: {listen: ""}
models: {main: {provider: openai, model: any, base_url: "{{.Model}}", max_tokens: 1000, price: {output: 1000}, timeouts: {connect: 5s, first: 10s, idle: 10s, call: 30s}}}
services: {bill: {trust: true}}
mcp: {notes: {command: ["{{.Self}}"], env: {` + notesVar + `: "{{.Notes}}"}}}
plugins: {exec: {` + load.Room + `: {command: ["{{.Self}}"], env: {` + roomVar + `: "{{.Platform}}"}}}}
hooks: [{on: before_message, subject: ` + load.HookSubject + `, timeout: 500ms, channels: [chat]}]
defaults: {limits: {run_timeout: 2m, budget: {day: 1000000}}}
agents:
  - {id: ana, partitions: 0, model: main, instructions: "You are Ana.", channels: [chat], tools: ["bill.*", "notes.*", delegate], delegates: [bob], permissions: {"bill.*": allow, "notes.*": allow}}
  - {id: bob, model: main, schedules: [{name: tick, every: 3s, prompt: "tick", to: {channel: board, to: all}}]}
  - {id: col, partitions: 0, model: main, channels: [{channel: collect, queue: collect, debounce: 100ms}]}
  - {id: ste, partitions: 0, model: main, channels: [{channel: steer, queue: steer}], tools: ["bill.*"], permissions: {"bill.*": allow}}
  - {id: apr, partitions: 0, model: main, channels: [asking], tools: ["bill.*"], permissions: {"bill.pay": ask}}
  - {id: slo, model: main, channels: [slow]}
  - {id: roo, partitions: 0, model: main, channels: [` + load.Room + `]}
`))

func (h *member) write(f *fleet, urls string, servers servers, self string) error {
	var text bytes.Buffer
	err := hostConfig.Execute(&text, map[string]any{
		"URL": urls, "Model": servers.model, "Platform": servers.platform, "Self": self, "Notes": f.notes, "Replicas": min(len(f.nodes), 3),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(h.config, text.Bytes(), 0o600)
}

// readyLine is what a host logs when it is ready.
const readyLine = `"message":"ready"`

// readyAfter is nil when the host was ready more than so many times, in all its lives.
func (h *member) readyAfter(times int) error {
	if h.Count(readyLine) <= times {
		return fmt.Errorf("%s is not ready", h.Name)
	}
	return nil
}

// rewrite changes what agents are told, as an operator does before a reload.
func (h *member) rewrite() error {
	h.reload++
	return h.edit(instructions, fmt.Sprintf(`instructions: "You are Ana, edition %d."`, h.reload))
}

// repartition gives the agents that have partitions another number of them.
func (h *member) repartition(n int) error {
	return h.edit(partitions, fmt.Sprintf("partitions: %d", n))
}

var (
	instructions = regexp.MustCompile(`instructions: "[^"]*"`)
	partitions   = regexp.MustCompile(`partitions: \d+`)
)

// edit changes the configuration of the host, whole or not at all.
func (h *member) edit(what *regexp.Regexp, to string) error {
	data, err := os.ReadFile(h.config)
	if err != nil {
		return err
	}
	next := h.config + ".next"
	if err := os.WriteFile(next, what.ReplaceAll(data, []byte(to)), 0o600); err != nil {
		return err
	}
	return os.Rename(next, h.config)
}

// run starts everything, and kills it when ctx ends.
func (f *fleet) run(ctx context.Context) error {
	var lines sync.WaitGroup
	for _, p := range f.lines {
		lines.Go(p.Run)
	}
	defer lines.Wait()
	defer func() {
		for _, h := range f.hosts {
			h.Kill()
		}
		for _, n := range f.nodes {
			n.Kill()
		}
		for _, p := range f.lines {
			p.Close()
		}
	}()
	for _, n := range f.nodes {
		if err := n.Start(); err != nil {
			return err
		}
	}
	for _, h := range f.hosts {
		if err := h.Start(); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// urls are those of the nodes themselves.
func (f *fleet) urls() string {
	var urls []string
	for _, n := range f.nodes {
		urls = append(urls, "nats://"+n.client)
	}
	return strings.Join(urls, ",")
}

// freeAddresses are addresses of this machine that nothing else gets before release.
func freeAddresses(n int) (list []string, release func(), err error) {
	var held []net.Listener
	release = func() {
		for _, l := range held {
			_ = l.Close() // it was never used
		}
	}
	for range n {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			release()
			return nil, nil, err
		}
		held, list = append(held, l), append(list, l.Addr().String())
	}
	return list, release, nil
}

package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agenthost/bus"
)

// channel is that of the agents of a private host.
const channel = "bench"

// private starts what is measured, alone, on a store of its own. stop ends it
// and deletes the store.
func (o Options) private(ctx context.Context, raw bool, model string) (t target, stop func(), err error) {
	dir, err := os.MkdirTemp(o.Dir, "agenthost-bench-")
	if err != nil {
		return t, nil, fmt.Errorf("make a store: %w", err)
	}
	stops := []func(){func() { _ = os.RemoveAll(dir) }}
	undo := func() {
		for _, end := range slices.Backward(stops) {
			end()
		}
	}
	defer func() {
		if err != nil {
			undo()
		}
	}()
	url, stopNATS, err := o.startServers(ctx, dir)
	if err != nil {
		return t, nil, err
	}
	stops = append(stops, stopNATS)
	if raw {
		t = echoTarget(o.Agents)
		t.children, err = o.startEcho(ctx, dir, url)
	} else {
		t = hostTarget(o.Agents, func(agent int) string { return fmt.Sprintf("%s.a%d", channel, agent) }, channel+".>")
		t.children, err = o.startHosts(ctx, dir, url, model)
	}
	for _, p := range t.children {
		stops = append(stops, p.stop)
	}
	if err != nil {
		return t, nil, err
	}
	cfg, err := bus.Config{URL: cmp.Or(t.children[0].url, url), Embedded: bus.Embedded{Store: filepath.Join(dir, "data")}}.WithToken()
	if err != nil {
		return t, nil, err
	}
	if t.nc, t.js, err = bus.Dial(ctx, cfg, "bench", o.Log); err != nil {
		return t, nil, err
	}
	stops = append(stops, t.nc.Close)
	if !raw && o.Hosts > 1 {
		o.Progress(Progress{What: "lanes"})
		t.awaitSpread(ctx, o.Hosts, 4*o.Quiet)
	}
	return t, undo, nil
}

// running is what runs already, and its echo.
func (o Options) running(ctx context.Context, raw bool) (t target, stop func(), err error) {
	stop = func() {}
	if raw {
		t = echoTarget(o.Agents)
		args := append(o.echoArgs(), o.ConnectArgs...)
		p, err := startProcess(ctx, echoIsReady, o.Connect, o.Program, args...)
		if err != nil {
			return t, nil, err
		}
		t.children, stop = []*process{p}, p.stop
	} else {
		t = hostTarget(1, func(int) string { return o.Channel }, o.Channel)
	}
	t.nc, t.js = o.NC, o.JS
	return t, stop, nil
}

func hostTarget(agents int, to func(int) string, replies string) target {
	return target{
		what: "agenthost", agents: agents, stream: bus.OutboundStream, replies: bus.OutboundPrefix + replies,
		subject: func(agent int) string { return bus.InboundPrefix + to(agent) },
	}
}

func echoTarget(agents int) target {
	return target{
		what: "raw echo", agents: agents, stream: echoOut, replies: echoOutput + ">",
		subject: echoSubject,
	}
}

func (o Options) echoArgs() []string {
	args := []string{"bench", "echo", "--agents", strconv.Itoa(o.Agents)}
	if o.RawLog {
		args = append(args, "--log")
	}
	return args
}

func (o Options) startEcho(ctx context.Context, dir, url string) ([]*process, error) {
	args := o.echoArgs()
	if url == "" {
		args = append(args, "--store", filepath.Join(dir, "data"), "--sync", o.Sync)
	} else {
		args = append(args, "-s", url, "--replicas", strconv.Itoa(o.replicas()))
	}
	p, err := startProcess(ctx, echoIsReady, nil, o.Program, args...)
	if err != nil {
		return nil, err
	}
	return []*process{p}, nil
}

func echoIsReady(line string) (string, bool) { return strings.CutPrefix(line, echoReady) }

func hostIsReady(line string) (string, bool) {
	var said struct{ Message, NATS string }
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Message != "ready" {
		return "", false
	}
	return said.NATS, true
}

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
	url := ""
	if o.NATSServer != "" {
		server, err := startNATS(ctx, o.NATSServer, dir, o.Sync)
		if err != nil {
			return t, nil, err
		}
		stops, url = append(stops, server.stop), server.url
	}
	var p *process
	if raw {
		p, err = o.startEcho(ctx, dir, url)
		t = echoTarget(o.Agents)
	} else {
		p, err = o.startHost(ctx, dir, url, o.Agents, model)
		t = hostTarget(o.Agents, func(agent int) string { return fmt.Sprintf("%s.a%d", channel, agent) }, channel+".>")
	}
	if err != nil {
		return t, nil, err
	}
	stops = append(stops, p.stop)
	t.child = p
	cfg, err := bus.Config{URL: cmp.Or(p.url, url), Embedded: bus.Embedded{Store: filepath.Join(dir, "data")}}.WithToken()
	if err != nil {
		return t, nil, err
	}
	if t.nc, t.js, err = bus.Dial(ctx, cfg, "bench", o.Log); err != nil {
		return t, nil, err
	}
	stops = append(stops, t.nc.Close)
	return t, undo, nil
}

// running is what runs already, and its echo.
func (o Options) running(ctx context.Context, raw bool) (t target, stop func(), err error) {
	stop = func() {}
	if raw {
		t = echoTarget(o.Agents)
		args := append([]string{"bench", "echo", "--agents", strconv.Itoa(o.Agents)}, o.ConnectArgs...)
		if t.child, err = startProcess(ctx, echoIsReady, o.Connect, o.Program, args...); err != nil {
			return t, nil, err
		}
		stop = t.child.stop
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

func (o Options) startEcho(ctx context.Context, dir, url string) (*process, error) {
	args := []string{"bench", "echo", "--agents", strconv.Itoa(o.Agents)}
	if url == "" {
		args = append(args, "--store", filepath.Join(dir, "data"), "--sync", o.Sync)
	} else {
		args = append(args, "-s", url)
	}
	return startProcess(ctx, echoIsReady, nil, o.Program, args...)
}

func echoIsReady(line string) (string, bool) { return strings.CutPrefix(line, echoReady) }

// startHost starts a host of so many agents, on the NATS at url or its own.
func (o Options) startHost(ctx context.Context, dir, url string, agents int, model string) (*process, error) {
	file := filepath.Join(dir, "agenthost.yaml")
	if err := os.WriteFile(file, o.settings(dir, url, model, agents), 0o600); err != nil {
		return nil, fmt.Errorf("write a configuration: %w", err)
	}
	return startProcess(ctx, hostIsReady, nil, o.Program,
		"run", "-c", file, "--name", "bench", "--log-format", "json", "--grace", "5s")
}

// settings is the configuration of a private host, in JSON, which is YAML.
func (o Options) settings(dir, url, model string, agents int) []byte {
	type object = map[string]any
	embedded := object{"store": filepath.Join(dir, "data"), "listen": "127.0.0.1:0", "sync": o.Sync}
	cfg := object{
		"nats": object{"embedded": embedded}, "http": object{"listen": ""},
	}
	main := object{"provider": ModelEcho}
	if url != "" {
		cfg["nats"] = object{"url": url, "embedded": object{"store": filepath.Join(dir, "data")}}
	}
	if model != "" {
		main = object{"provider": ModelOpenAI, "model": "bench", "api_key": "none", "base_url": model}
	}
	main["window"] = cmp.Or(o.Window, 100_000)
	cfg["models"] = object{"main": main}
	list := make([]object, agents)
	for i := range list {
		id := fmt.Sprint("a", i)
		list[i] = object{"id": id, "channels": []object{{"channel": channel, "instance": id}}}
		if o.Tools > 0 {
			list[i]["tools"] = []string{"now"}
		}
	}
	cfg["agents"] = list
	data, err := json.Marshal(cfg)
	if err != nil {
		panic(err) // it is made of strings and numbers
	}
	return data
}

func hostIsReady(line string) (string, bool) {
	var said struct{ Message, NATS string }
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Message != "ready" {
		return "", false
	}
	return said.NATS, true
}

// startNATS starts a NATS server in a process of its own.
func startNATS(ctx context.Context, program, dir, sync string) (*process, error) {
	file := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream: {store_dir: %q, sync_interval: %s}\n", filepath.Join(dir, "nats"), sync)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write a configuration of NATS: %w", err)
	}
	url := ""
	return startProcess(ctx, func(line string) (string, bool) {
		if _, address, ok := strings.Cut(line, "Listening for client connections on "); ok {
			url = "nats://" + address
		}
		return url, strings.HasSuffix(line, "Server is ready")
	}, nil, program, "-c", file)
}

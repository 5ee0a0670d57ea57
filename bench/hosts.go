package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// startHosts starts the hosts of a private fleet, one after the other, on the NATS at url
// or, for a single one, its own. Those that were started are returned with an error, too.
func (o Options) startHosts(ctx context.Context, dir, url, model string) (list []*process, err error) {
	for i := range o.hosts() {
		name, at := "bench", dir
		if o.hosts() > 1 {
			name = fmt.Sprint("bench-", i)
			at = filepath.Join(dir, name)
			if err := os.Mkdir(at, 0o700); err != nil {
				return list, fmt.Errorf("make a store: %w", err)
			}
		}
		p, err := o.startHost(ctx, name, at, url, model)
		if err != nil {
			return list, err
		}
		list = append(list, p)
	}
	return list, nil
}

func (o Options) startHost(ctx context.Context, name, dir, url, model string) (*process, error) {
	file := filepath.Join(dir, "agenthost.yaml")
	if err := os.WriteFile(file, o.settings(dir, url, model), 0o600); err != nil {
		return nil, fmt.Errorf("write a configuration: %w", err)
	}
	p, err := startProcess(ctx, hostIsReady, nil, o.Program,
		"run", "-c", file, "--name", name, "--log-format", "json", "--grace", "5s")
	if err != nil {
		return nil, err
	}
	p.name = name
	return p, nil
}

// settings is the configuration of a private host, in JSON, which is YAML.
func (o Options) settings(dir, url, model string) []byte {
	type object = map[string]any
	embedded := object{"store": filepath.Join(dir, "data"), "listen": "127.0.0.1:0", "sync": o.Sync}
	server := object{"embedded": embedded}
	if url != "" {
		server = object{"url": url, "replicas": o.replicas(), "embedded": object{"store": filepath.Join(dir, "data")}}
	}
	if o.Hosts > 2 {
		server["lanes"] = min(2*o.Hosts, 64) // so that each has some
	}
	main := object{"provider": ModelEcho}
	if model != "" {
		main = object{"provider": ModelOpenAI, "model": "bench", "api_key": "none", "base_url": model}
	}
	main["window"] = cmp.Or(o.Window, 100_000)
	list := make([]object, o.Agents)
	for i := range list {
		id := fmt.Sprint("a", i)
		list[i] = object{"id": id, "channels": []object{{"channel": channel, "instance": id}}}
		if o.Tools > 0 {
			list[i]["tools"] = []string{"now"}
		}
		if o.Partitions > 0 {
			list[i]["partitions"] = o.Partitions
		}
		if o.AgentSlots > 0 {
			list[i]["limits"] = object{"concurrency": o.AgentSlots}
		}
	}
	data, err := json.Marshal(object{
		"nats": server, "http": object{"listen": ""}, "models": object{"main": main}, "agents": list,
	})
	if err != nil {
		panic(err) // it is made of strings and numbers
	}
	return data
}

// A HostFigure is what one host of a fleet had and used. Lanes are those that it served
// at the end.
type HostFigure struct {
	Name  string  `json:"name"`
	Lanes int     `json:"lanes"`
	CPUms float64 `json:"cpu_ms"`
	RSS   int64   `json:"rss_bytes"` // at the end
}

func hostFigures(each []hostUsage, lanes map[string][]int) (list []HostFigure) {
	for _, u := range each {
		list = append(list, HostFigure{u.name, len(lanes[u.name]), ms(u.CPU), u.Late})
	}
	return list
}

const (
	// statusSubject is where every host answers how it is.
	statusSubject = "agenthost.status"
	// statusWithin is how long hosts get to say how they are.
	statusWithin = 2 * time.Second
	// steadyFor is how long hosts have to have their lanes: one that has come waits for some
	// seconds before it takes any.
	steadyFor = 6 * time.Second
)

// awaitSpread waits until each of so many hosts has had lanes of its own for some seconds,
// and that within at most: then they are measured as they are.
func (t target) awaitSpread(ctx context.Context, hosts int, within time.Duration) {
	late := time.NewTimer(within)
	defer late.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	steady := time.Now().Add(steadyFor)
	for {
		if spread(t.lanes(ctx)) != hosts {
			steady = time.Now().Add(steadyFor)
		} else if time.Now().After(steady) {
			return
		}
		select {
		case <-tick.C:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// spread is how many hosts have lanes that are not another's, too.
func spread(lanes map[string][]int) (hosts int) {
	of := map[int]int{}
	for _, list := range lanes {
		for _, lane := range list {
			of[lane]++
		}
	}
	for _, list := range lanes {
		if len(list) > 0 && !slices.ContainsFunc(list, func(lane int) bool { return of[lane] > 1 }) {
			hosts++
		}
	}
	return hosts
}

// lanes are those of each of the hosts, by its name; of hosts that answer.
func (t target) lanes(ctx context.Context) map[string][]int {
	found := map[string][]int{}
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	inbox := t.nc.NewInbox()
	sub, err := t.nc.SubscribeSync(inbox)
	if err != nil {
		return found
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := t.nc.PublishMsg(&nats.Msg{Subject: statusSubject, Reply: inbox}); err != nil {
		return found
	}
	for len(found) < len(t.children) {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			break
		}
		var status struct {
			Host   string
			Placed []int // also before anything has come on them
		}
		if json.Unmarshal(msg.Data, &status) == nil {
			found[status.Host] = status.Placed
		}
	}
	return found
}

package bench

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
)

// Run measures, round after round, and reports the median one. What is lost,
// comes twice or out of order in any round is in the report, and is no error.
func Run(ctx context.Context, opt Options) (Report, error) {
	opt, err := opt.defaults()
	if err != nil {
		return Report{}, err
	}
	url := ""
	if opt.Model == ModelOpenAI && !opt.external() {
		m, err := startModel(ctx, opt.Tools, opt.ModelDelay)
		if err != nil {
			return Report{}, err
		}
		defer m.stop()
		url = m.url
	}
	var hosts, raws []Side
	for i := range opt.Rounds {
		for _, raw := range []bool{i%2 == 1, i%2 == 0} { // neither is always the first
			if raw && opt.NoRaw {
				continue
			}
			side, err := opt.round(ctx, raw, url)
			if err != nil {
				return Report{}, err
			}
			if raw {
				raws = append(raws, side)
			} else {
				hosts = append(hosts, side)
			}
		}
	}
	return opt.report(hosts, raws), nil
}

// round measures one side once.
func (o Options) round(ctx context.Context, raw bool, model string) (Side, error) {
	start := func() (target, func(), error) { return o.private(ctx, raw, model) }
	if o.external() {
		start = func() (target, func(), error) { return o.running(ctx, raw) }
	}
	to, stop, err := start()
	if err != nil {
		return Side{}, err
	}
	defer stop()
	side, err := drive(ctx, o, to)
	if err != nil && ctx.Err() == nil && len(to.children) > 0 && !to.nc.IsConnected() {
		err = errors.Join(err, errors.New(to.what+" has ended"))
	}
	return side, err
}

func (o Options) report(hosts, raws []Side) Report {
	r := Report{
		Shape: Shape{
			Sessions: o.Sessions, Agents: o.Agents, Rate: o.Rate, Size: o.Size, Tools: o.Tools, Window: o.Window, Model: o.Model,
			DelayMS: ms(o.ModelDelay), Sync: o.Sync, Rounds: o.Rounds, Running: o.external(), NATS: o.ownNATS(),
			Hosts: o.Hosts, Cluster: o.Cluster, AgentSlots: o.AgentSlots, Partitions: o.Partitions,
		},
		Machine: Machine{CPUs: runtime.NumCPU(), Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH},
		Rounds:  Rounds{Host: hosts, Raw: raws},
		Host:    o.median(hosts),
	}
	if o.Rate == 0 {
		r.Shape.Concurrency = o.Concurrency
	}
	if len(raws) > 0 {
		raw := o.median(raws)
		r.Raw, r.Ratio = &raw, &Ratio{
			PerSecond: middle(hosts, raws, func(s Side) float64 { return s.PerSecond }),
			P50:       middle(hosts, raws, func(s Side) float64 { return s.P50 }),
			P99:       middle(hosts, raws, func(s Side) float64 { return s.P99 }),
			CPU:       middle(hosts, raws, func(s Side) float64 { return s.CPUMicros }),
		}
	}
	return r
}

// median is the side in the middle, by what was asked for: the throughput, or
// at a rate the latency. The faults are those of all rounds.
func (o Options) median(sides []Side) Side {
	key := func(s Side) float64 { return s.PerSecond }
	if o.Rate > 0 {
		key = func(s Side) float64 { return s.P99 }
	}
	sorted := slices.SortedFunc(slices.Values(sides), func(a, b Side) int { return cmp.Compare(key(a), key(b)) })
	m := sorted[len(sorted)/2]
	m.Faults = Faults{}
	for _, s := range sides {
		m.Faults = m.plus(s.Faults)
	}
	return m
}

// middle is the median of what the host has as a part of what the echo has, by
// rounds; 0 when it cannot be known.
func middle(hosts, raws []Side, of func(Side) float64) float64 {
	var parts []float64
	for i := range min(len(hosts), len(raws)) {
		if raw := of(raws[i]); raw > 0 {
			parts = append(parts, of(hosts[i])/raw)
		}
	}
	if len(parts) == 0 {
		return 0
	}
	slices.Sort(parts)
	return parts[len(parts)/2]
}

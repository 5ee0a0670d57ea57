package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// An IdleReport is what a host costs that nobody talks to.
type IdleReport struct {
	Agents   int     `json:"agents"`
	NATS     bool    `json:"nats_server,omitempty"` // in a process of its own
	Machine  Machine `json:"machine"`
	ReadyMS  float64 `json:"ready_ms"`  // from the start of the process
	RSS      int64   `json:"rss_bytes"` // at rest
	RSSReady int64   `json:"rss_ready_bytes"`
	One      *One    `json:"one_agent,omitempty"` // beside a host of one agent
}

// One is a host of a single agent, and what each further one adds.
type One struct {
	ReadyMS  float64 `json:"ready_ms"`
	RSS      int64   `json:"rss_bytes"`
	PerAgent int64   `json:"rss_bytes_per_agent"`
}

// rest is how long a host rests before its memory counts.
const rest = 3 * time.Second

// Idle starts hosts of so many agents, opt.Rounds times, and tells how soon
// they are ready, and what memory they hold: the medians.
func Idle(ctx context.Context, opt Options, agents int) (IdleReport, error) {
	opt, err := opt.defaults()
	if err != nil {
		return IdleReport{}, err
	}
	if opt.external() || agents < 1 || opt.Hosts > 1 || opt.Cluster {
		return IdleReport{}, errors.New("idle agents are measured on one host of their own: want 1 agent or more, and no server, cluster or further hosts")
	}
	found := map[int][]IdleReport{}
	for i := range opt.Rounds {
		for _, n := range slices.Compact([]int{agents, 1}) {
			opt.Progress(Progress{What: fmt.Sprintf("%d idle agents", n), Part: float64(i) / float64(opt.Rounds)})
			r, err := opt.idle(ctx, n)
			if err != nil {
				return IdleReport{}, err
			}
			found[n] = append(found[n], r)
		}
	}
	r, one := medianIdle(found[agents]), medianIdle(found[1])
	if agents > 1 {
		r.One = &One{ReadyMS: one.ReadyMS, RSS: one.RSS, PerAgent: (r.RSS - one.RSS) / int64(agents-1)}
	}
	return r, nil
}

// medianIdle is the median of each figure.
func medianIdle(list []IdleReport) IdleReport {
	slices.SortFunc(list, func(a, b IdleReport) int { return cmp.Compare(a.RSS, b.RSS) })
	rss, ready := list[len(list)/2].RSS, list[len(list)/2].RSSReady
	slices.SortFunc(list, func(a, b IdleReport) int { return cmp.Compare(a.ReadyMS, b.ReadyMS) })
	m := list[len(list)/2]
	m.RSS, m.RSSReady = rss, ready
	return m
}

// idle starts a host once.
func (o Options) idle(ctx context.Context, agents int) (IdleReport, error) {
	o.Agents = agents
	t, stop, err := o.private(ctx, false, "")
	if err != nil {
		return IdleReport{}, err
	}
	defer stop()
	host := t.children[0]
	pid := host.cmd.Process.Pid
	r := IdleReport{
		Agents: agents, NATS: o.NATSServer != "", ReadyMS: ms(host.ready), RSSReady: memoryOf(pid),
		Machine: Machine{CPUs: runtime.NumCPU(), Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH},
	}
	select {
	case <-time.After(rest):
	case <-ctx.Done():
		return r, ctx.Err()
	}
	r.RSS = memoryOf(pid)
	return r, nil
}

// Write writes r for people.
func (r IdleReport) Write(w io.Writer) error {
	nats := "embedded"
	if r.NATS {
		nats = "external"
	}
	fmt.Fprintf(w, "%d idle agents, %s NATS\n%d CPUs, %s, %s\n\n", r.Agents, nats, r.Machine.CPUs, r.Machine.OS, r.Machine.Go)
	_, err := fmt.Fprintf(w, "ready after %.0f ms; memory %s MB when ready, %s MB at rest\n", r.ReadyMS, megabytes(r.RSSReady), megabytes(r.RSS))
	if r.One != nil {
		_, err = fmt.Fprintf(w, "one agent: ready after %.0f ms, %s MB; each further one %s KB\n",
			r.One.ReadyMS, megabytes(r.One.RSS), known(float64(r.One.PerAgent)/1024, "%.1f"))
	}
	return err
}

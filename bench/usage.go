package bench

import "time"

// A Usage is what a process has used during a round; zero where it cannot be
// known.
type Usage struct {
	CPU     time.Duration `json:"-"`
	Early   int64         `json:"rss_early_bytes,omitempty"` // memory when a tenth was done
	Late    int64         `json:"rss_late_bytes,omitempty"`  // memory at the end
	Largest int64         `json:"rss_max_bytes,omitempty"`
}

// A gauge looks at processes during a round.
type gauge struct {
	each []hostUsage
	sum  Usage
}

// A hostUsage is that of one process.
type hostUsage struct {
	name   string
	pid    int
	before time.Duration // CPU when the round began
	Usage
}

func newGauge(list []*process) *gauge {
	g := &gauge{}
	for _, p := range list {
		pid := p.cmd.Process.Pid
		g.each = append(g.each, hostUsage{name: p.name, pid: pid, before: cpuOf(pid)})
	}
	return g
}

// look notes the memory, part of the round being done.
func (g *gauge) look(part float64) {
	sum := int64(0)
	for i := range g.each {
		rss := memoryOf(g.each[i].pid)
		g.each[i].note(rss, part)
		sum += rss
	}
	if len(g.each) > 0 {
		g.sum.note(sum, part)
	}
}

func (u *Usage) note(rss int64, part float64) {
	if u.Early == 0 && part >= 0.1 {
		u.Early = rss
	}
	u.Late, u.Largest = rss, max(u.Largest, rss)
}

// read is what was used since the gauge was made, in all and by each.
func (g *gauge) read() (Usage, []hostUsage) {
	g.look(1)
	g.sum.CPU = 0
	for i, u := range g.each {
		g.each[i].CPU = cpuOf(u.pid) - u.before
		g.sum.CPU += g.each[i].CPU
	}
	return g.sum, g.each
}

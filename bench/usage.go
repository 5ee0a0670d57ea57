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

// A gauge looks at a process during a round.
type gauge struct {
	pid   int // 0: there is nothing to look at
	cpu   time.Duration
	usage Usage
}

func newGauge(p *process) *gauge {
	g := &gauge{}
	if p != nil {
		g.pid = p.cmd.Process.Pid
		g.cpu = cpuOf(g.pid)
	}
	return g
}

// look notes the memory, part of the round being done.
func (g *gauge) look(part float64) {
	if g.pid == 0 {
		return
	}
	rss := memoryOf(g.pid)
	if g.usage.Early == 0 && part >= 0.1 {
		g.usage.Early = rss
	}
	g.usage.Late, g.usage.Largest = rss, max(g.usage.Largest, rss)
}

// read is what was used since the gauge was made.
func (g *gauge) read() Usage {
	if g.pid != 0 {
		g.look(1)
		g.usage.CPU = cpuOf(g.pid) - g.cpu
	}
	return g.usage
}

package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// A Report is what came of a Run. Times are in milliseconds.
type Report struct {
	Shape   Shape   `json:"shape"`
	Machine Machine `json:"machine"`
	Host    Side    `json:"host"`
	Raw     *Side   `json:"raw,omitempty"`
	Ratio   *Ratio  `json:"ratio,omitempty"` // host to raw
	Rounds  Rounds  `json:"rounds"`
}

// A Shape is what was asked for.
type Shape struct {
	Sessions    int     `json:"sessions"`
	Agents      int     `json:"agents"`
	Rate        float64 `json:"rate,omitempty"`
	Concurrency int     `json:"concurrency,omitempty"`
	Size        int     `json:"size"`
	Tools       int     `json:"tools,omitempty"`
	Window      int     `json:"window,omitempty"`
	Model       string  `json:"model"`
	DelayMS     float64 `json:"model_delay_ms,omitempty"`
	Sync        string  `json:"sync"`
	Hosts       int     `json:"hosts,omitempty"`
	Cluster     bool    `json:"nats_cluster,omitempty"` // three servers, three replicas
	AgentSlots  int     `json:"agent_concurrency,omitempty"`
	Partitions  int     `json:"partitions,omitempty"`
	Rounds      int     `json:"rounds"`
	Running     bool    `json:"running,omitempty"`     // the host was there already
	NATS        bool    `json:"nats_server,omitempty"` // in a process of its own
}

// A Machine is what it was measured on.
type Machine struct {
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
	OS   string `json:"os"`
}

// A Side is the host, or the echo.
type Side struct {
	Messages  int     `json:"messages"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_ms"`
	P90       float64 `json:"p90_ms"`
	P99       float64 `json:"p99_ms"`
	P999      float64 `json:"p999_ms"`
	Max       float64 `json:"max_ms"`
	CPUMicros float64 `json:"cpu_us_per_message,omitempty"`
	Faults
	Usage
	Hosts []HostFigure `json:"hosts,omitempty"` // of several
	Bars  []Bar        `json:"histogram"`
}

// Faults are what should not be.
type Faults struct {
	Lost       int `json:"lost"`       // accepted by the stream and not answered
	Refused    int `json:"refused"`    // not accepted
	Duplicates int `json:"duplicates"` // replies to what was answered already
	Disorder   int `json:"out_of_order"`
	Failed     int `json:"failed"` // answered with an error
}

// Any reports whether there is one.
func (f Faults) Any() bool { return f != Faults{} }

func (f Faults) plus(g Faults) Faults {
	return Faults{f.Lost + g.Lost, f.Refused + g.Refused, f.Duplicates + g.Duplicates, f.Disorder + g.Disorder, f.Failed + g.Failed}
}

// A Ratio is a figure of the host as a part of that of the echo, the median of
// the rounds.
type Ratio struct {
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
	CPU       float64 `json:"cpu,omitempty"`
}

// Rounds are all that was measured.
type Rounds struct {
	Host []Side `json:"host"`
	Raw  []Side `json:"raw,omitempty"`
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// side is what a verifier has seen of n messages. kept is how many replies the
// stream has of them.
func (v *verifier) side(n, refused, kept int, took time.Duration, u Usage) Side {
	s := Side{
		Messages: n, Seconds: took.Seconds(), PerSecond: float64(v.distinct) / took.Seconds(), Usage: u,
		P50: ms(v.took.Quantile(0.5)), P90: ms(v.took.Quantile(0.9)), P99: ms(v.took.Quantile(0.99)),
		P999: ms(v.took.Quantile(0.999)), Max: ms(v.took.Max()), Bars: v.took.Bars(),
		Faults: Faults{
			Lost: max(n-refused-v.distinct, 0), Refused: refused, Duplicates: max(kept-v.distinct, 0),
			Disorder: v.disorder, Failed: v.failed,
		},
	}
	if n > 0 {
		s.CPUMicros = float64(u.CPU.Microseconds()) / float64(n)
	}
	return s
}

// Write writes r for people; wide is how many columns there are.
func (r Report) Write(w io.Writer, wide int) error {
	fmt.Fprintf(w, "%s\n%d CPUs, %s, %s\n\n", r.Shape, r.Machine.CPUs, r.Machine.OS, r.Machine.Go)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, cell func(Side) string, ratio float64) {
		line := name + "\t" + cell(r.Host) + "\t"
		if r.Raw != nil {
			line += cell(*r.Raw) + "\t"
			if ratio > 0 {
				line += fmt.Sprintf("%.2f", ratio)
			}
			line += "\t"
		}
		fmt.Fprintln(t, line)
	}
	if r.Raw != nil {
		fmt.Fprintln(t, "\tagenthost\traw echo\tratio\t")
	}
	ratio := Ratio{}
	if r.Ratio != nil {
		ratio = *r.Ratio
	}
	row("messages", func(s Side) string { return fmt.Sprint(s.Messages) }, 0)
	row("messages/s", func(s Side) string { return fmt.Sprintf("%.0f", s.PerSecond) }, ratio.PerSecond)
	row("p50 ms", func(s Side) string { return fmt.Sprintf("%.2f", s.P50) }, ratio.P50)
	row("p90 ms", func(s Side) string { return fmt.Sprintf("%.2f", s.P90) }, 0)
	row("p99 ms", func(s Side) string { return fmt.Sprintf("%.2f", s.P99) }, ratio.P99)
	row("p99.9 ms", func(s Side) string { return fmt.Sprintf("%.2f", s.P999) }, 0)
	row("max ms", func(s Side) string { return fmt.Sprintf("%.2f", s.Max) }, 0)
	row("CPU µs a message", func(s Side) string { return known(s.CPUMicros, "%.1f") }, ratio.CPU)
	row("memory MB at 10 %", func(s Side) string { return megabytes(s.Early) }, 0)
	row("memory MB at the end", func(s Side) string { return megabytes(s.Late) }, 0)
	row("memory MB at most", func(s Side) string { return megabytes(s.Largest) }, 0)
	row("lost", func(s Side) string { return fmt.Sprint(s.Lost + s.Refused) }, 0)
	row("duplicates", func(s Side) string { return fmt.Sprint(s.Duplicates) }, 0)
	row("out of order", func(s Side) string { return fmt.Sprint(s.Disorder) }, 0)
	row("failed", func(s Side) string { return fmt.Sprint(s.Failed) }, 0)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := writeHosts(w, r.Host); err != nil {
		return err
	}
	return draw(w, r.Host.Bars, wide)
}

// writeHosts writes what each of several hosts had and used.
func writeHosts(w io.Writer, s Side) error {
	if len(s.Hosts) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "host\tlanes\tCPU\tmemory MB\t")
	for _, h := range s.Hosts {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t\n", h.Name, h.Lanes, share(h.CPUms, s.Hosts), megabytes(h.RSS))
	}
	fmt.Fprintln(t, "\t\t\t\t")
	return t.Flush()
}

// share is what one host has used of what all have.
func share(cpu float64, all []HostFigure) string {
	sum := 0.0
	for _, h := range all {
		sum += h.CPUms
	}
	if sum == 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", 100*cpu/sum)
}

// String says what was asked for in a line.
func (s Shape) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d sessions, %d agents, %d bytes, model %s", s.Sessions, s.Agents, s.Size, s.Model)
	if s.DelayMS > 0 {
		fmt.Fprintf(&b, " (%v ms)", s.DelayMS)
	}
	if s.Window > 0 {
		fmt.Fprintf(&b, ", window %d", s.Window)
	}
	if s.Tools > 0 {
		fmt.Fprintf(&b, ", %d tool calls a run", s.Tools)
	}
	if s.Rate > 0 {
		fmt.Fprintf(&b, ", %v messages/s", s.Rate)
	} else {
		fmt.Fprintf(&b, ", %d at once", s.Concurrency)
	}
	if s.Partitions > 0 {
		fmt.Fprintf(&b, ", %d partitions each", s.Partitions)
	}
	if s.AgentSlots > 0 {
		fmt.Fprintf(&b, ", %d at once an agent", s.AgentSlots)
	}
	if s.Hosts == 1 {
		b.WriteString(", 1 host")
	} else if s.Hosts > 1 {
		fmt.Fprintf(&b, ", %d hosts", s.Hosts)
	}
	switch {
	case s.Cluster:
		b.WriteString(", a NATS cluster of three, sync " + s.Sync)
	case s.Running:
		b.WriteString(", a running host")
	case s.NATS:
		b.WriteString(", external NATS, sync " + s.Sync)
	default:
		b.WriteString(", embedded NATS, sync " + s.Sync)
	}
	fmt.Fprintf(&b, "; median of %d", s.Rounds)
	return b.String()
}

// known is a figure that is 0 when it is not known.
func known(n float64, format string) string {
	if n == 0 {
		return "?"
	}
	return fmt.Sprintf(format, n)
}

func megabytes(n int64) string { return known(float64(n)/(1<<20), "%.0f") }

// draw draws how long messages took, a line for each doubling.
func draw(w io.Writer, bars []Bar, wide int) error {
	most, total := 0, 0
	for _, b := range bars {
		most, total = max(most, b.Count), total+b.Count
	}
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
	for _, b := range bars {
		length := b.Count * max(wide-30, 10) / most
		bar := strings.Repeat("█", length)
		if length == 0 && b.Count > 0 {
			bar = "▏"
		}
		fmt.Fprintf(t, "≤ %s\t%.2f %%\t %s\n", round(b.To), 100*float64(b.Count)/float64(total), bar)
	}
	return t.Flush()
}

func round(d time.Duration) time.Duration {
	for unit := time.Second; unit > time.Microsecond; unit /= 10 {
		if d >= 10*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Microsecond)
}

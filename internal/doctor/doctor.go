// Package doctor finds out what is wrong with a setup: its configuration, models,
// agents, tools, NATS, ports and data folder. It changes nothing, calls no model,
// and no secret is in its report.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"agenthost/agents/engine"
	"agenthost/config"
	"agenthost/internal/build"
	"agenthost/internal/hardening"

	"github.com/rs/zerolog"
)

// A Verdict is what a look at something came to.
type Verdict string

// The verdicts.
const (
	VerdictOK   Verdict = "ok"
	VerdictWarn Verdict = "warn" // it works, but perhaps not as expected
	VerdictFail Verdict = "fail" // something does not work
)

// The groups of findings, in their order.
var doctorGroups = []string{"config", "models", "agents", "channels", "tools", "nats", "ports", "data", "security"}

// A Finding is one thing that a Doctor looked at.
type Finding struct {
	Group   string  `json:"group"`
	About   string  `json:"about"` // the model, agent, tool source, stream or setting
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
	Cure    string  `json:"cure,omitempty"` // what to do; empty when it is ok
	// Prompt is what each call of an agent's model begins with, in the finding
	// about that.
	Prompt *engine.Prompt `json:"prompt,omitempty"`
}

// A Report is what a Doctor found. No secret is in it.
type Report struct {
	Config   string    `json:"config,omitempty"` // empty: the demo
	Offline  bool      `json:"offline"`
	OK       int       `json:"ok"`
	Warnings int       `json:"warnings"`
	Failures int       `json:"failures"`
	Findings []Finding `json:"findings"`
}

// A Doctor finds out what is wrong with a setup, and changes nothing.
type Doctor struct {
	Config *config.Config // nil when it cannot be loaded
	Fault  error          // why it cannot
	Path   string         // where it is; empty: nowhere
	// Offline makes no connection: what only others can tell is left out.
	Offline bool
	// Within is what each check has; default 10 s.
	Within time.Duration
	// Progress is called before the first check, and after each; it may be nil.
	// Calls do not overlap.
	Progress func(done, total int)
}

// doctorWithin is the default of Doctor.Within.
const doctorWithin = 10 * time.Second

// A check looks at one thing. It ends with ctx.
type check func(ctx context.Context, n *notes)

// Examine makes all checks, at once, and returns what they found, always in the
// same order.
func (d *Doctor) Examine(ctx context.Context) Report {
	r := Report{Config: d.Path, Offline: d.Offline}
	if d.Config == nil {
		n := &notes{}
		d.misconfigured(n)
		return r.with(n.list)
	}
	b := build.New(d.Config, build.Options{Log: zerolog.Nop()})
	found := d.all(ctx, d.checks())
	found = append(found, d.agents(b, found)...)
	for i := range found {
		found[i].Text, found[i].Cure = b.Secrets().Redact(found[i].Text), b.Secrets().Redact(found[i].Cure)
	}
	return r.with(found)
}

func (d *Doctor) checks() []check {
	list := []check{d.configured}
	for _, name := range slices.Sorted(maps.Keys(d.Config.Models)) {
		list = append(list, d.model(name, d.Config.Models[name]))
	}
	list = append(list, d.toolSources()...)
	return append(list, d.channels, d.bus, d.httpPort, d.data, d.hardening)
}

// all makes the checks, each with a deadline of its own.
func (d *Doctor) all(ctx context.Context, checks []check) []Finding {
	results := make([]notes, len(checks))
	var mu sync.Mutex
	done := 0
	progress := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		done += by
		if d.Progress != nil {
			d.Progress(done, len(checks))
		}
	}
	progress(0)
	var group sync.WaitGroup
	for i, c := range checks {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, cmp.Or(d.Within, doctorWithin))
			defer cancel()
			c(ctx, &results[i])
			progress(1)
		})
	}
	group.Wait()
	var found []Finding
	for _, n := range results {
		found = append(found, n.list...)
	}
	return found
}

// with is the report with findings, grouped and counted.
func (r Report) with(found []Finding) Report {
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Compare(slices.Index(doctorGroups, a.Group), slices.Index(doctorGroups, b.Group))
	})
	r.Findings = found
	for _, f := range found {
		switch f.Verdict {
		case VerdictOK:
			r.OK++
		case VerdictWarn:
			r.Warnings++
		default:
			r.Failures++
		}
	}
	return r
}

// notes are the findings of one check.
type notes struct{ list []Finding }

// on says what the next findings are about.
func (n *notes) on(group, about string) note { return note{n, group, about} }

type note struct {
	to           *notes
	group, about string
}

func (o note) add(v Verdict, cure, format string, args []any) {
	o.to.list = append(o.to.list, Finding{Group: o.group, About: o.about, Verdict: v, Text: fmt.Sprintf(format, args...), Cure: cure})
}

func (o note) ok(format string, args ...any)         { o.add(VerdictOK, "", format, args) }
func (o note) warn(cure, format string, args ...any) { o.add(VerdictWarn, cure, format, args) }
func (o note) fail(cure, format string, args ...any) { o.add(VerdictFail, cure, format, args) }

// misconfigured is what is found when there is nothing to look at.
func (d *Doctor) misconfigured(n *notes) {
	var wrong *config.FileError
	if !errors.As(d.Fault, &wrong) {
		n.on("config", d.Path).fail("name another with -c", "%v", d.Fault)
		return
	}
	for _, p := range wrong.Problems {
		cure := "correct that line"
		if p.Line == 0 { // the file as a whole is wrong
			cure = "correct that file, or name another with -c"
		}
		n.on("config", d.Path).fail(cure, "%v", p)
	}
}

func (d *Doctor) configured(_ context.Context, n *notes) {
	if d.Path == "" {
		n.on("config", "demo").warn("write one with: agenthost init", "there is no agenthost.yaml here; this is the demo, which echoes")
		return
	}
	n.on("config", d.Path).ok("%s, %s", counted(len(d.Config.Agents), "agent"), counted(len(d.Config.Models), "model"))
	for _, p := range config.PlainSecrets(d.Path) {
		n.on("config", d.Path).warn("put it into a variable, or a file that only the host reads", "%v", p)
	}
	for _, p := range d.Config.Warnings {
		text, cure, _ := strings.Cut(p.String(), "; ")
		n.on("config", d.Path).warn(cure, "%s", text)
	}
	if len(d.Config.Agents) == 0 {
		n.on("config", d.Path).warn("add one under agents:", "there is no agent: the host would do nothing")
	}
}

// hardening checks what docs/security.md recommends.
func (d *Doctor) hardening(_ context.Context, n *notes) {
	list := hardening.Review(d.Config, hardening.Others())
	for _, a := range list {
		n.on("security", a.About).warn(a.Cure, "%s", a.Text)
	}
	if len(list) == 0 {
		n.on("security", "hardening").ok("nothing to recommend for this setup")
	}
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

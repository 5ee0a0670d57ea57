package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/agents"
	"agenthost/config"

	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"
)

// ReloadSubject is where every host reads its configuration again, and answers
// with what came of it.
const ReloadSubject = "agenthost.reload"

// A Reloaded is what came of reading the configuration again.
type Reloaded struct {
	Host    string   `json:"host"`
	Changes []string `json:"changes"`           // such as "agent ana: added"; none: it is as before
	Restart []string `json:"restart,omitempty"` // keys that take effect after a restart
	// Refused is what is wrong with it. Then nothing has changed.
	Refused []config.Problem `json:"refused,omitempty"`
	// Error is why the host could not get to the end.
	Error string `json:"error,omitempty"`
}

// ReadReloaded reads the answer of a host.
func ReadReloaded(data []byte) (Reloaded, error) {
	r := Reloaded{}
	err := json.Unmarshal(data, &r)
	return r, err
}

// An order is to read the configuration again.
type order struct {
	why  string
	done chan Reloaded
}

// Why a configuration is read again.
const (
	ByFile    = "file"
	ByCommand = "command"
	BySignal  = "signal"
)

// Reload reads the configuration again and goes by it, unless something is
// wrong with it. What can change counts from the next turn of every session on.
// It waits for a host that starts.
func (h *Host) Reload(ctx context.Context, why string) Reloaded {
	o := order{why, make(chan Reloaded, 1)}
	select {
	case h.orders <- o:
	case <-h.over:
		return Reloaded{Host: h.opt.Name, Error: "the host is stopping"}
	case <-ctx.Done():
		return Reloaded{Host: h.opt.Name, Error: context.Cause(ctx).Error()}
	}
	select {
	case r := <-o.done:
		return r
	case <-h.over:
		return Reloaded{Host: h.opt.Name, Error: "the host is stopping"}
	case <-ctx.Done():
		return Reloaded{Host: h.opt.Name, Error: "reload still running: " + context.Cause(ctx).Error()}
	}
}

// reloadWithin bounds what who asks for it waits.
const reloadWithin = 30 * time.Second

func (h *Host) reloadDoor(req micro.Request) {
	ctx, cancel := context.WithTimeout(context.Background(), reloadWithin)
	defer cancel()
	_ = req.RespondJSON(h.Reload(ctx, ByCommand)) // who asked may be gone
}

// serves reports whether there is an agent of that id.
func (h *Host) serves(agent string) bool {
	return slices.ContainsFunc(h.now.Load().cfg.Agents, func(a config.Agent) bool { return a.ID == agent })
}

// A reloader takes over what changes in the configuration.
type reloader struct {
	*Host
	parts   *agents.Parts
	fleet   *agents.Fleet
	sources *sources
	wakers  *wakers
	hooks   *remoteHooks

	told []string // the keys that need a restart, as they were told
}

// start obeys orders, and follows the files, until the returned function is
// called. What is under way ends with ctx.
func (r *reloader) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	files := newWatch(r.Host)
	go func() {
		defer close(done)
		defer files.close()
		for {
			select {
			case <-ctx.Done():
				return
			case o := <-r.orders:
				o.done <- r.reload(ctx, o.why)
			case <-files.changed():
				files.look()
				r.reload(ctx, ByFile)
			}
		}
	}()
	return func() {
		cancel()
		close(r.over)
		<-done
	}
}

func (r *reloader) reload(ctx context.Context, why string) Reloaded {
	out := Reloaded{Host: r.opt.Name, Changes: []string{}}
	cfg, err := r.load()
	if err != nil {
		return r.refuse(out, why, err)
	}
	p := planOf(r.now.Load().cfg, cfg)
	if len(p.Changes) > 0 {
		applied, err := r.apply(ctx, p, cfg)
		if !applied {
			return r.refuse(out, why, err)
		}
		if err != nil {
			out.Error = err.Error()
			r.log.Error().Err(err).Msg("not all of the configuration could be taken over; reload again, or restart")
		}
		out.Changes = p.Changes
	}
	out.Restart = p.Restart
	mended := len(*r.refused.Swap(&[]config.Problem{})) > 0
	if why != ByFile || mended || len(p.Changes) > 0 || !slices.Equal(p.Restart, r.told) {
		level := zerolog.InfoLevel
		if len(p.Restart) > 0 {
			level = zerolog.WarnLevel
		}
		r.log.WithLevel(level).Str("by", why).Strs("changes", out.Changes).Strs("needs_restart", p.Restart).Msg("configuration reloaded")
	}
	r.told = p.Restart
	for agent, what := range p.agents {
		r.parts.Reloaded(agent, map[string]any{"change": what})
	}
	return out
}

func (h *Host) load() (*config.Config, error) {
	switch {
	case h.opt.Load != nil:
		return h.opt.Load()
	case h.opt.Path != "":
		return h.opt.load()
	}
	return nil, errors.New("this host was started without a configuration file; restart it with one")
}

// refuse tells what is wrong with a configuration. A file that was saved again
// as wrong as before is not told of twice.
func (r *reloader) refuse(out Reloaded, why string, err error) Reloaded {
	out.Refused = []config.Problem{{File: cmp.Or(r.opt.Path, "the configuration"), Text: err.Error()}}
	if wrong, ok := errors.AsType[*config.FileError](err); ok {
		out.Refused = wrong.Problems
	}
	before := *r.refused.Swap(&out.Refused)
	if why == ByFile && slices.Equal(before, out.Refused) {
		return out
	}
	texts := make([]string, len(out.Refused))
	for i, p := range out.Refused {
		texts[i] = p.String()
	}
	r.log.Error().Str("by", why).Strs("problems", texts).Msg("configuration refused; the one before stays in force")
	for _, a := range r.now.Load().cfg.Agents {
		r.parts.Reloaded(a.ID, map[string]any{"refused": texts})
	}
	return out
}

// apply goes over to another configuration. What cannot be taken over without a
// restart stays. Up to the first thing that changes it can fail; then applied is
// false.
func (r *reloader) apply(ctx context.Context, p plan, cfg *config.Config) (applied bool, err error) {
	now := r.now.Load()
	cfg.NATS, cfg.HTTP = now.cfg.NATS, now.cfg.HTTP
	r.secrets.of(cfg)
	next, useSources, err := r.setup(cfg, r.sources)
	if err != nil {
		return false, err
	}
	if err := newFault(now, next); err != nil {
		return false, err
	}
	if err := r.hooks.change(p.hooksOff, p.hooksOn); err != nil {
		return false, err
	}
	useSources()
	r.now.Store(next)
	r.sayTools(next)
	r.parts.Peers.Set(peersOf(cfg))
	err = r.serveThese(ctx, next)
	if p.wakers {
		stop := r.wakers.stop
		r.wakers.start(cfg) // before the old end: what both tell is told once
		r.wakers.up(ctx)
		stop()
	}
	return true, err
}

// newFault is what an agent lacks that it did not lack before.
func newFault(now, next *setup) error {
	var errs []error
	for _, a := range next.cfg.Agents {
		fault, faulty := next.faults[a.ID]
		before, was := now.faults[a.ID]
		if faulty && (!was || before.err.Error() != fault.err.Error()) {
			errs = append(errs, fmt.Errorf("agent %q: %w", a.ID, fault.err))
		}
	}
	return errors.Join(errs...)
}

// serveThese has the fleet serve the agents of a setup. Each of them gets what
// it works with anew: also one that is configured as before may see other
// agents, models and tools.
func (r *reloader) serveThese(ctx context.Context, next *setup) error {
	var runtimes []*agents.Runtime
	var changes []func()
	for _, a := range next.agents {
		runtime := r.fleet.Runtime(a.ID)
		if runtime == nil {
			runtime = agents.New(a.Config, next.kits[a.ID], r.parts)
		} else {
			changes = append(changes, func() { runtime.Change(a.Config, next.kits[a.ID]) })
		}
		runtimes = append(runtimes, runtime)
	}
	return r.fleet.Change(ctx, runtimes, changes)
}

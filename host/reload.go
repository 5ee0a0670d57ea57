package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"agenthost/client"
	"agenthost/config"
	"agenthost/internal/build"

	"github.com/rs/zerolog"
)

// An order is to read the configuration again.
type order struct {
	why  string
	done chan client.Reloaded
}

// Why a configuration is read again.
const (
	ByFile    = "file"
	ByCommand = "command"
	BySignal  = "signal"
)

// A Reloaded is what came of reading the configuration again.
type Reloaded = client.Reloaded

// Reload reads the configuration again and goes by it, unless something is
// wrong with it. What can change counts from the next turn of every session on.
// It waits for a host that starts.
func (h *Host) Reload(ctx context.Context, why string) Reloaded {
	o := order{why, make(chan client.Reloaded, 1)}
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

// A reloader takes over what changes in the configuration.
type reloader struct {
	*assembly
	files   *watch
	restart []string // the keys that need a restart, as they were logged last
}

func (a *assembly) reloader() *reloader { return &reloader{assembly: a, files: newWatch(a.Host)} }

// Run obeys orders, and follows the files, until ctx ends.
func (r *reloader) Run(ctx context.Context) error {
	defer background(ctx, r.files.Run)()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case o := <-r.orders:
			o.done <- r.reload(ctx, o.why)
		case <-r.files.due:
			r.files.look() // first, so that no change falls between reading and watching
			r.reload(ctx, ByFile)
		}
		r.files.look() // at what the configuration names by now
	}
}

func (r *reloader) reload(ctx context.Context, why string) client.Reloaded {
	out := client.Reloaded{Host: r.opt.Name, Changes: []string{}}
	cfg, err := r.load()
	if err != nil {
		return r.refuse(out, why, err)
	}
	p := planOf(r.parts, r.now.Load().Config, cfg)
	if len(p.changes) > 0 {
		applied, err := r.apply(ctx, cfg)
		if !applied {
			return r.refuse(out, why, err)
		}
		if err != nil {
			out.Error = err.Error()
			r.log.Error().Err(err).Msg("apply configuration: failed in part; reload again, or restart")
		}
	}
	out.Changes, out.Restart = p.words(), p.restart
	r.sayReloaded(out, why)
	for _, c := range p.changes {
		if c.kind == "agent" {
			r.shared.Reloaded(c.name, map[string]any{"change": c.how})
		}
	}
	return out
}

// sayReloaded logs what a reload did. A file that was saved without a change is
// not worth a line.
func (r *reloader) sayReloaded(out client.Reloaded, why string) {
	mended := len(*r.refused.Swap(&[]config.Problem{})) > 0
	if why != ByFile || mended || len(out.Changes) > 0 || !slices.Equal(out.Restart, r.restart) {
		level := zerolog.InfoLevel
		if len(out.Restart) > 0 {
			level = zerolog.WarnLevel
		}
		r.log.WithLevel(level).Str("by", why).Strs("changes", out.Changes).Strs("needs_restart", out.Restart).Msg("configuration reloaded")
	}
	r.restart = out.Restart
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

// refuse reports what is wrong with a configuration. A file that was saved again
// with the same mistakes is logged once.
func (r *reloader) refuse(out client.Reloaded, why string, err error) client.Reloaded {
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
	for _, a := range r.now.Load().Config.Agents {
		r.shared.Reloaded(a.ID, map[string]any{"refused": texts})
	}
	return out
}

// apply goes over to another configuration. What cannot be taken over without a
// restart stays. Up to the first part that has changed it can fail; then applied
// is false.
func (r *reloader) apply(ctx context.Context, cfg *config.Config) (applied bool, err error) {
	now := r.now.Load()
	cfg.NATS, cfg.HTTP = now.Config.NATS, now.Config.HTTP
	next, err := r.builder.Build(cfg, now)
	if err != nil {
		return false, err
	}
	if err := newFault(now, next); err != nil {
		return false, err
	}
	var errs []error
	for i, p := range r.parts {
		err := p.Apply(ctx, next)
		if err != nil && i == 0 { // nothing has changed yet
			return false, err
		}
		errs = append(errs, err)
	}
	return true, errors.Join(errs...)
}

// newFault is what an agent lacks that it did not lack before.
func newFault(now, next *build.Setup) error {
	var errs []error
	for _, a := range next.Config.Agents {
		fault, faulty := next.Faults[a.ID]
		before, was := now.Faults[a.ID]
		if faulty && (!was || before.Err.Error() != fault.Err.Error()) {
			errs = append(errs, fmt.Errorf("agent %q: %w", a.ID, fault.Err))
		}
	}
	return errors.Join(errs...)
}

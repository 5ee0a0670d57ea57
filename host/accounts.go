package host

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"agenthost/client"
	"agenthost/config"
	"agenthost/internal/build"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/rs/zerolog"
)

// stateFailed is that of an account whose channel cannot be built.
const stateFailed = "failed"

// channels are the accounts of channels, as the configuration has them.
type channels struct {
	*assembly
	due chan struct{} // holds one when accounts have changed
}

func (a *assembly) newChannels() channels { return channels{a, make(chan struct{}, 1)} }

func (channels) Sections() []string { return []string{"plugins"} }

func (channels) Diff(old, now *config.Config) []change {
	list := entries("account", build.Accounts(old), build.Accounts(now))
	if !reflect.DeepEqual(old.Plugins.Web, now.Plugins.Web) {
		list = append(list, change{kind: "plugins", name: "web", how: howWeb(old.Plugins.Web, now.Plugins.Web)})
	}
	return list
}

func howWeb(old, now *settings.Web) string {
	switch {
	case old == nil:
		return added
	case now == nil:
		return removed
	}
	return changed
}

// Apply has Run serve the accounts of the configuration that is in force now.
func (c channels) Apply(_ context.Context, next *build.Setup) error {
	if page := c.chat.Load(); page != nil {
		page.Set(next.Config.Plugins.Web)
	}
	select {
	case c.due <- struct{}{}:
	default: // it looks already
	}
	return nil
}

// Run serves the accounts until ctx ends.
func (c channels) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	defer c.accounts.Store(nil)
	now := &accounts{}
	for {
		now = c.follow(ctx, &group, now)
		c.accounts.Store(now)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.due:
		}
	}
}

// follow starts what is new in the configuration and stops what is not there any
// more. An account that has changed starts when its earlier self has stopped.
func (c channels) follow(ctx context.Context, group *sync.WaitGroup, before *accounts) *accounts {
	now := &accounts{all: map[string]*account{}, stopping: maps.Clone(before.stopping), hooks: map[string]*account{}}
	if now.stopping == nil {
		now.stopping = map[string]<-chan struct{}{}
	}
	wanted := build.Accounts(c.now.Load().Config)
	for name, old := range before.all {
		if e, ok := wanted[name]; ok && reflect.DeepEqual(e, old.entry) {
			now.all[name] = old
			continue
		}
		old.stop()
		now.stopping[name] = old.done
	}
	for name, e := range wanted {
		if now.all[name] == nil {
			now.all[name] = c.start(ctx, group, e, now.stopping[name])
			delete(now.stopping, name)
		}
	}
	for _, one := range now.all {
		if one.handler != nil {
			now.hooks[one.entry.Hook()] = one
		}
	}
	return now
}

// start makes an account and serves it once earlier is closed; nil: at once.
func (c channels) start(ctx context.Context, group *sync.WaitGroup, e settings.Entry, earlier <-chan struct{}) *account {
	log := c.log.With().Str("account", e.Name()).Logger()
	done := make(chan struct{})
	one := &account{entry: e, done: done}
	ctx, one.stop = context.WithCancel(ctx)
	channel, err := makeChannel(e, c.opt.Channels, c.log)
	if err != nil {
		log.Error().Err(err).Msg("this account of a channel cannot be served; the others are")
		one.stop()
		if one.fault = err; earlier != nil {
			one.done = earlier
		} else {
			close(done)
		}
		return one
	}
	one.courier = plugins.New(plugins.Account{Channel: e.Channel, Instance: e.Instance, Settings: e.Settings.Common()}, channel, plugins.Parts{
		NC: c.bus.NC, JS: c.bus.JS, Publisher: c.shared.Publisher, Files: c.shared.Files, Reader: c.shared.Reader, Host: c.opt.Name,
		Log: c.log, Agents: func() []string { return build.Hearers(c.now.Load().Config, e) }, Session: c.identities.Session,
		Buried: counts{c.Host}.DeadLetter,
	})
	if receiver, ok := channel.(plugins.Receiver); ok {
		one.handler = receiver.Handler(one.courier.Inbox())
		if c.opt.Config.HTTP.Listen == "" { // a program's own: of the others check has said so
			log.Error().Msg("this account receives requests, and http.listen is empty; set it")
		}
	}
	group.Go(func() {
		defer close(done)
		if earlier != nil {
			<-earlier
		}
		one.serve(ctx, log)
	})
	return one
}

// makeChannel is build.Channel; a program's own function may panic.
func makeChannel(e settings.Entry, own map[string]plugins.Maker, log zerolog.Logger) (c plugins.Channel, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("channel %s: panic: %v", e.Channel, cause)
		}
	}()
	if c, err = build.Channel(e, own, log); err == nil && c == nil {
		err = fmt.Errorf("channel %s: its function returned neither a channel nor an error", e.Channel)
	}
	return c, err
}

// accounts are those of one configuration. They do not change.
type accounts struct {
	all      map[string]*account        // by name in subjects
	stopping map[string]<-chan struct{} // those that are gone, until they have stopped
	hooks    map[string]*account        // that receive requests, by the path below /hooks/
}

// An account is one of a channel.
type account struct {
	entry   settings.Entry
	courier *plugins.Courier // nil with a fault
	handler http.Handler     // of the requests of its platform; nil: it sends none
	fault   error            // why it cannot be built
	stop    context.CancelFunc
	done    <-chan struct{} // closed when it has stopped
}

func (a *account) serve(ctx context.Context, log zerolog.Logger) {
	if ctx.Err() != nil {
		return
	}
	if err := a.courier.Run(ctx); err != nil && ctx.Err() == nil {
		log.Error().Err(err).Msg("account of a channel has stopped")
	}
}

func (a *account) status() client.AccountStatus {
	s := client.AccountStatus{Channel: a.entry.Channel, Instance: a.entry.Instance}
	if a.fault != nil {
		s.AccountState = client.AccountState{State: stateFailed, Error: a.fault.Error()}
		return s
	}
	now := a.courier.Status()
	s.Owns = now.Owner
	s.AccountState = client.AccountState{
		State: now.State, As: now.As, Connected: now.Since.UTC(), In: now.In, Out: now.Out, Retries: now.Retries, Dead: now.Dead,
		Waiting: now.Waiting, Oldest: now.Oldest.UTC(), Error: now.LastError,
	}
	return s
}

// accountStatus is how the accounts of this host are doing, by name.
func (h *Host) accountStatus() []client.AccountStatus {
	now := h.accounts.Load()
	if now == nil {
		return nil
	}
	var list []client.AccountStatus
	for _, name := range slices.Sorted(maps.Keys(now.all)) {
		s := now.all[name].status()
		s.Agents = append([]string{}, build.Hearers(h.now.Load().Config, now.all[name].entry)...)
		list = append(list, s)
	}
	return append(list, h.unconfigured(now.all)...)
}

// channelTroubles are the accounts that are not as they should be, with the reason.
func (h *Host) channelTroubles() map[string]string {
	troubles := map[string]string{}
	now := h.accounts.Load()
	if now == nil {
		return troubles
	}
	for name, one := range now.all {
		switch s := one.status(); s.State {
		case stateFailed, plugins.StateRefused, plugins.StateRetrying:
			troubles[name] = s.State + ": " + s.Error
		}
	}
	return troubles
}

// serveHook answers a request of a platform.
func (h *Host) serveHook(w http.ResponseWriter, r *http.Request) {
	now := h.accounts.Load()
	if now == nil {
		w.Header().Set("Retry-After", "5")
		answer(w, http.StatusServiceUnavailable, map[string]any{"error": "the host is not ready; try again"})
		return
	}
	path := r.PathValue("path")
	one := now.hooks[path]
	rest, spelled := strings.CutPrefix(r.URL.EscapedPath(), "/hooks/"+path)
	if one == nil || !spelled || rest != "" && !h.isOwn(one) {
		answer(w, http.StatusNotFound, map[string]any{"error": "no account of a channel has this path"})
		return
	}
	one.handler.ServeHTTP(w, r)
}

// isOwn reports whether an account is of a channel of the program, which may have paths
// below that of the account.
func (h *Host) isOwn(one *account) bool {
	_, own := h.opt.Channels[one.entry.Channel]
	return own
}

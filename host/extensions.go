package host

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"agenthost/config"
	"agenthost/hooks"
	"agenthost/internal/build"
	"agenthost/plugins"
	"agenthost/plugins/settings"
	"agenthost/tools"
)

// Open is New with the configuration at path, which may name the tools and
// providers of opt. The host follows the file.
func Open(path string, opt Options) (*Host, error) {
	opt.Path = path
	if err := opt.check(); err != nil {
		return nil, err
	}
	cfg, err := opt.load()
	if err != nil {
		return nil, err
	}
	opt.Config = cfg
	return New(opt), nil
}

// load reads the configuration at Path.
func (o Options) load() (*config.Config, error) {
	own := config.Extensions{Providers: slices.Sorted(maps.Keys(o.Providers)), Channels: slices.Sorted(maps.Keys(o.Channels))}
	for _, t := range o.Tools {
		own.Tools = append(own.Tools, t.Name)
	}
	return own.Load(o.Path)
}

// again is load for a host whose configuration is in a file, else nil.
func (o Options) again() func() (*config.Config, error) {
	if o.Path == "" {
		return nil
	}
	return o.load
}

// addHooks adds the hooks of the program.
func (o Options) addHooks(to *hooks.Registry) error {
	for _, own := range o.Hooks {
		if _, err := to.Add(own.Point, own.Priority, own.Name, own.Handler, own.Options); err != nil {
			return err
		}
	}
	return nil
}

// check finds what is wrong with what the program adds.
func (o Options) check() error {
	var errs []error
	for i, t := range o.Tools {
		errs = append(errs, checkTool(t))
		if slices.ContainsFunc(o.Tools[:i], func(earlier tools.Tool) bool { return earlier.Name == t.Name }) {
			errs = append(errs, fmt.Errorf("tool %q of the program: it is there twice; rename one", t.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Providers)) {
		errs = append(errs, checkProvider(name, o.Providers[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Channels)) {
		errs = append(errs, checkChannel(name, o.Channels[name]))
	}
	for _, h := range o.Hooks {
		errs = append(errs, checkHook(h))
	}
	return errors.Join(errs...)
}

var toolName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

func checkTool(t tools.Tool) error {
	switch {
	case !toolName.MatchString(t.Name):
		return fmt.Errorf("tool %q of the program: want a name of 1 to 64 letters, digits, _, - and dots that begins with a letter or _", t.Name)
	case slices.Contains(tools.BuiltIn(), t.Name):
		return fmt.Errorf("tool %q of the program: the host has one of that name; choose another", t.Name)
	case t.Run == nil:
		return fmt.Errorf("tool %q of the program: Run is nil; set it, or make the tool with tools.Typed", t.Name)
	case t.Schema == nil:
		return nil
	}
	if err := tools.CheckSchema(t.Schema); err != nil {
		return fmt.Errorf("tool %q of the program: schema: %w", t.Name, err)
	}
	return nil
}

func checkProvider(name string, construct ProviderFunc) error {
	switch {
	case construct == nil:
		return fmt.Errorf("provider %q of the program: its function is nil", name)
	case build.HasProvider(name):
		return fmt.Errorf("provider %q of the program: the host has one of that name; choose another", name)
	}
	return nil
}

var channelName = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

func checkChannel(name string, make plugins.Maker) error {
	switch {
	case !channelName.MatchString(name):
		return fmt.Errorf("channel %q of the program: want a name of 1 to 63 of a-z, 0-9, _ and -", name)
	case make == nil:
		return fmt.Errorf("channel %q of the program: its function is nil", name)
	case name == "exec" || slices.Contains(settings.Channels(), name):
		return fmt.Errorf("channel %q of the program: the host has one of that name; choose another", name)
	}
	return nil
}

func checkHook(h hooks.Hook) error {
	switch {
	case !slices.Contains(hooks.Points(), h.Point):
		return fmt.Errorf("hook %q of the program: no point has the name %q; want one of %v", h.Name, h.Point, hooks.Points())
	case h.Handler == nil:
		return fmt.Errorf("hook %q of the program: Handler is nil", h.Name)
	case h.Timeout < 0:
		return fmt.Errorf("hook %q of the program: negative timeout %s", h.Name, h.Timeout)
	}
	return nil
}

// ownTools are the tools of the program, as a source names them.
func (o Options) ownTools() []tools.Tool {
	own := slices.Clone(o.Tools)
	for i := range own {
		if own[i].Source == "" {
			own[i].Source = "the program"
		}
	}
	return own
}

// A ProviderFunc makes the provider of one entry of models.
type ProviderFunc = build.ProviderFunc

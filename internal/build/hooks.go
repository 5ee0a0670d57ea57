package build

import (
	"errors"
	"slices"

	"agenthost/hooks"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// RemoteHooks are the hooks of the configuration in a registry.
type RemoteHooks struct {
	Registry *hooks.Registry

	nc    *nats.Conn
	files hooks.Files
	want  []hooks.Config // as configured
	now   []remoteHook
	left  []hooks.Config // of want, without room; the registry has logged it
}

type remoteHook struct {
	hooks.Config
	remove func()
}

// NewRemoteHooks makes an empty registry.
func NewRemoteHooks(nc *nats.Conn, files hooks.Files, log zerolog.Logger) *RemoteHooks {
	return &RemoteHooks{Registry: hooks.New(log), nc: nc, files: files}
}

// Change makes the hooks those of want; with an error nothing has changed. What
// is added is there before something is removed: no message goes by unguarded.
func (r *RemoteHooks) Change(want []hooks.Config) error {
	off, on := hooksWithout(r.want, want), hooksWithout(want, r.want)
	fresh, left, err := r.add(on)
	if err != nil {
		return err
	}
	r.want = slices.Clone(want)
	for _, c := range off {
		r.drop(c)
	}
	r.now, r.left = append(r.now, fresh...), append(r.left, left...)
	if len(off) > 0 && len(r.left) > 0 { // there may be room now
		fresh, r.left, err = r.add(r.left)
		r.now = append(r.now, fresh...)
	}
	return err
}

// add adds hooks and returns those that there is no room for; with an error it
// adds none.
func (r *RemoteHooks) add(list []hooks.Config) (fresh []remoteHook, left []hooks.Config, err error) {
	for _, c := range list {
		remove, err := r.Registry.AddRemote(r.nc, r.files, []hooks.Config{c})
		switch {
		case errors.Is(err, hooks.ErrFull):
			left = append(left, c)
		case err != nil:
			for _, h := range fresh {
				h.remove()
			}
			return nil, nil, err
		default:
			fresh = append(fresh, remoteHook{c, remove})
		}
	}
	return fresh, left, nil
}

func (r *RemoteHooks) drop(c hooks.Config) {
	if i := slices.IndexFunc(r.left, c.Equal); i >= 0 { // they are the last of their kind
		r.left = slices.Delete(r.left, i, i+1)
		return
	}
	if i := slices.IndexFunc(r.now, func(h remoteHook) bool { return h.Equal(c) }); i >= 0 {
		r.now[i].remove()
		r.now = slices.Delete(r.now, i, i+1)
	}
}

// SameHooks reports whether two lists hold the same hooks, in whatever order.
func SameHooks(a, b []hooks.Config) bool {
	return len(hooksWithout(a, b))+len(hooksWithout(b, a)) == 0
}

// hooksWithout are the hooks of list that other does not have, counted.
func hooksWithout(list, other []hooks.Config) []hooks.Config {
	rest := slices.Clone(other)
	return slices.DeleteFunc(slices.Clone(list), func(h hooks.Config) bool {
		i := slices.IndexFunc(rest, h.Equal)
		if i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		}
		return i >= 0
	})
}

package host

import (
	"errors"
	"slices"

	"agenthost/hooks"

	"github.com/nats-io/nats.go"
)

// remoteHooks are the hooks of the configuration in a registry.
type remoteHooks struct {
	registry *hooks.Registry
	nc       *nats.Conn
	now      []remoteHook
	left     []hooks.Config // out, for there is no room; the registry has logged it
}

type remoteHook struct {
	hooks.Config
	remove func()
}

// change adds and removes hooks; with an error nothing has changed. What is
// added is there before something is removed: no message goes by unguarded.
func (r *remoteHooks) change(off, on []hooks.Config) error {
	fresh, left, err := r.add(on)
	if err != nil {
		return err
	}
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
func (r *remoteHooks) add(list []hooks.Config) (fresh []remoteHook, left []hooks.Config, err error) {
	for _, c := range list {
		remove, err := r.registry.AddRemote(r.nc, []hooks.Config{c})
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

func (r *remoteHooks) drop(c hooks.Config) {
	if i := slices.IndexFunc(r.left, c.Equal); i >= 0 { // they are the last of their kind
		r.left = slices.Delete(r.left, i, i+1)
		return
	}
	if i := slices.IndexFunc(r.now, func(h remoteHook) bool { return h.Equal(c) }); i >= 0 {
		r.now[i].remove()
		r.now = slices.Delete(r.now, i, i+1)
	}
}

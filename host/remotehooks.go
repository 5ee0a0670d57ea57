package host

import (
	"agenthost/hooks"

	"github.com/nats-io/nats.go"
)

// remoteHooks are the hooks of the configuration in a registry.
type remoteHooks struct {
	registry *hooks.Registry
	nc       *nats.Conn
	now      []remoteHook
}

type remoteHook struct {
	hooks.Config
	remove func()
}

// change adds and removes hooks; with an error nothing has changed. What is
// added is there before something is removed: no message goes by unguarded.
func (r *remoteHooks) change(off, on []hooks.Config) error {
	var fresh []remoteHook
	for _, c := range on {
		remove, err := r.registry.AddRemote(r.nc, []hooks.Config{c})
		if err != nil {
			for _, h := range fresh {
				h.remove()
			}
			return err
		}
		fresh = append(fresh, remoteHook{c, remove})
	}
	for _, c := range off {
		for i, h := range r.now {
			if h.Config == c {
				h.remove()
				r.now = append(r.now[:i:i], r.now[i+1:]...)
				break
			}
		}
	}
	r.now = append(r.now, fresh...)
	return nil
}

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"agenthost/config"
	"agenthost/internal/lockfile"
)

// takeName settles the host's name and keeps others of the same data folder
// from using it.
func (h *Host) takeName(ctx context.Context) (release func(), err error) {
	name, given := h.opt.Name, h.opt.Name != ""
	if !given {
		if name, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("name of this machine: %w; choose one with --name", err)
		}
	}
	h.opt.Name = name
	dir := cmp.Or(h.opt.Config.NATS.Embedded.Store, config.DefaultStore)
	lock := func() (func(), error) { return lockfile.Name(dir, h.opt.Name) }
	another := !given && h.opt.Config.NATS.External() // name will do
	for n := 2; ; n++ {
		if another {
			release, err = lock()
		} else {
			release, err = lockfile.Await(ctx, lock)
		}
		switch {
		case err == nil:
			return release, nil
		case errors.Is(err, lockfile.ErrLocked) && another:
			h.opt.Name = fmt.Sprintf("%s-%d", name, n)
		case errors.Is(err, lockfile.ErrLocked):
			return nil, err
		case h.opt.Config.NATS.External(): // the name is only for a quick restart
			h.log.Warn().Err(err).Msg("the host's name cannot be guarded; give each host a --name of its own")
			return func() {}, nil
		default:
			return nil, err
		}
	}
}

package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"agenthost/config"
	"agenthost/internal/natsserver"
)

// Less of a disk than that is soon too little, or already.
const (
	diskWarn = 1 << 30
	diskFail = 64 << 20
)

// httpPort checks that the port of HTTP is free, or held by a host.
func (d *Doctor) httpPort(ctx context.Context, n *notes) {
	address := d.Config.HTTP.Listen
	o := n.on("ports", "http.listen")
	if address == "" {
		o.ok("there is no HTTP")
		return
	}
	switch err := free(ctx, address); {
	case err == nil:
		o.ok("%s is free", address)
	case !errors.Is(err, syscall.EADDRINUSE):
		o.fail(`set it to an address of this machine, or to "" for none`, "%v", err)
	case d.Offline:
		o.warn("look again without --offline", "%s is taken; offline it is not asked by which program", address)
	case isHost(ctx, address):
		o.ok("%s is held by a host", address)
	default:
		o.warn(`set it to another address, or to "" for none`, "%s is taken by something else; there would be no health, readiness and metrics", address)
	}
}

// isHost reports whether what listens there is a host.
func isHost(ctx context.Context, address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return false
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	var body struct{ Status string }
	err = json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&body)
	return err == nil && (body.Status == "ready" || body.Status == "degraded" || body.Status == "not ready")
}

// data checks the folder that the host keeps everything in, its name at least
// when NATS is elsewhere.
func (d *Doctor) data(_ context.Context, n *notes) {
	dir := cmp.Or(d.Config.NATS.Embedded.Store, config.DefaultStore)
	o := n.on("data", dir)
	exists, err := writable(dir)
	if err != nil {
		const cure = "make it a folder that this user can write, or set nats.embedded.store to another"
		if d.Config.NATS.External() { // the name is only for a quick restart
			o.warn(cure, "a host cannot write to it: %v", err)
			return
		}
		o.fail(cure, "a host cannot write to it: %v", err)
		return
	}
	if exists {
		o.ok("can be written")
	} else {
		o.ok("can be created")
	}
	if left, known := natsserver.DiskLeft(existing(dir)); known && !d.Config.NATS.External() {
		o.disk(left)
	}
}

// disk reports what is left of the disk of a store.
func (o note) disk(left uint64) {
	switch {
	case left < diskFail:
		o.fail("make room, or set nats.embedded.store to another disk", "its disk has %s left", size(left))
	case left < diskWarn:
		o.warn("make room, or set nats.embedded.store to another disk", "its disk has %s left", size(left))
	default:
		o.ok("its disk has %s left", size(left))
	}
}

// writable tries to write to dir, or where dir would be made. It leaves nothing
// behind.
func writable(dir string) (exists bool, err error) {
	at := existing(dir)
	f, err := os.CreateTemp(at, ".doctor-")
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return false, err
	}
	return at == filepath.Clean(dir), errors.Join(f.Close(), os.Remove(f.Name()))
}

// existing is dir, or the nearest folder above it that is there.
func existing(dir string) string {
	dir = filepath.Clean(dir)
	for {
		_, err := os.Stat(dir)
		if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
			dir = parent
			continue
		}
		return dir
	}
}

package natsserver

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

// memoryStore bounds streams in memory; the host's own are files.
const memoryStore = 256 << 20

// pingInterval lets the server leave a client or a leaf that is lost after a minute, by its
// third ping. By the default of nats-server the line of an edge is made again after six.
const pingInterval = 20 * time.Second

// authTimeout is how long a client may take to say who it is, in seconds: that of this process is as
// slow as the machine is busy.
const authTimeout = 10.0

// serverOptions are those of the nats-server configuration file, if there is
// one, with ours on top.
func serverOptions(opt bus.Options) (*server.Options, error) {
	o, e := &server.Options{}, opt.Config.Embedded
	if err := readServerFile(o, e.Config, opt.Log); err != nil {
		return nil, err
	}
	o.NoSigs = true // signals are the host's
	o.DisableJetStreamBanner = true
	o.JetStream = true
	o.StoreDir = cmp.Or(e.Store, o.StoreDir, bus.DefaultStore)
	o.ServerName = cmp.Or(o.ServerName, opt.Name)
	o.JetStreamDomain = cmp.Or(opt.Config.Domain, o.JetStreamDomain)
	o.JetStreamMaxMemory = cmp.Or(o.JetStreamMaxMemory, memoryStore)
	o.PingInterval = cmp.Or(o.PingInterval, pingInterval)
	o.AuthTimeout = cmp.Or(o.AuthTimeout, authTimeout)
	if err := setAddress(o, e); err != nil {
		return nil, err
	}
	return o, setSync(o, e.Sync)
}

func readServerFile(o *server.Options, file string, log zerolog.Logger) error {
	if file == "" {
		return nil
	}
	err := o.ProcessConfigFile(file)
	// The server reports mere warnings as an error, too.
	if w, ok := errors.AsType[interface {
		error
		Errors() []error
		Warnings() []error
	}](err); ok && len(w.Errors()) == 0 {
		for _, warning := range w.Warnings() {
			log.Warn().AnErr("reason", warning).Msg("nats.embedded.config has a warning")
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read nats.embedded.config %q: %s", file, strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; "))
	}
	return nil
}

// setAddress sets where the server listens: at the configured address, else at that
// of its own file, else at the default.
func setAddress(o *server.Options, e bus.Embedded) error {
	if e.Listen == nil && (o.Host != "" || o.Port != 0) {
		return nil
	}
	address := e.Address()
	if address == "" {
		o.DontListen = true
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("nats.embedded.listen %q: write host:port, or \"\" for no port", address)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("nats.embedded.listen %q: the port is a number from 0 (any free one) to 65535", address)
	}
	o.Host, o.Port = host, int(n)
	if n == 0 {
		o.Port = server.RANDOM_PORT
	}
	return nil
}

// setSync sets when writes reach the disk: always, unless an interval is configured.
func setSync(o *server.Options, configured string) error {
	switch configured {
	case "":
		o.SyncAlways = o.SyncAlways || o.SyncInterval == 0
	case "always":
		o.SyncAlways = true
	default:
		interval, err := time.ParseDuration(configured)
		if err != nil || interval <= 0 {
			return fmt.Errorf("nats.embedded.sync %q: write always, or an interval such as 2m", configured)
		}
		o.SyncAlways, o.SyncInterval = false, interval
	}
	return nil
}

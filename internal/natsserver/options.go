package natsserver

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

const (
	defaultStore  = "./data"
	defaultListen = "127.0.0.1:4222"

	// memoryStore bounds streams in memory; the host's own are files.
	memoryStore = 256 << 20
)

// serverOptions are those of the nats-server configuration file, if there is
// one, with ours on top.
func (opt Options) serverOptions() (*server.Options, error) {
	o := &server.Options{}
	if err := readServerFile(o, opt.Config.Config, opt.Log); err != nil {
		return nil, err
	}
	o.NoSigs = true // signals are the host's
	o.DisableJetStreamBanner = true
	o.JetStream = true
	o.StoreDir = cmp.Or(opt.Store, o.StoreDir, defaultStore)
	o.ServerName = cmp.Or(o.ServerName, opt.Name)
	o.JetStreamDomain = cmp.Or(opt.Domain, o.JetStreamDomain)
	o.JetStreamMaxMemory = cmp.Or(o.JetStreamMaxMemory, memoryStore)
	if err := opt.listen(o); err != nil {
		return nil, err
	}
	return o, opt.sync(o)
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

// listen sets the address of the server: the configured one, else that of its
// own file, else the default.
func (e Config) listen(o *server.Options) error {
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

// Address is where the server listens, or empty for nowhere.
func (e Config) Address() string {
	if e.Listen == nil {
		return defaultListen
	}
	return *e.Listen
}

// sync sets when writes reach the disk: always, unless an interval is configured.
func (e Config) sync(o *server.Options) error {
	switch e.Sync {
	case "":
		o.SyncAlways = o.SyncAlways || o.SyncInterval == 0
	case "always":
		o.SyncAlways = true
	default:
		interval, err := time.ParseDuration(e.Sync)
		if err != nil || interval <= 0 {
			return fmt.Errorf("nats.embedded.sync %q: write always, or an interval such as 2m", e.Sync)
		}
		o.SyncAlways, o.SyncInterval = false, interval
	}
	return nil
}

package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/hooks"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"
)

const (
	// askWithin is what a host, or an instance of a service, has to answer.
	askWithin = time.Second

	// Clocks that differ make budgets and schedules of a day begin at different
	// times; far apart, certificates and the ages of messages are wrong.
	skewWarn, skewFail = 2 * time.Second, time.Minute
)

// bus checks NATS, and what on it belongs to the fleet.
func (d *Doctor) bus(ctx context.Context, n *notes) {
	cfg := d.Config.NATS
	o := n.on("nats", "server")
	switch {
	case !cfg.External():
		d.embedded(ctx, n, o)
	case d.Offline:
		o.ok("it is %s; not asked, as this is offline", natsOf(cfg))
	default:
		d.dial(ctx, n, o)
	}
}

func natsOf(cfg bus.Config) string {
	if cfg.Context != "" {
		return fmt.Sprintf("that of the context %q", cfg.Context)
	}
	var list []string
	for server := range strings.SplitSeq(cfg.URL, ",") {
		if i := strings.LastIndexByte(server, '@'); i >= 0 { // what is before it is secret
			server = server[i+1:]
		}
		list = append(list, strings.TrimSpace(server))
	}
	return strings.Join(list, ", ")
}

// embedded checks the server that a host brings along: its port is free, or has
// one of ours behind it.
func (d *Doctor) embedded(ctx context.Context, n *notes, o note) {
	e := d.Config.NATS.Embedded
	address := e.Reached()
	port := n.on("ports", "nats.embedded.listen")
	switch err := free(ctx, address); {
	case e.Listen == nil && e.Config != "":
		o.ok("embedded, with the port of %s", e.Config)
	case address == "":
		o.ok("embedded, without a port")
	case err == nil:
		o.ok("embedded: it starts with the host; its streams are checked while a host runs")
		port.ok("%s is free", e.Address())
	case !errors.Is(err, syscall.EADDRINUSE):
		port.fail("set it to an address of this machine", "%v", err)
	case d.Offline:
		port.warn("look again without --offline", "%s is taken; offline it is not asked by which program", address)
	default:
		d.dial(ctx, n, port)
	}
}

// free returns nil when an address can be listened on. It makes no connection.
func free(ctx context.Context, address string) error {
	if address == "" {
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

// dial connects to NATS; o is what has an error of that. Of an embedded server
// there is one only if a host runs.
func (d *Doctor) dial(ctx context.Context, n *notes, o note) {
	cfg := d.Config.NATS
	nc, js, err := bus.Dial(ctx, cfg, "doctor", zerolog.Nop())
	if err != nil {
		if !cfg.External() {
			taken(o, cfg.Embedded, `set it to another address, or to "" for no port`, fmt.Sprintf("taken by something else: %v", err))
			return
		}
		o.fail("start it, or correct nats.url and the credentials", "%v", err)
		return
	}
	defer nc.Close()
	running := runningHost(ctx, nc)
	host := running.Host
	if !cfg.External() {
		if host == "" {
			taken(o, cfg.Embedded, "set nats.url to that address to use it, or this to another", "held by a NATS server with no host")
			return
		}
		o.ok("%s is held by the host %s", cfg.Embedded.Reached(), host)
	}
	fit := d.server(ctx, n.on("nats", "server"), nc, js, host)
	d.services(ctx, n, nc)
	if host != "" {
		c := client.New(nc, js, client.Options{})
		d.accounts(ctx, n, c)
		d.tokens(ctx, n, c)
	}
	if fit { // an older server would deliver what is only to be traced
		d.hooks(ctx, n, nc)
	}
	for _, fault := range running.ToolFaults {
		n.on("tools", "host "+host).warn("look at that server or service, and at the log of the host", "%s", fault)
	}
}

// taken reports that no host holds the address of the embedded server. With port 0 that is where one
// has listened that was killed, and the next takes another port.
func taken(o note, e bus.Embedded, cure, by string) {
	if e.Reached() != e.Address() {
		o.warn("nothing, if no host of this folder runs: the next one takes another port", "%s, where a host has listened, is %s", e.Reached(), by)
		return
	}
	o.fail(cure, "%s is %s", e.Address(), by)
}

// tokens finds the tokens that were made by command under a name that the configuration has.
func (d *Doctor) tokens(ctx context.Context, n *notes, c *client.Client) {
	list, err := c.Tokens(ctx)
	if err != nil {
		return // no host has made the bucket
	}
	configured := map[string]bool{}
	for _, t := range d.Config.HTTP.Tokens {
		configured[t.Name] = t.Token != ""
	}
	for _, made := range list {
		if configured[made.Name] {
			n.on("security", "token "+made.Name).warn("agenthost tokens revoke "+made.Name+", and make one of another name",
				"http.tokens has its name too, so hosts refuse the one that was made by command")
		}
	}
}

// runningHost is the status of a host that runs there; zero when none answers.
func runningHost(ctx context.Context, nc *nats.Conn) client.Status {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	msg, err := nc.RequestWithContext(ctx, client.StatusSubject, nil)
	if err != nil {
		return client.Status{}
	}
	s, err := client.ReadStatus(msg.Data)
	if err != nil {
		return client.Status{}
	}
	return s
}

func (d *Doctor) server(ctx context.Context, o note, nc *nats.Conn, js jetstream.JetStream, host string) (fit bool) {
	cfg := d.Config.NATS
	switch err := bus.Fit(ctx, nc, js, cfg); {
	case errors.Is(err, bus.ErrOldServer):
		o.fail("upgrade it", "%v", err)
		return false
	case errors.Is(err, bus.ErrNoJetStream):
		o.fail("enable JetStream there", "%v", err)
		return false
	case errors.Is(err, bus.ErrSmallPayload):
		o.fail("raise max_payload there", "%v", err)
		return false
	case errors.Is(err, bus.ErrDenied):
		o.fail("see docs/operations.md for what a host must be allowed", "%v", err)
		return false
	case err != nil:
		o.fail("look at that server, and at nats.domain", "%v", err)
		return false
	}
	who := "no host is running there"
	if host != "" {
		who = "a host runs there: " + host // of several, the first to answer
	}
	o.ok("NATS %s with JetStream; %s", nc.ConnectedServerVersion(), who)
	o.room(ctx, js)
	d.streams(ctx, o.to, js)
	return true
}

// hooks checks that each hook has a responder, without calling it.
func (d *Doctor) hooks(ctx context.Context, n *notes, nc *nats.Conn) {
	for _, h := range d.Config.Hooks {
		o := n.on("nats", "hook "+h.Subject)
		asking, cancel := context.WithTimeout(ctx, askWithin)
		there, err := hasSubscriber(asking, nc, h.Subject)
		cancel()
		const cure = "start its responder, or correct its subject"
		switch {
		case err != nil:
			o.warn("look at what this user may do, and at NATS", "%v", err)
		case there:
			o.ok("it has a responder for %s", h.On)
		case h.Fail == hooks.FailClosed:
			o.fail(cure, "it has no responder, and each %s is refused without", h.On)
		default:
			o.warn(cure, "it has no responder, and each %s goes on without", h.On)
		}
	}
}

// services asks for the instances of the services that are tools.
func (d *Doctor) services(ctx context.Context, n *notes, nc *nats.Conn) {
	for _, name := range slices.Sorted(maps.Keys(d.Config.Services)) {
		o := n.on("tools", "services."+name)
		subject, err := micro.ControlSubject(micro.PingVerb, name, "")
		if err != nil {
			o.fail("correct its name", "%v", err)
			continue
		}
		asking, cancel := context.WithTimeout(ctx, askWithin)
		_, err = nc.RequestWithContext(asking, subject, nil)
		cancel()
		if err != nil {
			o.warn("start it; its tools appear when it is there", "no instance of it answers")
			continue
		}
		o.ok("it answers")
	}
}

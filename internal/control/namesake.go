package control

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"agenthost/client"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"
)

// namesakeSubject announces a host that has started to those of the same name.
const namesakeSubject = "agenthost.hosts.namesake"

const (
	// askWithin is what the hosts of a fleet have to answer.
	askWithin = time.Second
	// namesakeSaid is how often a host of the same name is logged at most.
	namesakeSaid = time.Minute
)

// A presence is a host that runs, as hosts of the same name need to know it.
type presence struct {
	Host    string    `json:"host"`
	ID      string    `json:"id"` // of this run of the host
	Started time.Time `json:"started"`
}

// metadata is p as a micro service shows it.
func (p presence) metadata() map[string]string {
	return map[string]string{"host": p.Host, "id": p.ID, "started": p.Started.Format(time.RFC3339Nano)}
}

// presenceOf reads metadata; hosts before this version show their name only.
func presenceOf(m map[string]string) presence {
	started, _ := time.Parse(time.RFC3339Nano, m["started"]) // zero: not known
	return presence{Host: m["host"], ID: m["id"], Started: started}
}

// namesakes warns both hosts when two of a fleet have one name: in a log or the
// list of hosts they look like one.
type namesakes struct {
	self presence
	nc   *nats.Conn
	log  zerolog.Logger
}

func newNamesakes(h Host) *namesakes {
	return &namesakes{
		self: presence{h.Name, rand.Text(), h.Started.UTC()}, nc: h.NC,
		log: h.Log.Sample(&zerolog.BurstSampler{Burst: 1, Period: namesakeSaid}),
	}
}

// look asks all hosts for their names, until ctx ends, and notifies those of this
// name that another one has started.
func (n *namesakes) look(ctx context.Context) {
	sub, err := n.nc.SubscribeSync(n.nc.NewInbox())
	if err != nil {
		return // the connection is away, which is logged elsewhere
	}
	defer func() { _ = sub.Unsubscribe() }() // the same
	if err := n.nc.PublishRequest("$SRV.PING."+client.ServiceName, sub.Subject, nil); err != nil {
		return
	}
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return // every host has answered
		}
		var ping micro.Ping
		if json.Unmarshal(msg.Data, &ping) == nil && n.warn(presenceOf(ping.Metadata)) {
			n.tell()
			return
		}
	}
}

func (n *namesakes) tell() {
	data, err := json.Marshal(n.self)
	if err == nil {
		err = n.nc.Publish(namesakeSubject, data)
	}
	if err != nil {
		n.log.Debug().Err(err).Msg("look for hosts of the same name")
	}
}

// heard handles the announcement of a host that has started.
func (n *namesakes) heard(_ context.Context, p presence) error {
	n.warn(p)
	return nil
}

// warn reports whether p is another host of this name, and logs it.
func (n *namesakes) warn(p presence) bool {
	if p.Host != n.self.Host || p.ID == n.self.ID {
		return false
	}
	e := n.log.Warn().Str("host", p.Host).Time("started", n.self.Started)
	if !p.Started.IsZero() {
		e = e.Time("other_started", p.Started)
	}
	e.Msg("another host of this name is running on this NATS; give each a --name of its own")
	return true
}

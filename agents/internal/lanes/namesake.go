package lanes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// namesakePrefix is before the subject on which a host tells one of its name that starts
	// what it tells all on presenceSubject.
	namesakePrefix = "agenthost.hosts.named."
	// namesakeWithin is how long the other host may take to answer. If no host has the name,
	// NATS says so at once, unless it has not noticed yet that a connection is gone.
	namesakeWithin = time.Second
)

// namesakeSubject is the same for hosts of one name in one fleet, and for no others: a name
// may have what a subject may not.
func namesakeSubject(fleet, name string) string {
	sum := sha256.Sum256([]byte(fleet + "\n" + name))
	return namesakePrefix + hex.EncodeToString(sum[:16])
}

// findNamesake asks whether another host of this name is alive, before a lane is taken back from
// it. Then it answers the same question of later hosts, until the spread has run.
func (p *spread) findNamesake(ctx context.Context) {
	if !p.identify(ctx) {
		return
	}
	within, cancel := context.WithTimeout(ctx, namesakeWithin)
	defer cancel()
	if m, err := p.nc.RequestWithContext(within, namesakeSubject(p.roster.fleet, p.set.Host), nil); err == nil {
		p.hear(m.Data)
	}
	p.name()
}

// name has later hosts of this name hear that it is in use in this fleet.
func (p *spread) name() {
	p.unname()
	sub, err := p.nc.Subscribe(namesakeSubject(p.roster.fleet, p.set.Host), func(m *nats.Msg) {
		if data, err := json.Marshal(p.self()); err == nil {
			_ = m.Respond(data) // the one who asks may be gone
		}
	})
	if err != nil {
		p.set.Log.Warn().Err(err).Msg("tell hosts of this name that it is in use: failed")
		return
	}
	p.named = sub
}

func (p *spread) unname() {
	if p.named != nil {
		_ = p.named.Unsubscribe() // the connection may be gone
		p.named = nil
	}
}

// hear takes in what a host says, and whether it has the name of this one.
func (p *spread) hear(data []byte) (stranger bool) {
	stranger = p.roster.hear(data)
	p.namesake.Store(p.roster.knows(p.set.Host))
	return stranger
}

// expire drops the hosts that have said nothing for too long.
func (p *spread) expire() {
	p.roster.expire()
	p.namesake.Store(p.roster.knows(p.set.Host))
}

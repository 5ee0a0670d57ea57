//go:build unix && long

package chaos_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"agenthost/bus"
	"agenthost/heartbeat"
)

// Heartbeats go on while a model call is slow. Once no host serves the agent, the last
// one expires in the stream.
func TestHeartbeatWhileBusy(t *testing.T) {
	t.Parallel()
	m := startModel(t, 30*time.Second)
	_, address := startNATS(t)
	l := openLedger(t, address)
	h := newHost(t, writeWake(t, address, m.url, "  - {id: ana, channels: [chat], heartbeat: {enabled: true, interval: 1s}}\n"), "a")
	h.start()
	await(t, "the host", func() bool { return h.logged(`"ready"`) })
	if err := l.nc.Publish("plugin.inbound.chat", []byte("take your time")); err != nil {
		t.Fatal(err)
	}
	await(t, "the model", func() bool { return m.calling.Load() == 1 })
	sub, err := l.nc.SubscribeSync("agent.events.ana.heartbeat")
	if err != nil {
		t.Fatal(err)
	}
	span := pick(5*time.Second, time.Minute)
	<-time.After(span)
	n, _, err := sub.Pending()
	if err != nil || n < int(span/time.Second)-1 || n > int(span/time.Second)+1 {
		t.Errorf("%d beats in %v, %v", n, span, err)
	}
	beat := heartbeat.Beat{}
	if msg, err := sub.NextMsgWithContext(t.Context()); err != nil || json.Unmarshal(msg.Data, &beat) != nil || beat.Phase != heartbeat.PhaseWorking {
		t.Errorf("beat %+v, %v", beat, err)
	}
	h.kill()
	killed := time.Now()
	stream, err := l.js.Stream(t.Context(), bus.EventsStream)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "no beat in the stream", func() bool {
		_, err := stream.GetLastMsgForSubject(t.Context(), "agent.events.ana.heartbeat")
		return errors.Is(err, jetstream.ErrMsgNotFound)
	})
	if took := time.Since(killed); took > 3*time.Second+time.Second { // the server looks about every second
		t.Errorf("the stream kept the last beat for %v", took)
	}
	t.Logf("%d beats in %v; %v after the kill the stream had none", n, span, time.Since(killed).Round(time.Millisecond))
}

// Two hosts, one of which dies on the way: each tick is heard of once, but for
// those that the dead host may just have been about to tell of: of each agent one at
// most, which was due less than a second before.
func TestTicksAreHeardOnce(t *testing.T) {
	t.Parallel()
	_, address := startNATS(t)
	const agents = 20
	var b strings.Builder
	for i := range agents {
		fmt.Fprintf(&b, "  - {id: a%d, heartbeat: {enabled: true, interval: 1s}}\n", i)
	}
	file := writeWake(t, address, "http://127.0.0.1:1", b.String())
	ticks := filepath.Join(t.TempDir(), "ticks")
	writeFile(t, ticks, "")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var hosts []*process
	for _, name := range []string{"a", "b"} {
		p := newProcess(t, "host-"+name, self, file, name)
		p.env = []string{ticksVar + "=" + ticks}
		p.start()
		await(t, "the host", func() bool { return p.logged(`"ready"`) })
		hosts = append(hosts, p)
	}
	want := pick(10, 20) * agents
	heard := func() int { return len(lines(t, ticks)) }
	await(t, "half of the ticks", func() bool { return heard() > want/2 })
	hosts[0].kill()
	died := time.Now()
	// The other takes over in at most 10 s, and hears of what came meanwhile.
	await(t, "the ticks", func() bool { return heard() > want+10*agents })
	hosts[1].kill()
	seen := map[string]int{}
	last := map[string]time.Time{}
	for _, line := range lines(t, ticks) {
		seen[line]++
		agent, text, _ := strings.Cut(line, " ")
		due, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		before, ok := last[agent]
		underWay := died.Sub(before.Add(time.Second)) // how long, when the host died
		switch {
		case !ok || due.Sub(before) == time.Second:
		case due.Sub(before) == 2*time.Second && underWay >= 0 && underWay < time.Second:
		default:
			t.Errorf("%s: tick %v came after %v; the host died at %v", agent, due, before, died)
		}
		last[agent] = due
	}
	for line, n := range seen {
		if n != 1 {
			t.Errorf("tick %s was heard %d times", line, n)
		}
	}
	t.Logf("%d ticks", len(seen))
}

// Hosts are killed at random: every firing is handled, and handled once. What
// is due while all are down comes once.
func TestFiringsAreHandledOnce(t *testing.T) {
	t.Parallel()
	rng, m := newRand(t), startModel(t, 50*time.Millisecond)
	_, address := startNATS(t)
	l := openLedger(t, address)
	soon := time.Now().Add(5 * time.Second).UTC().Format(time.RFC3339)
	file := writeWake(t, address, m.url, fmt.Sprintf(`  - id: ana
    schedules:
      - {name: often, every: 1s, prompt: do it, to: {channel: chat, to: bea}}
      - {name: once, at: %q, prompt: do it once, to: {channel: chat, to: bea}}
`, soon))
	hosts := []*process{newHost(t, file, "a"), newHost(t, file, "b")}
	for _, h := range hosts {
		h.start()
	}
	await(t, "both hosts", func() bool { return hosts[0].logged(`"ready"`) && hosts[1].logged(`"ready"`) })
	began := time.Now()
	kills := 0
	for time.Since(began) < pick(12*time.Second, time.Minute) {
		<-time.After(time.Second + upTo(rng, 3*time.Second))
		h := hosts[rng.IntN(len(hosts))]
		h.kill()
		h.start()
		kills++
	}
	await(t, "all firings to be handled", func() bool { return l.firings(t, "often").settled() })
	for _, h := range hosts {
		h.kill()
	}
	down := time.Now()
	<-time.After(5 * time.Second) // over five firings
	up := time.Now()
	hosts[0].start()
	await(t, "a firing after the restart", func() bool { return l.firings(t, "often").since(up) > 2 })
	hosts[0].kill()
	hosts[1].start() // what the other left
	await(t, "all firings to be handled", func() bool { return l.firings(t, "often").settled() })
	hosts[1].kill()

	often, once := l.firings(t, "often"), l.firings(t, "once")
	for name, f := range map[string]firings{"often": often, "once": once} {
		for id, n := range f.handled {
			if n != 1 {
				t.Errorf("%s: %s was handled %d times", name, id, n)
			}
		}
	}
	if len(once.handled) != 1 {
		t.Errorf("the firing of a moment: %v", once.handled)
	}
	missed := often.since(down.Add(time.Second)) - often.since(up)
	if missed > 1 {
		t.Errorf("%d firings were made up for", missed)
	}
	ticks := int(time.Since(began)/time.Second) - 5
	t.Logf("%d kills; %d firings of about %d seconds with a host, each handled once; %d made up for", kills, len(often.handled), ticks, missed)
}

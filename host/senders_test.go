package host_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
)

// bound is the demo agent with one binding to the channel demo, whose model says
// what it gets.
func bound(t *testing.T, b agents.Binding) *config.Config {
	t.Helper()
	cfg := scripted(t, `rules: [{text: "${text}"}]`)
	b.Channel = "demo"
	cfg.Agents[0].Channels = []agents.Binding{b}
	return cfg
}

// write publishes messages of a person, with their ids as texts.
func write(t *testing.T, h *host.Host, from string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: id, From: from, Text: id})
	}
}

// allDone waits until the agent has n messages acknowledged.
func allDone(t *testing.T, h *host.Host, n uint64) {
	t.Helper()
	waittest.Until(t, "all acknowledged", func() bool {
		return stored(t, h, bus.InboundStream) == n && ackPending(t, h, "demo") == 0
	})
}

func TestSenderLists(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{Senders: agents.Senders{Allow: []string{"ana", "bob"}, Deny: []string{"bob"}}}))
	write(t, h, "ana", "a1")
	write(t, h, "bob", "b1", "b2")
	write(t, h, "eve", "e1", "e2", "e3")
	write(t, h, "ana", "a2")
	allDone(t, h, 7)
	waittest.Until(t, "two replies and a notice", func() bool { return stored(t, h, bus.OutboundStream) >= 3 })
	var got []string
	for _, out := range published(t, h) {
		got = append(got, out.To+" "+out.Kind+" "+out.InReplyTo)
	}
	slices.Sort(got)
	if want := []string{"ana reply a1", "ana reply a2", "eve notice e1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if list, err := clientOf(h).Pairings(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("pairings without pairing: %+v, %v", list, err)
	}
}

// Who may not write is told of nothing that is wrong with a message either.
func TestUnusableMessagesOfWhoMayNotWrite(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{
		Senders: agents.Senders{Allow: []string{"ana", "cyd"}, Deny: []string{"bob"}},
		Rate:    agents.Rate{Messages: 4, Per: time.Hour, Over: agents.RateRefuse},
	}))
	for _, from := range []string{"bob", "eve", "ana"} {
		for _, rest := range []string{
			`"id":"` + strings.Repeat("x", 300) + `","text":"hi"`, `"id":"2"`, `"id":"3","priority":"zz","text":"hi"`, `"id":"4","text":"hi","agent":"nobody"`,
		} {
			publish(t, h.Bus().NC, "plugin.inbound.demo", json.RawMessage(`{"from":"`+from+`",`+rest+`}`))
		}
	}
	for range 5 {
		publish(t, h.Bus().NC, "plugin.inbound.demo", json.RawMessage(`{"from":"cyd","priority":"zz","text":"hi"}`))
	}
	allDone(t, h, 17)
	waittest.Until(t, "errors and a notice", func() bool { return stored(t, h, bus.OutboundStream) >= 10 })
	got := map[string]int{}
	for _, out := range published(t, h) {
		word := out.To + " " + out.Kind
		if out.Error != nil {
			word += " " + out.Error.Code
		}
		got[word]++
	}
	want := map[string]int{"ana error validation": 3, "ana error tool_unavailable": 1, "eve notice": 1, "cyd error validation": 4, "cyd error rate_limited": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := stored(t, h, bus.DeadStream); n != 8 {
		t.Errorf("%d dead letters, want those of who may write", n)
	}
}

var pairingCode = regexp.MustCompile(`\b[A-Z2-9]{8}\b`)

func TestPairing(t *testing.T) {
	t.Parallel()
	cfg := bound(t, agents.Binding{Senders: agents.Senders{Pairing: true, Deny: []string{"bob"}}})
	h, stop := start(t, cfg)
	write(t, h, "eve", "e1", "e2")
	write(t, h, "bob", "b1")
	allDone(t, h, 3)
	waittest.Until(t, "a notice", func() bool { return stored(t, h, bus.OutboundStream) == 1 })
	notice := published(t, h)[0]
	code := pairingCode.FindString(notice.Text)
	if notice.Kind != bus.KindNotice || notice.To != "eve" || code == "" || !notice.Final {
		t.Fatalf("got %+v", notice)
	}
	c := clientOf(h)
	if _, err := c.ApprovePairing(t.Context(), "AAAAAAAA", "root"); err == nil {
		t.Error("a wrong code is approved")
	}
	if _, err := c.ApprovePairing(t.Context(), code, "root"); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "eve is told", func() bool { return stored(t, h, bus.OutboundStream) == 2 })
	write(t, h, "eve", "e3")
	waittest.Until(t, "a reply", func() bool { return stored(t, h, bus.OutboundStream) == 3 })
	if last := published(t, h)[2]; last.Kind != bus.KindReply || last.Text != "e3" {
		t.Errorf("got %+v", last)
	}
	// It holds for another host, and ends when it is taken back.
	stop()
	h, _ = start(t, cfg)
	write(t, h, "eve", "e4")
	waittest.Until(t, "a reply", func() bool { return stored(t, h, bus.OutboundStream) == 4 })
	if _, err := clientOf(h).RevokePairing(t.Context(), "", "demo/eve"); err != nil {
		t.Fatal(err)
	}
	written := 1
	waittest.Until(t, "eve is not answered", func() bool {
		before := stored(t, h, bus.OutboundStream)
		write(t, h, "eve", fmt.Sprint("e5-", written))
		written++
		allDone(t, h, uint64(written+4))
		return stored(t, h, bus.OutboundStream) == before
	})
	for _, out := range published(t, h)[1:] {
		if pairingCode.MatchString(out.Text) {
			t.Errorf("a second notice within the hour: %+v", out)
		}
	}
}

func TestRateRefuses(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{Rate: agents.Rate{Messages: 2, Per: time.Hour, Over: agents.RateRefuse}}))
	write(t, h, "ana", "m0", "m1", "m2", "m3")
	waittest.Until(t, "all answered", func() bool { return stored(t, h, bus.OutboundStream) >= 4 })
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "stop", From: "ana", Text: "/stop"})
	allDone(t, h, 5)
	waittest.Until(t, "all answered", func() bool { return stored(t, h, bus.OutboundStream) >= 5 })
	var got []string
	for _, out := range published(t, h) {
		word := out.InReplyTo + " " + out.Kind
		if out.Error != nil {
			word += " " + out.Error.Code
		}
		if !out.Final {
			t.Errorf("not final: %+v", out)
		}
		got = append(got, word)
	}
	slices.Sort(got)
	if want := "m0 reply,m1 reply,m2 error rate_limited,m3 error rate_limited,stop"; !strings.HasPrefix(strings.Join(got, ","), want) {
		t.Errorf("got %q, want %s", got, want)
	}
}

// Over the rate people can still stop what runs and answer what is asked.
func TestRateLetsOrdersPass(t *testing.T) {
	t.Parallel()
	cfg := bound(t, agents.Binding{Rate: agents.Rate{Messages: 1, Per: time.Hour}})
	h, _ := start(t, cfg)
	write(t, h, "ana", "m0", "m1")
	waittest.Until(t, "a reply and a notice", func() bool { return stored(t, h, bus.OutboundStream) == 2 })
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "w", From: "ana", Withdraws: "m1"})
	allDone(t, h, 3)
}

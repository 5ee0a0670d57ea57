package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats.go"
)

func isNameError(err error) bool {
	_, ok := errors.AsType[*NameError](err)
	return ok
}

func TestParseParty(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"apples":               "route/cli/apples",
		"route/cli/apples":     "route/cli/apples",
		"route/chat-bob/x":     "route/chat-bob/x",
		"route/a%2Fb/c%25d":    "route/a%2Fb/c%25d",
		"apples and/or pears!": "route/cli/apples and%2For pears!",
	} {
		p, err := ParseParty(text, "cli")
		if got := RouteKey(p.From, p.Session); err != nil || got != want {
			t.Errorf("%q: got %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"route/cli", "route//x", "route/cli/", "route/cli/a/b", "route/%zz/x", "web/dm/7", "web.sales/group/-100"} {
		if p, err := ParseParty(text, "cli"); !isNameError(err) || !strings.Contains(err.Error(), "want a name, or a key such as route/cli/apples") {
			t.Errorf("%q: got %v, %v", text, p, err)
		}
	}
}

// What NATS has not confirmed, as one that dies at that moment, is sent again: its id makes it
// one message.
func TestMessageIsSentUntilItIsConfirmed(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	var ids []string
	_, err := b.NC.Subscribe("agent.route.ana", func(m *nats.Msg) { // in the place of the stream
		ids = append(ids, m.Header.Get(nats.MsgIdHdr))
		if len(ids) == 2 {
			_ = m.Respond([]byte(`{"stream":"AGENT_ROUTE","seq":7}`))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	c := New(b.NC, b.JS, Options{}).Conversation("ana", Party{})
	got, err := c.Send(t.Context(), Message{ID: "m1", Text: "hello"})
	if err != nil || got.Seq != 7 || !slices.Equal(ids, []string{"m1", "m1"}) {
		t.Errorf("got %+v, %v; sent %q", got, err, ids)
	}
}

// While NATS is away that is said, not what nats.go calls it.
func TestMessageWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	url, srv := bustest.Server(t)
	nc, js, err := bus.Dial(t.Context(), bus.Config{URL: url}, "cli", bustest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	srv.Stop()
	bustest.Eventually(t, "the connection is lost", func() bool { return !nc.IsConnected() })
	_, err = New(nc, js, Options{}).Conversation("ana", Party{}).Send(t.Context(), Message{ID: "m1", Text: "hello"})
	if want := "send to ana: NATS is away at the moment, so nothing was sent; try again once it is back"; err == nil || err.Error() != want || !bus.Away(err) {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = New(nc, js, Options{}).Hosts(t.Context())
	if want := "ask hosts: NATS is away at the moment"; err == nil || !strings.HasPrefix(err.Error(), want) || !bus.Away(err) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What NATS does not take is said with its size and the bound.
func TestMessageThatIsTooLarge(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	most := int(b.NC.MaxPayload())
	_, err := New(b.NC, b.JS, Options{}).Conversation("ana", Party{}).Send(t.Context(), Message{ID: "m1", Text: strings.Repeat("x", most)})
	if want := fmt.Sprintf("and this NATS takes %d in a message; shorten it", most); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Where NATS confirms nothing, that is said, and what it means.
func TestMessageThatIsNotConfirmed(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		if _, err := b.NC.Subscribe("agent.route.ana", func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
		_, err := New(b.NC, b.JS, Options{}).Conversation("ana", Party{}).Send(t.Context(), Message{ID: "m1", Text: "hello"})
		if want := "send to ana: NATS has not confirmed it within 30s; it may be stored all the same"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

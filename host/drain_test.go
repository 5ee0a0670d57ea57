package host_test

import (
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/host"
	"agenthost/host/hosttest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Each request to drain a host is answered: every host says what is wrong with one that
// cannot be read, and that there is no such host, but not while another one has that name.
func TestDrainIsAnswered(t *testing.T) {
	url, _ := bustest.Server(t)
	start := func(name string) {
		cfg := hosttest.Demo(t)
		cfg.NATS = bus.Config{URL: url}
		cfg.NATS.Embedded.Store = t.TempDir()
		hosttest.Start(t, host.Options{Config: cfg, Name: name, Log: bustest.Log(t)})
	}
	start("blue")
	start("green")
	nc := bustest.OpenConfig(t, bus.Config{URL: url}).NC
	var sub *nats.Subscription
	answers := func(request string, n int) (list []*nats.Msg) {
		t.Helper()
		var err error
		sub, err = nc.SubscribeSync(nc.NewInbox())
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.PublishRequest(client.DrainSubject, sub.Subject, []byte(request)); err != nil {
			t.Fatal(err)
		}
		for range n {
			msg, err := sub.NextMsgWithContext(bustest.Context(t))
			if err != nil {
				t.Fatalf("%s: %d answers, want %d: %v", request, len(list), n, err)
			}
			list = append(list, msg)
		}
		return list
	}
	for request, code := range map[string]string{
		``: client.CodeBad, `{"host":`: client.CodeBad, `{"host":7}`: client.CodeBad,
		`{}`: client.CodeNotFound, `{"host":"zz"}`: client.CodeNotFound,
	} {
		for _, msg := range answers(request, 2) {
			if got := msg.Header.Get(micro.ErrorCodeHeader); got != code || msg.Header.Get(micro.ErrorHeader) == "" {
				t.Errorf("%s: got %v, want code %s", request, msg.Header, code)
			}
		}
	}
	if msg := answers(`{"host":"green"}`, 1)[0]; msg.Header.Get(micro.ErrorCodeHeader) != "" || string(msg.Data) != `{"ok":true}` {
		t.Errorf("got %v %s, want that green ends", msg.Header, msg.Data)
	}
	if err := client.New(nc, nil, client.Options{}).Left(t.Context(), "green"); err != nil {
		t.Fatal(err)
	}
	if n, _, err := sub.Pending(); n > 0 || err != nil {
		t.Errorf("got a second answer: %d, %v", n, err)
	}
}

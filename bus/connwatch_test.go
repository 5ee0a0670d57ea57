package bus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/natsserver"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

func TestErrorsAreLoggedWithoutAFlood(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "ann", Password: "s3cret", Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Deny: []string{"denied"}},
			Subscribe: &server.SubjectPermission{Deny: []string{"denied"}},
		}}}
	})
	var log bustest.LogBuffer
	cfg := bus.Config{URL: url, User: "ann", Password: "s3cret"}
	b, err := bus.Open(bus.Options{Log: zerolog.New(&log), Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.NC.SubscribeSync("denied"); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if err := b.NC.Publish("denied", nil); err != nil {
			t.Fatal(err)
		}
	}
	b.Close() // sends it all, and logs what comes back
	lines := strings.Count(log.String(), "\n")
	if lines == 0 || lines > 50 {
		t.Errorf("500 errors made %d log lines, want a few: %s", lines, log.String())
	}
	for _, want := range []string{`to \"denied\"`, "agenthost nats-permissions"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log: got %s, want %s in it", log.String(), want)
		}
	}
	if strings.Contains(log.String(), "s3cret") {
		t.Errorf("the log shows the password: %s", log.String())
	}
}

// A user whose name is in the URL is one: nothing is asked that its permissions may lack.
func TestUserOfTheURLIsNotAnonymous(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "ann", Password: "s3cret", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$SYS.>"}},
		}}}
	})
	var log bustest.LogBuffer
	b, err := bus.Open(bus.Options{Log: zerolog.New(&log), Config: bus.Config{URL: strings.Replace(url, "nats://", "nats://ann:s3cret@", 1)}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if bus.Anonymous(ctx, b.NC) {
		t.Error("got that it is anonymous")
	}
	if err := b.Healthy(t.Context()); err != nil { // a round trip: a refusal has arrived
		t.Fatal(err)
	}
	if err := b.Denied(); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestSlowConsumerIsNamed(t *testing.T) {
	t.Parallel()
	var log bustest.LogBuffer
	b, err := natsserver.Open(t.Context(), bus.Options{Log: zerolog.New(&log), Config: bustest.Config(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	sub, err := b.NC.SubscribeSync("busy.subject")
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.SetPendingLimits(1, -1); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := b.NC.Publish("busy.subject", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Healthy(t.Context()); err != nil { // a round trip: they have arrived
		t.Fatal(err)
	}
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if !strings.Contains(log.String(), `"subject":"busy.subject"`) {
		t.Errorf("log: got %s, want the subject of the slow consumer", log.String())
	}
}

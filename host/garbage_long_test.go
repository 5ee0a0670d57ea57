//go:build long

package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agenthost/client"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"golang.org/x/sync/errgroup"
)

// subjectsOfServices are where a host takes requests.
func subjectsOfServices(t *testing.T, nc *nats.Conn, services ...string) (subjects []string) {
	t.Helper()
	for _, name := range services {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		msg, err := nc.RequestWithContext(ctx, "$SRV.INFO."+name, nil)
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		info := micro.Info{}
		if err := json.Unmarshal(msg.Data, &info); err != nil {
			t.Fatal(err)
		}
		for _, e := range info.Endpoints {
			subjects = append(subjects, e.Subject)
		}
	}
	return subjects
}

// Whatever a request holds, the one who sent it hears of it, and the host goes on.
func TestEveryRequestWithGarbageIsAnswered(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	broken := []string{`{`, `{"agent":`, `[1`, `"demo`, "\xff\x00", `{"agent":"demo"} more`, "hello", `[]`, `"demo"`, `1e400`, strings.Repeat("[", 100_000)}
	odd := []string{
		``, `null`, `{}`, `true`, `{"agent":1}`, `{"agent":"*"}`, `{"agent":">"}`, `{"agent":"a.b","session":"x"}`, `{"agent":"nope","session":"nope"}`, `{"id":"\u0000"}`,
		`{"agent":"demo","session":"*"}`, `{"session":"` + strings.Repeat("x", 10_000) + `"}`, `{"limit":-1,"after":-1,"since":"yesterday"}`, `{"limit":9223372036854775807}`,
	}
	takeNothing := map[string]bool{ // whatever comes is a request
		client.StatusSubject: true, client.ChannelsSubject: true, client.ReloadSubject: true, client.RunsSubject: true,
		"agenthost.fleet": true, "agenthost.models": true, "agenthost.tokens.ls": true, "agenthost.pauses.ls": true,
	}
	isPlay := func(subject string) bool { return strings.HasPrefix(subject, "agents.") } // any text is a prompt
	var all errgroup.Group
	all.SetLimit(100)
	for _, subject := range subjectsOfServices(t, nc, "agenthost", "agents") {
		for i, data := range append(broken, odd...) {
			silent := subject == client.StreamSubject && strings.Contains(data, `"session":`) && strings.Contains(data, `"agent":`)
			notice := i >= len(broken) && (subject == client.DropSessionSubject || subject == "agenthost.hosts.namesake") // and a good one
			if silent || notice {
				continue
			}
			all.Go(func() error {
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				defer cancel()
				shown := data[:min(len(data), 40)]
				msg, err := nc.RequestWithContext(ctx, subject, []byte(data))
				if err != nil {
					t.Errorf("%s with %q: %v", subject, shown, err)
					return nil
				}
				code, text := msg.Header.Get(micro.ErrorCodeHeader), msg.Header.Get(micro.ErrorHeader)
				if i < len(broken) && !takeNothing[subject] && !isPlay(subject) && (code != client.CodeBad || text == "") {
					t.Errorf("%s with %q: got code %q, %q, want %s and why", subject, shown, code, text, client.CodeBad)
				}
				return nil
			})
		}
	}
	_ = all.Wait()
	if _, err := client.New(nc, h.Bus().JS, client.Options{}).EveryHost(t.Context()); err != nil {
		t.Errorf("the host afterwards: %v", err)
	}
}

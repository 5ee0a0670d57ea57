//go:build long

package client_test

import (
	"errors"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/client"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What NATS has refused before says nothing of a question that it lets through: there is no host then.
func TestQuestionThatWasRefusedBefore(t *testing.T) {
	t.Parallel()
	may := func(deny ...string) func(*server.Options) {
		return func(o *server.Options) {
			o.Users = []*server.User{{Username: "ana", Password: "s3cret", Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Allow: []string{">"}, Deny: deny},
			}}}
		}
	}
	url, srv := bustest.Server(t, may(client.ChannelsSubject, client.RunsSubject))
	nc, err := nats.Connect(url, nats.UserInfo("ana", "s3cret"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(nc, js, client.Options{})
	for range 2 {
		if _, err := c.Channels(t.Context()); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("channels: got %v, want a refusal", err)
		}
		if _, err := c.Runs(t.Context()); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("runs: got %v, want a refusal", err)
		}
	}
	srv.Reload(may("nothing"))
	if _, err := c.Runs(t.Context()); errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("runs: got %v, want no refusal", err)
	}
	if _, err := c.Channels(t.Context()); !errors.Is(err, client.ErrNoHost) {
		t.Errorf("channels: got %v, want %v", err, client.ErrNoHost)
	}
}

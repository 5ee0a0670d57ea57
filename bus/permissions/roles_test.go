package permissions_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/permissions"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What a role may do is enough, also for what is so long that the server sends it
// in parts.
func TestPermissionsOfRoles(t *testing.T) {
	user := func(name, role string) *server.User {
		r, err := permissions.RoleOf(role, permissions.Fleet{})
		if err != nil {
			t.Fatal(err)
		}
		return &server.User{Username: name, Password: "secret", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: r.Publish}, Subscribe: &server.SubjectPermission{Allow: r.Subscribe},
		}}
	}
	url, _ := bustest.Server(t, func(o *server.Options) {
		o.Users = []*server.User{user("host", "host"), user("plugin", "plugin:web")}
	})
	as := func(name, inbox string) *bus.Bus {
		b, err := bustest.TryOpen(t, bus.Config{URL: url, User: name, Password: "secret", InboxPrefix: inbox})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := as("host", "_INBOX_host")
	bustest.Provision(t, b.JS)
	advisories, err := b.NC.SubscribeSync("$JS.EVENT.ADVISORY.STREAM.*.*")
	if err != nil {
		t.Fatal(err)
	}
	defer advisories.Unsubscribe()

	const entries = 4000
	for range entries {
		if _, err := b.JS.PublishAsync("$KV."+bus.WaitingBucket+"."+b.NC.NewInbox(), bytes.Repeat([]byte("x"), 1000)); err != nil {
			t.Fatal(err)
		}
	}
	<-b.JS.PublishAsyncComplete()
	bucket, err := b.JS.KeyValue(t.Context(), bus.WaitingBucket)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := bucket.WatchAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	tooLong := time.After(30 * time.Second)
	for n := 0; ; n++ {
		var entry jetstream.KeyValueEntry
		select {
		case entry = <-watch.Updates():
		case <-tooLong:
			t.Fatalf("got %d entries in 30 s; %v", n, b.NC.LastError())
		}
		if entry == nil {
			if n != entries {
				t.Errorf("got %d entries, want %d", n, entries)
			}
			break
		}
	}
	if err := b.NC.LastError(); err != nil {
		t.Errorf("a host: %v", err)
	}

	plugin := as("plugin", "_INBOX_plugin_web")
	files, err := plugin.JS.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	film := bytes.Repeat([]byte("film"), 4<<20)
	if _, err := files.PutBytes(t.Context(), "film", film); err != nil {
		t.Fatal(err)
	}
	if got, err := files.GetBytes(t.Context(), "film"); err != nil || !bytes.Equal(got, film) {
		t.Errorf("got %d bytes of %d, %v; %v", len(got), len(film), err, plugin.NC.LastError())
	}
}

// A responder of a hook answers, and reads what did not fit into the request.
func TestPermissionsOfAHook(t *testing.T) {
	t.Parallel()
	role, err := permissions.RoleOf("hook:acme.guard", permissions.Fleet{})
	if err != nil {
		t.Fatal(err)
	}
	url, _ := bustest.Server(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "host", Password: "secret"}, {Username: "guard", Password: "secret", Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: role.Publish},
			Subscribe: &server.SubjectPermission{Allow: role.Subscribe},
			Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute},
		}}}
	})
	b := bustest.OpenConfig(t, bus.Config{URL: url, User: "host", Password: "secret"})
	bustest.Provision(t, b.JS)
	guard, err := bustest.TryOpen(t, bus.Config{URL: url, User: "guard", Password: "secret", InboxPrefix: role.InboxPrefix})
	if err != nil {
		t.Fatal(err)
	}
	_, err = guard.NC.Subscribe("acme.guard", func(m *nats.Msg) {
		files, err := guard.JS.ObjectStore(t.Context(), bus.FilesBucket)
		var data []byte
		if err == nil {
			data, err = files.GetBytes(t.Context(), string(m.Data))
		}
		if err == nil {
			err = m.Respond(data[:6])
		}
		if err != nil {
			t.Errorf("%v; %v", err, guard.NC.LastError())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.NC.Flush(); err != nil {
		t.Fatal(err)
	}
	name, err := filestore.New(b.JS).Lend(t.Context(), bytes.Repeat([]byte("casino"), 100<<10))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if answer, err := b.NC.RequestWithContext(ctx, "acme.guard", []byte(name)); err != nil || string(answer.Data) != "casino" {
		t.Errorf("got %v, %v; %v", answer, err, guard.NC.LastError())
	}
	if _, err := permissions.RoleOf("hook:acme.>", permissions.Fleet{}); err == nil {
		t.Error("a wildcard is taken for the subject of a hook")
	}
}

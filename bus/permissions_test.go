package bus_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// documented are the subjects between two texts of docs/operations.md.
func documented(t *testing.T, from, to string) []string {
	t.Helper()
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), from)
	text, _, ended := strings.Cut(text, to)
	if !found || !ended {
		t.Fatalf("docs/operations.md has nothing between %q and %q", from, to)
	}
	var subjects []string
	for _, m := range regexp.MustCompile("`([^` ]+)`").FindAllStringSubmatch(text, -1) {
		subjects = append(subjects, m[1])
	}
	return subjects
}

// The permissions that the documentation gives are enough, also for what is so
// long that the server sends it in parts.
func TestDocumentedPermissions(t *testing.T) {
	may := func(publish, subscribe []string) *server.Permissions {
		return &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: publish},
			Subscribe: &server.SubjectPermission{Allow: subscribe},
		}
	}
	host := documented(t, "A host needs all of", "and the subjects of")
	media := append(documented(t, "for media it needs the object store:", "Who may do so"), "$JS.API.INFO")
	url, _ := bustest.Server(t, func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "host", Password: "secret", Permissions: may(host, host)},
			{Username: "plugin", Password: "secret", Permissions: may(media, []string{"_INBOX.>"})},
		}
	})
	as := func(name string) *bus.Bus {
		b, err := open(t, bus.Config{URL: url, User: name, Password: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := as("host")
	provision(t, b.JS)
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

	plugin := as("plugin")
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

package natscontext_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/internal/natscontext"

	"github.com/google/go-cmp/cmp"
)

// A context has what leads to the NATS of a configuration, with whole paths, or the reason
// why nothing does.
func TestOf(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	store, listen := t.TempDir(), func(address string) *string { return &address }
	running := t.TempDir() // the folder of a host that runs, and listens at a free port
	for file, text := range map[string]string{
		filepath.Join(store, "token"): "s3cret\n", filepath.Join(running, "token"): "s3cret\n", filepath.Join(running, "address"): "127.0.0.1:4999\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const about = "NATS of agenthost"
	embedded := func(address string) bus.Config {
		return bus.Config{Embedded: bus.Embedded{Store: store, Listen: listen(address)}}
	}
	tests := map[string]struct {
		cfg   bus.Config
		want  natscontext.Context
		fault string
	}{
		"a server":          {cfg: bus.Config{URL: "nats://kiwi:4222", Creds: "a.creds", Domain: "hub"}, want: natscontext.Context{Description: about, URL: "nats://kiwi:4222", Creds: filepath.Join(here, "a.creds"), Domain: "hub"}},
		"embedded":          {cfg: embedded("127.0.0.1:4333"), want: natscontext.Context{Description: about, URL: "nats://127.0.0.1:4333", User: "agenthost", Password: "s3cret"}},
		"on all addresses":  {cfg: embedded("0.0.0.0:4333"), want: natscontext.Context{Description: about, URL: "nats://127.0.0.1:4333", User: "agenthost", Password: "s3cret"}},
		"without a port":    {cfg: embedded(""), fault: "nats.embedded.listen is"},
		"any port":          {cfg: embedded("127.0.0.1:0"), fault: "a new port at each start"},
		"its port":          {cfg: bus.Config{Embedded: bus.Embedded{Store: running, Listen: listen("127.0.0.1:0")}}, want: natscontext.Context{Description: about, URL: "nats://127.0.0.1:4999", User: "agenthost", Password: "s3cret"}},
		"of a context":      {cfg: bus.Config{Context: "kiwi"}, fault: "uses the NATS context kiwi already"},
		"before it has run": {cfg: bus.Config{Embedded: bus.Embedded{Store: t.TempDir(), Listen: listen("127.0.0.1:4333")}}, fault: "there is no token in"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := natscontext.Of(tt.cfg)
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("got %v, want %q", err, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A context is for its user alone, also where a file was there that others read.
func TestWrite(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	folder, err := natscontext.FolderOf(func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": home}[name]
	})
	if err != nil || string(folder) != filepath.Join(home, "nats") {
		t.Fatalf("got %s, %v", folder, err)
	}
	want := natscontext.Context{URL: "nats://kiwi:4222", User: "u", Password: "p"}
	for range 2 {
		if err := folder.Write("kiwi", &want, true); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(folder.File("kiwi"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("got %v, %v", info.Mode(), err)
		}
		if err := os.Chmod(folder.File("kiwi"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got natscontext.Context
	data, err := os.ReadFile(folder.File("kiwi"))
	if err != nil || json.Unmarshal(data, &got) != nil || got != want {
		t.Errorf("got %s, %v", data, err)
	}
	if selected, err := os.ReadFile(filepath.Join(home, "nats", "context.txt")); string(selected) != "kiwi" {
		t.Errorf("selected is %q, %v", selected, err)
	}
}

package host_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// A watchedFolder is a host that follows the files of a folder.
type watchedFolder struct {
	t      *testing.T
	dir    string
	events *nats.Subscription // of reloads
}

// startWatched starts a host with agenthost.yaml, in which agents are, at path below a
// folder. prepare may lay out more first.
func startWatched(t *testing.T, path, agents string, prepare func(*watchedFolder)) *watchedFolder {
	t.Helper()
	w := &watchedFolder{t: t, dir: t.TempDir()}
	w.write("agenthost.yaml", "nats: {embedded: {listen: \"\", store: "+t.TempDir()+"}}\nhttp: {listen: \"\"}\n"+
		"models: {main: {provider: echo}}\nagents: ["+agents+"]\n")
	if prepare != nil {
		prepare(w)
	}
	path = filepath.Join(w.dir, path)
	cfg, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	h := startWith(t, host.Options{Config: cfg, Path: path, Log: zerolog.Nop()})
	if w.events, err = h.Bus().NC.SubscribeSync("agent.events.*.reload"); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watchedFolder) write(name, text string) {
	w.t.Helper()
	name = filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// changed waits until an agent was added, changed or removed.
func (w *watchedFolder) changed(agent string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), waittest.Within)
	defer cancel()
	for {
		msg, err := w.events.NextMsgWithContext(ctx)
		if err != nil {
			w.t.Fatalf("no reload of %s: %v", agent, err)
		}
		if msg.Subject == "agent.events."+agent+".reload" {
			return
		}
	}
}

// A folder that the configuration names only since a reload is followed from then on.
func TestWatchFollowsFoldersOfAReload(t *testing.T) {
	t.Parallel()
	w := startWatched(t, "", "{id: ana}", nil)
	w.write("prompts/bob.md", "Be brief.")
	w.write("agents/bob.md", "---\ninstruction_files: [prompts/bob.md]\n---\nYou are Bob.\n")
	w.changed("bob")
	w.write("prompts/bob.md", "Be kind.")
	w.changed("bob")
}

// A configuration that is a link to a file elsewhere is followed there.
func TestWatchFollowsFilesBehindLinks(t *testing.T) {
	t.Parallel()
	w := startWatched(t, "etc", "{id: ana}", func(w *watchedFolder) {
		w.write("shared/bob.yaml", "agents: [{id: bob}]\n")
		for link, target := range map[string]string{"etc/agenthost.yaml": "../agenthost.yaml", "etc/agents.d/bob.yaml": "../../shared/bob.yaml"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(w.dir, link)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, filepath.Join(w.dir, link)); err != nil {
				t.Fatal(err)
			}
		}
	})
	w.write("shared/bob.yaml", "agents: [{id: bob, instructions: Be brief.}]\n")
	w.changed("bob")
}

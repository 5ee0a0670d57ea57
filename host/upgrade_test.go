package host_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go/jetstream"
)

// testdata/v0.1/store.tar.gz is the folder of a host of version 0.1, killed by SIGKILL
// while a schedule, two reminders, three approvals and questions, a delegate and three
// jobs waited. Its AGENT_ROUTES keeps messages for ever, so that the jobs are in it
// still. Do not make it again: it is what that version wrote.
func startOldStore(t *testing.T) (h *host.Host, again func() *host.Host) {
	t.Helper()
	dir := t.TempDir()
	unpack(t, filepath.Join("testdata", "v0.1", "store.tar.gz"), dir)
	script, err := os.ReadFile(filepath.Join(dir, "play.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	quick := strings.Replace(string(script), "  - {when: job, delay: 1h, text: never}\n", "", 1) // the jobs it was at
	if err := os.WriteFile(filepath.Join(dir, "play.yaml"), []byte(quick), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func() *config.Config {
		cfg, err := config.Load(filepath.Join(dir, "agenthost.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		none := ""
		cfg.NATS.Embedded = bus.Embedded{Store: filepath.Join(dir, "data"), Listen: &none}
		return cfg
	}
	h, stop := startNamed(t, load(), "old")
	return h, func() *host.Host {
		stop()
		h, _ := startNamed(t, load(), "old")
		return h
	}
}

func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(zipped); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(head.Name))
		if head.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else {
			var data []byte
			if data, err = io.ReadAll(files); err == nil {
				err = os.WriteFile(path, data, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// storedOn are the messages of a subject that a stream has.
func storedOn[T any](t *testing.T, h *host.Host, stream, subject string) (list []T) {
	t.Helper()
	for rec, err := range records.NewReader(h.Bus().JS).Tail(t.Context(), stream, subject, 1) {
		var v T
		if err == nil {
			err = json.Unmarshal(rec.Data, &v)
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// wantReply waits for a reply, and returns how often it is there.
func wantReply(t *testing.T, h *host.Host, channel, session, text string) (times int) {
	t.Helper()
	waittest.Until(t, text, func() bool {
		times = 0
		for _, out := range storedOn[bus.Outbound](t, h, bus.OutboundStream, "plugin.outbound."+channel) {
			if out.Session == session && strings.Contains(out.Text, text) {
				times++
			}
		}
		return times > 0
	})
	return times
}

func TestStoreOfVersion01(t *testing.T) {
	t.Parallel()
	h, again := startOldStore(t)
	wantWaiting(t, h)
	wantSchedules(t, h)

	wantReply(t, h, "web", "schedule/often", "heard often")
	wantReply(t, h, "web", "web/dm/7", "Remind of this now: call mum")
	wantReply(t, h, "late", "late/dm/7", "write_file: not approved: no answer came before the deadline, so it was not run")
	waittest.Until(t, "the jobs", func() bool {
		return len(storedOn[bus.Route](t, h, bus.RoutesStream, "agent.route.desk")) == 3
	})
	publish(t, h.Bus().NC, "plugin.inbound.web", bus.Inbound{ID: "m3", From: "8", Text: "approve"})
	publish(t, h.Bus().NC, "plugin.inbound.web", bus.Inbound{ID: "m4", From: "9", Text: "number three"})
	wantReply(t, h, "web", "web/dm/8", "write_file: wrote")
	wantReply(t, h, "web", "web/dm/9", "bob: person: number three")

	h = again() // and once is once
	publish(t, h.Bus().NC, "plugin.inbound.web", bus.Inbound{ID: "m5", From: "8", Text: "the end"})
	wantReply(t, h, "web", "web/dm/8", "heard the end")
	for session, text := range map[string]string{"web/dm/7": "call mum", "web/dm/8": "write_file: wrote", "web/dm/9": "bob: person"} {
		if n := wantReply(t, h, "web", session, text); n != 1 {
			t.Errorf("%s hears %q %d times", session, text, n)
		}
	}
	var texts []string
	for _, r := range storedOn[bus.Route](t, h, bus.RoutesStream, "agent.route.desk") {
		texts = append(texts, r.Text)
	}
	slices.Sort(texts)
	if want := []string{"heard job one", "heard job two", "heard job without id"}; !slices.Equal(texts, want) {
		t.Errorf("results: got %q, want %q", texts, want)
	}
}

// wantWaiting checks what is open after the deadline of one approval has passed, and
// that the rest has its own.
func wantWaiting(t *testing.T, h *host.Host) {
	t.Helper()
	var open []string
	waittest.Until(t, "what waits", func() bool {
		all, err := agents.AllWaiting(t.Context(), h.Bus().JS)
		if err != nil {
			t.Fatal(err)
		}
		open = nil
		for _, w := range all {
			open = append(open, w.Agent+" "+w.Kind)
		}
		slices.Sort(open)
		return slices.Equal(open, []string{"ana approval", "ana delegate", "bob question"})
	})
	held := 0
	for range storedOn[bus.Route](t, h, bus.SchedulesStream, "agent.schedule.*.*") {
		held++
	}
	if held < len(open)+2 { // and the schedules
		t.Errorf("%d schedules are held", held)
	}
}

// wantSchedules checks that those far away are there, and for whom.
func wantSchedules(t *testing.T, h *host.Host) {
	t.Helper()
	entries, err := heartbeat.Entries(t.Context(), h.Bus().JS)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := h.Bus().JS.Stream(t.Context(), bus.SchedulesStream)
	if err != nil {
		t.Fatal(err)
	}
	far := 0
	for _, e := range entries {
		if e.Name != "yearly" && !strings.Contains(e.Prompt, "candles") {
			continue
		}
		far++
		waittest.Until(t, e.Name+" is held", func() bool {
			msg, err := stream.GetLastMsgForSubject(t.Context(), e.Subject())
			return err == nil && msg.Header.Get(jetstream.ScheduleTargetHeader) == bus.DuePrefix+"ana" && e.Next.After(time.Now())
		})
	}
	if far != 2 {
		t.Errorf("got %d of 2 schedules in %v", far, entries)
	}
}

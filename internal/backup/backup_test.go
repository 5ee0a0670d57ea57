package backup_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"
	"agenthost/internal/backup"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// fill makes a fleet's streams and puts something into each kind.
func fill(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	bustest.Provision(t, js)
	fillStreams(t, js)
}

func fillStreams(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for i := range 20 {
		bustest.Publish(t, js, "plugin.inbound.web", fmt.Sprintf(`{"id":"m%d","text":"hello %d"}`, i, i))
		bustest.Publish(t, js, "agent.session.ana.aaa", fmt.Sprintf("commit %d", i))
	}
	stream, err := js.Stream(t.Context(), bus.InboundStream)
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{7, 19, 20} { // gaps, one of them at the end
		if err := stream.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	lane, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: "lane-00", AckPolicy: jetstream.AckExplicitPolicy, FilterSubjects: []string{"plugin.inbound.web"}, MaxAckPending: 100,
		PriorityPolicy: jetstream.PriorityPolicyPinned, PriorityGroups: []string{"owner"}, PinnedTTL: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := lane.Fetch(5, jetstream.FetchPriorityGroup("owner"))
	if err != nil {
		t.Fatal(err)
	}
	for msg := range batch.Messages() {
		if meta, _ := msg.Metadata(); meta.Sequence.Stream != 3 { // 1, 2, 4 and 5 are done
			if err := msg.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	kv, err := js.KeyValue(t.Context(), bus.MemoryBucket)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := kv.Put(t.Context(), fmt.Sprintf("k%d", i%3), fmt.Appendf(nil, "note %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := kv.Delete(t.Context(), "k1"); err != nil {
		t.Fatal(err)
	}
	files, err := js.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.PutBytes(t.Context(), "big", []byte(strings.Repeat("0123456789", 40_000))); err != nil {
		t.Fatal(err)
	}
	later := &nats.Msg{Subject: "agent.schedule.ana.later", Header: nats.Header{
		jetstream.ScheduleHeader: {"@at " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}, jetstream.ScheduleTargetHeader: {"agent.due.ana"}, "Nats-TTL": {"never"},
	}}
	if _, err := js.PublishMsg(t.Context(), later); err != nil {
		t.Fatal(err)
	}
}

// dump is all that is in the streams of a fleet, a line for each message, and where they end.
func dump(t *testing.T, js jetstream.JetStream) (lines []string) {
	t.Helper()
	for _, name := range streamNames() {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatalf("stream %s: %v", name, err)
		}
		state := s.CachedInfo().State
		lines = append(lines, fmt.Sprintf("%s %d..%d: %d", name, max(state.FirstSeq, 1), state.LastSeq, state.Msgs))
		for seq := max(state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
			m, err := s.GetMsg(t.Context(), seq)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%s %d %s %s %v %.60q", name, m.Sequence, m.Time.Format(time.RFC3339Nano), m.Subject, m.Header, m.Data))
		}
	}
	return lines
}

func streamNames() []string {
	list := streams.Names()
	for _, b := range streams.BucketNames() {
		list = append(list, "KV_"+b)
	}
	return append(list, "OBJ_"+bus.FilesBucket)
}

// TestAllStreamsAreInABackup keeps the order complete when a stream is added.
func TestAllStreamsAreInABackup(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	bustest.Provision(t, js)
	m, err := backup.Write(t.Context(), js, filepath.Join(t.TempDir(), "b"), backup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range m.Streams {
		got = append(got, s.Name)
	}
	want := streamNames()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	from := bustest.Open(t).JS
	fill(t, from)
	folder := filepath.Join(t.TempDir(), "deep", "b")
	m, err := backup.Write(t.Context(), from, folder, backup.Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	if m.Version != "1.2.3" || m.Messages == 0 || m.Moment.After(m.Finished) {
		t.Errorf("manifest: %+v", m)
	}
	modes(t, folder)
	to := bustest.Open(t).JS
	if _, err := backup.Restore(t.Context(), to, folder, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	before, after := dump(t, from), dump(t, to)
	lanes := func(line string) bool { return strings.HasPrefix(line, "KV_AGENT_LANES ") } // which are noted to be tried
	before, after = slices.DeleteFunc(before, lanes), slices.DeleteFunc(after, lanes)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(bustest.ListStreams(t, from), bustest.ListStreams(t, to)); diff != "" {
		t.Error(diff)
	}
	lane, err := to.Consumer(t.Context(), bus.InboundStream, "lane-00")
	if err != nil {
		t.Fatal(err)
	}
	if info := lane.CachedInfo(); info.AckFloor.Stream != 2 || info.Delivered.Stream != 2 || info.NumAckPending != 0 {
		t.Errorf("lane: got floor %d, delivered %d, pending %d; want 2, 2, 0", info.AckFloor.Stream, info.Delivered.Stream, info.NumAckPending)
	}
	note := struct{ Tried uint64 }{}
	kv, err := to.KeyValue(t.Context(), bus.LanesBucket)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := kv.Get(t.Context(), bus.InboundStream+".lane-00")
	if err == nil {
		err = json.Unmarshal(entry.Value(), &note)
	}
	if err != nil || note.Tried != 20 {
		t.Errorf("lane: tried up to %d (%v), want 20", note.Tried, err)
	}
	bustest.Provision(t, to) // a host can start
	files, err := to.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := files.GetBytes(t.Context(), "big"); err != nil || len(data) != 400_000 {
		t.Errorf("file: %d bytes, %v", len(data), err)
	}
	if ack, err := to.Publish(t.Context(), "plugin.inbound.web", []byte("x")); err != nil || ack.Sequence != 21 {
		t.Errorf("the next message: got %v, %v; want sequence 21", ack, err)
	}
}

// modes checks that only their owner can read the files of a backup.
func modes(t *testing.T, folder string) {
	t.Helper()
	list, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: mode %v, %v", info.Mode(), err)
	}
}

func TestBackupIntoAFolderThatIsNotEmpty(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := backup.Write(t.Context(), js, folder, backup.Options{})
	bustest.WantError(t, err, "is not empty: name one that is")
}

func TestFolderThatIsNotNamed(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	_, err := backup.Write(t.Context(), js, "", backup.Options{})
	bustest.WantError(t, err, "name the folder of the backup")
	_, err = backup.Restore(t.Context(), js, "", backup.Options{})
	bustest.WantError(t, err, "name the folder of the backup")
}

func TestBackupOfNothing(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	folder := filepath.Join(t.TempDir(), "b")
	_, err := backup.Write(t.Context(), js, folder, backup.Options{})
	bustest.WantError(t, err, "there is no stream AGENT_INBOUND: no fleet has run on this NATS")
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

func TestBackupThatIsInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	fill(t, js)
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := backup.Write(ctx, js, folder, backup.Options{Progress: func(p backup.Progress) {
		if p.Stream == bus.SessionsStream {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	t.Parallel()
	from := bustest.Open(t).JS
	fill(t, from)
	whole := filepath.Join(t.TempDir(), "b")
	if _, err := backup.Write(t.Context(), from, whole, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	inbound := "AGENT_INBOUND.snapshot"
	for name, tt := range map[string]struct {
		do   func(folder string) error
		want string
	}{
		"empty folder":       {func(f string) error { return os.RemoveAll(f) }, "there is no manifest.json"},
		"without a manifest": {func(f string) error { return os.Remove(filepath.Join(f, "manifest.json")) }, "there is no manifest.json"},
		"foreign": {func(f string) error {
			return os.WriteFile(filepath.Join(f, "manifest.json"), []byte(`{"kind":"x"}`), 0o600)
		}, "is of another program"},
		"no JSON":             {func(f string) error { return os.WriteFile(filepath.Join(f, "manifest.json"), []byte(`{`), 0o600) }, "manifest.json: "},
		"changed manifest":    {replace("manifest.json", `"messages": `, `"messages": 1`), "manifest.json was changed"},
		"later format":        {replace("manifest.json", `"format": 1`, `"format": 2`), "in a format that this version does not know"},
		"missing file":        {func(f string) error { return os.Remove(filepath.Join(f, inbound)) }, `file "AGENT_INBOUND.snapshot" is missing`},
		"truncated file":      {func(f string) error { return os.Truncate(filepath.Join(f, inbound), 100) }, `file "AGENT_INBOUND.snapshot" has 100 bytes and should have `},
		"one bit is flipped":  {flip(inbound), `file "AGENT_INBOUND.snapshot" was changed`},
		"the last file alone": {flip("AGENT_AUDIT.snapshot"), `file "AGENT_AUDIT.snapshot" was changed`},
		"a folder as a file": {func(f string) error {
			return errors.Join(os.Remove(filepath.Join(f, inbound)), os.Mkdir(filepath.Join(f, inbound), 0o700))
		}, `file "AGENT_INBOUND.snapshot" is no regular file`},
		"a device": {func(f string) error {
			return errors.Join(os.Remove(filepath.Join(f, inbound)), os.Symlink(os.DevNull, filepath.Join(f, inbound)))
		}, `file "AGENT_INBOUND.snapshot" is no regular file`},
		"file outside":     {sealed(func(m *backup.Manifest) { m.Streams[0].File.Name = "../b/" + m.Streams[0].File.Name }), `is not in the folder`},
		"stream twice":     {sealed(func(m *backup.Manifest) { m.Streams = append(m.Streams, m.Streams[0]) }), `manifest.json has stream OBJ_AGENT_FILES twice`},
		"no streams":       {sealed(func(m *backup.Manifest) { m.Streams = nil }), `manifest.json has no streams`},
		"foreign stream":   {sealed(func(m *backup.Manifest) { m.Streams[0].Name = "ORDERS" }), `stream "ORDERS" is not known`},
		"no configuration": {sealed(func(m *backup.Manifest) { m.Streams[0].Config = json.RawMessage("null") }), `manifest.json has no configuration or no state of stream OBJ_AGENT_FILES`},
		"no state":         {sealed(func(m *backup.Manifest) { m.Streams[0].State = json.RawMessage("null") }), `manifest.json has no configuration or no state of stream OBJ_AGENT_FILES`},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "b")
			if err := os.CopyFS(folder, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := tt.do(folder); err != nil {
				t.Fatal(err)
			}
			to := bustest.Open(t).JS
			_, err := backup.Restore(t.Context(), to, folder, backup.Options{})
			bustest.WantError(t, err, tt.want)
			if left := bustest.ListStreams(t, to); len(left) > 0 {
				t.Errorf("written: %q", left)
			}
		})
	}
}

// sealed changes the manifest, and gives it the digest that it has to have then.
func sealed(change func(*backup.Manifest)) func(string) error {
	return func(folder string) error {
		path := filepath.Join(folder, "manifest.json")
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		m := backup.Manifest{}
		if err := json.Unmarshal(data, &m); err != nil {
			return err
		}
		change(&m)
		m.Digest = ""
		if data, err = json.Marshal(m); err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		m.Digest = hex.EncodeToString(sum[:])
		if data, err = json.Marshal(m); err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o600)
	}
}

func replace(file, old, with string) func(string) error {
	return func(folder string) error {
		path := filepath.Join(folder, file)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.Replace(string(data), old, with, 1)), 0o600)
	}
}

func flip(file string) func(string) error {
	return func(folder string) error {
		path := filepath.Join(folder, file)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data[len(data)/2] ^= 1
		return os.WriteFile(path, data, 0o600)
	}
}

func TestRestoreIntoANATSThatIsNotEmpty(t *testing.T) {
	t.Parallel()
	from := bustest.Open(t).JS
	fill(t, from)
	folder := filepath.Join(t.TempDir(), "b")
	if _, err := backup.Write(t.Context(), from, folder, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	to := bustest.Open(t).JS
	bustest.Provision(t, to)
	if _, err := backup.Restore(t.Context(), to, folder, backup.Options{}); err != nil {
		t.Errorf("streams without messages: %v", err)
	}
	before := dump(t, to)
	_, err := backup.Restore(t.Context(), to, folder, backup.Options{})
	bustest.WantError(t, err, "has ", " messages: restore only into an empty NATS: name another one with --server")
	if !errors.Is(err, backup.ErrNotEmpty) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, dump(t, to)); diff != "" {
		t.Error(diff)
	}
}

// A NATS is shared with streams of others. One that takes a subject of the backup is refused
// before anything is written or removed, and others stay as they are.
func TestRestoreBesideForeignStreams(t *testing.T) {
	t.Parallel()
	from := bustest.Open(t).JS
	fill(t, from)
	folder := filepath.Join(t.TempDir(), "b")
	if _, err := backup.Write(t.Context(), from, folder, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	for subject, want := range map[string]string{
		"plugin.inbound.>":     "stream ORDERS takes plugin.inbound.>, which overlaps with plugin.inbound.> of AGENT_INBOUND",
		"plugin.inbound.web":   "stream ORDERS takes plugin.inbound.web, which overlaps with plugin.inbound.> of AGENT_INBOUND",
		"agent.*.ana.x":        "stream ORDERS takes agent.*.ana.x, which overlaps with agent.",
		"$KV.AGENT_MEMORY.x":   "stream ORDERS takes $KV.AGENT_MEMORY.x, which overlaps with $KV.AGENT_MEMORY.> of KV_AGENT_MEMORY",
		"agent.restore":        "stream ORDERS takes agent.restore, which overlaps with agent.restore of AGENT_RESTORE",
		"sales.>":              "",
		"plugin.inbound":       "",
		"$KV.AGENT_MEMORY_2.>": "",
	} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			to := bustest.Open(t).JS
			bustest.MakeStream(t, to, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.new", subject}})
			bustest.Publish(t, to, "orders.new", "7 apples")
			if _, err := to.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bus.LanesBucket}); err != nil { // as of a fleet that has nothing yet
				t.Fatal(err)
			}
			before := bustest.ListStreams(t, to)
			_, err := backup.Restore(t.Context(), to, folder, backup.Options{Progress: func(p backup.Progress) {
				if want != "" {
					t.Errorf("it begins to write %s", p.Stream)
				}
			}})
			if want == "" {
				before = append(bustest.ListStreams(t, from), before[slices.IndexFunc(before, isOrders)])
				slices.Sort(before)
				if err != nil {
					t.Error(err)
				}
			} else {
				bustest.WantError(t, err, want, ": change its subjects, delete it, or name another NATS with --server")
			}
			after := bustest.ListStreams(t, to)
			slices.Sort(after)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("streams (-want +got):\n%s", diff)
			}
			if n := orders(t, to); n != 1 {
				t.Errorf("ORDERS has %d messages", n)
			}
		})
	}
}

func isOrders(line string) bool { return strings.HasPrefix(line, "ORDERS ") }

func orders(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	s, err := js.Stream(t.Context(), "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

// A restore that fails leaves nothing; one that is killed keeps hosts away until it is
// run again.
func TestRestoreThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	from := bustest.Open(t).JS
	fill(t, from)
	folder := filepath.Join(t.TempDir(), "b")
	if _, err := backup.Write(t.Context(), from, folder, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	to := bustest.Open(t).JS
	t.Run("more replicas than servers", func(t *testing.T) {
		_, err := backup.Restore(t.Context(), to, folder, backup.Options{Replicas: 3})
		bustest.WantError(t, err, "add --replicas 1, or name a cluster")
		if got := bustest.ListStreams(t, to); len(got) > 0 {
			t.Errorf("left: %q", got)
		}
	})
	t.Run("killed", func(t *testing.T) {
		bustest.Provision(t, to)
		bustest.Publish(t, to, "agent.session.ana.aaa", "half of what is to be restored")
		bustest.MakeStream(t, to, jetstream.StreamConfig{Name: bus.RestoreStream, Subjects: []string{bus.RestoreSubject}})
		err := streams.Provision(t.Context(), to, 1, 4, bustest.Log(t))
		bustest.WantError(t, err, "the restore of a backup has not ended; wait for it, or run it again: agenthost restore DIR")
		if _, err := backup.Restore(t.Context(), to, folder, backup.Options{}); err != nil {
			t.Fatal(err)
		}
		if got, want := len(bustest.ListStreams(t, to)), len(streamNames()); got != want {
			t.Errorf("got %d streams, want %d", got, want)
		}
		bustest.Provision(t, to)
	})
}

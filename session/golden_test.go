package session_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"testing"

	"agenthost/bus"
	"agenthost/run"
)

var update = flag.Bool("update", false, "write testdata of a version that has none yet")

// Logs that were written by version 1 are read by every later one. They are
// never written again: testdata/v1.jsonl holds the commits, the rest what
// reading them must give.
func TestGoldenLog(t *testing.T) {
	t.Parallel()
	const commits, state = "testdata/v1.jsonl", "testdata/v1.json"
	if *update {
		writeGolden(t, commits, state)
	}
	b, s := open(t)
	for line := range bytes.Lines(read(t, commits)) {
		put(t, b, logSubject(), string(bytes.TrimSpace(line)))
	}
	c := openTalk(t, s)
	if got, want := c.encoded(), string(read(t, state)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for id, want := range map[string]uint64{"in-r1": 1, "in-r2": 8, "in-r3": 8, "m1": 0, "in-r4": 0} {
		if seq, ok := c.Seen(id); !ok || seq != want {
			t.Errorf("%s: got %d, %t, want %d", id, seq, ok, want)
		}
	}
	c.send(done("c"))
	c.send(say("still here"))
	c.same()
}

func TestGoldenSnapshot(t *testing.T) {
	t.Parallel()
	const snapshot = "testdata/v1-snapshot.json"
	if *update {
		writeGoldenSnapshot(t, snapshot)
	}
	b, s := open(t)
	put(t, b, logSubject(), `{"v":1}`)
	put(t, b, logSubject(), `{"v":1}`)
	put(t, b, logSubject(), `{"v":1}`)
	put(t, b, snapshotSubject(), string(read(t, snapshot)))
	c := openTalk(t, s)
	if got, want := c.encoded(), string(read(t, "testdata/v1-snapshot-state.json")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for id, want := range map[string]uint64{"in-r1": 1, "in-r2": 0} {
		if seq, ok := c.Seen(id); !ok || seq != want {
			t.Errorf("%s: got %d, %t, want %d", id, seq, ok, want)
		}
	}
	if c.Replied() != 1 {
		t.Errorf("Replied: got %d, want 1", c.Replied())
	}
}

// goldenTalk says something of every kind.
func goldenTalk(t *testing.T, c *talk) {
	c.send(ask("r1", "hello"))
	c.send(say("hello yourself"))                // 1
	c.send(attempt("r2", 2))                     // 2
	c.send(use("a", "b"))                        // 3
	c.send(join("r3", "and quickly"))            // 4
	c.send(suspend("a"))                         // 5
	c.send(done("b"))                            // 6
	c.send(answer("a", "blue"))                  // 7
	c.send(say("blue it is"))                    // 8
	if err := c.add(waiting("m1")); err != nil { // 9
		t.Fatal(err)
	}
	e := run.Event{Type: run.Compacted, At: epoch, Through: 2, Summary: "they met", Before: 20, After: 4}
	if err := c.add(e); err != nil { // 10
		t.Fatal(err)
	}
	c.send(ask("r4", "go on"))
	c.send(use("c"))
}

func writeGolden(t *testing.T, commits, state string) {
	_, s := open(t)
	c := openTalk(t, s)
	goldenTalk(t, c)
	var log bytes.Buffer
	for rec, err := range s.Reader.Tail(context.Background(), bus.SessionsStream, logSubject(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		log.Write(append(rec.Data, '\n'))
	}
	write(t, commits, log.Bytes())
	write(t, state, []byte(c.encoded()))
}

func writeGoldenSnapshot(t *testing.T, snapshot string) {
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	c.turn()
	c.send(attempt("r2", 1))
	if err := c.add(run.Event{Type: run.Compacted, At: epoch, Through: 2, Summary: "they met"}); err != nil {
		t.Fatal(err)
	}
	write(t, snapshot, []byte(d.next()))
	write(t, "testdata/v1-snapshot-state.json", []byte(c.encoded()))
}

// write never touches what is there.
func write(t *testing.T, file string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Log(err)
		return
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

package memory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/streams"
	"agenthost/tools"
	"agenthost/tools/memory"

	"github.com/google/go-cmp/cmp"
)

func TestWhoSeesANote(t *testing.T) {
	t.Parallel()
	h := start(t, open(t).JS, memory.Options{})
	h.remember(t, ana, "1", "secret of Ana", "")
	h.remember(t, bob, "2", "secret of Bob", "person")
	h.remember(t, ana, "3", "secret door is in the cellar", "agent")
	h.remember(t, group, "4", "secret word of the group is mellon", "")
	everybody := []string{"secret door is in the cellar", "secret word of the group is mellon"}
	tests := map[string]struct {
		session string
		own     []string
	}{
		"the person":                      {ana, []string{"secret of Ana"}},
		"another person":                  {bob, []string{"secret of Bob"}},
		"a third":                         {"telegram.sales/dm/eve", nil},
		"the same name on another server": {"telegram/dm/ana", nil},
		"a group":                         {group, nil},
		"a group named like a person":     {"telegram.sales/group/ana", nil},
		"a thread":                        {"telegram.sales/group/dm/ana", nil},
		"work for an agent called dm":     {"route/dm/ana", nil},
		"a schedule":                      {"schedule/ana", nil},
		"no session":                      {"", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found := h.found(t, tt.session, "secret")
			for _, want := range append(tt.own, everybody...) {
				if !strings.Contains(strings.Join(found, "\n"), want) {
					t.Errorf("%q is missing in %q", want, found)
				}
			}
			if len(found) != len(tt.own)+len(everybody) {
				t.Errorf("found %q", found)
			}
		})
	}
}

func TestRememberRefuses(t *testing.T) {
	t.Parallel()
	h := start(t, open(t).JS, memory.Options{})
	tests := map[string]struct {
		session string
		args    args
		want    string
	}{
		"nothing":             {ana, args{"text": " \n"}, "the text is empty"},
		"too much":            {ana, args{"text": strings.Repeat("x", memory.MaxText+1)}, "has 4097 bytes, a note has 4096 at most"},
		"a person in a group": {group, args{"text": "x", "about": "person"}, "in the direct chat with them only"},
		"a person at work":    {"route/kate/1", args{"text": "x", "about": "person"}, "in the direct chat with them only"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := h.call(t, tt.session, name, "remember", tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want … %s …", err, tt.want)
			}
		})
	}
}

// A call that is made again after a crash keeps nothing twice; nor does an agent
// that has forgotten that it remembers.
func TestRememberedOnce(t *testing.T) {
	t.Parallel()
	b := open(t)
	first := start(t, b.JS, memory.Options{})
	id := first.remember(t, ana, "run.1", "likes tea", "")
	first.stop()
	second := start(t, b.JS, memory.Options{})
	for _, call := range []string{"run.1", "other.1"} {
		if again := second.remember(t, ana, call, "likes tea", ""); again != id {
			t.Errorf("%s: kept as %s, want %s", call, again, id)
		}
	}
	if other := second.remember(t, bob, "run.2", "likes tea", ""); other == id {
		t.Error("another person's note counts as kept")
	}
	if list := notes(t, b.JS, "demo", ""); len(list) != 2 {
		t.Errorf("got %v", list)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	b := open(t)
	h := start(t, b.JS, memory.Options{})
	mine, theirs := h.remember(t, ana, "1", "tea", ""), h.remember(t, bob, "2", "tea", "")
	for _, id := range []string{theirs, "nosuchnote"} {
		if text := h.do(t, ana, "f", "forget", args{"id": id}); text != fmt.Sprintf("There is no note %q.", id) {
			t.Errorf("got %s", text)
		}
	}
	if text := h.do(t, group, "f", "forget", args{"id": mine}); !strings.HasPrefix(text, "There is no note") {
		t.Errorf("in a group: %s", text)
	}
	if text := h.do(t, ana, "f", "forget", args{"id": mine}); text != "Forgotten." {
		t.Errorf("got %s", text)
	}
	for range 20 { // the watch may still tell of the note
		if found := h.found(t, ana, "tea"); len(found) > 0 {
			t.Fatalf("found %q", found)
		}
	}
	if list := notes(t, b.JS, "", ""); len(list) != 1 || list[0].ID != theirs {
		t.Errorf("got %v", list)
	}
	if again := h.remember(t, ana, "1", "tea", ""); again != mine || len(h.found(t, ana, "tea")) != 1 {
		t.Error("what was forgotten cannot be remembered again")
	}
}

func TestTwoHostsAgree(t *testing.T) {
	t.Parallel()
	b := open(t)
	one, two := start(t, b.JS, memory.Options{}), start(t, b.JS, memory.Options{})
	two.found(t, ana, "tea") // both are open
	id := one.remember(t, ana, "1", "green tea", "")
	eventually(t, "the other host finds it", func() bool { return len(two.found(t, ana, "tea")) == 1 })
	two.remember(t, ana, "2", "black tea", "")
	eventually(t, "both find both", func() bool { return len(one.found(t, ana, "tea")) == 2 })
	two.do(t, ana, "f", "forget", args{"id": id})
	eventually(t, "the first has forgotten it, too", func() bool { return len(one.found(t, ana, "tea")) == 1 })
	if diff := cmp.Diff(one.found(t, ana, "tea"), two.found(t, ana, "tea")); diff != "" {
		t.Errorf("the hosts differ:\n%s", diff)
	}
}

func TestARestartReadsTheBucket(t *testing.T) {
	t.Parallel()
	b := open(t)
	h := start(t, b.JS, memory.Options{})
	for i := range 300 {
		h.remember(t, ana, fmt.Sprint(i), fmt.Sprint("number ", i), "")
	}
	h.stop()
	again := start(t, b.JS, memory.Options{})
	if found := again.found(t, ana, "number 299"); len(found) == 0 || found[0] != "number 299" {
		t.Errorf("found %q", found)
	}
}

// An agent is in nobody's memory but its own.
func TestAgentsAreApart(t *testing.T) {
	t.Parallel()
	b := open(t)
	h := start(t, b.JS, memory.Options{})
	h.remember(t, ana, "1", "tea", "agent")
	data, _ := json.Marshal(args{"query": "tea"})
	res, err := h.tools["recall"].Run(t.Context(), tools.Call{ID: "2", Agent: "other", Session: ana, Args: data})
	if err != nil || res.Text != "Nothing that is remembered fits." {
		t.Errorf("got %q, %v", res.Text, err)
	}
}

func put(t *testing.T, b *bus.Bus, key string, value any) {
	t.Helper()
	kv, err := b.JS.KeyValue(t.Context(), bus.MemoryBucket)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), key, data); err != nil {
		t.Fatal(err)
	}
}

func TestTheLeastUsefulGoes(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	long := strings.Repeat("long ", 800)
	note := func(id string, age time.Duration, change func(*memory.Note)) memory.Note {
		n := memory.Note{ID: id, Agent: "demo", Text: id, At: time.Now().Add(-age).UTC()}
		if change != nil {
			change(&n)
		}
		return n
	}
	tests := map[string]struct {
		notes []memory.Note
		gone  string
	}{
		"the older":  {[]memory.Note{note("a", 9*day, nil), note("b", 8*day, nil)}, "a"},
		"the larger": {[]memory.Note{note("a", 9*day, nil), note("b", 8*day, func(n *memory.Note) { n.Text = long })}, "b"},
		"the never used": {[]memory.Note{note("a", 80*day, func(n *memory.Note) {
			n.Used, n.LastUsed = 3, time.Now().Add(-10*day).UTC()
		}), note("b", 40*day, nil)}, "b"},
		"the long unused": {[]memory.Note{note("a", 400*day, func(n *memory.Note) {
			n.Used, n.LastUsed = 3, time.Now().Add(-200*day).UTC()
		}), note("b", 40*day, nil)}, "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			for _, n := range tt.notes {
				put(t, b, "demo._."+n.ID, n)
			}
			h := start(t, b.JS, memory.Options{MaxNotes: 2})
			h.remember(t, group, "new", "new", "")
			list := notes(t, b.JS, "demo", "")
			for _, n := range list {
				if n.ID == tt.gone {
					t.Errorf("%s is still there", n.ID)
				}
			}
			if len(list) != 2 {
				t.Errorf("%d notes are left", len(list))
			}
		})
	}
}

// Who fills the memory pushes out what he put there, not what is known of
// others.
func TestAFloodHurtsItsOwner(t *testing.T) {
	t.Parallel()
	b := open(t)
	old := memory.Note{ID: "old", Agent: "demo", Text: "tea", At: time.Now().Add(-60 * 24 * time.Hour).UTC()}
	put(t, b, "demo._.old", old)
	h := start(t, b.JS, memory.Options{MaxNotes: 50})
	for i := range 120 {
		h.remember(t, bob, fmt.Sprint(i), fmt.Sprint("flood ", i), "")
	}
	if found := h.found(t, group, "tea"); len(found) != 1 {
		t.Errorf("found %q", found)
	}
	// a list may lack the note whose use is being counted
	eventually(t, "50 notes are left", func() bool { return len(notes(t, b.JS, "demo", "")) == 50 })
}

func TestUseIsCounted(t *testing.T) {
	t.Parallel()
	b := open(t)
	h := start(t, b.JS, memory.Options{})
	h.remember(t, ana, "1", "tea", "")
	used := func() int { return notes(t, b.JS, "demo", "")[0].Used }
	h.found(t, ana, "tea")
	eventually(t, "the use is in the bucket", func() bool { return used() == 1 })
	h.found(t, ana, "tea")
	h.remember(t, ana, "2", "other", "") // what is published before is there by then
	if n := used(); n != 1 {
		t.Errorf("used %d times within the hour", n)
	}
}

// What is in the bucket and not of a host is seen by the operator alone. A note
// that claims to be somebody else's is seen by nobody.
func TestForeignEntries(t *testing.T) {
	t.Parallel()
	b := open(t)
	put(t, b, "demo._.garbage", "tea")
	put(t, b, "demo._.stolen", memory.Note{ID: "stolen", Agent: "demo", Peer: ana, Text: "tea"})
	put(t, b, "demo._.mine", memory.Note{ID: "mine", Agent: "demo", Text: "tea"})
	h := start(t, b.JS, memory.Options{})
	if found := h.found(t, ana, ""); len(found) != 1 {
		t.Errorf("found %q", found)
	}
	for _, n := range notes(t, b.JS, "demo", "") {
		if n.ID == "mine" {
			continue
		}
		if !strings.Contains(n.Text, "none of a host") {
			t.Errorf("got %+v", n)
		}
		if err := memory.Delete(t.Context(), b.JS, n); err != nil {
			t.Error(err)
		}
	}
	if list := notes(t, b.JS, "demo", ""); len(list) != 1 {
		t.Errorf("got %v", list)
	}
}

func TestWhatBelongsToAPerson(t *testing.T) {
	t.Parallel()
	b := open(t)
	h := start(t, b.JS, memory.Options{})
	about := h.remember(t, ana, "1", "about Ana", "")
	made := h.remember(t, ana, "2", "told by Ana", "agent")
	h.remember(t, bob, "3", "about Bob", "")
	list := notes(t, b.JS, "", ana)
	if len(list) != 2 {
		t.Fatalf("got %v", list)
	}
	for _, n := range list {
		if n.ID != about && n.ID != made {
			t.Errorf("got %+v", n)
		}
		if err := memory.Delete(t.Context(), b.JS, n); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the host no longer finds them", func() bool { return len(h.found(t, ana, "Ana")) == 0 })
	if list := notes(t, b.JS, "", ""); len(list) != 1 {
		t.Errorf("got %v", list)
	}
}

// A memory that cannot be read is an error of the call, and the next tries
// again.
func TestTheBucketIsMissing(t *testing.T) {
	t.Parallel()
	b := open(t)
	if err := b.JS.DeleteKeyValue(t.Context(), bus.MemoryBucket); err != nil {
		t.Fatal(err)
	}
	h := start(t, b.JS, memory.Options{})
	if _, err := h.call(t, ana, "1", "recall", args{"query": "x"}); err == nil || !strings.Contains(err.Error(), "open the memory") {
		t.Errorf("got %v", err)
	}
	if err := streams.Provision(t.Context(), b.JS, 0, 0, b.Log); err != nil {
		t.Fatal(err)
	}
	h.remember(t, ana, "1", "tea", "")
}

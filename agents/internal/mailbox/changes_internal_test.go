package mailbox

import (
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"

	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/run"

	"github.com/google/go-cmp/cmp"
)

// chat is a mailbox with what ana has written: each an id, with what it edits ("~id") or
// withdraws ("-id"); "+" is on its way to the log.
func chat(t *testing.T, lines ...[2]string) *Mailbox {
	t.Helper()
	m := &Mailbox{Total: new(atomic.Int64)}
	for i, line := range lines {
		in := bus.Inbound{From: "ana", Text: line[0]}
		place := message.Held
		if n := len(line[1]); n > 0 {
			switch target := line[1]; target[0] {
			case '~':
				in.Edits = target[1:]
			case '-':
				in.Withdraws = target[1:]
			case '+':
				place = message.Spilling
			}
		}
		it := &message.Item{Origin: message.Origin{Subject: "plugin.inbound.web", Inbound: &in}, Place: place}
		it.Input = run.Input{ID: line[0], Subject: it.Origin.Subject, Seq: uint64(i + 1)}
		it.Input.Envelope, _ = json.Marshal(&in)
		m.Insert(i, it)
	}
	return m
}

func ids(items []*message.Item) (list []string) {
	for _, it := range items {
		list = append(list, it.Input.ID)
	}
	return list
}

// What was withdrawn leaves the queue with all that changes it. What changes it after that
// finds nothing that waits.
func TestTakeWithdrawn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		queue     [][2]string
		taken     []string // as withdrawn
		late      []string // as changes of nothing
		left      []string
		unsettled bool
	}{
		"nothing":                 {[][2]string{{"a", ""}, {"b", ""}}, nil, nil, []string{"a", "b"}, false},
		"a message":               {[][2]string{{"a", ""}, {"w", "-a"}, {"b", ""}}, []string{"w", "a"}, nil, []string{"b"}, false},
		"of what is not there":    {[][2]string{{"a", ""}, {"w", "-x"}}, nil, nil, []string{"a", "w"}, false},
		"an edited one":           {[][2]string{{"a", ""}, {"e", "~a"}, {"w", "-a"}}, []string{"e", "w", "a"}, nil, nil, false},
		"and edited after that":   {[][2]string{{"a", ""}, {"w", "-a"}, {"e", "~a"}}, []string{"w", "a"}, []string{"e"}, nil, false},
		"one that came twice":     {[][2]string{{"a", ""}, {"a", ""}, {"w", "-a"}}, []string{"w", "a", "a"}, nil, nil, false},
		"on its way to the log":   {[][2]string{{"a", "+"}, {"w", "-a"}}, nil, nil, []string{"a", "w"}, true},
		"what was taken already":  {[][2]string{{"taken", ""}, {"w", "-taken"}}, nil, nil, []string{"taken", "w"}, false},
		"withdrawn and once more": {[][2]string{{"a", ""}, {"w", "-a"}, {"v", "-a"}}, []string{"w", "a"}, []string{"v"}, nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := chat(t, tt.queue...)
			all, unsettled := m.TakeWithdrawn(func(it *message.Item) bool { return it.Input.ID != "taken" })
			m.check(t)
			taken := slices.DeleteFunc(slices.Clone(all), func(it *message.Item) bool { return !it.Withdrawn })
			late := slices.DeleteFunc(slices.Clone(all), func(it *message.Item) bool { return it.Withdrawn })
			got := [][]string{ids(taken), ids(late), ids(m.Queue)}
			if diff := cmp.Diff([][]string{tt.taken, tt.late, tt.left}, got); diff != "" || unsettled != tt.unsettled {
				t.Errorf("taken, late and left, unsettled: %t (-want +got):\n%s", unsettled, diff)
			}
		})
	}
}

// Edits are made of what is taken, wherever they are, and the newest has the last word.
func TestEdit(t *testing.T) {
	t.Parallel()
	m := chat(t, [2]string{"a", ""}, [2]string{"first", "~a"}, [2]string{"b", ""}, [2]string{"last", "~a"}, [2]string{"of c", "~c"})
	all := m.Edit(m.RemoveFirst(3), func(edit, _ *message.Item, err error) { t.Errorf("%s fails: %v", edit.Input.ID, err) })
	m.check(t)
	if diff := cmp.Diff([]string{"first", "last", "a", "b"}, ids(all)); diff != "" {
		t.Error("of the run (-want +got):\n" + diff)
	}
	if diff := cmp.Diff([]string{"of c"}, ids(m.Queue)); diff != "" {
		t.Error("left (-want +got):\n" + diff)
	}
	if got := all[2].Origin.Inbound.Text; got != "last" {
		t.Errorf("the message says %q, want what the last edit says", got)
	}
}

// An edit that cannot be made is in no run and not in the queue.
func TestEditThatFails(t *testing.T) {
	t.Parallel()
	m := chat(t, [2]string{"a", ""}, [2]string{"e", "~a"})
	items := m.RemoveFirst(1)
	items[0].Input.Envelope = json.RawMessage(`{`)
	var failed []string
	all := m.Edit(items, func(edit, of *message.Item, _ error) { failed = append(failed, edit.Input.ID+" of "+of.Input.ID) })
	if diff := cmp.Diff([]string{"e of a"}, failed); diff != "" || len(all) != 1 || len(m.Queue) != 0 {
		t.Errorf("the run has %v, the queue %v (-want +got):\n%s", ids(all), ids(m.Queue), diff)
	}
}

// A change that a run which broke off has left before its message goes behind it again.
func TestBehindTarget(t *testing.T) {
	t.Parallel()
	m := chat(t, [2]string{"e", "~a"}, [2]string{"a", ""}, [2]string{"b", ""})
	waits := func(*message.Item) bool { return true }
	if !m.HasTarget(m.Queue[0], waits) || m.HasTarget(m.Queue[1], waits) {
		t.Error("an edit has a target, and a message has none")
	}
	m.BehindTarget(m.Queue[0])
	if diff := cmp.Diff([]string{"a", "e", "b"}, ids(m.Queue)); diff != "" {
		t.Error("the queue (-want +got):\n" + diff)
	}
}

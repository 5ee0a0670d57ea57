package run_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"agenthost/llm"
	"agenthost/run"

	"github.com/google/go-cmp/cmp"
)

// filled is a value of type t in which every field is set, to what is not in
// JSON as it is.
func filled(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 5, 4, 3, 2, 1, 120_000, time.UTC)))
	case t == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a": "<é> \\u2028"}`))
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(filled(t.Field(i).Type))
			}
		}
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(filled(t.Elem()))
	case t.Kind() == reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem()), filled(t.Elem())))
	case t.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(filled(t.Key()), filled(t.Elem()))
	case t.Kind() == reflect.String:
		v.SetString("a \"<é>\" \\ \n\x00\u2028")
	case t.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(-5)
	default:
		v.SetUint(1 << 63)
	}
	return v
}

// wantSame compares what is read from our writing with what is read from that
// of encoding/json.
func wantSame(t *testing.T, events []run.Event) {
	t.Helper()
	ours, err := run.AppendJSON([]byte("x"), events)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parse(t, theirs), parse(t, ours[1:])); diff != "" {
		t.Errorf("%s", diff)
	}
}

// parse reads JSON with its numbers as they are written.
func parse(t *testing.T, data []byte) (v any) {
	t.Helper()
	if !json.Valid(data) {
		t.Fatalf("got %s, which is no JSON", data)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

// Every field of an event is written: alone, and with all others.
func TestAppendJSON(t *testing.T) {
	all := filled(reflect.TypeFor[run.Event]())
	wantSame(t, []run.Event{all.Interface().(run.Event), {}})
	wantSame(t, []run.Event{{Message: &llm.Message{}}, {Input: &run.Input{}}, {Reply: &run.Reply{}}, {At: time.Now()}})
	for i := range all.NumField() {
		e := run.Event{}
		reflect.ValueOf(&e).Elem().Field(i).Set(all.Field(i))
		wantSame(t, []run.Event{e})
	}
}

// plainState is a State without methods.
type plainState run.State

// wantSameState compares what encoding/json makes of s with what it would make
// of the fields of s, byte for byte, and with what is read from our own writing.
func wantSameState(t *testing.T, s run.State) {
	t.Helper()
	want := encode(t, plainState(s))
	if got := encode(t, s); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	ours, err := s.AppendJSON([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parse(t, []byte(want)), parse(t, ours[1:])); diff != "" {
		t.Errorf("%s", diff)
	}
}

// Every field of a state is written: alone, and with all others.
func TestStateAppendJSON(t *testing.T) {
	all := filled(reflect.TypeFor[run.State]())
	wantSameState(t, all.Interface().(run.State))
	for i := range all.NumField() {
		if all.Type().Field(i).IsExported() {
			s := run.State{Phase: run.Idle}
			reflect.ValueOf(&s).Elem().Field(i).Set(all.Field(i))
			wantSameState(t, s)
		}
	}
	wantSameState(t, run.State{Phase: run.Settled, Messages: []llm.Message{{}}, Gauge: run.Gauge{Scale: map[string]int{}}})
	s := run.State{Messages: []llm.Message{{Parts: []llm.Part{{Meta: []byte("{")}}}}}
	if data, err := s.AppendJSON(nil); err == nil {
		t.Errorf("got %s, want an error", data)
	}
}

func TestAppendJSONRefuses(t *testing.T) {
	for name, e := range map[string]run.Event{
		"envelope":  {Input: &run.Input{Envelope: []byte("{")}},
		"arguments": {Args: []byte("a b")},
		"reply":     {Reply: &run.Reply{Envelope: []byte(`{"a":1}}`)}},
		"year":      {At: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"zone":      {At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("", 30*60*60))},
	} {
		if data, err := run.AppendJSON(nil, []run.Event{e}); err == nil {
			t.Errorf("%s: got %s", name, data)
		}
	}
}

func FuzzAppendJSON(f *testing.F) {
	f.Add("hello", "a", []byte(`{"a":1}`), int64(5), int64(0))
	f.Add("a\n\"\xff\\<é>\u2028\x7f", "", []byte(" [1, \"\\u00e9\"]\n"), int64(-1), int64(1<<40))
	f.Add("<&>", "", []byte(`{"a":{"b":[1.5,"<"]}}`), int64(0), int64(9))
	f.Add("", "", []byte(`{"a":1,}`), int64(0), int64(0))
	f.Fuzz(func(t *testing.T, text, name string, raw []byte, n, at int64) {
		if !json.Valid(raw) {
			for name, e := range map[string]run.Event{
				"arguments": {Args: raw}, "input": {Input: &run.Input{Envelope: raw}}, "reply": {Reply: &run.Reply{Envelope: raw}},
			} {
				if data, err := run.AppendJSON(nil, []run.Event{e}); err == nil && (len(raw) > 0 || !json.Valid(data)) {
					t.Errorf("%s: got %s, want an error", name, data)
				}
			}
			return
		}
		in := run.Input{ID: name, Subject: text, Seq: uint64(n), Envelope: raw, Trace: name}
		m := llm.Message{Role: llm.Role(name), Parts: []llm.Part{{Type: llm.Text, Text: text, Meta: raw}}, Partial: n > 0}
		wantSameState(t, run.State{Phase: run.Phase("a" + name), Messages: []llm.Message{m, m}, Waiting: []run.Input{in, in}, Spent: n})
		wantSame(t, []run.Event{{
			Type: run.EventType(name), At: time.Unix(at%(1<<37), n%1e9).UTC(), Run: text, Inputs: []run.Input{in, in}, Input: &in,
			Message:  &m,
			Provider: text, Cost: n, Priced: at > 0, Args: raw, Context: raw, Options: []string{text, name}, Deadline: time.Unix(n%(1<<37), 0),
			Reply: &run.Reply{ID: name, N: int(n), Kind: text, Subject: text, Envelope: raw}, Error: &run.Error{Message: text},
		}})
	})
}

package bus_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"agenthost/bus"
)

// wantAsEncoded checks that out is written as encoding/json writes it.
func wantAsEncoded(t *testing.T, out bus.Outbound) {
	t.Helper()
	want, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	got, err := out.AppendJSON([]byte("x"))
	if err != nil || string(got) != "x"+string(want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// Each field is written: alone, and with all that have a short way.
func TestOutboundAppendJSON(t *testing.T) {
	t.Parallel()
	all := bus.Outbound{
		ID: "r.1", Agent: "ana", Session: "web/dm/ana", Run: "r", Kind: bus.KindReply, To: "a", Chat: "c", Thread: "t",
		Text: "\"<é>\"\n\u2028\xff", InReplyTo: "m", Cut: true, Final: true, Call: "w", SentAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
	}
	wantAsEncoded(t, bus.Outbound{})
	wantAsEncoded(t, all)
	rare := all
	rare.Media, rare.Merged, rare.Options = []bus.Media{{Kind: "file", Size: 1}}, []string{"a", "b"}, []string{"yes"}
	rare.Error = &bus.Error{Code: "internal", Message: "no"}
	wantAsEncoded(t, rare)
	for i := range reflect.TypeFor[bus.Outbound]().NumField() {
		one := bus.Outbound{}
		field := reflect.ValueOf(&one).Elem().Field(i)
		if field.Set(reflect.ValueOf(rare).Field(i)); field.IsZero() {
			t.Errorf("%s is not tried", reflect.TypeFor[bus.Outbound]().Field(i).Name)
		}
		wantAsEncoded(t, one)
	}
	wantAsEncoded(t, bus.Outbound{SentAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("", -5400))})
	late := bus.Outbound{SentAt: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}
	if data, err := late.AppendJSON(nil); err == nil {
		t.Errorf("got %s, want an error", data)
	}
}

func FuzzOutboundAppendJSON(f *testing.F) {
	f.Add("hello <b>", "a", int64(5))
	f.Fuzz(func(t *testing.T, text, name string, at int64) {
		wantAsEncoded(t, bus.Outbound{
			ID: name, Agent: text, Session: name, Run: name, Kind: text, To: name, Chat: text, Thread: name, Text: text,
			InReplyTo: name, Cut: at%2 == 0, Final: at > 0, Call: text, SentAt: time.Unix(at%(1<<37), at%1e9),
		})
	})
}

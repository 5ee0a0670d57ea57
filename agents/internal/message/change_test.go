package message

import (
	"encoding/json"
	"testing"

	"agenthost/bus"
	"agenthost/run"

	"github.com/google/go-cmp/cmp"
)

func fromLog(t *testing.T, envelope string) *Item {
	t.Helper()
	it, err := FromLog(run.Input{ID: "1", Subject: "plugin.inbound.web", Envelope: json.RawMessage(envelope)})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// An edit changes text and media. Anything else stays as its sender has written it.
func TestEdit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ said, edit, want string }{
		"text":                      {`{"id":"1","from":"ana","text":"hallo"}`, `{"text":"hello"}`, `{"from":"ana","id":"1","text":"hello"}`},
		"large numbers":             {`{"text":"a","order":12345678901234567,"meta":{"message_id":9007199254740993}}`, `{"text":"b"}`, `{"meta":{"message_id":9007199254740993},"order":12345678901234567,"text":"b"}`},
		"a number too large for Go": {`{"text":"a","n":1e400}`, `{"text":"b"}`, `{"n":1e400,"text":"b"}`},
		"media":                     {`{"text":"a","media":[{"url":"x"}]}`, `{"text":"b","media":[{"url":"y"}]}`, `{"media":[{"url":"y"}],"text":"b"}`},
		"no media any more":         {`{"text":"a","media":[{"url":"x"}]}`, `{"text":"b"}`, `{"text":"b"}`},
		"a name in capitals":        {`{"text":"a","Text":"c"}`, `{"text":"b"}`, `{"Text":"c","text":"b"}`},
		"what must be escaped":      {`{"text":"a"}`, `{"text":"\"\n"}`, `{"text":"\"\n"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			it, edit := fromLog(t, tt.said), fromLog(t, tt.edit)
			if err := it.Edit(edit); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(it.Input.Envelope)); diff != "" {
				t.Error(diff)
			}
			want, err := bus.DecodeInbound(it.Input.Envelope)
			if diff := cmp.Diff(want, *it.Origin.Inbound); diff != "" || err != nil {
				t.Errorf("the run is told something else than the log has: %s, %v", diff, err)
			}
		})
	}
}

func TestEditOfWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	it := fromLog(t, `{"text":"a"}`)
	it.Input.Envelope = json.RawMessage(`{"text":`)
	if err := it.Edit(fromLog(t, `{"text":"b"}`)); err == nil {
		t.Error("it is taken for done")
	}
	if it.Origin.Inbound.Text != "a" {
		t.Errorf("the run is told %q", it.Origin.Inbound.Text)
	}
}

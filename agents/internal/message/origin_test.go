package message

import (
	"testing"

	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
)

func TestOriginKey(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		origin Origin
		want   session.Key
	}{
		"person":           {Origin{Subject: "plugin.inbound.web", Inbound: &bus.Inbound{From: "ana"}}, "web/dm/ana"},
		"nobody":           {Origin{Subject: "plugin.inbound.web", Inbound: &bus.Inbound{}}, "web/dm/anonymous"},
		"instance":         {Origin{Subject: "plugin.inbound.tg.sales", Inbound: &bus.Inbound{From: "ana"}}, "tg.sales/dm/ana"},
		"group":            {Origin{Subject: "plugin.inbound.tg", Inbound: &bus.Inbound{From: "ana", Group: true, Chat: "-1"}}, "tg/group/-1"},
		"thread of a dm":   {Origin{Subject: "plugin.inbound.tg", Inbound: &bus.Inbound{From: "7", Chat: "7", Thread: "t"}}, "tg/dm/7"},
		"conversation":     {Origin{Subject: "plugin.inbound.web", Inbound: &bus.Inbound{From: "7", Thread: "c1", Conversation: "c1"}}, "web/dm/7/c1"},
		"thread":           {Origin{Subject: "plugin.inbound.tg", Inbound: &bus.Inbound{Group: true, Chat: "-1", Thread: "7"}}, "tg/group/-1/7"},
		"delegate":         {Origin{Subject: "agent.route.ana", Route: &bus.Route{Kind: "delegate", From: "kate", CorrelationID: "c"}}, "route/kate/c"},
		"delegate, no id":  {Origin{Subject: "agent.route.ana", Route: &bus.Route{Kind: "delegate", From: "kate"}}, "route/kate/m1"},
		"schedule":         {Origin{Subject: "agent.route.ana", Route: &bus.Route{Kind: "schedule", From: "morning"}}, "schedule/morning"},
		"nameless event":   {Origin{Subject: "agent.route.ana", Route: &bus.Route{Kind: "event"}}, "event/event"},
		"not a group chat": {Origin{Subject: "plugin.inbound.tg", Inbound: &bus.Inbound{From: "ana", Chat: "5"}}, "tg/dm/ana"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.origin.Key("m1"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOriginSurvivesTheLog(t *testing.T) {
	t.Parallel()
	tests := map[string]run.Input{
		"message": {ID: "1", Subject: "plugin.inbound.web", Envelope: []byte(`{"from":"ana","text":"hi","new":1}`)},
		"route":   {ID: "1", Subject: "agent.route.ana", Envelope: []byte(`{"kind":"delegate","text":"hi"}`)},
		"capitals": {
			ID: "1", Subject: "plugin.inbound.web", Envelope: []byte(`{"text":"hi","Text":"HI"}`),
		},
		"capitals of a route": {
			ID: "1", Subject: "agent.route.ana", Envelope: []byte(`{"kind":"event","text":"hi","Text":"HI","Media":[{"url":"u"}]}`),
		},
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := ReadOrigin(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := o.Message().Text(); got != "hi" {
				t.Errorf("got %q", got)
			}
		})
	}
	if _, err := ReadOrigin(run.Input{ID: "1", Subject: "plugin.inbound.web", Envelope: []byte(`[]`)}); err == nil {
		t.Error("an envelope that is a list was read")
	}
}

// A result that was logged while the run waited is no failure by an empty error.
func TestOriginWithoutError(t *testing.T) {
	t.Parallel()
	o, err := ReadOrigin(run.Input{ID: "1", Subject: "agent.route.ana", Envelope: []byte(`{"kind":"result","correlation_id":"c","error":{"code":"","message":""}}`)})
	if err != nil || o.Route.Error != nil {
		t.Errorf("got %+v, %v", o.Route, err)
	}
}

func TestMessageOfContext(t *testing.T) {
	t.Parallel()
	o := Origin{Route: &bus.Route{Kind: "delegate", Text: "task", Context: []byte(`{"a":1}`)}}
	if got := o.Message().Text(); got != "task\n\nContext:\n{\"a\":1}" {
		t.Errorf("got %q", got)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	picture := llm.Part{Type: llm.MediaPart, Media: &llm.Media{URL: "u"}}
	ana := llm.Message{Role: llm.User, Name: "Ana", Parts: []llm.Part{{Type: llm.Text, Text: "a"}, picture}}
	anaAgain := llm.Message{Role: llm.User, Name: "Ana", Parts: []llm.Part{{Type: llm.Text, Text: "b"}}}
	bob := llm.Message{Role: llm.User, Name: "Bob", Parts: []llm.Part{{Type: llm.Text, Text: "c"}}}
	text := func(name, s string) llm.Message {
		return llm.Message{Role: llm.User, Name: name, Parts: []llm.Part{{Type: llm.Text, Text: s}, picture}}
	}
	tests := map[string]struct {
		in   []llm.Message
		want llm.Message
	}{
		"one":         {[]llm.Message{ana}, ana},
		"one person":  {[]llm.Message{ana, anaAgain}, text("Ana", "a\nb")},
		"two persons": {[]llm.Message{ana, bob}, text("", "Ana: a\nBob: c")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Merge(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Only the client of a door keeps a conversation itself, and has tools.
func TestWhatOnlyDoorsBring(t *testing.T) {
	t.Parallel()
	in := bus.Inbound{Text: "x", History: []bus.Turn{{Role: bus.TurnAssistant, Text: "y"}}, Tools: []bus.ClientTool{{Name: "f"}}}
	for subject, want := range map[string]int{"plugin.inbound.openai": 1, "plugin.inbound.a2a.ci": 1, "plugin.inbound.web": 0} {
		o := Origin{Subject: subject, Inbound: &in}
		if h, f := len(o.History()), len(o.ClientTools()); h != want || f != want {
			t.Errorf("%s: got %d messages, %d tools", subject, h, f)
		}
	}
	if o := (Origin{Subject: "agent.route.ana", Route: &bus.Route{}}); o.History() != nil || o.ClientTools() != nil {
		t.Error("a route brings some")
	}
}

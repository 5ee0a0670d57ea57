package agents

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
		origin origin
		want   session.Key
	}{
		"person":           {origin{subject: "plugin.inbound.web", inbound: &bus.Inbound{From: "ana"}}, "web/dm/ana"},
		"nobody":           {origin{subject: "plugin.inbound.web", inbound: &bus.Inbound{}}, "web/dm/anonymous"},
		"instance":         {origin{subject: "plugin.inbound.tg.sales", inbound: &bus.Inbound{From: "ana"}}, "tg.sales/dm/ana"},
		"group":            {origin{subject: "plugin.inbound.tg", inbound: &bus.Inbound{From: "ana", Group: true, Chat: "-1"}}, "tg/group/-1"},
		"thread":           {origin{subject: "plugin.inbound.tg", inbound: &bus.Inbound{Group: true, Chat: "-1", Thread: "7"}}, "tg/group/-1/7"},
		"delegate":         {origin{subject: "agent.route.ana", route: &bus.Route{Kind: "delegate", From: "kate", CorrelationID: "c"}}, "route/kate/c"},
		"delegate, no id":  {origin{subject: "agent.route.ana", route: &bus.Route{Kind: "delegate", From: "kate"}}, "route/kate/m1"},
		"schedule":         {origin{subject: "agent.route.ana", route: &bus.Route{Kind: "schedule", From: "morning"}}, "schedule/morning"},
		"nameless event":   {origin{subject: "agent.route.ana", route: &bus.Route{Kind: "event"}}, "event/event"},
		"not a group chat": {origin{subject: "plugin.inbound.tg", inbound: &bus.Inbound{From: "ana", Chat: "5"}}, "tg/dm/ana"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.origin.key("m1"); got != tt.want {
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
			o, err := readOrigin(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := o.message().Text(); got != "hi" {
				t.Errorf("got %q", got)
			}
		})
	}
	if _, err := readOrigin(run.Input{ID: "1", Subject: "plugin.inbound.web", Envelope: []byte(`[]`)}); err == nil {
		t.Error("an envelope that is a list was read")
	}
}

// A result that was logged while the run waited is no failure by an empty error.
func TestOriginWithoutError(t *testing.T) {
	t.Parallel()
	o, err := readOrigin(run.Input{ID: "1", Subject: "agent.route.ana", Envelope: []byte(`{"kind":"result","correlation_id":"c","error":{"code":"","message":""}}`)})
	if err != nil || o.route.Error != nil {
		t.Errorf("got %+v, %v", o.route, err)
	}
}

func TestMessageOfContext(t *testing.T) {
	t.Parallel()
	o := origin{route: &bus.Route{Kind: "delegate", Text: "task", Context: []byte(`{"a":1}`)}}
	if got := o.message().Text(); got != "task\n\nContext:\n{\"a\":1}" {
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
			if diff := cmp.Diff(tt.want, merge(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTakes(t *testing.T) {
	t.Parallel()
	r := &Runtime{id: "ana"}
	r.profile.Store(&profile{cfg: Config{Channels: []Binding{
		{Channel: "web"}, {Channel: "tg", Instance: "sales"}, {Channel: "irc", Instance: "*"},
	}}})
	tests := map[string]bool{
		"plugin.inbound.web": true, "plugin.inbound.web.x": false, "plugin.inbound.tg": false,
		"plugin.inbound.tg.sales": true, "plugin.inbound.tg.other": false, "plugin.inbound.irc": false,
		"plugin.inbound.irc.any": true, "plugin.inbound.irc.any.more": false, "agent.route.ana": true,
		"agent.route.anna": false,
	}
	for subject, want := range tests {
		if _, got := r.takes(subject); got != want {
			t.Errorf("takes(%s) = %t, want %t", subject, got, want)
		}
	}
}

package engine_test

import (
	"encoding/json"
	"testing"

	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/tools"
)

const blanked = "A check of this service has left nothing of your message, so there is nothing I could answer."

// leaving is a hook that puts message in the place of every message.
func leaving(message string) hooks.Handler {
	return answering(hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": json.RawMessage(message)}})
}

// A message of which a hook leaves nothing ends with an error to its sender: neither the
// model nor the log gets the original in its place.
func TestHookThatLeavesNothingOfAMessage(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{
		"no text": `{"text":""}`, "blanks": `{"text":" \n"}`, "nothing": `{}`, "no media": `{"text":"","media":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", script(paying)))
			w.hook(hooks.BeforeMessage, hooks.Options{}, leaving(left))
			w.say("ana", bus.Inbound{ID: "1", Chat: "c", Text: secret})
			if out := w.expect("error", blanked); out.InReplyTo != "1" || out.Chat != "c" || !out.Final {
				t.Errorf("heard %+v", out)
			}
			w.settled()
			w.silent()
			if found := w.holding(secret); len(found) > 0 {
				t.Errorf("the original is stored on %q", found)
			}
		})
	}
	t.Run("a picture", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying)))
		w.hook(hooks.BeforeMessage, hooks.Options{}, leaving(`{"media":[{"kind":"image","url":"https://example.org/a.png"}]}`))
		w.say("ana", bus.Inbound{Text: secret})
		if out := w.hear(); out.Kind != "reply" {
			t.Errorf("heard %+v", out)
		}
		w.settled()
	})
	t.Run("an answer", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying), has(asking(tools.Wait{Question: true, Prompt: "Which?"}))))
		w.say("ana", bus.Inbound{Text: "ask"})
		w.expect("question", "Which?")
		w.settled()
		remove := w.hook(hooks.BeforeMessage, hooks.Options{}, leaving(`{"text":""}`))
		w.say("ana", bus.Inbound{Text: secret})
		w.expect("error", blanked)
		remove()
		w.say("ana", bus.Inbound{Text: "red"})
		w.expect("reply", "It says: red")
		w.settled()
		if found := w.holding(secret); len(found) > 0 {
			t.Errorf("the original is stored on %q", found)
		}
	})
	t.Run("a task", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying)))
		w.hook(hooks.BeforeMessage, hooks.Options{}, leaving(`{"text":""}`))
		told := w.subscribe("told")
		w.publish("agent.route.ana", bus.Route{ID: "1", Kind: bus.RouteDelegate, From: "shop", CorrelationID: "c", Text: "go", ReplyTo: "told"})
		result := bus.Route{}
		if err := json.Unmarshal(w.next(told).Data, &result); err != nil || result.Error == nil || result.Error.Message != blanked {
			t.Errorf("the result is %+v, %v", result, err)
		}
		w.settled()
	})
	t.Run("what the next hook fills", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying)))
		w.hook(hooks.BeforeMessage, hooks.Options{}, leaving(`{"text":""}`))
		w.hook(hooks.BeforeMessage, hooks.Options{}, leaving(`{"text":"hello"}`))
		w.say("ana", bus.Inbound{Text: secret})
		w.expect("reply", "You said: hello")
		w.settled()
	})
}

package engine_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/tools"
)

func TestOrders(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, kind, want string }{
		"help":                {"/help", "reply", "Just write to me."},
		"help, with case":     {" /Help. ", "reply", "Just write to me."},
		"help of one bot":     {"/help@ana_bot", "reply", "Just write to me."},
		"new":                 {"/NEW", "reply", "Done. We start afresh"},
		"stop of nothing":     {"/Stop!", "error", "There is nothing to stop."},
		"stop, of a mention":  {"/stop,", "error", "There is nothing to stop."},
		"unknown":             {"/strat now", "reply", "I don't know /strat.\n\nJust write to me."},
		"a path":              {"/usr/bin is full", "reply", "You said: /usr/bin is full"},
		"a slash":             {"/ is a slash", "reply", "You said: / is a slash"},
		"new, with more":      {"/new ideas please", "reply", "You said: /new ideas please"},
		"stop, with more":     {"/stop it", "reply", "You said: /stop it"},
		"an order in a text":  {"what is /help", "reply", "You said: what is /help"},
		"a word with figures": {"/4ever", "reply", "You said: /4ever"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bot("ana", script(`rules: [{text: "You said: ${text}"}]`)))
			w.say("ana", bus.Inbound{ID: "m1", Text: tt.text})
			if out := w.hear(); out.Kind != tt.kind || !strings.HasPrefix(out.Text, tt.want) || !out.Final || out.InReplyTo != "m1" {
				t.Errorf("heard %+v", out)
			}
		})
	}
}

// An order to stop ends what is under way, whatever its case.
func TestStopInCapitals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{delay: 60s, text: late}]`)))
	w.say("ana", bus.Inbound{ID: "m1", Text: "go"})
	w.say("ana", bus.Inbound{ID: "m2", Text: "/STOP"})
	w.expect("error", "Stopped.")
}

// A memory repeats how many messages it is shown.
type memory struct{}

func (memory) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var said []string
		for _, m := range req.Messages {
			said = append(said, m.Text())
		}
		finish := llm.FinishStop
		if req.LastText() == "long" {
			finish = llm.FinishLength
		}
		yield(llm.Delta{Text: strings.Join(said, "|"), Finish: finish}, nil)
	}
}

// After /new the model sees nothing of what was said before; the log has it.
func TestFreshStart(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.stop()
		w.actor.model = memory{}
		w.begin()
		w.tell("one", "/new", "two")
		w.pass()
		w.crash()
		w.begin()
		w.tell("three")
		w.pass()
		var texts []string
		for rec, err := range records.NewReader(w.js).Tail(w.t.Context(), bus.OutboundStream, "plugin.outbound.ana", 1) {
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(rec.Data))
		}
		if len(texts) != 4 || !strings.Contains(texts[3], "two|") || strings.Contains(texts[3], "one|") || strings.Contains(texts[2], "one|") {
			t.Errorf("said %q", texts)
		}
		var kept []string
		for _, e := range w.committed(run.MessageAdded) {
			kept = append(kept, e.Message.Text())
		}
		if strings.Join(kept[:2], ",") != "one,one" {
			t.Errorf("the log has %q, want what was said before as well", kept)
		}
	})
}

// A reply that ended by its length says so, in the language of the agent.
func TestReplyThatIsCut(t *testing.T) {
	t.Parallel()
	for language, want := range map[string]string{"": "maximum length", "de": "größte Länge"} {
		w := newWorld(t, bot("ana", func(a *actor) { a.model, a.cfg.Language = memory{}, language }))
		w.say("ana", bus.Inbound{Text: "long"})
		if out := w.hear(); !strings.HasPrefix(out.Text, "long\n\n(") || !strings.Contains(out.Text, want) {
			t.Errorf("heard %q", out.Text)
		}
	}
}

// The host speaks the language of the agent, and its own sentences.
func TestLanguage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying), has(counter(nil)), func(a *actor) {
		a.cfg.Language, a.cfg.Texts = "de", map[string]string{"stopped": "Schluss."}
	}))
	w.say("ana", bus.Inbound{Text: "/stop"})
	w.expect("error", "Es gibt nichts anzuhalten.")
	w.say("ana", bus.Inbound{Text: "pay"})
	w.expect("approval", "Ana möchte pay verwenden, mit sum=5. Bitte antworte mit approve (ja) oder deny (nein).")
	w.settled()
	w.say("ana", bus.Inbound{Text: "/stop"})
	w.expect("error", "Schluss.")
}

// Each language that an agent can have is spoken.
func TestLanguages(t *testing.T) {
	t.Parallel()
	for language, want := range map[string]string{
		"en":    "There is nothing to stop.",
		"de":    "Es gibt nichts anzuhalten.",
		"fr":    "Il n'y a rien à arrêter.",
		"es":    "No hay nada que parar.",
		"pt":    "Não há nada para parar.",
		"pt-BR": "Não há nada para parar.",
		"it":    "Non c'è niente da fermare.",
		"nl":    "Er is niets om te stoppen.",
		"pl":    "Nie ma nic do zatrzymania.",
		"ja":    "止めるものはありません。",
		"zh":    "没有需要停止的事。",
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bot("ana", script(paying), func(a *actor) { a.cfg.Language = language }))
			w.say("ana", bus.Inbound{Text: "/stop"})
			w.expect("error", want)
		})
	}
}

// A question that a tool passes on is introduced in the language of the agent.
func TestTextsOfACallUnderWay(t *testing.T) {
	t.Parallel()
	var w *world
	asks := tools.Tool{
		Name: "pay", Schema: anything, ReadOnly: true,
		Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
			return tools.Result{Text: w.fleet.Texts(call).Say("mcp_asks", "server", "bank", "question", "Wie viel?")}, nil
		},
	}
	w = newWorld(t, bot("ana", script(paying), has(asks), func(a *actor) { a.cfg.Language = "de" }))
	w.say("ana", bus.Inbound{Text: "pay"})
	w.expect("reply", "It says: Der MCP-Server bank fragt: Wie viel?")
	if got := w.fleet.Texts(tools.Call{Agent: "unknown"}).Say("stopped"); got != "Stopped." {
		t.Errorf("of no agent: got %q", got)
	}
}

package run_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/llm"
	"agenthost/run"
)

var update = flag.Bool("update", false, "record histories that have no log yet, and write the states of all")

// histories are what the logs in testdata were recorded from. A log that is
// there is never written again: sessions live on for years.
var histories = map[string]func(*session){
	"plain": func(s *session) {
		s.send(ask("r1", "hello"))
		s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Text: "hi <b>Ana</b>", Finish: llm.FinishStop}})
		called := run.Event{Provider: "openai", Model: "m", Attempt: 1, Usage: &llm.Usage{Input: 9, Output: 3}, Cost: 12, Priced: true, MS: 40}
		s.send(run.Signal{Kind: run.StreamEnd, Called: []run.Event{called}})
	},
	"tools": func(s *session) {
		s.send(ask("r1", "hello"))
		s.send(use("a", "safe", "c"))
		s.send(done("c"))
		s.send(done("a"))
		s.send(run.Signal{Kind: run.ToolSettled, Call: "safe", Result: "disk full"})
		s.send(say("done"))
	},
	"unfinished": func(s *session) {
		s.send(ask("r1", "hello"))
		s.send(use("a", "safe"))
		s.send(steer("r2", "quick"))
	},
	"interrupted": func(s *session) {
		first := ask("r1", "hello")
		first.Attempt = 1
		s.send(first)
		s.send(use("a", "safe"))
		s.crash()
		first.Attempt = 2
		s.send(first)
		s.send(done("safe"))
		s.send(say("done, I think"))
	},
	"suspended": func(s *session) {
		s.send(ask("r1", "hello"))
		s.send(use("a", "b", "c"))
		w := waits("a", run.ForApproval)
		w.Wait.Deadline = epoch.Add(24 * time.Hour)
		s.send(w)
		s.send(waits("b", run.ForQuestion))
		s.send(waits("c", run.ForDelegate))
		s.send(ask("r2", "and then?"))
		yes := answered("a", run.Approve)
		yes.Scope = "session"
		s.send(yes)
		s.send(done("a"))
	},
	"defaults": func(s *session) {
		question := func(call string) run.Signal {
			w := waits(call, run.ForQuestion)
			w.Wait.Options, w.Wait.Default, w.Wait.Deadline = []string{"red", "blue"}, "blue", epoch.Add(time.Hour)
			return w
		}
		s.send(ask("r1", "hello"))
		s.send(use("a", "b"))
		s.send(question("a"))
		s.send(question("b"))
		s.send(run.Signal{Kind: run.Answered, Call: "a", Answer: "blue", Result: "blue (the default)", Late: true})
	},
	"answered": func(s *session) {
		s.send(ask("r1", "hello"))
		s.send(use("a", "b"))
		s.send(waits("a", run.ForApproval))
		s.send(waits("b", run.ForQuestion))
		s.send(ask("r2", "and then?"))
		s.send(answered("b", "blue"))
		s.send(answered("a", run.Deny))
		s.send(say("fine"))
		s.send(ask("r2", "and then?"))
		s.send(say("home"))
	},
	"held": func(s *session) {
		s.send(ask("r1", "hello"))
		w := hold()
		w.Wait.Deadline = epoch.Add(24 * time.Hour)
		w.Called = []run.Event{{Provider: "openai", Model: "m", Attempt: 1, Usage: &llm.Usage{Input: 9}, Cost: 5, Priced: true}}
		s.send(w)
		s.send(answered("budget:1", run.Approve))
		end := use("a")
		end.Called = []run.Event{{Provider: "openai", Model: "m", Attempt: 1, Usage: &llm.Usage{Input: 9, Output: 3}, Cost: 12, Priced: true}}
		s.send(end)
		s.send(done("a"))
		s.send(say("done"))
		s.send(ask("r2", "and now?"))
		s.send(hold())
	},
	"aborted": func(s *session) {
		s.send(ask("r1", "hello"))
		s.send(use("a", "b"))
		s.send(done("a"))
		s.send(run.Signal{Kind: run.Abort, Reason: "stopped by ana", By: "ana"})
	},
	"hooked": func(s *session) {
		act := func(point, action string) run.HookAct {
			return run.HookAct{At: epoch, Point: point, Hook: "acme.audit", Action: action}
		}
		redacted := act("before_message", run.HookOverrode)
		redacted.Args = []string{"message"}
		first := ask("r1", "h*llo")
		first.Inputs[0].Hooks = []run.HookAct{redacted}
		s.send(first)
		s.send(use("a"))
		s.send(done("a"))
		away := act("after_tool_call", run.HookFailed)
		away.Call, away.Error = "a", "no answer within 5s"
		s.log[len(s.log)-1].Hooks = []run.HookAct{away}
		s.send(run.Signal{Kind: run.Abort, Reason: "Not here.", By: "hook"})
		stopped := act("before_model_call", run.HookAborted)
		stopped.Reason = "Not here."
		s.log[len(s.log)-1].Hooks = []run.HookAct{stopped}
	},
	"failed": func(s *session) {
		s.send(ask("r1", "hello"))
		s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Text: "so far"}})
		s.send(run.Signal{Kind: run.StreamEnd, Error: &run.Error{Code: llm.CodeProviderUnavailable}})
	},
	"steered": func(s *session) {
		s.send(ask("r1", "hello"))
		s.send(use("a"))
		s.send(steer("r2", "in English"))
		s.send(done("a"))
		s.send(steer("r3", "and short"))
		s.send(say("yes"))
		s.send(say("y"))
	},
	"measured": func(s *session) {
		s.lim = run.Limits{Keep: 1, Window: 400}
		s.send(ask("r1", long))
		s.send(counted("yes", 250, 9))
		s.send(ask("r2", "hello"))
		s.send(counted("hi", 265, 5))
		s.send(ask("r3", long))
		s.send(run.Signal{Kind: run.CompactEnd, Summary: "many words were said"})
		s.send(tooLong())
		s.send(counted("fine", 300, 7))
	},
	"compacted": func(s *session) {
		s.lim.Keep = 1
		s.send(ask("r1", long))
		s.send(say(long))
		s.lim.Window = 200
		s.send(ask("r2", "hello"))
		s.send(run.Signal{Kind: run.CompactEnd, Summary: "many words were said"})
		s.send(say(long))
		s.send(ask("r3", "hello again"))
		s.send(run.Signal{Kind: run.CompactEnd, Error: &run.Error{Code: llm.CodeCompactionFailed}})
		s.send(say("hi"))
	},
}

// TestGolden folds every history that was ever recorded.
func TestGolden(t *testing.T) {
	if *update {
		for name, play := range histories {
			record(t, name, play)
		}
	}
	logs, _ := filepath.Glob("testdata/*.jsonl")
	if len(logs) < len(histories) {
		t.Fatalf("got %d logs, want %d: run with -update", len(logs), len(histories))
	}
	for _, path := range logs {
		t.Run(filepath.Base(path), func(t *testing.T) {
			got := encode(t, replay(t, readLog(t, path)))
			golden := strings.TrimSuffix(path, "l")
			if *update {
				write(t, golden, got+"\n")
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(string(want)), got); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

func record(t *testing.T, name string, play func(*session)) {
	path := filepath.Join("testdata", name+".jsonl")
	if _, err := os.Stat(path); err == nil {
		return
	}
	s := open(t, run.Limits{Safe: safe})
	play(s)
	var log bytes.Buffer
	for _, e := range s.log {
		log.WriteString(encode(t, e) + "\n")
	}
	write(t, path, log.String())
}

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readLog(t *testing.T, path string) []run.Event {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var log []run.Event
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var e run.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		log = append(log, e)
	}
	return log
}

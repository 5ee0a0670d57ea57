package builtin_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/tools"
	"agenthost/tools/builtin"
)

func TestWaits(t *testing.T) {
	tests := map[string]struct {
		tool, args string
		want       tools.Wait
	}{
		"a question": {
			"ask_human", `{"question":"Ship it?"}`,
			tools.Wait{Question: true, Prompt: "Ship it?"},
		},
		"options, a default and a timeout": {
			"ask_human", `{"question":"Ship it?","options":["yes","no"],"default":"no","timeout":"90m"}`,
			tools.Wait{Question: true, Prompt: "Ship it?", Options: []string{"yes", "no"}, Default: "no", Timeout: 90 * time.Minute},
		},
		"a default to a free question": {
			"ask_human", `{"question":"Which name?","default":"Ana"}`,
			tools.Wait{Question: true, Prompt: "Which name?", Default: "Ana"},
		},
		"a task": {
			"delegate", `{"to":"ops","task":"restart it"}`,
			tools.Wait{To: "ops", Prompt: "restart it"},
		},
		"a task with its context": {
			"delegate", `{"to":"ops","task":"restart it","context":{"host":"a"},"timeout":"10s"}`,
			tools.Wait{To: "ops", Prompt: "restart it", Context: json.RawMessage(`{"host":"a"}`), Timeout: 10 * time.Second},
		},
	}
	b := open(t, builtin.Options{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := b.call(t, tt.tool, tt.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tools.Result{Wait: &tt.want}, result); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWaitsRefuse(t *testing.T) {
	tests := map[string]struct{ tool, args, want string }{
		"no question":             {"ask_human", `{"question":" "}`, "ask a person: no question"},
		"a default not to choose": {"ask_human", `{"question":"?","options":["a"],"default":"b"}`, `the default "b" is not among the options`},
		"a bad timeout":           {"ask_human", `{"question":"?","timeout":"soon"}`, `"soon" is no time span`},
		"a timeout of nothing":    {"ask_human", `{"question":"?","timeout":"0s"}`, `"0s" is no time span`},
		"a timeout in numbers":    {"delegate", `{"to":"a","task":"b","timeout":5}`, "decode arguments"},
		"nobody":                  {"delegate", `{"task":"b"}`, "delegate: no agent"},
		"no task":                 {"delegate", `{"to":"a"}`, `delegate to "a": no task`},
	}
	b := open(t, builtin.Options{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { b.fails(t, tt.tool, tt.args, tt.want) })
	}
}

package llmtest_test

import (
	"io"
	"iter"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

type element struct {
	delta llm.Delta
	err   error
}

func TestRead(t *testing.T) {
	say, stop, fail := element{delta: llm.Delta{Text: "a"}}, element{delta: llm.Delta{Finish: llm.FinishStop}}, element{err: io.EOF}
	tests := map[string]struct {
		stream []element
		fault  string // empty: none
	}{
		"finish":              {[]element{say, stop}, ""},
		"error":               {[]element{say, fail}, ""},
		"nothing":             {nil, "without a finish"},
		"no end":              {[]element{say}, "without a finish"},
		"text after finish":   {[]element{stop, say}, "follows the finish"},
		"two finishes":        {[]element{stop, stop}, "follows the finish"},
		"error after finish":  {[]element{stop, fail}, "follows the finish"},
		"text after an error": {[]element{fail, say}, "follows the error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := llmtest.Read(streamOf(tt.stream))
			switch {
			case tt.fault == "" && a.Fault != nil:
				t.Errorf("got %v, want no fault", a.Fault)
			case tt.fault != "" && (a.Fault == nil || !strings.Contains(a.Fault.Error(), tt.fault)):
				t.Errorf("got %v, want %q", a.Fault, tt.fault)
			}
		})
	}
}

func streamOf(es []element) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, e := range es {
			if !yield(e.delta, e.err) {
				return
			}
		}
	}
}

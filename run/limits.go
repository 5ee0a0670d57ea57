package run

import (
	"cmp"

	"agenthost/llm"
)

// Limits bound a run. The zero Limits are the defaults.
type Limits struct {
	ModelCalls  int  // calls of the model in a run; 64
	Corrections int  // answers in a row whose calls cannot be run as asked, which the model may correct; 3
	Tools       int  // at work at once; 8
	Window      int  // of the model, in tokens; 0: never compact
	Strict      bool // what is larger than the window is cut; else the model may refuse it
	Overhead    int  // tokens of instructions and tools as Estimate counts, which the messages do not show
	Keep        int  // turns that compaction leaves alone, unless these alone do not fit; 8

	// Safe says whether a tool may run again under the same call id; nil: none.
	Safe func(tool string) bool
	// Sentence is what a person reads about a run that ended with a code; nil: in
	// English.
	Sentence func(llm.Code) string
	// Cut marks a reply that ended by its length; empty: it is not marked.
	Cut string
}

// The defaults of Limits that a configuration may change.
const (
	DefaultModelCalls = 64
	DefaultTools      = 8
)

func (l *Limits) setDefaults() {
	l.ModelCalls = cmp.Or(l.ModelCalls, DefaultModelCalls)
	l.Corrections = cmp.Or(l.Corrections, 3)
	l.Tools = cmp.Or(l.Tools, DefaultTools)
	l.Keep = cmp.Or(l.Keep, 8)
}

// turnsUsed reports whether the model must not be called again.
func (l *Limits) turnsUsed(calls int) bool { return calls >= l.ModelCalls }

// correctionsUsed reports whether the model has been asked often enough for calls that
// can be run.
func (l *Limits) correctionsUsed(corrections int) bool { return corrections > l.Corrections }

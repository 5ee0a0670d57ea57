package run

import (
	"cmp"

	"agenthost/llm"
)

// An EffectKind names what the machine wants done.
type EffectKind string

// The effects.
const (
	Commit      EffectKind = "commit"
	Publish     EffectKind = "publish"
	InvokeModel EffectKind = "invoke_model"
	RunTool     EffectKind = "run_tool"
	Ask         EffectKind = "ask"
	Compact     EffectKind = "compact"
	Ignored     EffectKind = "ignored"
)

// An Effect is one thing to do. Kind says which fields count.
//
// Effects are performed in their order, and what follows a Commit only once it
// is stored: a Commit that is refused means that the session belongs to
// another host, and the State is thrown away with all its effects. An Ask may
// come again after a restart and must then not be felt twice. When a run ends
// (no Run in the State), so does whatever still runs for it.
type Effect struct {
	Kind EffectKind
	Run  string // the run it is for

	// Events are written as one message (commit). Those with a Reply want
	// their address first; the Publish that follows holds the same *Reply.
	Events []Event
	Reply  *Reply // publish

	Call    *Call  // run_tool, ask: Asked says for what
	Through int    // compact: the messages to sum up, from the oldest
	Why     string // ignored

	// What Shown wants to know (invoke_model, compact). Room bounds each request
	// of a compaction.
	Short, Room int
}

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

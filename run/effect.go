package run

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

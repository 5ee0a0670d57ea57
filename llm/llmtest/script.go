package llmtest

import "agenthost/llm"

// A Script is what a model says in one of the cases of Conform, piece by piece, for
// a server to write in its own way. With neither a Finish nor Fails the stream is cut
// after the last piece.
type Script struct {
	Reasoning []string
	Text      []string
	Refuses   bool // with Text, which not every API has a place for
	Calls     []ScriptCall
	Usage     llm.Usage
	Finish    llm.Finish
	Fails     bool // the server ends with an error of its own
}

// A ScriptCall is a tool call with its arguments in pieces.
type ScriptCall struct {
	Name string
	Args []string
}

var (
	weatherCall = ScriptCall{Name: "get_weather", Args: []string{`{"ci`, `ty":"Par`, `is"}`}}
	timeCall    = ScriptCall{Name: "get_time", Args: []string{`{"zone":`, `"Europe/Paris"}`}}
	brokenCall  = ScriptCall{Name: "get_weather", Args: []string{`{"ci`, `ty":"Par`}}
	someUsage   = llm.Usage{Input: 12, Output: 5}
)

// scripts are the cases of Conform.
var scripts = map[string]Script{
	"text":            {Text: []string{"Hello, ", "wörld", "!"}, Usage: someUsage, Finish: llm.FinishStop},
	"tools":           {Calls: []ScriptCall{weatherCall}, Usage: someUsage, Finish: llm.FinishToolCalls},
	"parallel_tools":  {Calls: []ScriptCall{weatherCall, timeCall}, Usage: someUsage, Finish: llm.FinishToolCalls},
	"empty_args":      {Calls: []ScriptCall{{Name: "now", Args: []string{"{}"}}}, Usage: someUsage, Finish: llm.FinishToolCalls},
	"reasoning":       {Reasoning: []string{"Let me ", "think."}, Text: []string{"42", "."}, Usage: someUsage, Finish: llm.FinishStop},
	"refusal":         {Text: []string{"I can't ", "help with that."}, Refuses: true, Usage: someUsage, Finish: llm.FinishContentFilter},
	"content_filter":  {Text: []string{"Some"}, Usage: someUsage, Finish: llm.FinishContentFilter},
	"length":          {Text: []string{"Once ", "upon"}, Usage: someUsage, Finish: llm.FinishLength},
	"error_midstream": {Text: []string{"Hel"}, Fails: true},
	"cut":             {Text: []string{"Hel"}},
	"text_tools":      {Text: []string{"Let me ", "look."}, Calls: []ScriptCall{weatherCall}, Usage: someUsage, Finish: llm.FinishToolCalls},
	"reasoning_tools": {Reasoning: []string{"Let me ", "think."}, Calls: []ScriptCall{weatherCall}, Usage: someUsage, Finish: llm.FinishToolCalls},
	"usage":           {Text: []string{"42", "."}, Usage: llm.Usage{Input: 120, CacheRead: 100, Output: 30}, Finish: llm.FinishStop},
	"error_in_call":   {Calls: []ScriptCall{brokenCall}, Fails: true},
	"cut_in_call":     {Calls: []ScriptCall{brokenCall}},
}

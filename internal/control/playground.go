package control

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"agenthost/client"
	"agenthost/internal/eval"
	"agenthost/llm"
)

// A PlayMessage is one of the messages that a model is given.
type PlayMessage struct {
	Role string `json:"role" doc:"user or assistant"`
	Text string `json:"text"`
}

// A PlayRequest asks a model as an agent would. Nothing is delivered or kept, and no
// tool runs; what it costs counts in the agent's budgets.
type PlayRequest struct {
	Agent    string        `json:"agent"`
	Model    string        `json:"model,omitempty" doc:"a name of the configuration; empty: the agent's own"`
	System   string        `json:"system,omitempty" doc:"in place of the agent's prompt"`
	Messages []PlayMessage `json:"messages" doc:"the conversation, the last of them the person's"`
	NoTools  bool          `json:"no_tools,omitempty" doc:"the model is shown no tools"`
}

// A PlayCall is a tool that the model would have called.
type PlayCall struct {
	Name string `json:"name"`
	Args string `json:"args"`
}

// A PlayAnswer is what the model said.
type PlayAnswer struct {
	Agent  string     `json:"agent"`
	Model  string     `json:"model"` // the entry of the configuration that answered
	Text   string     `json:"text"`
	Calls  []PlayCall `json:"calls"`
	Input  int64      `json:"input"` // tokens
	Output int64      `json:"output"`
	Cost   int64      `json:"cost"` // micro-cents
	Priced bool       `json:"priced"`
	MS     int64      `json:"ms"`
	Error  string     `json:"error,omitempty"` // why there is no answer
}

const mostPlayMessages = 200

func (r PlayRequest) check() error {
	switch {
	case len(r.Messages) == 0 || len(r.Messages) > mostPlayMessages:
		return coded(client.CodeBad, "messages: %d; want 1 to %d", len(r.Messages), mostPlayMessages)
	case r.Messages[len(r.Messages)-1].Role != "user":
		return coded(client.CodeBad, `messages: the last one has the role %q; want "user"`, r.Messages[len(r.Messages)-1].Role)
	}
	for i, m := range r.Messages {
		switch {
		case m.Role != "user" && m.Role != "assistant":
			return coded(client.CodeBad, "messages[%d]: role is %q; want user or assistant", i, m.Role)
		case strings.TrimSpace(m.Text) == "":
			return coded(client.CodeBad, "messages[%d]: it has no text", i)
		}
	}
	return nil
}

// play asks a model what an agent would ask it.
func (h Host) play(ctx context.Context, r PlayRequest) (PlayAnswer, error) {
	if err := r.check(); err != nil {
		return PlayAnswer{}, err
	}
	shown, ok := h.Fleet.Preview(r.Agent)
	if !ok {
		return PlayAnswer{}, coded(client.CodeNotFound, "%w", &client.UnknownError{What: "agent", Name: r.Agent, Known: h.known(ctx)})
	}
	if err := h.reachModel(ctx, r.Model); err != nil {
		return PlayAnswer{}, err
	}
	names := shown.Models
	if r.Model != "" {
		names = []string{r.Model}
	}
	chain, err := h.Chain(names)
	if err != nil {
		return PlayAnswer{}, coded(client.CodeNotFound, "%w", err)
	}
	req := llm.Request{System: cmp.Or(r.System, shown.System), Session: "playground"}
	for _, m := range r.Messages {
		message := llm.UserText(m.Text)
		if m.Role == "assistant" {
			message = llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: m.Text}}}
		}
		req.Messages = append(req.Messages, message)
	}
	for _, t := range shown.Tools {
		if !r.NoTools {
			req.Tools = append(req.Tools, llm.ToolDef{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
	}
	booked := *chain
	booked.Admit = h.Fleet.Trial(r.Agent)
	return ask(ctx, &booked, req, PlayAnswer{Agent: r.Agent, Calls: []PlayCall{}})
}

// ask fills an answer in.
func ask(ctx context.Context, chain *llm.Chain, req llm.Request, a PlayAnswer) (PlayAnswer, error) {
	said, begun := llm.Builder{}, now()
	report := func(at llm.Attempt) {
		a.Input, a.Output = a.Input+at.Usage.Input, a.Output+at.Usage.Output
		a.Cost, a.Priced = llm.Sum(a.Cost, at.Cost), at.Priced
		a.Model, said.Provider = at.Entry, at.Provider
	}
	for delta, err := range chain.Stream(ctx, req, report) {
		if err != nil {
			a.Error = err.Error()
			break
		}
		said.Add(delta)
	}
	a.MS = now().Sub(begun).Milliseconds()
	m := said.Message()
	a.Text = m.Text()
	for _, c := range m.Calls() {
		a.Calls = append(a.Calls, PlayCall{c.Name, string(c.Args)})
	}
	return a, ctx.Err()
}

// A RerunRequest asks another model what the runs of a session asked theirs.
type RerunRequest struct {
	SessionName
	Model  string `json:"model,omitempty" doc:"a name of the configuration; empty: the agent's first"`
	System string `json:"system,omitempty" doc:"in place of the agent's instructions"`
	Run    string `json:"run,omitempty" doc:"only this run"`
	At     string `json:"at,omitempty" doc:"a place in the log, SEQ or SEQ.N: what is up to there stays as it was recorded, and the model is asked from its next call on to the end of that run"`
}

// A RerunReport is each run as it was, and as the other model answers it.
type RerunReport struct {
	Runs []Comparison `json:"runs"`
}

func (h Host) rerun(ctx context.Context, s *sessionStore, r RerunRequest) (RerunReport, error) {
	report := RerunReport{Runs: []Comparison{}}
	if err := h.reachModel(ctx, r.Model); err != nil {
		return report, err
	}
	facts, err := s.facts(ctx, r.SessionName)
	if err != nil {
		return report, err
	}
	all, err := h.Rerun(ctx, eval.Rerun{Agent: r.Agent, Model: r.Model, System: r.System, Run: r.Run, At: r.At}, facts)
	if err != nil {
		return report, coded(client.CodeBad, "%w", err)
	}
	report.Runs = append(report.Runs, all...)
	return report, nil
}

// around is a part of text with want in it, of at most n runes.
func around(text, want string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	at := max(0, strings.Index(strings.ToLower(text), strings.ToLower(want)))
	begin := max(0, len([]rune(strings.ToLower(text)[:at]))-n/4)
	begin = min(begin, len(runes)-n)
	part := string(runes[begin : begin+n])
	if begin > 0 {
		part = "…" + part
	}
	if begin+n < len(runes) {
		part += "…"
	}
	return part
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func sortedPairs[V any](m map[[2]string]V) [][2]string {
	keys := make([][2]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return keys
}

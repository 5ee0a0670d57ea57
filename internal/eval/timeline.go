package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
)

// timelineRunes is how much of a text a line of a timeline shows.
const timelineRunes = 300

// Line is an event in words, for people; empty when another event of its commit
// tells the same. What people, agents and tools have said keeps its line breaks.
func Line(e run.Event) string {
	switch e.Type {
	case run.Started:
		return startLine(e)
	case run.InputAdded:
		return inputLine(e)
	case run.InputWithdrawn:
		if e.Input == nil {
			return string(e.Type)
		}
		return "withdrawn message " + short(e.Input.OwnID())
	case run.InputPassedOn:
		if e.Input == nil {
			return string(e.Type)
		}
		return "passed on message " + short(e.Input.OwnID())
	case run.InputTaken:
		return takenLine(e)
	case run.InputRefused:
		return refusedLine(e)
	case run.MessageAdded, run.OperatorHeard:
		return messageLine(e.Message)
	case run.OperatorJoined:
		return "── taken over by " + cmp.Or(e.By, "an operator")
	case run.OperatorSaid:
		return operatorLine(e)
	case run.OperatorLeft:
		return "── handed back by " + cmp.Or(e.By, "an operator")
	case run.ModelCalled:
		return modelLine(e)
	case run.ToolRequested:
		return "calls " + e.Name + " " + short(legible(e.Args))
	case run.ToolFinished:
		return resultLine(e)
	case run.ApprovalAsked, run.QuestionAsked:
		return "asks: " + said(e.Prompt)
	case run.ApprovalAnswered, run.QuestionAnswered:
		return answerLine(e)
	case run.Delegated:
		return "hands over to " + e.To
	case run.Compacted:
		return fmt.Sprintf("%d messages summed up, %d tokens became %d: %s", e.Through, e.Before, e.After, said(e.Summary))
	case run.Suspended:
		return "waits"
	case run.Finished:
		return endLine(e)
	case run.Replied:
		return "" // the message, the question or the end says it
	}
	return string(e.Type)
}

func operatorLine(e run.Event) string {
	if e.Message == nil {
		return string(e.Type)
	}
	return cmp.Or(e.By, "operator") + ": " + said(e.Message.Text())
}

func refusedLine(e run.Event) string {
	out := bus.Outbound{}
	if e.Input == nil || e.Reply == nil || json.Unmarshal(e.Reply.Envelope, &out) != nil {
		return string(e.Type)
	}
	return "refused message " + short(e.Input.OwnID()) + ": " + said(out.Text)
}

func takenLine(e run.Event) string {
	if e.Input == nil {
		return string(e.Type)
	}
	line := "answered a tool: message " + short(e.Input.OwnID())
	if e.By != "" {
		line += " by " + short(e.By)
	}
	return line
}

func startLine(e run.Event) string {
	line := fmt.Sprintf("── run %s by %s", e.Run, e.Trigger)
	if e.Attempt > 1 {
		line += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	return line
}

func inputLine(e run.Event) string {
	if e.Message != nil {
		return "joins the run: " + said(e.Message.Text())
	}
	if e.Input == nil || e.Run != "" {
		return ""
	}
	in := struct{ From, Text string }{}
	_ = bus.ReadFields(e.Input.Envelope, &in) // without an envelope both stay empty
	return "waits for its turn: " + in.From + ": " + said(in.Text)
}

func messageLine(m *llm.Message) string {
	if m == nil || m.Role == llm.Tool {
		return ""
	}
	who := "agent"
	if m.Role == llm.User {
		who = cmp.Or(m.Name, "user")
	}
	text := m.Text()
	for _, p := range m.Parts {
		if p.Media != nil {
			text += " [" + cmp.Or(p.Media.Name, p.Media.Kind, p.Media.MIME) + "]"
		}
	}
	if strings.TrimSpace(text) == "" {
		return ""
	}
	if m.Partial {
		text += " (broken off)"
	}
	return who + ": " + said(text)
}

func modelLine(e run.Event) string {
	line := "model " + e.Provider
	if e.Model != "" {
		line += "/" + e.Model
	}
	if e.Entry != "" {
		line += " (" + e.Entry + ")"
	}
	if e.Skipped != "" {
		return line + ", passed over: " + cmp.Or(e.Reason, e.Skipped)
	}
	if e.Usage != nil {
		line += fmt.Sprintf(", %d tokens in, %d out", e.Usage.Input, e.Usage.Output)
	}
	if e.Priced {
		line += ", " + llm.Money(e.Cost)
	}
	line += ", " + (time.Duration(e.MS) * time.Millisecond).String()
	if e.Error != nil {
		line += ", failed: " + string(e.Error.Code)
	}
	if e.Status != 0 {
		line += fmt.Sprintf(", status %d", e.Status)
	}
	if e.Reason != "" {
		line += ": " + short(e.Reason)
	}
	return line
}

func resultLine(e run.Event) string {
	how := "→ "
	if !e.OK {
		how = "failed: "
	}
	return e.Name + " " + how + said(e.Result)
}

func answerLine(e run.Event) string {
	line := "answered: " + said(e.Answer)
	if e.Scope != "" {
		line += " (" + e.Scope + ")"
	}
	if e.By != "" {
		line += " by " + e.By
	}
	return line
}

func endLine(e run.Event) string {
	line := string(e.Outcome)
	if e.Error != nil {
		line += ": " + string(e.Error.Code) + ": " + short(e.Error.Message)
	}
	if e.By != "" {
		line += " by " + e.By
	}
	return line
}

// legible is JSON without the escapes that only HTML needs.
func legible(data json.RawMessage) string {
	return unescape.Replace(string(data))
}

var unescape = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// said is text with its line breaks, cut where it is long.
func said(text string) string {
	return cut(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")))
}

// short is text on one line, cut where it is long.
func short(text string) string { return cut(strings.Join(strings.Fields(text), " ")) }

func cut(text string) string {
	if runes := []rune(text); len(runes) > timelineRunes {
		return string(runes[:timelineRunes]) + "…"
	}
	return text
}

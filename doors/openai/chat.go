package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"agenthost/bus"
	"agenthost/doors"
)

// A chatRequest is the body of POST /v1/chat/completions, as far as an agent can
// follow it: its model, temperature and tools are its own.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Type     string         `json:"type"`
		Function bus.ClientTool `json:"function"`
	} `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`

	Modalities []string `json:"modalities"`

	N    *int   `json:"n"`
	User string `json:"user"`
}

type chatMessage struct {
	Role      string  `json:"role"`
	Content   content `json:"content"`
	CallID    string  `json:"tool_call_id"`
	ToolCalls []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// chat serves POST /v1/chat/completions.
func (d *door) chat(w http.ResponseWriter, r *http.Request, v doors.Visit) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	var req chatRequest
	if err := decodeBody(body, &req); err != nil {
		return err
	}
	a := asked{visit: v, body: body, model: req.Model, user: req.User, param: "messages"}
	if a.turns, err = req.turns(); err != nil {
		return err
	}
	if a.tools, err = req.clientTools(); err != nil {
		return err
	}
	if req.N != nil && *req.N != 1 {
		return badRequest("n", "n is "+strconv.Itoa(*req.N)+"; an agent gives one answer")
	}
	if slices.Contains(req.Modalities, "audio") {
		return badRequest("modalities", "an agent answers by text only; leave audio out")
	}
	j, err := d.prepare(r, a)
	if err != nil {
		return err
	}
	head := chatHead{ID: "chatcmpl-" + sum(v.Instance, j.record.Agent, j.record.Conversation, j.record.ID), Created: j.record.At.Unix(), Model: req.Model}
	j.name(w)
	if req.Stream {
		d.serve(r.Context(), j, &chatStream{stream: stream{w: w}, head: head, usage: req.StreamOptions.IncludeUsage})
		return nil
	}
	whole := doors.Breathe(w)
	defer whole.Stop()
	d.serve(r.Context(), j, &wholeChat{whole, head})
	return nil
}

func (req chatRequest) turns() (list []turn, err error) {
	if len(req.Messages) == 0 {
		return nil, badRequest("messages", "messages is empty")
	}
	for i, m := range req.Messages {
		if err := checkRole(m.Role, "messages", i); err != nil {
			return nil, err
		}
		t := turn{role: m.Role, call: m.CallID}
		if t.text, t.files, err = m.Content.read("messages[" + strconv.Itoa(i) + "].content"); err != nil {
			return nil, err
		}
		for _, c := range m.ToolCalls {
			t.text = joined(t.text, callInWords(c.Function.Name, c.Function.Arguments))
		}
		list = append(list, t)
	}
	return list, nil
}

// clientTools are those that the client runs itself.
func (req chatRequest) clientTools() (list []bus.ClientTool, err error) {
	if string(req.ToolChoice) == `"none"` {
		return nil, nil
	}
	for i, t := range req.Tools {
		if t.Type != "function" {
			return nil, badRequest("tools["+strconv.Itoa(i)+"].type", "tools of the type "+quoted(t.Type)+" are not taken here; it can be function")
		}
		list = append(list, brought(t.Function))
	}
	return list, nil
}

// brought is a tool as an envelope has it: one without arguments may have null for them.
func brought(t bus.ClientTool) bus.ClientTool {
	if string(t.Parameters) == "null" {
		t.Parameters = nil
	}
	return t
}

// A chatHead is what all objects of one answer share.
type chatHead struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	// Fingerprint is null: it would name a configuration of the model.
	Fingerprint *string `json:"system_fingerprint"`
}

type chatChoice struct {
	Index    int         `json:"index"`
	Message  *chatAnswer `json:"message,omitempty"`
	Delta    *chatDelta  `json:"delta,omitempty"`
	Logprobs *struct{}   `json:"logprobs"`
	Finish   *string     `json:"finish_reason"`
}

type chatAnswer struct {
	Role        string     `json:"role"`
	Content     *string    `json:"content"`
	ToolCalls   []chatCall `json:"tool_calls,omitempty"`
	Refusal     *string    `json:"refusal"`
	Annotations []any      `json:"annotations"`
}

type chatDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatCall struct {
	Index    *int     `json:"index,omitempty"` // in a stream
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function toolCall `json:"function"`
}

// chatCalls are the calls that end an answer, and why it ends.
func chatCalls(o outcome, streamed bool) (list []chatCall, finish string) {
	for i, c := range o.calls {
		one := chatCall{ID: c.ID, Type: "function", Function: c}
		if streamed {
			one.Index = &i
		}
		list = append(list, one)
	}
	if len(list) > 0 {
		return list, "tool_calls"
	}
	if o.cut {
		return nil, "length"
	}
	return nil, "stop"
}

type chatObject struct {
	chatHead
	Choices []chatChoice `json:"choices"`
	Usage   any          `json:"usage,omitempty"` // nil leaves it out, noUsage says null
}

// noUsage is that of the chunks before the one with the usage, where it is asked for: the schema
// has the field in all of them.
var noUsage = json.RawMessage("null")

// wholeChat writes a chat completion in one piece, by a doors.Breath.
type wholeChat struct {
	w    http.ResponseWriter
	head chatHead
}

func (c *wholeChat) text(string)     {}
func (c *wholeChat) idle()           {}
func (c *wholeChat) fail(f *failure) { writeError(c.w, f) }

func (c *wholeChat) end(o outcome, _ string) {
	c.head.Object = "chat.completion"
	says := &chatAnswer{Role: roleAssistant, Content: &o.text, Annotations: []any{}}
	if o.text == "" {
		says.Content = nil
	}
	calls, finish := chatCalls(o, false)
	says.ToolCalls = calls
	writeJSON(c.w, http.StatusOK, chatObject{
		chatHead: c.head, Usage: usage{o.usage}.chat(), Choices: []chatChoice{{Message: says, Finish: &finish}},
	})
}

// chatStream writes a chat completion as it comes.
type chatStream struct {
	stream
	head  chatHead
	usage bool
}

func (c *chatStream) text(text string) {
	if text != "" {
		c.delta(chatDelta{Content: &text}, nil)
	}
}

// delta writes a chunk; the first of all says whose the text is.
func (c *chatStream) delta(delta chatDelta, finish *string) {
	if c.head.Object == "" {
		c.head.Object = "chat.completion.chunk"
		empty := ""
		c.delta(chatDelta{Role: roleAssistant, Content: &empty}, nil)
	}
	chunk := chatObject{chatHead: c.head, Choices: []chatChoice{{Delta: &delta, Finish: finish}}}
	if c.usage {
		chunk.Usage = noUsage
	}
	c.send("", chunk)
}

func (c *chatStream) end(o outcome, rest string) {
	c.text(rest)
	calls, finish := chatCalls(o, true)
	if len(calls) > 0 {
		c.delta(chatDelta{ToolCalls: calls}, nil)
	}
	c.delta(chatDelta{}, &finish)
	if c.usage {
		c.send("", chatObject{chatHead: c.head, Choices: []chatChoice{}, Usage: usage{o.usage}.chat()})
	}
	c.write("data: [DONE]\n\n")
}

func (c *chatStream) fail(f *failure) {
	if !c.begun {
		writeError(c.w, f)
		return
	}
	c.send("", map[string]any{"error": f})
}

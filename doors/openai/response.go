package openai

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"agenthost/bus"
	"agenthost/doors"
)

// responseObject is a response that is under way.
func responseObject(rec record) map[string]any {
	return map[string]any{
		"id": rec.responseID(), "object": "response", "created_at": rec.At.Unix(), "status": "in_progress", "model": rec.Agent,
		"error": nil, "incomplete_details": nil, "instructions": nil, "max_output_tokens": nil, "metadata": map[string]any{},
		"output": []any{}, "parallel_tool_calls": true, "previous_response_id": nil, "reasoning": map[string]any{"effort": nil, "summary": nil},
		"service_tier": "default", "store": true, "temperature": 1.0, "text": map[string]any{"format": map[string]any{"type": "text"}},
		"tool_choice": "auto", "tools": []any{}, "top_p": 1.0, "truncation": "disabled", "background": false, "usage": nil, "user": nil,
	}
}

// with is a response with other values for some of its fields.
func with(object, fields map[string]any) map[string]any {
	changed := maps.Clone(object)
	maps.Copy(changed, fields)
	return changed
}

func messageID(object map[string]any) string {
	id, _ := object["id"].(string)
	return "msg_" + strings.TrimPrefix(id, responsePrefix)
}

func textPart(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func messageItem(object map[string]any, status string, parts ...any) map[string]any {
	if parts == nil {
		parts = []any{}
	}
	return map[string]any{"id": messageID(object), "type": "message", "status": status, "role": roleAssistant, "content": parts}
}

// status is that of an answer that has ended, and of the message with its text.
func (o outcome) status() string {
	if o.cut {
		return "incomplete"
	}
	return "completed"
}

// ended is a response whose answer has ended.
func ended(object map[string]any, o outcome, text string) map[string]any {
	output := []any{}
	if text != "" || len(o.calls) == 0 {
		output = append(output, messageItem(object, o.status(), textPart(text)))
	}
	for _, c := range o.calls {
		output = append(output, callItem(c, "completed", c.Arguments))
	}
	object = with(object, map[string]any{"status": o.status(), "output": output, "usage": usage{o.usage}.response()})
	if o.cut {
		object["incomplete_details"] = map[string]any{"reason": "max_output_tokens"}
	}
	return object
}

func callItem(c toolCall, status, args string) map[string]any {
	return map[string]any{"id": "fc_" + sum(c.ID), "type": "function_call", "status": status, "call_id": c.ID, "name": c.Name, "arguments": args}
}

// shownTools are the tools of a request as its response repeats them.
func shownTools(list []bus.ClientTool) []any {
	shown := []any{}
	for _, t := range list {
		parameters := t.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage("{}")
		}
		shown = append(shown, map[string]any{"type": "function", "name": t.Name, "description": t.Description, "parameters": parameters, "strict": false})
	}
	return shown
}

func failedResponse(object map[string]any, f *failure) map[string]any {
	return with(object, map[string]any{"status": "failed", "error": map[string]any{"code": f.Code, "message": f.Message}})
}

// wholeResponse writes a response in one piece.
type wholeResponse struct {
	w      http.ResponseWriter
	object map[string]any
}

func (s *wholeResponse) text(string) {}
func (s *wholeResponse) idle()       {}

func (s *wholeResponse) fail(f *failure) {
	if whole, ok := s.w.(*doors.Breath); ok && whole.Late() { // clients look into the response then
		writeJSON(s.w, http.StatusOK, failedResponse(s.object, f))
		return
	}
	writeError(s.w, f)
}

func (s *wholeResponse) end(o outcome, _ string) {
	writeJSON(s.w, http.StatusOK, ended(s.object, o, o.text))
}

// shownResponse writes one that is asked for later: that it failed is no failure of
// the request.
type shownResponse struct{ *wholeResponse }

func (s shownResponse) fail(f *failure) {
	writeJSON(s.w, http.StatusOK, failedResponse(s.object, f))
}

// responseStream writes a response as it comes, in the events of the API.
type responseStream struct {
	stream
	object map[string]any
	n      int
	said   strings.Builder
	open   bool // the message has begun
}

func (s *responseStream) event(name string, fields map[string]any) {
	fields["type"], fields["sequence_number"] = name, s.n
	s.n++
	s.send(name, fields)
}

func (s *responseStream) created() {
	if s.n == 0 {
		s.event("response.created", map[string]any{"response": s.object})
		s.event("response.in_progress", map[string]any{"response": s.object})
	}
}

func (s *responseStream) idle() {
	s.created()
	s.stream.idle()
}

// place names the part of the response that text goes to.
func (s *responseStream) place(fields map[string]any) map[string]any {
	return with(map[string]any{"item_id": messageID(s.object), "output_index": 0, "content_index": 0}, fields)
}

func (s *responseStream) message() {
	if s.open {
		return
	}
	s.open = true
	s.created()
	s.event("response.output_item.added", map[string]any{"output_index": 0, "item": messageItem(s.object, "in_progress")})
	s.event("response.content_part.added", s.place(map[string]any{"part": textPart("")}))
}

func (s *responseStream) text(text string) {
	if text == "" {
		return
	}
	s.message()
	s.said.WriteString(text)
	s.event("response.output_text.delta", s.place(map[string]any{"delta": text, "logprobs": []any{}}))
}

func (s *responseStream) end(o outcome, rest string) {
	s.text(rest)
	if s.open || len(o.calls) == 0 {
		s.closeMessage(o.status())
	}
	s.created()
	index := 0
	if s.open {
		index = 1
	}
	for i, c := range o.calls {
		s.call(c, index+i)
	}
	s.event("response."+o.status(), map[string]any{"response": ended(s.object, o, s.said.String())})
}

// call writes a call of a tool of the client.
func (s *responseStream) call(c toolCall, index int) {
	item := callItem(c, "in_progress", "")
	s.event("response.output_item.added", map[string]any{"output_index": index, "item": item})
	s.event("response.function_call_arguments.delta", map[string]any{"output_index": index, "item_id": item["id"], "delta": c.Arguments})
	s.event("response.function_call_arguments.done", map[string]any{"output_index": index, "item_id": item["id"], "name": c.Name, "arguments": c.Arguments})
	s.event("response.output_item.done", map[string]any{"output_index": index, "item": callItem(c, "completed", c.Arguments)})
}

func (s *responseStream) closeMessage(status string) {
	s.message()
	text := s.said.String()
	s.event("response.output_text.done", s.place(map[string]any{"text": text, "logprobs": []any{}}))
	s.event("response.content_part.done", s.place(map[string]any{"part": textPart(text)}))
	s.event("response.output_item.done", map[string]any{"output_index": 0, "item": messageItem(s.object, status, textPart(text))})
}

func (s *responseStream) fail(f *failure) {
	if !s.begun {
		writeError(s.w, f)
		return
	}
	s.created()
	s.event("response.failed", map[string]any{"response": failedResponse(s.object, f)})
}

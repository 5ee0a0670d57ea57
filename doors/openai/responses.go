package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"agenthost/bus"
	"agenthost/doors"
)

// A responseRequest is the body of POST /v1/responses, as far as an agent can follow it.
type responseRequest struct {
	Model        string         `json:"model"`
	Input        input          `json:"input"`
	Instructions *string        `json:"instructions"`
	Previous     *string        `json:"previous_response_id"`
	Stream       bool           `json:"stream"`
	User         string         `json:"user"`
	Metadata     map[string]any `json:"metadata"`
	Tools        []struct {
		Type string `json:"type"`
		bus.ClientTool
	} `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`

	// What OpenAI keeps for its clients is not here: without it the request says something else.
	Conversation any `json:"conversation"`
	Prompt       any `json:"prompt"`

	Background bool `json:"background"`
}

// An input is a text or a list of items.
type input struct {
	text  string
	items []item
}

// UnmarshalJSON reads either, in place of what was read before.
func (in *input) UnmarshalJSON(data []byte) error {
	*in = input{}
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &in.text)
	}
	return json.Unmarshal(data, &in.items)
}

// An item is one of an input: a message, or a call or its result.
type item struct {
	Type      string  `json:"type"`
	Role      string  `json:"role"`
	Content   content `json:"content"`
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Output    content `json:"output"`
}

// respond serves POST /v1/responses.
func (d *door) respond(w http.ResponseWriter, r *http.Request, v doors.Visit) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	var req responseRequest
	if err := decodeBody(body, &req); err != nil {
		return err
	}
	if req.Conversation != nil {
		return badRequest("conversation", "conversations of OpenAI are not kept here; name the session by previous_response_id or the header Agent-Session")
	}
	if req.Prompt != nil {
		return badRequest("prompt", "prompts are not kept here; send the text as input or instructions")
	}
	if req.Background {
		return badRequest("background", "a response is answered when it has ended; leave background out, and ask for it by GET when the connection was lost: the run goes on")
	}
	a := asked{visit: v, body: body, model: req.Model, user: req.User, param: "input", tools: req.clientTools()}
	if a.turns, err = req.turns(); err != nil {
		return err
	}
	if req.Previous != nil && *req.Previous != "" {
		if a.previous, err = d.previous(r, v, req); err != nil {
			return err
		}
	}
	j, err := d.prepare(r, a)
	if err != nil {
		return err
	}
	object := responseObject(j.record)
	object["instructions"], object["previous_response_id"] = req.Instructions, req.Previous
	object["metadata"] = metadata(req.Metadata)
	if req.Tools != nil {
		object["tools"] = shownTools(a.tools)
	}
	if req.User != "" {
		object["user"] = req.User
	}
	j.name(w)
	if req.Stream || a.previous != nil {
		if err := d.announce(r.Context(), v, j.record, req.Previous); err != nil {
			return err
		}
	}
	if req.Stream {
		d.serve(r.Context(), j, &responseStream{stream: stream{w: w}, object: object})
		return nil
	}
	whole := doors.Breathe(w)
	defer whole.Stop()
	d.serve(r.Context(), j, &wholeResponse{whole, object})
	return nil
}

func metadata(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func (req responseRequest) turns() (list []turn, err error) {
	if req.Instructions != nil && *req.Instructions != "" {
		list = append(list, turn{role: roleSystem, text: *req.Instructions})
	}
	if req.Input.text != "" {
		return append(list, turn{role: roleUser, text: req.Input.text}), nil
	}
	if len(req.Input.items) == 0 {
		return nil, badRequest("input", "input is empty")
	}
	for i, it := range req.Input.items {
		t, err := it.turn(i)
		if err != nil {
			return nil, err
		}
		if t.role != "" {
			list = append(list, t)
		}
	}
	return list, nil
}

// turn is a message, or the words for a call; without a role it is nothing that an
// agent has to know.
func (it item) turn(i int) (t turn, err error) {
	param := "input[" + strconv.Itoa(i) + "]"
	switch cmp.Or(it.Type, "message") {
	case "message":
		if err := checkRole(it.Role, "input", i); err != nil {
			return t, err
		}
		t.role = it.Role
		t.text, t.files, err = it.Content.read(param + ".content")
	case "function_call":
		t = turn{role: roleAssistant, text: callInWords(it.Name, it.Arguments)}
	case "function_call_output":
		t = turn{role: roleTool, call: it.CallID}
		t.text, t.files, err = it.Output.read(param + ".output")
	case "reasoning":
	default:
		return t, badRequest(param+".type", "items of the type "+quoted(it.Type)+" are not taken here")
	}
	return t, err
}

// clientTools are the functions that the client runs itself. All other tools are left out: an agent
// has its own, and clients such as Codex bring those that OpenAI runs with every request.
func (req responseRequest) clientTools() (list []bus.ClientTool) {
	for _, t := range req.Tools {
		if t.Type == "function" && string(req.ToolChoice) != `"none"` {
			list = append(list, brought(t.ClientTool))
		}
	}
	return list
}

// previous is the session of an earlier response.
func (d *door) previous(r *http.Request, v doors.Visit, req responseRequest) (*doors.Place, error) {
	const param = "previous_response_id"
	rec, ok := recordOf(*req.Previous)
	if !ok || !v.Has(rec.Agent) {
		return nil, notFound(param, "there is no response "+quoted(*req.Previous))
	}
	p := doors.Place{Agent: rec.Agent, Instance: v.Instance, Conversation: rec.Conversation}
	_, known, err := d.find(r.Context(), p, rec)
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, notFound(param, "there is no response "+quoted(*req.Previous))
	case rec.Agent != req.Model && req.Model != "": // one that is missing is refused as such
		return nil, badRequest(param, "that response is of "+quoted(rec.Agent)+", and the model is "+quoted(req.Model))
	}
	return &p, nil
}

// showResponse serves GET /v1/responses/{id}.
func (d *door) showResponse(w http.ResponseWriter, r *http.Request, v doors.Visit) error {
	if again := r.URL.Query().Get("stream"); again != "" && again != "false" {
		return badRequest("stream", "a response is not streamed again; leave stream out, and ask until its status is no more in_progress")
	}
	id := r.PathValue("id")
	rec, ok := recordOf(id)
	if !ok || !v.Has(rec.Agent) {
		return notFound("id", "there is no response "+quoted(id))
	}
	p := doors.Place{Agent: rec.Agent, Instance: v.Instance, Conversation: rec.Conversation}
	t, known, err := d.find(r.Context(), p, rec)
	if err != nil {
		return err
	}
	note, _, err := d.requests.get(r.Context(), rec.announced(v.Instance))
	if err != nil {
		return err
	}
	out := &wholeResponse{w, responseObject(rec)}
	if note.Previous != "" {
		out.object["previous_response_id"] = note.Previous
	}
	switch {
	case !known:
		return notFound("id", "there is no response "+quoted(id))
	case t.outcome == nil:
		writeJSON(w, http.StatusOK, out.object)
	default:
		j := &job{record: rec, request: doors.Request{Agent: rec.Agent}}
		d.finish(r.Context(), j, shownResponse{out}, *t.outcome, new(doors.Text))
	}
	return nil
}

// announce notes a response whose client has its id before the response has ended: a log has
// nothing of a run before the first answer of its model. Nor has it the response before it.
func (d *door) announce(ctx context.Context, v doors.Visit, rec record, previous *string) error {
	if previous != nil {
		rec.Previous = *previous
	}
	return d.requests.put(ctx, rec.announced(v.Instance), rec)
}

// announced is the key of such a note.
func (r record) announced(instance string) string {
	return "response." + sum(instance, r.Agent, r.Conversation, r.ID)
}

// find is what has come of a response by now, by the log or by its note; known is false where
// there is none.
func (d *door) find(ctx context.Context, p doors.Place, rec record) (t trail, known bool, err error) {
	t, err = d.trail(ctx, p, rec.ID, rec.Since)
	if err != nil || t.known {
		return t, t.known, err
	}
	if _, known, err = d.requests.get(ctx, rec.announced(p.Instance)); !known || err != nil {
		return t, false, err
	}
	if out, ended := d.parts.Desk.EndOf(p, rec.ID); ended { // it went no further than the door
		o := outcome{at: out.SentAt}
		o.add(out)
		t.outcome = &o
	}
	return t, true, nil
}

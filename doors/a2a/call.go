package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"unicode/utf8"

	"agenthost/bus"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
)

// A call is what is looked at before the library reads a request: it words badly what is wrong
// with one, under codes that JSON-RPC has for something else.
type call struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`

	body []byte // for the library
}

// A fault is what is wrong with a request.
type fault struct {
	code int
	why  string
}

func readCall(body []byte) (call, *fault) {
	c := call{body: body}
	if !utf8.Valid(body) {
		return c, &fault{codeNoJSON, "the body is not UTF-8"}
	}
	err := json.Unmarshal(body, &c)
	typ, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case ok && typ.Field == "" || bytes.Equal(bytes.TrimSpace(body), null):
		return c, &fault{codeInvalidRequest, "want one request, a JSON object; a batch is not taken"}
	case ok:
		return c, &fault{codeInvalidRequest, typ.Field + " cannot be of the type " + typ.Value}
	case err != nil:
		return c, &fault{codeNoJSON, "the body is no valid JSON: " + err.Error()}
	}
	params := bytes.TrimSpace(c.Params)
	switch {
	case len(params) > 0 && params[0] == '{':
		return c, c.checkParams()
	case len(params) > 0 && !bytes.Equal(params, null):
		return c, &fault{codeInvalidParams, "params have to be a JSON object"}
	case needsParams[c.Method]:
		return c, &fault{codeInvalidParams, "params are missing"}
	}
	c.set("params", "{}") // the library takes no others
	return c, nil
}

var null = []byte("null")

// needsParams are the methods that are about a message or a task.
var needsParams = map[string]bool{
	"SendMessage": true, "SendStreamingMessage": true, "GetTask": true, "CancelTask": true, "SubscribeToTask": true,
}

// paramsOf make the params of a method.
var paramsOf = map[string]func() any{
	"SendMessage":          func() any { return new(proto.SendMessageRequest) },
	"SendStreamingMessage": func() any { return new(proto.SendMessageRequest) },
	"GetTask":              func() any { return new(proto.GetTaskRequest) },
	"ListTasks":            func() any { return new(proto.ListTasksRequest) },
	"CancelTask":           func() any { return new(proto.CancelTaskRequest) },
	"SubscribeToTask":      func() any { return new(proto.SubscribeToTaskRequest) },
}

// checkParams says which field of the params is of another type.
func (c *call) checkParams() *fault {
	params := paramsOf[c.Method]
	if params == nil {
		return nil
	}
	if err := json.Unmarshal(c.Params, params()); err != nil {
		return &fault{codeInvalidParams, "params: " + bus.JSONFault(err)}
	}
	return nil
}

// set changes a field of what the library reads.
func (c *call) set(field, value string) {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(c.body, &fields) // which has just been read
	fields[field] = json.RawMessage(value)
	c.body, _ = json.Marshal(fields) // which was read from JSON
}

// streams are the methods that are answered with events.
var streams = map[string]bool{"SendStreamingMessage": true, "SubscribeToTask": true}

// renamed are the methods of version 0.3, and what they are called in 1.0.
var renamed = map[string]string{
	"message/send": "SendMessage", "message/stream": "SendStreamingMessage", "tasks/get": "GetTask", "tasks/list": "ListTasks",
	"tasks/cancel": "CancelTask", "tasks/resubscribe": "SubscribeToTask",
	"tasks/pushNotificationConfig/set": "CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/get": "GetTaskPushNotificationConfig",
	"tasks/pushNotificationConfig/list": "ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
	"agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
}

// The codes of errors that are told before the library reads a request.
const (
	codeNoJSON         = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeVersion        = -32009
)

func rpcError(w http.ResponseWriter, id json.RawMessage, code int, why string) {
	if len(id) == 0 || id[0] == '{' || id[0] == '[' {
		id = json.RawMessage("null")
	}
	answer(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
}

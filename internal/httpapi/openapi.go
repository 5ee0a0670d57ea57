package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"agenthost/internal/control"
	"agenthost/session"

	"github.com/google/jsonschema-go/jsonschema"
)

// OpenAPI describes the operations in OpenAPI 3.1, as JSON.
func OpenAPI(operations []control.Operation, version string) ([]byte, error) {
	paths := map[string]any{}
	for _, o := range operations {
		if o.Path == "" {
			continue
		}
		described, err := describe(o)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", o.Name, err)
		}
		paths[Prefix+o.Path] = map[string]any{strings.ToLower(Method(o)): described}
	}
	paths[Prefix+"/me"] = map[string]any{"get": meDescription()}
	paths[Prefix+"/events"] = map[string]any{"get": eventsDescription()}
	out := bytes.Buffer{}
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "agenthost", "version": version,
			"description": "What can be asked of a fleet of agents, and done to it. docs/http-api.md explains it.",
		},
		"servers":  []any{map[string]any{"url": "/"}},
		"security": []any{map[string]any{"token": []any{}}, map[string]any{"login": []any{}}},
		"paths":    paths,
		"components": map[string]any{
			"securitySchemes": map[string]any{
				"token": map[string]any{"type": "http", "scheme": "bearer"},
				"login": map[string]any{"type": "apiKey", "in": "cookie", "name": "agenthost_login"},
			},
			"responses": map[string]any{"error": map[string]any{
				"description": "Why it was not done: 400 the request is wrong, 401 no token, 403 beyond the token's role or agents, 404 there is no such thing, 409 it is busy or done already, 413 and 415 the body is no JSON that is taken, 503 NATS or the host that it needs is away.",
				"content":     jsonContent(map[string]any{"$ref": "#/components/schemas/error"}),
			}},
			"schemas": map[string]any{"error": errorSchema()},
		},
	})
	return out.Bytes(), err
}

func errorSchema() map[string]any {
	text := map[string]any{"type": "string"}
	return map[string]any{
		"type": "object", "required": []string{"error"},
		"properties": map[string]any{"error": map[string]any{
			"type": "object", "required": []string{"code", "message"}, "properties": map[string]any{"code": text, "message": text},
		}},
	}
}

func jsonContent(schema any) map[string]any {
	return map[string]any{"application/json": map[string]any{"schema": schema}}
}

func describe(o control.Operation) (map[string]any, error) {
	f := o.Served()
	answer, err := schemaOf(f.Out)
	if err != nil {
		return nil, err
	}
	described := map[string]any{
		"operationId": o.Name, "summary": summary(o.About), "x-role": Role(o), "x-nats-subject": o.Subject, "tags": []string{tag(o.Path)},
		"responses": map[string]any{
			"200":     map[string]any{"description": "done", "content": jsonContent(answer)},
			"default": map[string]any{"$ref": "#/components/responses/error"},
		},
	}
	request := fieldsOf(f.In)
	if !o.Changes {
		described["parameters"], err = request.parameters()
		return described, err
	}
	body, err := request.schema()
	described["requestBody"] = map[string]any{"required": body["required"] != nil, "content": jsonContent(body)}
	return described, err
}

// summary is what an operation does, without the list of its fields.
func summary(about string) string {
	text, _, _ := strings.Cut(about, ": ")
	if i := strings.LastIndex(about, ": "); i >= 0 && strings.Count(about, ": ") > 1 {
		text = about[:i]
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func tag(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// commonFields says what fields mean that several requests have.
var commonFields = map[string]string{
	"agent": "the id of an agent", "session": "the key of a session, or its sid", "limit": "how many at most",
	"after": "goes on behind the page before, by its after", "since": "nothing older", "channel": "such as telegram, or telegram.sales",
	"state": "idle, running, waiting or operator", "answer": "approve, deny, an option or a text", "scope": "once, session or always",
	"args": "an object that is to run in place of the arguments", "reason": "what the person is told",
	"at": "the last event to take over, SEQ or SEQ.N; empty: the end", "to": "the key of the fork; empty: a free one",
	"dead_seq": "the number of a dead letter", "dead_seqs": "the numbers of dead letters", "all": "all of a page",
	"id": "the id",
}

func (f field) words() string {
	if f.about != "" {
		return f.about
	}
	return commonFields[f.name]
}

func (f field) schema() (*jsonschema.Schema, error) {
	s, err := schemaOf(f.kind)
	if err == nil && counts(f.kind) {
		s.Minimum = new(float64)
	}
	return s, err
}

func (f fields) parameters() ([]any, error) {
	list := []any{}
	for _, one := range f.list {
		schema, err := one.schema()
		if err != nil {
			return nil, err
		}
		list = append(list, map[string]any{"name": one.name, "in": "query", "required": one.required, "description": one.words(), "schema": schema})
	}
	return list, nil
}

func (f fields) schema() (map[string]any, error) {
	properties := map[string]any{}
	var required []string
	for _, one := range f.list {
		schema, err := one.schema()
		if err != nil {
			return nil, err
		}
		schema.Description = one.words()
		if properties[one.name] = schema; one.required {
			required = append(required, one.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	return s, nil
}

// schemaOf is the JSON Schema of a type.
func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {Description: "any JSON"},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[time.Duration]():   {Type: "integer", Description: "nanoseconds"},
		reflect.TypeFor[session.Fact](): {
			Type: "object", Required: []string{"seq", "n", "of", "type", "at"}, Description: "an event of a log with its place; its other fields depend on its type",
			Properties: map[string]*jsonschema.Schema{
				"seq": {Type: "integer", Description: "of the commit"}, "n": {Type: "integer", Description: "in the commit, from 1"},
				"of": {Type: "string", Description: "the run that the commit is of"}, "type": {Type: "string"}, "at": {Type: "string", Format: "date-time"},
			},
		},
	}})
}

// eventsDescription describes the stream of events.
func eventsDescription() map[string]any {
	parameter := func(name, about string) map[string]any {
		return map[string]any{"name": name, "in": "query", "required": false, "description": about, "schema": map[string]any{"type": "string"}}
	}
	return map[string]any{
		"operationId": "events", "summary": "What happens in the fleet from now on, as server-sent events", "x-role": "read", "tags": []string{"events"},
		"parameters": []any{
			parameter("agent", "only of this agent"), parameter("session", "only of the session with this key"),
			parameter("after", "as Last-Event-ID, for clients that cannot send the header"),
			map[string]any{"name": "Last-Event-ID", "in": "header", "required": false, "description": "goes on behind this event", "schema": map[string]any{"type": "string"}},
		},
		"responses": map[string]any{
			"200": map[string]any{
				"description": "events, one after the other, until the client goes away",
				"content":     map[string]any{"text/event-stream": map[string]any{"schema": map[string]any{"type": "string"}}},
			},
			"default": map[string]any{"$ref": "#/components/responses/error"},
		},
	}
}

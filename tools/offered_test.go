package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agenthost/tools"
)

const letThrough = "; any arguments are let through"

func TestOfferedSchema(t *testing.T) {
	tests := map[string]struct{ schema, want string }{ // want: the error; empty: offered as it is
		"none":                 {``, ``},
		"fine":                 {weather, ``},
		"empty":                {`{}`, ``},
		"draft 7":              {`{"type":"object","properties":{"x":{"items":[{"type":"string"}]}}}`, ``},
		"a lookahead":          {`{"properties":{"mail":{"type":"string","pattern":"^(?!\\.)(?!.*\\.\\.)[a-z]+@[a-z]+$"}}}`, ``},
		"object or null":       {`{"type":["object","null"]}`, ``},
		"no JSON":              {`{"type":`, `schema cannot be read: it is no JSON object`},
		"a list":               {`[]`, `schema cannot be read: it is no JSON object`},
		"a word":               {`true`, `schema cannot be read: it is no JSON object`},
		"null":                 {`null`, `schema cannot be read: it is no JSON object`},
		"describes a list":     {`{"type":"array"}`, `schema describes no object but array`},
		"describes two others": {`{"type":["string","null"]}`, `schema describes no object but [string null]`},
		"unknown type": {
			`{"type":"nonsense"}`,
			`schema cannot be read: /type: must be one of these forms: (/type: must be array, not string) or (/type: must be one of "array", "boolean", "integer", "null", "number", "object", "string")`,
		},
		"required is a word": {`{"type":"object","required":"x"}`, `schema cannot be read: /required: must be array, not string`},
		"broken pattern":     {`{"properties":{"x":{"pattern":"[a-"}}}`, `schema cannot be read: /properties/x/pattern: must be a valid regex`},
		"broken lookahead":   {`{"properties":{"x":{"pattern":"(?!a"}}}`, `schema cannot be read: /properties/x/pattern: must be a valid regex`},
		"from a server":      {`{"$ref":"http://127.0.0.1:1/x"}`, `schema cannot be read: failing loading "http://127.0.0.1:1/x": load "http://127.0.0.1:1/x": a schema refers to itself only`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tools.Offered(json.RawMessage(tt.schema))
			schema, fault := tt.schema, "<nil>"
			if tt.want != "" {
				schema, fault = `{"type":"object"}`, tt.want+letThrough
			}
			if string(got) != schema || fmt.Sprint(err) != fault {
				t.Errorf("got %s, %v\nwant %s, %s", got, err, schema, fault)
			}
		})
	}
}

// An answer that nothing can check does not pass for one that was checked.
func TestAnswerBySchemaThatCannotBeReadIsRefused(t *testing.T) {
	var v tools.Validator
	schema := json.RawMessage(`{"type":"nonsense"}`)
	if err := tools.CheckSchema(schema); err == nil {
		t.Error("the schema passes")
	}
	for range 2 { // compiled, and from memory
		if err := v.CheckAnswer(schema, `{}`); err == nil {
			t.Error("the answer passes")
		}
	}
}

// A model is shown descriptions and schemas with every call, and a provider refuses all calls
// for one that is too long.
func TestWhatAModelIsShownIsBounded(t *testing.T) {
	long := strings.Repeat("é", 10_000)
	schema, err := tools.Offered(json.RawMessage(`{"type":"object","description":"` + strings.Repeat(long, 20) + `"}`))
	if string(schema) != `{"type":"object"}` || err == nil || !strings.HasPrefix(err.Error(), "schema has 390 kB, 256 are the most") {
		t.Errorf("got schema of %d bytes, error %v", len(schema), err)
	}
	run := func(context.Context, tools.Call) (tools.Result, error) { return tools.Result{}, nil }
	registry := tools.NewRegistry(tools.Static{{Name: "a", Description: long, Run: run}, {Name: "b", Description: "Short.", Run: run}})
	list := registry.For(tools.GrantOf("*"))
	if got := list[0].Description; len(got) > 17<<10 || !strings.HasSuffix(got, "é…") {
		t.Errorf("got a description of %d bytes that ends %q", len(got), got[len(got)-5:])
	}
	if list[1].Description != "Short." {
		t.Errorf("got %q", list[1].Description)
	}
}

package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agenthost/tools"
)

type order struct {
	Article string `json:"article" jsonschema:"what is ordered"`
	Count   int    `json:"count,omitempty" jsonschema:"how many; 1 by default"`
}

func place(_ context.Context, call tools.Call, o order) (string, error) {
	if o.Count < 0 {
		return "", errors.New("count: want 1 or more")
	}
	return fmt.Sprintf("%s: %d of %s", call.ID, max(o.Count, 1), o.Article), nil
}

func TestTypedToolRunsWithItsArguments(t *testing.T) {
	tool := tools.Typed(tools.Tool{Name: "order", Rerun: true}, place)
	if !tool.Rerun || tool.Name != "order" {
		t.Errorf("lost a field: %+v", tool)
	}
	tests := map[string]struct{ args, want, err string }{
		"all":      {args: `{"article":"tyre","count":2}`, want: "c1: 2 of tyre"},
		"optional": {args: `{"article":"tyre"}`, want: "c1: 1 of tyre"},
		"none":     {args: ``, want: "c1: 1 of "},
		"refused":  {args: `{"article":"tyre","count":-1}`, err: "count: want 1 or more"},
		"wrong":    {args: `{"article":7}`, err: "order: decode arguments: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tool.Run(t.Context(), tools.Call{ID: "c1", Name: "order", Args: json.RawMessage(tt.args)})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil || got.Text != tt.want {
				t.Errorf("got %q, %v, want %q", got.Text, err, tt.want)
			}
		})
	}
}

// What a model gets wrong is found before the tool runs, and said for the model.
func TestTypedToolIsCheckedByItsSchema(t *testing.T) {
	var v tools.Validator
	tool := tools.Typed(tools.Tool{Name: "order"}, place)
	tests := map[string]struct{ args, want string }{
		"well":    {`{"article":"tyre"}`, ""},
		"missing": {`{"count":2}`, "article"},
		"unknown": {`{"article":"tyre","colour":"red"}`, "colour"},
		"type":    {`{"article":"tyre","count":"two"}`, "/count"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := v.Check(tool, json.RawMessage(tt.args))
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestTypedToolWithoutASchemaPanics(t *testing.T) {
	for name, define := range map[string]func(){
		"no struct": func() {
			tools.Typed(tools.Tool{Name: "odd"}, func(context.Context, tools.Call, int) (string, error) { return "", nil })
		},
		"a function": func() {
			tools.Typed(tools.Tool{Name: "odd"}, func(context.Context, tools.Call, struct{ F func() }) (string, error) { return "", nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), `arguments of tool "odd"`) {
					t.Errorf("panics with %v", p)
				}
			}()
			define()
		})
	}
}

// The arguments of a tool are a struct: its schema tells the model what to write.
func ExampleTyped() {
	type args struct {
		Day string `json:"day" jsonschema:"a day of the week"`
	}
	hours := tools.Typed(tools.Tool{Name: "opening_hours", Description: "When the shop is open.", ReadOnly: true},
		func(_ context.Context, _ tools.Call, in args) (string, error) {
			if in.Day == "Sunday" {
				return "closed", nil
			}
			return "9 to 18", nil
		})
	fmt.Println(string(hours.Schema))
	result, err := hours.Run(context.Background(), tools.Call{Name: hours.Name, Args: json.RawMessage(`{"day":"Sunday"}`)})
	fmt.Println(result.Text, err)
	// Output:
	// {"type":"object","properties":{"day":{"type":"string","description":"a day of the week"}},"required":["day"],"additionalProperties":false}
	// closed <nil>
}

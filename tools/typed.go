package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Typed returns t as a tool whose arguments are a Go struct. The fields of In
// become the properties of t.Schema, named by their json tags and described by
// their jsonschema tags; a field without omitempty is required. The text that
// run returns is the result.
//
// Typed is for the start of a program: it panics when In has no JSON Schema,
// such as a type that is no struct or has a field of type func.
func Typed[In any](t Tool, run func(ctx context.Context, call Call, in In) (string, error)) Tool {
	schema, err := schemaOf[In]()
	if err != nil {
		panic(fmt.Sprintf("tools: arguments of tool %q: %v", t.Name, err))
	}
	t.Schema = schema
	t.Run = func(ctx context.Context, call Call) (Result, error) {
		var in In
		if err := decodeArgs(call, &in); err != nil {
			return Result{}, err
		}
		text, err := run(ctx, call, in)
		return Result{Text: text}, err
	}
	return t
}

func schemaOf[In any]() (json.RawMessage, error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, err
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("want a struct, got %T", *new(In))
	}
	return json.Marshal(schema)
}

// decodeArgs reads the arguments of a call; none are an empty object.
func decodeArgs(call Call, in any) error {
	if len(bytes.TrimSpace(call.Args)) == 0 {
		return nil
	}
	if err := json.Unmarshal(call.Args, in); err != nil {
		return fmt.Errorf("%s: decode arguments: %w", call.Name, err)
	}
	return nil
}

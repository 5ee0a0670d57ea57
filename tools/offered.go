package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// AnyObject is the JSON Schema of an object with any keys.
var AnyObject = json.RawMessage(`{"type":"object"}`)

// maxSchema is how many bytes of JSON a schema may have that a model is shown.
const maxSchema = 256 << 10

// Offered returns the schema that a model is shown for the arguments of a tool:
// schema itself, or AnyObject and an error when no validator reads it or it
// describes no object. A provider refuses every call of an agent for one such
// schema, so it is never passed on.
func Offered(schema json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		return schema, nil
	}
	var top struct{ Type any }
	if len(schema) > maxSchema {
		return AnyObject, fmt.Errorf("schema has %d kB, %d are the most; any arguments are let through", len(schema)>>10, maxSchema>>10)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(schema), []byte("{")) || !json.Valid(schema) {
		return AnyObject, errors.New("schema cannot be read: it is no JSON object; any arguments are let through")
	}
	_ = json.Unmarshal(schema, &top) // it is valid
	if !describesObject(top.Type) {
		return AnyObject, fmt.Errorf("schema describes no object but %v; any arguments are let through", top.Type)
	}
	if _, err := compile(schema); err != nil {
		return AnyObject, fmt.Errorf("schema cannot be read: %s; any arguments are let through", unreadable(err))
	}
	return schema, nil
}

// unreadable says on one line why a schema does not compile.
func unreadable(err error) string {
	if wrong, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if faults, ok := errors.AsType[*jsonschema.ValidationError](wrong.Err); ok {
			return listed(faultsOf(faults))
		}
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// describesObject reports whether the keyword type allows objects. What it
// cannot judge is for the compiler.
func describesObject(kind any) bool {
	switch kind := kind.(type) {
	case string:
		return kind == "object" || !slices.Contains(plainTypes, kind)
	case []any:
		return len(kind) == 0 || slices.ContainsFunc(kind, describesObject)
	default:
		return true
	}
}

var plainTypes = []string{"array", "boolean", "integer", "null", "number", "string"}

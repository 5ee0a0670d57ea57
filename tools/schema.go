package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSchemas bounds the schemas a Validator keeps. A server that lists new ones
// for ever makes it compile again, not grow.
const maxSchemas = 1024

// A Validator checks the arguments of calls by the schemas of their tools. The
// zero Validator is ready to use, from many goroutines.
type Validator struct {
	mu      sync.RWMutex
	schemas map[string]*compiled // by their text; nil: does not compile
}

// none is the schema of a tool that has none.
var none = json.RawMessage(`{"type":"object","additionalProperties":false}`)

// Check is an error when args are not an object that t's schema allows. Its
// text tells a model all that is wrong at once, each fault with its path: what
// to correct, nothing about the schema. No args at all are an empty object.
func (v *Validator) Check(t Tool, args json.RawMessage) error {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage(`{}`)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return fmt.Errorf("arguments of %q are not JSON: %w", t.Name, err)
	}
	if _, ok := value.(map[string]any); !ok {
		return fmt.Errorf("arguments of %q: must be a JSON object", t.Name)
	}
	// What is checked and what a person approves is the last of two values under one name;
	// a server may take the first.
	if at := twice(args); at != "" {
		return fmt.Errorf("arguments of %q: %s: is there twice", t.Name, at)
	}
	schema := v.schema(t)
	if schema == nil { // only of a source that did not ask Offered; the tool checks by itself
		return nil
	}
	if err := conforms(schema, value, len(args)); err != nil {
		return fmt.Errorf("arguments of %q: %w", t.Name, err)
	}
	return nil
}

// CheckAnswer is an error when text is not JSON that schema allows, or schema
// itself cannot be read. Like that of Check, its text is for the model.
func (v *Validator) CheckAnswer(schema json.RawMessage, text string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	s := v.schema(Tool{Name: "answer", Source: "output_schema", Schema: schema})
	if s == nil {
		return errUnreadable
	}
	return conforms(s, value, len(text))
}

// twice is the place of a name that an object in text, which is JSON, has twice; empty: none has.
func twice(text []byte) string {
	type level struct {
		step  string          // in the object or list that it is in
		names map[string]bool // nil in a list
		key   bool            // a name comes next
	}
	var open []level
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		last := len(open) - 1
		if name, ok := token.(string); ok && last >= 0 && open[last].key {
			open[last].key, open[last].step = false, name
			if open[last].names[name] {
				steps := make([]string, len(open))
				for i := range open {
					steps[i] = open[i].step
				}
				return pointer(steps)
			}
			open[last].names[name] = true
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: map[string]bool{}, key: true})
			continue
		case json.Delim('['):
			open = append(open, level{step: "*"})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:last]
			last--
		}
		if last >= 0 {
			open[last].key = open[last].names != nil
		}
	}
}

// CheckSchema is an error when schema cannot be read.
func CheckSchema(schema json.RawMessage) error {
	if _, err := compile(schema); err != nil {
		return errors.New(unreadable(err))
	}
	return nil
}

// conforms is an error when the schema does not allow a value that is size bytes long.
func conforms(schema *compiled, value any, size int) error {
	if err := unfit(value); err != nil {
		return err
	}
	err := schema.validate(value, size)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return errors.New(listed(faultsOf(invalid)))
	}
	return err
}

// schema is t's schema, compiled; nil when it does not compile.
func (v *Validator) schema(t Tool) *compiled {
	text := t.Schema
	if len(bytes.TrimSpace(text)) == 0 {
		text = none
	}
	v.mu.RLock()
	s, known := v.schemas[string(text)]
	v.mu.RUnlock()
	if known {
		return s
	}
	s, _ = compile(text) // nil on an error
	v.keep(string(text), s)
	return s
}

func (v *Validator) keep(text string, s *compiled) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.schemas == nil || len(v.schemas) >= maxSchemas {
		v.schemas = map[string]*compiled{}
	}
	v.schemas[text] = s
}

var errUnreadable = errors.New("the JSON Schema of the answer cannot be read")

// compile reads a schema that names no draft as the latest one, and when that
// fails as draft 7, which most of those were written for.
func compile(text json.RawMessage) (*compiled, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if err := unfit(doc); err != nil {
		return nil, err
	}
	if dynamic(doc) {
		return nil, errDynamic
	}
	s, err := compileAs(jsonschema.Draft2020, doc)
	if err == nil {
		return s, nil
	}
	if s, old := compileAs(jsonschema.Draft7, doc); old == nil {
		return s, nil
	}
	return nil, err
}

func compileAs(draft *jsonschema.Draft, doc any) (*compiled, error) {
	s := &compiled{}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(draft)
	c.AssertFormat()
	c.UseRegexpEngine(s.work.engine())
	c.UseLoader(nowhere{})
	const name = "tool:schema"
	err := c.AddResource(name, doc)
	if err == nil {
		s.schema, err = c.Compile(name)
	}
	if err != nil {
		return nil, err
	}
	s.count()
	return s, nil
}

// nowhere is where references out of a schema lead: it may be from anyone, and
// must not make the host read files or call servers.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("load %q: a schema refers to itself only", url)
}

// maxFaults bounds the faults that are told at once.
const maxFaults = 20

// listed is the faults as one text, the same for the same faults.
func listed(faults []string) string {
	slices.Sort(faults)
	faults = slices.Compact(faults)
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(faults, "; ")
}

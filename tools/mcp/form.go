package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"agenthost/tools"
)

// What a person answers to what is true or not.
const (
	yes = "yes"
	no  = "no"
)

var yesOrNo = []string{yes, no}

// A field is one property of the form that a server wants to be filled.
type field struct {
	name     string
	required bool
	schema   json.RawMessage // all of it

	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Format      string   `json:"format"`
	Maximum     *float64 `json:"maximum"`
	Default     any      `json:"default"`
	Enum        []string `json:"enum"`
	OneOf       []choice `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []choice `json:"anyOf"`
	} `json:"items"`
}

type choice struct {
	Const string `json:"const"`
}

// formOf reads the schema of a form, which comes with a message: what is required first, in the
// order given.
func formOf(message string, schema any) ([]field, error) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	text, err := json.Marshal(schema)
	if n := len(message) + len(text); n > longestForm {
		return nil, largeError(fmt.Sprintf("it has %d bytes, at most %d can be asked for", n, longestForm))
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return nil, fmt.Errorf("read the form: %w", err)
	}
	if n := len(s.Properties); n > mostFields {
		return nil, largeError(fmt.Sprintf("it has %d fields, at most %d can be asked for", n, mostFields))
	}
	var form []field
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		f := field{name: name, required: slices.Contains(s.Required, name), schema: s.Properties[name]}
		if err := json.Unmarshal(f.schema, &f); err != nil {
			return nil, fmt.Errorf("read the form: %w", err)
		}
		if n := len(f.choices()); n > mostChoices {
			return nil, largeError(fmt.Sprintf("a field of it has %d choices, at most %d can be offered", n, mostChoices))
		}
		if i := slices.IndexFunc(f.choices(), func(c string) bool { return clean(c) != c }); i >= 0 {
			return nil, fmt.Errorf("read the form: choice %q cannot be shown as it is", f.choices()[i])
		}
		form = append(form, f)
	}
	place := func(f field) int {
		if f.required {
			return slices.Index(s.Required, f.name)
		}
		return len(s.Required)
	}
	slices.SortStableFunc(form, func(a, b field) int { return cmp.Compare(place(a), place(b)) })
	return form, nil
}

func (f field) prompt(message string) string {
	text := message + "\n" + cmp.Or(clean(f.Title), clean(f.name))
	if f.Description != "" {
		text += ": " + clean(f.Description)
	}
	if f.Type == "array" && len(f.choices()) > 0 {
		text += " (several of " + clean(strings.Join(f.choices(), ", ")) + ", with commas between)"
	}
	switch {
	case f.Default != nil:
		text += " (" + nothing + " for " + clean(f.words(f.Default)) + ")"
	case !f.required:
		text += " (" + nothing + " to leave it out)"
	}
	return text
}

// nothing is what a person answers to leave a field empty: a chat sends no empty
// message. An empty answer is the same.
const nothing = "-"

func (f field) empty(answer string) bool {
	skippable := (f.Default != nil || !f.required) && !slices.Contains(f.choices(), nothing)
	return answer == "" || answer == nothing && skippable
}

// words is a value as a person would write it.
func (f field) words(value any) string {
	list, several := value.([]any)
	switch {
	case several:
		words := make([]string, len(list))
		for i, v := range list {
			words[i] = fmt.Sprint(v)
		}
		return strings.Join(words, ", ")
	case value == true:
		return yes
	case value == false:
		return no
	default:
		return fmt.Sprint(value)
	}
}

// options are what one answer is chosen from.
func (f field) options() []string {
	list := f.choices()
	switch f.Type {
	case "boolean":
		list = slices.Clone(yesOrNo)
	case "array":
		return nil
	}
	if len(list) > 0 && f.empty(nothing) {
		list = append(list, nothing)
	}
	return list
}

func (f field) choices() []string {
	list := slices.Concat(f.Enum, f.Items.Enum)
	for _, c := range slices.Concat(f.OneOf, f.Items.AnyOf) {
		list = append(list, c.Const)
	}
	return list
}

// value makes what the schema wants of an answer; nil for none.
func (f field) value(answer string) (any, error) {
	if f.empty(answer) {
		if f.Default == nil && f.required {
			return nil, fmt.Errorf("%s needs an answer", f.name)
		}
		return f.Default, nil
	}
	value, err := f.read(answer)
	if err == nil {
		err = f.conforms(value)
	}
	return value, err
}

// conforms is an error when the schema of the field does not allow a value: its
// format, its length, its bounds. A schema that cannot be read allows all.
func (f field) conforms(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if tools.CheckSchema(f.schema) != nil {
		return nil //nolint:nilerr // it allows all
	}
	if err := new(tools.Validator).CheckAnswer(f.schema, string(text)); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

// read makes a value of the field's type of an answer.
func (f field) read(answer string) (any, error) {
	switch f.Type {
	case "boolean":
		return f.truth(answer)
	case "integer":
		n, err := strconv.ParseInt(answer, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not a whole number", f.name, answer)
		}
		return n, nil
	case "number":
		n, err := strconv.ParseFloat(answer, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not a number", f.name, answer)
		}
		return n, nil
	case "array":
		return f.several(answer)
	default:
		return answer, f.check(answer)
	}
}

func (f field) truth(answer string) (any, error) {
	switch strings.ToLower(answer) {
	case yes, "y", "true":
		return true, nil
	case no, "n", "false":
		return false, nil
	default:
		return nil, fmt.Errorf("%s: %q is neither yes nor no", f.name, answer)
	}
}

func (f field) several(answer string) (any, error) {
	list := []any{}
	for part := range strings.SplitSeq(answer, ",") {
		part = strings.TrimSpace(part)
		if err := f.check(part); err != nil {
			return nil, err
		}
		list = append(list, part)
	}
	return list, nil
}

func (f field) check(answer string) error {
	if known := f.choices(); len(known) > 0 && !slices.Contains(known, answer) {
		return fmt.Errorf("%s: %q: want one of %s", f.name, answer, strings.Join(known, ", "))
	}
	return nil
}

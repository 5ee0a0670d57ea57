package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"agenthost/bus"
)

// A field is one of a request.
type field struct {
	name     string
	about    string
	kind     reflect.Type
	required bool // what says nothing of being left out
}

// fields are those of a request, in the order of its type.
type fields struct {
	request reflect.Type
	list    []field
}

// byKey is the field that the door fills in: who asks is known by the token.
const byKey = "by"

func fieldsOf(request reflect.Type) fields {
	f := fields{request: request}
	if request == nil || request.Kind() != reflect.Struct {
		return f
	}
	for _, one := range reflect.VisibleFields(request) {
		name, rest, _ := strings.Cut(one.Tag.Get("json"), ",")
		if one.Anonymous || !one.IsExported() || name == "-" || name == byKey {
			continue
		}
		if name == "" {
			name = strings.ToLower(one.Name)
		}
		f.list = append(f.list, field{name, one.Tag.Get("doc"), one.Type, !strings.Contains(rest, "omit")})
	}
	return f
}

func (f fields) names() []string {
	names := make([]string, len(f.list))
	for i, one := range f.list {
		names[i] = one.name
	}
	return names
}

// unknown is the error of a field that there is not.
func (f fields) unknown(name string) error {
	if name == byKey {
		return errors.New("unknown field \"by\": who asks is known by the token; leave it out")
	}
	if len(f.list) == 0 {
		return fmt.Errorf("unknown field %q; this takes none", name)
	}
	return fmt.Errorf("unknown field %q; want %s", name, strings.Join(f.names(), ", "))
}

// check says what is wrong with a body, and what would be right.
func (f fields) check(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return f.missing(nil)
	}
	if !utf8.Valid(body) { // else two texts that differ would become one
		return errors.New("the body is not UTF-8")
	}
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &given); err != nil {
		return fmt.Errorf("the body is no JSON object: %s; %s", bus.JSONFault(err), f.example())
	}
	for name := range given {
		if !slices.Contains(f.names(), name) {
			return f.unknown(name)
		}
	}
	for _, one := range f.list {
		if value, ok := given[one.name]; ok {
			if err := one.check(value); err != nil {
				return err
			}
		}
	}
	return f.missing(given)
}

// check says why a value is no value of a field.
func (f field) check(value []byte) error {
	into := reflect.New(f.kind)
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.DisallowUnknownFields()
	err := dec.Decode(into.Interface())
	if err == nil && (!counts(f.kind) || into.Elem().Int() >= 0) {
		_, err = dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
	return fmt.Errorf("%s: %s is not what it takes; want %s", f.name, clip(string(value)), words(f.kind))
}

// counts reports whether a field is a number with a sign: what requests have such
// numbers for, as limit, is never below 0.
func counts(kind reflect.Type) bool {
	return kind.Kind() >= reflect.Int && kind.Kind() <= reflect.Int64
}

// missing is the error of a field that has to be there.
func (f fields) missing(given map[string]json.RawMessage) error {
	for _, one := range f.list {
		value, ok := given[one.name]
		if one.required && (!ok || string(value) == "null" || string(value) == `""`) {
			return fmt.Errorf("%s is missing; %s", one.name, f.example())
		}
	}
	return nil
}

// example is a request in words.
func (f fields) example() string {
	if len(f.list) == 0 {
		return "send {} or nothing"
	}
	var parts []string
	for _, one := range f.list {
		if part := one.name + " (" + words(one.kind) + ")"; one.required {
			parts = append(parts, part)
		} else {
			parts = append(parts, "optional "+part)
		}
	}
	return "want an object with " + strings.Join(parts, ", ")
}

// fromQuery makes a request of query parameters.
func (f fields) fromQuery(query url.Values) ([]byte, error) {
	given := map[string]json.RawMessage{}
	for name, values := range query {
		i := slices.IndexFunc(f.list, func(one field) bool { return one.name == name })
		if i < 0 {
			return nil, f.unknown(name)
		}
		if len(values) > 1 {
			return nil, fmt.Errorf("%s is there %d times; want it once", name, len(values))
		}
		value, err := f.list[i].fromText(values[0])
		if err != nil {
			return nil, err
		}
		given[name] = value
	}
	if err := f.missing(given); err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "want an object with", "want the parameters"))
	}
	if len(given) == 0 {
		return nil, nil
	}
	return json.Marshal(given)
}

// fromText is the value of a parameter as JSON.
func (f field) fromText(text string) (json.RawMessage, error) {
	wrong := fmt.Errorf("%s: %q is not what it takes; want %s", f.name, clip(text), words(f.kind))
	switch kind := f.kind.Kind(); {
	case f.kind == reflect.TypeFor[time.Time]():
		if at, ok := moment(text); ok {
			return json.Marshal(at)
		}
		return nil, wrong
	case kind == reflect.Bool:
		if value, err := strconv.ParseBool(text); err == nil {
			return json.Marshal(value)
		}
		return nil, wrong
	case kind >= reflect.Int && kind <= reflect.Uint64:
		if f.check([]byte(text)) != nil {
			return nil, wrong
		}
		return json.RawMessage(text), nil
	case kind == reflect.String:
		return json.Marshal(text)
	}
	return nil, wrong
}

// moment reads a time, or how long ago it was, such as 90m or 7d.
func moment(text string) (time.Time, bool) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, true
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, true
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return time.Now().UTC().AddDate(0, 0, -n), true
		}
	}
	ago, err := time.ParseDuration(text)
	return time.Now().UTC().Add(-ago), err == nil && ago >= 0
}

// words are what a field takes.
func words(kind reflect.Type) string {
	switch k := kind.Kind(); {
	case kind == reflect.TypeFor[json.RawMessage]():
		return "JSON"
	case kind == reflect.TypeFor[time.Time]():
		return "a time such as 2026-11-23T08:00:00Z"
	case k == reflect.Bool:
		return "true or false"
	case k >= reflect.Int && k <= reflect.Uint64:
		return "a whole number from 0 on"
	case k == reflect.String:
		return "a text"
	case k == reflect.Slice:
		return "a list, each " + words(kind.Elem())
	case k == reflect.Struct:
		return "an object with " + strings.Join(fieldsOf(kind).names(), ", ")
	}
	return "JSON"
}

// mostShown is how much of a wrong value an error repeats.
const mostShown = 60

func clip(text string) string {
	if runes := []rune(text); len(runes) > mostShown {
		return string(runes[:mostShown]) + "…"
	}
	return text
}

package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"agenthost/internal/regexsize"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema may be from anyone. What of it would cost much is bounded here: its patterns
// before they are compiled, numbers before they are computed with, and a check by how many
// subschemas it looks at. Twenty definitions that each refer to the next one twice are a
// million of these.
const (
	mostPatterns = 20_000 // steps of all patterns of a schema; of the rest nothing is checked
	mostNumber   = 400    // digits of a number, and the power of ten that it may have

	// leastWork is what each check may cost, a second or two; each byte of the value adds to it.
	leastWork   = 200_000
	workPerByte = 1
)

var (
	errDynamic = errors.New("dynamic references are not followed here")
	errWork    = errors.New("too much to check by its schema; say less, or nest it less")
)

// A compiled is a schema that is ready for checks, one at a time.
type compiled struct {
	schema *jsonschema.Schema
	work   work
}

// A work is what a check may still cost. The library has no end of its own for that.
type work struct {
	mu   sync.Mutex
	runs bool // a check does, which left is for
	left int
}

func (w *work) spend(n int) {
	if !w.runs {
		return
	}
	if w.left -= n; w.left < 0 {
		panic(errWork)
	}
}

// validate is an error when value, which is size bytes long, is not what the schema allows.
func (c *compiled) validate(value any, size int) (err error) {
	c.work.mu.Lock()
	defer c.work.mu.Unlock()
	c.work.runs, c.work.left = true, leastWork+workPerByte*size
	defer func() {
		c.work.runs = false
		if p := recover(); p == errWork { //nolint:errorlint // spend has panicked with it
			err = errWork
		} else if p != nil {
			panic(p)
		}
	}()
	return c.schema.Validate(value)
}

// count has each subschema spend work when it is looked at, by a format that all values have.
func (c *compiled) count() {
	seen := map[*jsonschema.Schema]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface:
			walk(v.Elem())
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				walk(v.MapIndex(key))
			}
		case reflect.Pointer:
			switch p := v.Interface().(type) {
			case *jsonschema.Schema:
				if p == nil || seen[p] {
					return
				}
				seen[p] = true
				for i := range v.Elem().NumField() {
					if f := v.Elem().Type().Field(i); f.IsExported() && holdsSchemas(f.Name) {
						walk(v.Elem().Field(i))
					}
				}
				c.countAt(p)
			}
		}
	}
	walk(reflect.ValueOf(c.schema))
}

// holdsSchemas leaves out the fields of a schema that are values.
func holdsSchemas(field string) bool {
	switch field {
	case "Default", "Examples", "Extensions", "Enum", "Const", "Pattern", "Format":
		return false
	}
	return true
}

func (c *compiled) countAt(s *jsonschema.Schema) {
	cost := costOf(s)
	before := s.Format
	s.Format = &jsonschema.Format{Validate: func(value any) error {
		c.work.spend(cost)
		if before == nil {
			return nil
		}
		return before.Validate(value)
	}}
	if before != nil {
		s.Format.Name = before.Name
	}
	if s.Format.Name == "regex" { // the library would not come here
		s.Format.Name = "regular expression"
	}
}

// costOf is what it costs to look at s, and at those of its parts that end at their type or
// their list of values before they count themselves.
func costOf(s *jsonschema.Schema) int {
	cost := 1 + len(s.Required)/20 + len(s.Properties)/20 + len(s.PatternProperties)
	for _, list := range [][]*jsonschema.Schema{{s}, s.AllOf, s.AnyOf, s.OneOf, {s.Not, s.If, s.Ref}} {
		for _, part := range list {
			if part != nil && part.Enum != nil {
				cost += len(part.Enum.Values) / 10
			}
		}
		cost += len(list)
	}
	return cost
}

// engine reads the patterns of one schema.
func (w *work) engine() jsonschema.RegexpEngine {
	read, left := map[string]jsonschema.Regexp{}, mostPatterns
	return func(text string) (jsonschema.Regexp, error) {
		if p, ok := read[text]; ok {
			return p, nil
		}
		steps := regexsize.Of(text)
		if left -= steps; left < 0 {
			return unchecked(text), nil
		}
		p, err := pattern(text)
		if re, ok := p.(*regexp.Regexp); ok && err == nil {
			p = &costly{re, steps, w}
		}
		if err == nil {
			read[text] = p
		}
		return p, err
	}
}

// A costly is a pattern of which each match spends work.
type costly struct {
	*regexp.Regexp
	steps int
	work  *work
}

func (c *costly) MatchString(s string) bool {
	c.work.spend(1 + len(s)*c.steps/100)
	return c.Regexp.MatchString(s)
}

// unfit is an error when value has a number that is not computed with, or a schema a
// reference that leads where the value leads it.
func unfit(value any) error {
	switch v := value.(type) {
	case json.Number:
		if digits, power := len(v), exponent(string(v)); digits > mostNumber || power > mostNumber || power < -mostNumber {
			return fmt.Errorf("%.40s is too large or too exact a number", v)
		}
	case []any:
		for _, item := range v {
			if err := unfit(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := unfit(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// exponent is the power of ten in a number; that of one that no int holds is above all bounds.
func exponent(number string) int {
	_, power, ok := strings.Cut(strings.ToLower(number), "e")
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(power)
	if err != nil {
		return mostNumber + 1
	}
	return n
}

// dynamic reports whether a schema has references that depend on the way to them, which the
// count of its parts does not follow.
func dynamic(doc any) bool {
	switch v := doc.(type) {
	case []any:
		return slices.ContainsFunc(v, dynamic)
	case map[string]any:
		for name, item := range v {
			if _, text := item.(string); text && (name == "$dynamicRef" || name == "$recursiveRef") || dynamic(item) {
				return true
			}
		}
	}
	return false
}

package tools

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var pathEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// faultsOf is what has to be corrected, each with its path.
func faultsOf(e *jsonschema.ValidationError) []string {
	at := pointer(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return each(at, k.Missing, "required")
	case *kind.AdditionalProperties:
		return each(at, k.Properties, "unknown, leave it out")
	case *kind.AnyOf, *kind.OneOf:
		if len(e.Causes) > 0 {
			return []string{placed(at, "must be one of these forms: "+forms(e.Causes))}
		}
	}
	if len(e.Causes) == 0 {
		return []string{placed(at, wrong(e.ErrorKind))}
	}
	var faults []string
	for _, c := range e.Causes {
		faults = append(faults, faultsOf(c)...)
	}
	return faults
}

// pointer is a place in the arguments, as JSON Pointers are written.
func pointer(steps []string) string {
	var b strings.Builder
	for _, step := range steps {
		b.WriteString("/" + pathEscaper.Replace(step))
	}
	return b.String()
}

// forms is what is wrong by each form, of which only one has to be met.
func forms(causes []*jsonschema.ValidationError) string {
	texts := make([]string, len(causes))
	for i, c := range causes {
		texts[i] = "(" + listed(faultsOf(c)) + ")"
	}
	slices.Sort(texts) // the compiler's order is not always the same
	return strings.Join(slices.Compact(texts), " or ")
}

func each(at string, names []string, text string) []string {
	faults := make([]string, len(names))
	for i, name := range names {
		faults[i] = at + "/" + pathEscaper.Replace(name) + ": " + text
	}
	return faults
}

func placed(at, text string) string {
	if at == "" {
		return text
	}
	return at + ": " + text
}

// wrong says what a value must be.
func wrong(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return "must be one of " + values(k.Want)
	case *kind.Const:
		return "must be " + values([]any{k.Want})
	case *kind.Minimum:
		return "must be ≥ " + number(k.Want)
	case *kind.Maximum:
		return "must be ≤ " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be > " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be < " + number(k.Want)
	case *kind.Pattern:
		return "must match " + k.Want
	case *kind.Format:
		return "must be a valid " + k.Want
	default:
		return k.LocalizedString(message.NewPrinter(language.English))
	}
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

// values lists what is allowed, the first few.
func values(list []any) string {
	const most = 30
	texts := make([]string, 0, min(len(list), most)+1)
	for _, v := range list {
		if len(texts) == most {
			texts = append(texts, "…")
			break
		}
		text, _ := json.Marshal(v) // it was JSON in the schema
		texts = append(texts, string(text))
	}
	return strings.Join(texts, ", ")
}

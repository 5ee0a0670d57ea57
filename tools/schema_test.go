package tools_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
)

const weather = `{
	"type": "object",
	"properties": {
		"city": {"type": "string", "minLength": 2, "maxLength": 20, "pattern": "^[A-Z]"},
		"days": {"type": "integer", "minimum": 1, "maximum": 14},
		"unit": {"enum": ["c", "f", 1]},
		"ratio": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1.5},
		"on": {"type": "string", "format": "date"},
		"kind": {"const": "short"},
		"where": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["lat"]}]},
		"tags": {"type": "array", "maxItems": 2, "items": {"type": ["string", "null"]}},
		"a/b": {"type": "string"}
	},
	"required": ["city"],
	"additionalProperties": false
}`

func TestCheckArguments(t *testing.T) {
	tests := map[string]struct{ schema, args, want string }{
		"fine":               {weather, `{"city":"Rome","days":14,"where":{"lat":1},"tags":["x",null]}`, ``},
		"everything":         {weather, `{"days":30}`, `/city: required; /days: must be ≤ 14`},
		"too small":          {weather, `{"city":"Rome","days":0}`, `/days: must be ≥ 1`},
		"too short":          {weather, `{"city":"R"}`, `/city: minLength: got 1, want 2`},
		"pattern":            {weather, `{"city":"rome"}`, `/city: must match ^[A-Z]`},
		"type":               {weather, `{"city":7}`, `/city: must be string, not number`},
		"not whole":          {weather, `{"city":"Rome","days":1.5}`, `/days: must be integer, not number`},
		"open ends":          {weather, `{"city":"Rome","ratio":0}`, `/ratio: must be > 0`},
		"open ends above":    {weather, `{"city":"Rome","ratio":1.5}`, `/ratio: must be < 1.5`},
		"enum":               {weather, `{"city":"Rome","unit":"k"}`, `/unit: must be one of "c", "f", 1`},
		"a long enum":        {`{"properties":{"n":{"enum":[` + strings.Repeat("7,", 39) + `8]}}}`, `{"n":1}`, `/n: must be one of ` + strings.Repeat("7, ", 30) + `…`},
		"const":              {weather, `{"city":"Rome","kind":"long"}`, `/kind: must be "short"`},
		"format":             {weather, `{"city":"Rome","on":"tomorrow"}`, `/on: must be a valid date`},
		"unknown":            {weather, `{"city":"Rome","dayz":1,"c~d":2}`, `/c~0d: unknown, leave it out; /dayz: unknown, leave it out`},
		"forms":              {weather, `{"city":"Rome","where":{}}`, `/where: must be one of these forms: (/where/lat: required) or (/where: must be string, not object)`},
		"in a list":          {weather, `{"city":"Rome","tags":[1,"x",2]}`, `/tags/0: must be null or string, not number; /tags/2: must be null or string, not number; /tags: maxItems: got 3, want 2`},
		"escaped path":       {weather, `{"city":"Rome","a/b":1}`, `/a~1b: must be string, not number`},
		"empty":              {weather, ``, `/city: required`},
		"only spaces":        {``, "  \n", ``},
		"none wanted":        {``, `{}`, ``},
		"none wanted, given": {``, `{"x":1}`, `/x: unknown, leave it out`},
		"no schema, a list":  {``, `[]`, `must be a JSON object`},
		"null":               {weather, `null`, `must be a JSON object`},
		"text":               {`{}`, `"{}"`, `must be a JSON object`},
		"anything":           {`{}`, `{"x":1}`, ``},
		"never":              {`false`, `{}`, `false schema`},
		"draft 7":            {`{"properties":{"x":{"items":[{"type":"string"}]}}}`, `{"x":[1]}`, `/x/0: must be string, not number`},
		"to itself":          {`{"$ref":"#"}`, `{}`, `both /$ref and  resolve to "tool:schema#" causing reference cycle`},
		"a definition":       {`{"$ref":"#/$defs/a","$defs":{"a":{"required":["x"]}}}`, `{}`, `/x: required`},
		"does not compile":   {`{"type":"nonsense"}`, `{"x":1}`, ``},
		"foreign pattern":    {`{"properties":{"x":{"pattern":"(?!a)"},"n":{"type":"integer"}}}`, `{"x":"a","n":"1"}`, `/n: must be integer, not string`},
		"not JSON":           {`{"type":`, `{"x":1}`, ``},
		"to a file":          {`{"$ref":"file:///etc/hostname"}`, `{"x":1}`, ``},
		"to a server":        {`{"$ref":"http://127.0.0.1:1/x"}`, `{"x":1}`, ``},
		"a huge number":      {`{"properties":{"n":{"minimum":1}}}`, `{"n":1e9999999}`, `1e9999999 is too large or too exact a number`},
		"an exact number":    {`{"properties":{"n":{"type":"number","multipleOf":1}}}`, `{"n":[{"x":1e-999999}]}`, `1e-999999 is too large or too exact a number`},
		"a number in a list": {weather, `{"city":"Rome","ratio":1e308}`, `/ratio: must be < 1.5`},
		"a huge bound":       {`{"properties":{"n":{"minimum":1e9999999}}}`, `{"n":1}`, ``},
		"a regex":            {`{"properties":{"n":{"format":"regex"}}}`, `{"n":"("}`, `/n: must be a valid regular expression`},
		"a dynamic one":      {`{"$dynamicRef":"#x","$defs":{"x":{"$dynamicAnchor":"x","required":["y"]}}}`, `{}`, ``},
		"a name twice":       {weather, `{"city":"Rome","city":"Oslo"}`, `/city: is there twice`},
		"twice, escaped":     {weather, `{"city":"Rome","\u0063ity":"Oslo"}`, `/city: is there twice`},
		"twice, within":      {`{}`, `{"a":[1,{"x":"x","b":{"c":1,"c":{}}}]}`, `/a/*/b/c: is there twice`},
		"names at places":    {`{}`, `{"a":{"a":["a","a",{"a":"b"},{"a":"a"}],"b":"a"},"b":{"a":{}}}`, ``},
		"recursive":          {`{"properties":{"n":{"$ref":"#"},"v":{"type":"string"}}}`, `{"n":{"n":{"v":1}}}`, `/n/n/v: must be string, not number`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var v tools.Validator
			err := v.Check(tools.Tool{Name: "t", Schema: json.RawMessage(tt.schema)}, json.RawMessage(tt.args))
			want := "<nil>"
			if tt.want != "" {
				want = `arguments of "t": ` + tt.want
			}
			if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckArgumentsThatAreNotJSON(t *testing.T) {
	var v tools.Validator
	for _, args := range []string{`{`, `{"a":1} {}`, `x`, `{"a":}`, strings.Repeat("[", 20000)} {
		err := v.Check(tools.Tool{Name: "t"}, json.RawMessage(args))
		if err == nil || !strings.HasPrefix(err.Error(), `arguments of "t" are not JSON: `) {
			t.Errorf("%.20s: got error %v", args, err)
		}
	}
}

func TestCheckTellsOfManyFaults(t *testing.T) {
	args := map[string]int{}
	for i := range 50 {
		args[fmt.Sprintf("x%02d", i)] = i
	}
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	var v tools.Validator
	err = v.Check(tools.Tool{Name: "t"}, text)
	if err == nil || strings.Count(err.Error(), ";") != 20 || !strings.HasSuffix(err.Error(), "; and 30 more") {
		t.Errorf("got error %v, want 20 faults and 30 more", err)
	}
}

// doubling is a schema whose check looks at 2 to the 40th parts: each definition applies the
// next one twice.
func doubling(apply, last string) string {
	defs := make([]string, 41)
	for i := range 40 {
		defs[i] = fmt.Sprintf(`"d%d":%s`, i, strings.ReplaceAll(apply, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)))
	}
	defs[40] = `"d40":` + last
	return `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `}}`
}

// What a schema of anyone asks for is bounded: a check cannot be stopped.
func TestChecksAreBounded(t *testing.T) {
	deep := strings.Repeat(`{"x":`, 40) + "1" + strings.Repeat("}", 40)
	schemas := map[string]struct{ schema, args string }{
		"all":            {doubling(`{"allOf":[NEXT,NEXT]}`, `{}`), `{}`},
		"any":            {doubling(`{"anyOf":[NEXT,NEXT]}`, `{"type":"string"}`), `{}`},
		"not":            {doubling(`{"not":{"anyOf":[NEXT,NEXT]}}`, `{"type":"string"}`), `{}`},
		"if":             {doubling(`{"if":NEXT,"then":NEXT,"else":NEXT}`, `{}`), `{}`},
		"draft 7":        {doubling(`{"allOf":[NEXT,NEXT],"items":[{}]}`, `{"items":[{}]}`), `{}`},
		"dependent":      {doubling(`{"allOf":[{"dependentSchemas":{"x":NEXT}},{"dependentSchemas":{"x":NEXT}}]}`, `{}`), `{"x":1}`},
		"names":          {doubling(`{"allOf":[{"patternProperties":{"x":NEXT}},{"additionalProperties":NEXT}]}`, `{}`), deep},
		"by its value":   {`{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, deep},
		"a long pattern": {`{"properties":{"x":{"items":{"pattern":"(a?){900}b"}}}}`, `{"x":["` + strings.Repeat("a", 1<<20) + `"` + strings.Repeat(`,"`+strings.Repeat("a", 1<<10)+`"`, 1000) + `]}`},
	}
	for name, tt := range schemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var v tools.Validator
			said := make(chan error, 1)
			go func() {
				said <- v.Check(tools.Tool{Name: "t", Schema: json.RawMessage(tt.schema)}, json.RawMessage(tt.args))
			}()
			select {
			case err := <-said:
				if want := `arguments of "t": too much to check by its schema; say less, or nest it less`; err == nil || err.Error() != want {
					t.Errorf("got error %.300v, want %s", err, want)
				}
			case <-time.After(time.Minute):
				t.Fatal("still checks after a minute")
			}
		})
	}
}

// A pattern is measured before it is compiled: a few kilobytes can take gigabytes.
func TestPatternsAreBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var props []string
	for i := range 20 {
		props = append(props, fmt.Sprintf(`"p%d":{"pattern":"(?:%d%s){1000}"}`, i, i, strings.Repeat("a", 400)))
	}
	schema := json.RawMessage(`{"properties":{` + strings.Join(props, ",") + `,"n":{"type":"integer"}}}`)
	if _, err := tools.Offered(schema); err != nil {
		t.Fatal(err)
	}
	var v tools.Validator
	err := v.Check(tools.Tool{Name: "t", Schema: schema}, json.RawMessage(`{"p0":"b","n":"x"}`))
	if want := `arguments of "t": /n: must be integer, not string`; fmt.Sprint(err) != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 100 {
		t.Errorf("took %d MB for 8 kB of patterns", took)
	}
}

// As much as people pass to tools is checked in any case.
func TestLargeArgumentsAreChecked(t *testing.T) {
	row := `{"name":"n","kind":"b","tags":["x","y"],"at":{"lat":1.5,"lon":2}}`
	args := `{"rows":[` + strings.Repeat(row+",", 20_000) + row + `]}`
	schema := `{"type":"object","properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"}}},"$defs":{"row":{"type":"object",
		"required":["name"],"additionalProperties":false,"properties":{"name":{"type":"string","pattern":"^[a-z]+$"},"kind":{"enum":["a","b"]},
		"tags":{"type":"array","items":{"type":"string"}},"at":{"anyOf":[{"type":"string"},{"type":"object","properties":{"lat":{"type":"number"},"lon":{"type":"number"}}}]}}}}}`
	var v tools.Validator
	if err := v.Check(tools.Tool{Name: "t", Schema: json.RawMessage(schema)}, json.RawMessage(args)); err != nil {
		t.Error(err)
	}
}

func TestManySchemas(t *testing.T) {
	var v tools.Validator
	for i := range 1100 {
		schema := json.RawMessage(fmt.Sprintf(`{"required":["x%d"]}`, i))
		err := v.Check(tools.Tool{Name: "t", Schema: schema}, nil)
		if want := fmt.Sprintf(`arguments of "t": /x%d: required`, i); fmt.Sprint(err) != want {
			t.Fatalf("got error %v, want %s", err, want)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	var v tools.Validator
	tool := tools.Tool{Name: "t", Schema: json.RawMessage(weather)}
	for name, args := range map[string]string{"fine": `{"city":"Rome","days":14}`, "wrong": `{"days":30,"unit":"k"}`} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				v.Check(tool, json.RawMessage(args))
			}
		})
	}
}

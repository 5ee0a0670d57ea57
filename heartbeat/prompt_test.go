package heartbeat_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"agenthost/heartbeat"
)

func TestPrompt(t *testing.T) {
	const order = `{"id":12345678901234567,"by":{"name":"Ana <b>"},"items":[{"sku":"a"},{"sku":"b"}],"paid":true,"note":null,"say":"${id}"}`
	tests := map[string]struct{ prompt, payload, want string }{
		"plain":               {"An order came.", order, "An order came."},
		"field":               {"Order ${id}.", order, "Order 12345678901234567."},
		"path":                {"${by.name} bought ${items.1.sku}", order, "Ana <b> bought b"},
		"object":              {"${items} of ${by}", order, `[{"sku":"a"},{"sku":"b"}] of {"name":"Ana <b>"}`},
		"truth and null":      {"${paid}, ${note}.", order, "true, ."},
		"what is not there":   {"<${no}${by.no}${items.2}${items.x}${id.x}${items.-1}>", order, "<>"},
		"subject":             {"${subject}: ${subject.0} ${subject.2}${subject.9}", order, "orders.created.42: orders 42"},
		"payload":             {"It says: ${payload}", "hello", "It says: hello"},
		"field of no JSON":    {"<${id}>", "hello", "<>"},
		"payload of a path":   {"${payload.id}", order, "12345678901234567"},
		"not filled again":    {"${say}", order, "${id}"},
		"the signs":           {"$${id} costs $5 $", order, "${id} costs $5 $"},
		"not UTF-8":           {"${payload}", "a\xffb\x00c", "a\uFFFDb\uFFFDc"},
		"nothing":             {"${no}", order, "A message on orders.created.42"},
		"a list":              {"${1.a}", `[1,{"a":"x"}]`, "x"},
		"dollar before place": {"$ ${id}", `{"id":7}`, "$ 7"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := heartbeat.ParsePrompt(tt.prompt)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Fill("orders.created.42", []byte(tt.payload)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPromptIsBounded(t *testing.T) {
	p, err := heartbeat.ParsePrompt(strings.Repeat("${payload}", 10))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Fill("a", []byte(strings.Repeat("é", 1<<20))); len(got) > 65<<10 || !utf8.ValidString(got) {
		t.Errorf("it is %d bytes", len(got))
	}
}

func TestPromptFaults(t *testing.T) {
	for text, want := range map[string]string{
		"a ${id":         "is not closed",
		"${}":            "is no name",
		"${a..b}":        "is no name",
		"${ id }":        "is no name",
		"${subject.x}":   "is no token",
		"${subject.1.2}": "is no token",
	} {
		if _, err := heartbeat.ParsePrompt(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func FuzzPrompt(f *testing.F) {
	f.Add("${a.b.0} ${subject.1} $${x}", `{"a":{"b":[1]}}`)
	f.Add("${payload}", "\xff\x00")
	f.Fuzz(func(t *testing.T, text, payload string) {
		p, err := heartbeat.ParsePrompt(text)
		if err != nil {
			return
		}
		if got := p.Fill("a.b", []byte(payload)); strings.TrimSpace(got) == "" {
			t.Errorf("%q of %q is empty", text, payload)
		}
	})
}

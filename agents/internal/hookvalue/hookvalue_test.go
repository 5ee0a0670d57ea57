package hookvalue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agenthost/agents/internal/hookvalue"
)

func TestMessagesAreChecked(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		`[{"role":"user","parts":[{"type":"text","text":"hi"}]}]`: true,
		`[{"role":"user","parts":[{"text":"hi"}]}]`:               true, // a text need not say so
		`[{"role":"user","parts":[{"type":"song"}]}]`:             false,
		`[{"role":"user"}]`:            false,
		`[{"role":"pope","parts":[]}]`: false,
		`[]`:                           false,
		`{`:                            false,
		`null`:                         false,
	} {
		if _, err := hookvalue.Messages(json.RawMessage(value)); (err == nil) != want {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestNullIsNoValue(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{`true`: true, `null`: false, `1`: false} {
		if err := hookvalue.Check[bool](json.RawMessage(value)); (err == nil) != want {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestDeepValue(t *testing.T) {
	t.Parallel()
	for levels, want := range map[int]bool{500: true, 501: false, 9999: false} {
		value := json.RawMessage(strings.Repeat("[", levels) + strings.Repeat("]", levels))
		if err := hookvalue.Check[[]any](value); (err == nil) != want {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
}

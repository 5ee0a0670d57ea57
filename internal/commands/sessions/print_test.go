package sessions

import (
	"strings"
	"testing"

	"agenthost/internal/cli"
	"agenthost/internal/eval"
)

func TestOutcomeDoesNotSteerTheTerminal(t *testing.T) {
	const hostile = "a\x1b[2J\u009b2J\x9b2J\u202eb\u2066c\u200fd\x7f\re"
	var out strings.Builder
	a := &app{App: &cli.App{Stdin: strings.NewReader(""), Stdout: &out}}
	a.printOutcome(hostile, eval.Outcome{Text: hostile, Error: hostile})
	got := out.String()
	if got == "" || strings.ContainsAny(got, "\x1b\u009b\u202e\u2066\u200f\x7f\r") || strings.Contains(got, "\x9b2J") && !strings.Contains(got, "\uFFFD2J") {
		t.Errorf("got %q", got)
	}
}

func TestAroundShowsThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"a bicycle":                          "a bicycle",
		strings.Repeat("日", 50) + " BICYCLE": "…" + strings.Repeat("日", 29) + " BICYCLE",
		"İİİİ bicycle":                       "İİİİ bicycle",
		"no such thing":                      "no such thing",
	} {
		if got := around(text, "bicycle"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

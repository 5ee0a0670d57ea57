package tools_test

import (
	"errors"
	"strings"
	"testing"

	"agenthost/tools"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	const hidden, long = "characters that are not shown", "128 are the most"
	for name, want := range map[string]string{
		"look_up": "", "a.b-c": "", "repo/issues list": "", "Suche (größe)": "", "搜索": "", strings.Repeat("ü", 128): "",
		"a\nb": hidden, "a\r": hidden, "a\tb": hidden, "\x1b[2Ja": hidden, "a\u202eb": hidden, "a\u200bb": hidden, "a\u00a0b": hidden, "a\xff": hidden,
		strings.Repeat("a", 129): long, strings.Repeat("a", 100_000): "100,000 characters",
	} {
		err := tools.CheckName(name)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %q", name, err, want)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"note.txt": "note.txt", "größe/1": "größe/1", "": `""`, "a b": `"a b"`, "a\nb": `"a\nb"`, "https://x.org/?a=1": "https://x.org/?a=1",
	} {
		if got := tools.Plain(value); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

// A fault stands on a page and on a terminal.
func TestFaultNamesItsToolOnOneLine(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ev.a\u202e\nb":              `tool "ev.a\u202e\nb" of mcp server "ev": no`,
		strings.Repeat("a", 100_000): `tool "` + strings.Repeat("a", 192) + `"… and 99,808 more characters of mcp server "ev": no`,
	} {
		if got := (tools.Fault{Source: `mcp server "ev"`, Tool: name, Err: errors.New("no")}).Error(); got != want {
			t.Errorf("got %.300q, want %q", got, want)
		}
	}
}

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

// What no font shows is shown as its code, but for what makes an emoji of a symbol.
func TestInvisibleLettersAreCodes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"note.txt\u3164": `"note.txt\u3164"`, "a\u115fb": `"a\u115fb"`, "a\u1160": `"a\u1160"`, "a\uffa0": `"a\uffa0"`, "a\u2800b": `"a\u2800b"`,
		"a\ufe0f": `"a\ufe0f"`, "a\u034f": `"a\u034f"`, "a\u17b4": `"a\u17b4"`, "a\u180b": `"a\u180b"`, "a\U000e0101": `"a\U000e0101"`,
		"a\u200bb": `"a\u200bb"`, "a\u00ad": `"a\u00ad"`, "a\U000e0041": `"a\U000e0041"`, "a\u200db": `"a\u200db"`, "2\ufe0f": `"2\ufe0f"`,
		"I \u2764\ufe0f it": "\"I \u2764\ufe0f it\"", "2\ufe0f\u20e3": "\"2\ufe0f\u20e3\"", "\u2194\ufe0f": "\"\u2194\ufe0f\"",
		"\U0001f469\U0001f3fd\u200d\U0001f4bb": "\"\U0001f469\U0001f3fd\u200d\U0001f4bb\"", "\U0001f3f3\ufe0f\u200d\U0001f308": "\"\U0001f3f3\ufe0f\u200d\U0001f308\"",
		"\u2764\ufe0f\ufe0e": "\"\u2764\ufe0f" + `\ufe0e"`, "\u2764\u200d\u200d\u2764": "\"\u2764" + `\u200d\u200d` + "\u2764\"",
		"\u2800\ufe0f": `"\u2800\ufe0f"`, "\u2764\u200d": "\"\u2764" + `\u200d"`,
	} {
		if got := tools.Plain(text); got != want {
			t.Errorf("%+q: got %+q, want %+q", text, got, want)
		}
		if args := tools.Whole("t", []byte(`{"x":"`+text+`"}`)); args != "t\nx="+want {
			t.Errorf("%+q as an argument: got %+q", text, args)
		}
	}
	if err := tools.CheckName("look_up\u3164"); err == nil {
		t.Error("a name with an invisible letter is let through")
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

package tools_test

import (
	"encoding/json"
	"testing"

	"agenthost/tools"
)

// A person reads the call that is to be approved: text of several lines as lines,
// which no text can pass off as other arguments.
func TestWholeCallIsLegible(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ args, want string }{
		"one line":                {`{"path":"note.txt","text":"written"}`, "write\npath=\"note.txt\"\ntext=\"written\""},
		"several lines":           {`{"path":"a.go","text":"func a() {\n\treturn\n}\n"}`, "write\npath=\"a.go\"\ntext=\n  func a() {\n  \treturn\n  }"},
		"nothing at the end":      {`{"text":"a\n\nb"}`, "write\ntext=\n  a\n  \n  b"},
		"letters of HTML":         {`{"text":"\u003cb\u003e \u0026 <i>"}`, `write` + "\n" + `text="<b> & <i>"`},
		"in a value":              {`{"o":{"html":"\u003cb\u003e","n":12345678901234567890}}`, `write` + "\n" + `o={"html":"<b>","n":12345678901234567890}`},
		"formatted":               {"{\n \"o\": {\n  \"a\": 1\n }\n}", "write\no={\"a\":1}"},
		"a backslash before":      {`{"text":"\\u003cb"}`, `write` + "\n" + `text="\\u003cb"`},
		"pretends to be an arg":   {`{"text":"x\npath=\"/etc/passwd\""}`, "write\ntext=\n  x\n  path=\"/etc/passwd\""},
		"steers a terminal":       {`{"text":"a\n\u001b[31mred\rb\u202ec"}`, "write\ntext=\n  a\n  \\x1b[31mred\\rb\\u202ec"},
		"no object":               {`[1]`, "write\n[1]"},
		"a name of several lines": {`{"a\nb":"c"}`, "write\na\\nb=\"c\""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tools.Whole("write", json.RawMessage(tt.args)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestWholeCallNamesTheToolOnOneLine(t *testing.T) {
	t.Parallel()
	if got, want := tools.Whole("ev.x\npath=\"a\"", json.RawMessage(`{"b":1}`)), `"ev.x\npath=\"a\""`+"\nb=1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

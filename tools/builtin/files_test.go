package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/tools"
	"agenthost/tools/builtin"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	b := open(t, builtin.Options{})
	b.put(t, "a.txt", "one\ntwo\nthree\n")
	b.put(t, "open.txt", "one\ntwo")
	b.put(t, "empty", "")
	b.put(t, "latin", "caf\xe9")
	b.put(t, "long", strings.Repeat("x", 11<<20)+"\nend\n")
	b.put(t, "many", strings.Repeat("line\n", 2500))
	tests := map[string]struct{ args, want string }{
		"whole":                 {`{"path":"a.txt"}`, "one\ntwo\nthree\n"},
		"without a last end":    {`{"path":"open.txt"}`, "one\ntwo"},
		"from a line":           {`{"path":"a.txt","offset":3}`, "three\n"},
		"some lines":            {`{"path":"a.txt","offset":2,"limit":1}`, "two\n[lines 2 to 2; the file goes on at offset 3]"},
		"exactly all lines":     {`{"path":"a.txt","limit":3}`, "one\ntwo\nthree\n"},
		"last without end":      {`{"path":"open.txt","offset":2,"limit":1}`, "two"},
		"empty":                 {`{"path":"empty"}`, "[the file is empty]"},
		"other encodings":       {`{"path":"latin"}`, "caf\uFFFD"},
		"by a path with dots":   {`{"path":"./x/../a.txt","limit":9}`, ""},
		"a line of 11 MB":       {`{"path":"long"}`, strings.Repeat("x", 10<<20) + "\n[cut within line 1, after 10 MB]"},
		"after a line of 11 MB": {`{"path":"long","offset":2}`, "end\n"},
		"2000 lines":            {`{"path":"many"}`, strings.Repeat("line\n", 2000) + "[lines 1 to 2000; the file goes on at offset 2001]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.want == "" { // x is not there, and a path is not a text
				b.fails(t, "read_file", tt.args, "no such file")
				return
			}
			if got := b.text(t, "read_file", tt.args); got != tt.want {
				t.Errorf("got %.200q of %d bytes, want %.200q of %d", got, len(got), tt.want, len(tt.want))
			}
		})
	}
}

func TestReadFileRefuses(t *testing.T) {
	b := open(t, builtin.Options{})
	b.put(t, "a.txt", "one\n")
	b.put(t, "a.png", "\x89PNG\r\n\x1a\n\x00\x00")
	b.fails(t, "read_file", `{"path":"none"}`, `read "none": no such file or directory`)
	b.fails(t, "read_file", `{"path":"../x"}`, `read "../x": outside the workspace`)
	b.fails(t, "read_file", `{"path":"a.txt/b"}`, `read "a.txt/b": not a directory`)
	b.fails(t, "read_file", `{"path":"a.txt","offset":5}`, `read "a.txt": has 1 lines only`)
	b.fails(t, "read_file", `{"path":"a.png"}`, `read "a.png": a binary file (image/png, 10 bytes)`)
}

func TestWriteFile(t *testing.T) {
	b := open(t, builtin.Options{})
	if got, want := b.text(t, "write_file", `{"path":"x/y/a.txt","text":"one"}`), "wrote 3 bytes to x/y/a.txt"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := os.Chmod(filepath.Join(b.dir, "x/y/a.txt"), 0o751); err != nil {
		t.Fatal(err)
	}
	b.text(t, "write_file", `{"path":"x/y/a.txt","text":""}`)
	info, err := os.Stat(filepath.Join(b.dir, "x/y/a.txt"))
	if err != nil || info.Size() != 0 || info.Mode() != 0o751 {
		t.Errorf("got %v, %v, want an empty file with its mode", info, err)
	}
	if got, want := b.text(t, "list_files", `{"path":"x/y"}`), "x/y/a.txt 0\n"; got != want {
		t.Errorf("temporary files stay: got %q, want %q", got, want)
	}
}

func TestWriteFileRefuses(t *testing.T) {
	t.Parallel()
	b := open(t, builtin.Options{})
	b.put(t, "f", "")
	b.put(t, "d/f", "")
	b.fails(t, "write_file", `{"path":"f/g","text":""}`, `write "f/g": file exists`)
	b.fails(t, "write_file", `{"path":"d","text":""}`, `write "d": not a regular file`)
	b.fails(t, "write_file", `{"path":".","text":""}`, `write ".": not a regular file`)
	long := strings.Repeat("n", 300)
	b.fails(t, "write_file", `{"path":"`+long+`","text":""}`, "name too long")
	b.fails(t, "write_file", quoted(t, map[string]string{"path": "big", "text": strings.Repeat("x", 10<<20+1)}), `write "big": larger than 10 MB`)
	if got, want := b.text(t, "list_files", `{}`), "d/\nf 0\n"; got != want {
		t.Errorf("what was refused left something: got %q, want %q", got, want)
	}
}

func TestEditFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ args, want, fails string }{
		"unique":     {`{"path":"f","old":"two","new":"2"}`, "one 2 one", ""},
		"all":        {`{"path":"f","old":"one","new":"1","all":true}`, "1 two 1", ""},
		"removed":    {`{"path":"f","old":" two","new":""}`, "one one", ""},
		"ambiguous":  {`{"path":"f","old":"one","new":"1"}`, "", `edit "f": the old text occurs 2 times`},
		"absent":     {`{"path":"f","old":"three","new":"3"}`, "", `edit "f": the old text is not in it`},
		"nothing":    {`{"path":"f","old":"","new":"3"}`, "", `edit "f": no old text`},
		"no change":  {`{"path":"f","old":"two","new":"two"}`, "", `edit "f": old and new text are the same`},
		"no file":    {`{"path":"g","old":"a","new":"b"}`, "", `edit "g": no such file`},
		"too large":  {`{"path":"large","old":"a","new":"b"}`, "", `edit "large": larger than 10 MB`},
		"gets large": {`{"path":"nine","old":"9","new":"99","all":true}`, "", `edit "nine": larger than 10 MB`},
	}
	b := open(t, builtin.Options{})
	b.put(t, "large", strings.Repeat("x", 10<<20+1))
	b.put(t, "nine", strings.Repeat("9", 9<<20))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b.put(t, "f", "one two one")
			if tt.fails != "" {
				b.fails(t, "edit_file", tt.args, tt.fails)
				return
			}
			b.text(t, "edit_file", tt.args)
			if got := b.text(t, "read_file", `{"path":"f"}`); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEditsAtTheSameTimeAreAllKept(t *testing.T) {
	b := open(t, builtin.Options{})
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "<%d>", i)
	}
	b.put(t, "f", text.String())
	var edits sync.WaitGroup
	for i := range 20 {
		edits.Go(func() {
			if _, err := b.call(t, "edit_file", fmt.Sprintf(`{"path":"f","old":"<%d>","new":"x"}`, i)); err != nil {
				t.Error(err)
			}
		})
	}
	edits.Wait()
	if got, want := b.text(t, "read_file", `{"path":"f"}`), strings.Repeat("x", 20); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestListFiles(t *testing.T) {
	b := open(t, builtin.Options{})
	for _, name := range []string{"a.go", "b.md", "docs/c.md", "docs/x/d.md", "docs/x/e.go", ".git/config.md"} {
		b.put(t, name, "12345")
	}
	tests := map[string]struct{ args, want string }{
		"the workspace":      {`{}`, ".git/\na.go 5\nb.md 5\ndocs/\n"},
		"a folder":           {`{"path":"docs/"}`, "docs/c.md 5\ndocs/x/\n"},
		"a name":             {`{"glob":"*.go"}`, "a.go 5\ndocs/x/e.go 5\n"},
		"a name in a folder": {`{"path":"docs","glob":"*.md"}`, "docs/c.md 5\ndocs/x/d.md 5\n"},
		"a path":             {`{"glob":"docs/*.md"}`, "docs/c.md 5\n"},
		"any folders":        {`{"glob":"**/*.md"}`, "b.md 5\ndocs/c.md 5\ndocs/x/d.md 5\n"},
		"all in a folder":    {`{"glob":"docs/**"}`, "docs/c.md 5\ndocs/x/\ndocs/x/d.md 5\ndocs/x/e.go 5\n"},
		"sets":               {`{"glob":"[ae].?o"}`, "a.go 5\ndocs/x/e.go 5\n"},
		"not in a set":       {`{"glob":"[^a].go"}`, "docs/x/e.go 5\n"},
		"escaped":            {`{"glob":"a\\.go"}`, "a.go 5\n"},
		"below the folder":   {`{"path":"docs","glob":"x/*.go"}`, "docs/x/e.go 5\n"},
		"nothing":            {`{"glob":"*.rs"}`, "[no files]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := b.text(t, "list_files", tt.args); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	b.fails(t, "list_files", `{"path":"none"}`, `list "none": no such file`)
	b.fails(t, "list_files", `{"path":"a.go"}`, `list "a.go": not a directory`)
	b.fails(t, "list_files", `{"glob":"[a"}`, `glob "[a": syntax error`)
	b.fails(t, "list_files", `{"glob":"[z-a]"}`, `glob "[z-a]": syntax error`)
}

func TestListFilesIsBounded(t *testing.T) {
	t.Parallel()
	b := open(t, builtin.Options{})
	for i := range 1001 {
		b.put(t, fmt.Sprintf("%04d", i), "")
	}
	got := b.text(t, "list_files", `{}`)
	if n := strings.Count(got, "\n"); n != 1001 || !strings.HasSuffix(got, "0999 0\n[there is more; name a folder or a narrower pattern]\n") {
		t.Errorf("got %d lines, the last %q", n, got[len(got)-80:])
	}
}

func TestSearchFiles(t *testing.T) {
	b := open(t, builtin.Options{})
	b.put(t, "a.go", "package a\r\n\r\nfunc A() {}\r\n")
	b.put(t, "x/b.go", "package b\nfunc B() {}")
	b.put(t, "x/b.md", "func C")
	b.put(t, "x/bin", "func\x00")
	b.put(t, "wide", "wide "+strings.Repeat("é", 200))
	b.put(t, ".git/c.go", "func D")
	tests := map[string]struct{ args, want string }{
		"everywhere":   {`{"pattern":"^func"}`, "a.go:3: func A() {}\nx/b.go:2: func B() {}\nx/b.md:1: func C\n"},
		"end of lines": {`{"pattern":"\\{\\}$"}`, "a.go:3: func A() {}\nx/b.go:2: func B() {}\n"},
		"by glob":      {`{"pattern":"func","glob":"*.go"}`, "a.go:3: func A() {}\nx/b.go:2: func B() {}\n"},
		"in a folder":  {`{"pattern":"func","path":"x"}`, "x/b.go:2: func B() {}\nx/b.md:1: func C\n"},
		"in a file":    {`{"pattern":"func","path":"x/b.md"}`, "x/b.md:1: func C\n"},
		"nothing":      {`{"pattern":"none"}`, "[nothing found]"},
		"a wide line":  {`{"pattern":"^wide"}`, "wide:1: wide " + strings.Repeat("é", 147) + "\uFFFD\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := b.text(t, "search_files", tt.args); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSearchFilesRefuses(t *testing.T) {
	b := open(t, builtin.Options{})
	b.put(t, "bin", "x\x00")
	b.fails(t, "search_files", `{"pattern":"x","path":"bin"}`, `search in "bin": a binary file`)
	b.fails(t, "search_files", `{}`, "a pattern has 1 to 1000 bytes")
	b.fails(t, "search_files", `{"pattern":"`+strings.Repeat("a", 1001)+`"}`, "a pattern has 1 to 1000 bytes")
	b.fails(t, "search_files", `{"pattern":"("}`, `search "(": error parsing regexp`)
	b.fails(t, "search_files", `{"pattern":"a","glob":"[a"}`, `glob "[a": syntax error`)
	b.fails(t, "search_files", `{"pattern":"a","path":"none"}`, `search in "none": no such file`)
	b.fails(t, "search_files", `{"pattern":"a","path":"../x"}`, `search in "../x": outside the workspace`)
}

func TestSearchFilesIsBounded(t *testing.T) {
	b := open(t, builtin.Options{})
	b.put(t, "f", strings.Repeat("x\n", 600))
	b.put(t, "g", strings.Repeat("y", 10<<20+1))
	got := b.text(t, "search_files", `{"pattern":"x"}`)
	if n := strings.Count(got, "f:"); n != 500 || !strings.Contains(got, "[there is more; ") {
		t.Errorf("got %d lines, the last %q", n, got[len(got)-80:])
	}
	got = b.text(t, "search_files", `{"pattern":"y"}`)
	if want := "[nothing found]\n[1 files not searched: larger than 10 MB]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.fails(t, "search_files", `{"pattern":"y","path":"g"}`, `search in "g": larger than 10 MB`)
}

func TestFileToolsEndWithTheirContext(t *testing.T) {
	b := open(t, builtin.Options{})
	b.put(t, "f", "text")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, args := range map[string]string{
		"read_file": `{"path":"f"}`, "list_files": `{}`, "search_files": `{"pattern":"x"}`,
		"write_file": `{"path":"f","text":""}`, "edit_file": `{"path":"f","old":"e","new":""}`,
	} {
		call := tools.Call{Agent: "ana", Name: name, Args: json.RawMessage(args)}
		if _, err := b.tools[name].Run(ctx, call); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got error %v, want %v", name, err, context.Canceled)
		}
	}
}

// A match of a long line with a large pattern takes minutes, and ends with its call all the same.
func TestSearchEndsWithinALine(t *testing.T) {
	b := open(t, builtin.Options{})
	b.put(t, "a.txt", strings.Repeat("a", 10<<20))
	for name, args := range map[string]string{
		"a folder": `{"pattern":"(a?){900}b"}`,
		"a file":   `{"pattern":"(a?){900}b","path":"a.txt"}`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, err := b.tools["search_files"].Run(ctx, tools.Call{Agent: "ana", Args: json.RawMessage(args)})
			ended <- err
		}()
		select {
		case err := <-ended:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got error %v, want the end of its time", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: has not ended 10 s after its time", name)
		}
	}
}

func TestSearchRefusesWhatIsTooLarge(t *testing.T) {
	b := open(t, builtin.Options{})
	b.put(t, "a.txt", "a")
	large := "(?:" + strings.Repeat("a?", 400) + "){1000}"
	b.fails(t, "search_files", quoted(t, map[string]any{"pattern": large}), "too much to look for")
	b.fails(t, "search_files", quoted(t, map[string]any{"pattern": "a", "glob": strings.Repeat("*", 1001)}), "glob: has 1001 bytes, 1000 are the most")
	b.fails(t, "list_files", quoted(t, map[string]any{"glob": strings.Repeat("*", 1001)}), "glob: has 1001 bytes, 1000 are the most")
}

func TestWorkspaceThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := builtin.New(builtin.Options{Workspace: func(agent string) string { return filepath.Join(file, agent) }})
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]string{
		"read_file": `{"path":"f"}`, "write_file": `{"path":"f","text":""}`, "edit_file": `{"path":"f","old":"a","new":"b"}`,
		"list_files": `{}`, "search_files": `{"pattern":"x"}`, "run_command": `{"command":"true"}`,
	}
	for _, tool := range all {
		if args[tool.Name] == "" {
			continue
		}
		_, err := tool.Run(t.Context(), tools.Call{Agent: "ana", Args: json.RawMessage(args[tool.Name])})
		if err == nil || !strings.Contains(err.Error(), `workspace of agent "ana": `) {
			t.Errorf("%s: got error %v", tool.Name, err)
		}
	}
}

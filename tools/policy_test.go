package tools_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
)

var runCommand = tools.Tool{Name: "run_command", Run: run, Commands: func(args json.RawMessage) string {
	var a struct{ Command string }
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	return a.Command
}}

func commandArgs(t testing.TB, line string) json.RawMessage {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	return args
}

func policy(t testing.TB, permissions map[string]string) tools.Policy {
	t.Helper()
	p, err := tools.NewPolicy(permissions)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCommandsThatAreNotConfinedAsk(t *testing.T) {
	bare := runCommand
	reason := "the kernel has no landlock"
	bare.Unconfined = func() string { return reason }
	p := policy(t, map[string]string{"run_command": "allow", "run_command:rm": "deny"})
	for line, want := range map[string]tools.Decision{
		"ls": {Verdict: tools.Ask, Reason: "commands are not confined here: the kernel has no landlock", What: "ls"},
		"rm": {Verdict: tools.Deny, Reason: `permission "run_command:rm" denies rm`, What: "rm"},
	} {
		if got := p.Decide(bare, commandArgs(t, line), nil); got != want {
			t.Errorf("%s: got %+v, want %+v", line, got, want)
		}
	}
	if got := p.Decide(bare, commandArgs(t, "ls"), tools.Approvals{"run_command:ls": true}); got.Verdict != tools.Allow {
		t.Errorf("approved: got %+v", got)
	}
	reason = ""
	if got := p.Decide(bare, commandArgs(t, "ls"), nil); got.Verdict != tools.Allow {
		t.Errorf("confined: got %+v", got)
	}
}

func TestDecide(t *testing.T) {
	reads, writes := tools.Tool{Name: "files.read", ReadOnly: true}, tools.Tool{Name: "files.write"}
	tests := map[string]struct {
		permissions map[string]string
		tool        tools.Tool
		approved    tools.Approvals
		want        tools.Verdict
		reason      string
	}{
		"reads":                {nil, reads, nil, tools.Allow, "files.read only reads"},
		"writes":               {nil, writes, nil, tools.Ask, "no permission is set for files.write"},
		"writes, approved":     {nil, writes, tools.Approvals{"files.write": true}, tools.Allow, "approved before"},
		"another approved":     {nil, writes, tools.Approvals{"files.read": true}, tools.Ask, "no permission is set for files.write"},
		"withdrawn":            {nil, writes, tools.Approvals{"files.write": false}, tools.Ask, "no permission is set for files.write"},
		"allowed":              {map[string]string{"files.write": "allow"}, writes, nil, tools.Allow, `permission "files.write" allows files.write`},
		"reading denied":       {map[string]string{"files.read": "deny"}, reads, nil, tools.Deny, `permission "files.read" denies files.read`},
		"reading asks":         {map[string]string{"*": "ask"}, reads, nil, tools.Ask, `permission "*" asks for files.read`},
		"denied, approved":     {map[string]string{"*": "deny"}, writes, tools.Approvals{"files.write": true}, tools.Deny, `permission "*" denies files.write`},
		"exact over glob":      {map[string]string{"files.write": "allow", "files.writ*": "deny", "files.??????????": "deny"}, writes, nil, tools.Allow, `permission "files.write" allows files.write`},
		"long over short":      {map[string]string{"files.*": "allow", "*": "deny"}, writes, nil, tools.Allow, `permission "files.*" allows files.write`},
		"deny of two equals":   {map[string]string{"files.*": "allow", "*.write": "deny", "*s.writ?": "ask", "f*.writ?": "deny", "fi*.wri*": "allow"}, writes, nil, tools.Deny, `permission "f*.writ?" denies files.write`},
		"other tools' do not":  {map[string]string{"files.w": "allow", "exec": "deny", "files.write:x": "allow"}, writes, nil, tools.Ask, "no permission is set for files.write"},
		"command keys are not": {map[string]string{"files.write:*": "allow"}, writes, nil, tools.Ask, "no permission is set for files.write"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := policy(t, tt.permissions).Decide(tt.tool, json.RawMessage(`{"path":"a"}`), tt.approved)
			want := tools.Decision{Verdict: tt.want, Reason: tt.reason, What: tt.tool.Name + ` path="a"`}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecideCommand(t *testing.T) {
	git := map[string]string{"run_command:git": "allow", "run_command:ls": "allow", "run_command:rm": "deny", "run_command:./bin/*": "allow", "run_command:no-*": "deny"}
	with := func(more ...string) map[string]string {
		m := maps.Clone(git)
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	tests := map[string]struct {
		permissions map[string]string
		line        string
		want        tools.Verdict
		reason      string // in the reason
	}{
		"nothing said":               {nil, "ls", tools.Ask, "no permission is set for run_command"},
		"allowed":                    {git, "git status", tools.Allow, `"run_command:git" allows git`},
		"all allowed":                {git, "git status | ls", tools.Allow, "allows"},
		"one not":                    {git, "git status; make", tools.Ask, "no permission"},
		"one denied":                 {git, "git status; make; rm x", tools.Deny, `"run_command:rm" denies rm`},
		"denied by its path":         {git, "/bin/rm x", tools.Deny, "denies /bin/rm"},
		"denied in upper case":       {git, "RM x", tools.Deny, "denies RM"},
		"not allowed by its path":    {git, "/tmp/git status", tools.Ask, "no permission"},
		"a path, allowed":            {git, "./bin/x", tools.Allow, `"run_command:./bin/*" allows ./bin/x`},
		"a path, not allowed":        {git, "./bin/../x", tools.Ask, "no permission"},
		"denied by a glob":           {git, "no-thing", tools.Deny, `"run_command:no-*"`},
		"a glob leaves out paths":    {map[string]string{"run_command:*": "allow"}, "/bin/ls", tools.Ask, "no permission"},
		"any plain name":             {map[string]string{"run_command:*": "allow"}, "ls; rm x", tools.Allow, `"run_command:*"`},
		"hidden":                     {git, "git $(git x) | $y", tools.Ask, "not clear: the name of a command"},
		"hidden, but seen enough":    {git, "rm x; $y", tools.Deny, "denies rm"},
		"does not parse":             {git, "git '", tools.Ask, "not clear: parse"},
		"nothing":                    {git, "", tools.Ask, "no command"},
		"writes":                     {git, "git log > x", tools.Ask, "writes to a file"},
		"writes, allowed":            {with("run_command:>", "allow"), "git log > x", tools.Allow, "allows git"},
		"writes, denied":             {with("run_command:>", "deny"), "git log > x", tools.Deny, `"run_command:>" denies >`},
		"sets a variable":            {git, "PATH=. git log", tools.Ask, "sets a variable"},
		"in general, allowed":        {map[string]string{"run_command": "allow"}, "make; rm x", tools.Allow, `"run_command" allows`},
		"in general, but hidden":     {map[string]string{"run_command": "allow"}, "$x", tools.Ask, "not clear"},
		"in general, writes too":     {map[string]string{"*": "allow"}, "ls > x", tools.Allow, `"*" allows`},
		"in general, but not that":   {map[string]string{"*": "allow", "run_command:>": "ask"}, "ls > x", tools.Ask, "asks for >"},
		"in general, a variable":     {map[string]string{"run_command": "allow"}, "x=1; PATH=. make >> y", tools.Allow, `"run_command" allows`},
		"in general, a folder":       {map[string]string{"run_command": "allow"}, "cd x && ./configure", tools.Allow, "allows"},
		"a variable, and one asks":   {map[string]string{"run_command": "allow", "run_command:rm": "ask"}, "PATH=. make", tools.Ask, "sets a variable"},
		"in general, does not parse": {map[string]string{"run_command": "allow"}, "x=1; ls '", tools.Ask, "not clear: parse"},
		"in general, but one":        {with("run_command", "allow"), "make; rm x", tools.Deny, "denies rm"},
		"denied in general":          {with("run_command", "deny"), "make", tools.Deny, `"run_command" denies`},
		"denied but for one":         {with("run_command", "deny"), "git status", tools.Allow, "allows git"},
		"denied but for one of two":  {with("*", "deny"), "git status; make", tools.Deny, `"*" denies`},
		"denied and hidden":          {with("*", "deny"), "git status; $x", tools.Deny, `"*" denies`},
		"asks for one":               {with("run_command", "allow", "run_command:make", "ask"), "make", tools.Ask, "asks for make"},
		"the payload counts":         {with("run_command", "allow"), "find . -exec sh -c 'sudo rm x' {} +", tools.Deny, "denies rm"},
		"here-document":              {git, "git log <<E\n$(rm x)\nE", tools.Deny, "denies rm"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := policy(t, tt.permissions).Decide(runCommand, commandArgs(t, tt.line), nil)
			if got.Verdict != tt.want || !strings.Contains(got.Reason, tt.reason) || got.What != tt.line {
				t.Errorf("got %+v, want %s, a reason with %q", got, tt.want, tt.reason)
			}
		})
	}
}

func TestKey(t *testing.T) {
	tests := map[string]struct{ line, want string }{
		"one":        {"git status", "run_command:git"},
		"sorted":     {"wc x; git log | wc", "run_command:git wc"},
		"writes":     {"git log > x", "run_command:git >"},
		"hidden":     {"git $(x); $y", "run_command=git $(x); $y"},
		"sets":       {"A=b git", "run_command=A=b git"},
		"a new line": {"ls\ngit", "run_command:git ls"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			args := commandArgs(t, tt.line)
			key := tools.Key(runCommand, args)
			if key != tt.want {
				t.Errorf("got key %q, want %q", key, tt.want)
			}
			if d := (tools.Policy{}).Decide(runCommand, args, tools.Approvals{key: true}); d.Verdict != tools.Allow {
				t.Errorf("with its own key: got %+v, want allow", d)
			}
			if d := (tools.Policy{}).Decide(runCommand, args, tools.Approvals{"run_command": true, "run_command:ls": true}); d.Verdict != tools.Ask {
				t.Errorf("with the keys of others: got %+v, want ask", d)
			}
		})
	}
	if got := tools.Key(tools.Tool{Name: "write_file"}, nil); got != "write_file" {
		t.Errorf("got key %q, want the tool's name", got)
	}
	denied := policy(t, map[string]string{"run_command:git": "deny"})
	if d := denied.Decide(runCommand, commandArgs(t, "git x"), tools.Approvals{"run_command:git": true}); d.Verdict != tools.Deny {
		t.Errorf("denied and approved: got %+v, want deny", d)
	}
}

func TestNewPolicyErrors(t *testing.T) {
	_, err := tools.NewPolicy(map[string]string{"a": "maybe", "b": "", "c*[": "allow", "d:e*[": "ask", "ok:[": "allow", "fine": "deny"})
	want := `permission "a": "maybe": want allow, ask or deny
permission "b": "": want allow, ask or deny
permission "c*[": syntax error in pattern
permission "d:e*[": syntax error in pattern`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestWhat(t *testing.T) {
	const notAll = "\nThis is not all of it: see the rest with \"agenthost approvals show\" before you approve."
	long, longer := strings.Repeat("a", 1000), strings.Repeat("a", 9000)
	tests := map[string]struct {
		tool tools.Tool
		args string
		want string
	}{
		"by name":          {tools.Tool{Name: "t"}, `{"b": [1, 2], "a": "x"}`, `t a="x" b=[1, 2]`},
		"no arguments":     {tools.Tool{Name: "t"}, `{}`, `t`},
		"not an object":    {tools.Tool{Name: "t"}, `[1]`, `t [1]`},
		"a long value":     {tools.Tool{Name: "t"}, `{"content": "` + long + `", "path": "x"}`, `t content="` + long + `" path="x"`},
		"a longer value":   {tools.Tool{Name: "t"}, `{"content": "` + longer + `", "path": "x"}`, `t content="` + longer[:299] + `… and 8,702 more characters path="x"` + notAll},
		"control":          {tools.Tool{Name: "t"}, "\x1b[2J\xff\u202e", `t \x1b[2J` + "\uFFFD" + `\u202e`},
		"a long command":   {runCommand, `{"command": "ls ` + long + `; rm x"}`, `ls ` + long + `; rm x`},
		"a longer command": {runCommand, `{"command": "ls ` + longer + `; rm x"}`, `ls ` + longer[:2797] + `… and 6,209 more characters` + notAll},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := (tools.Policy{}).Decide(tt.tool, json.RawMessage(tt.args), nil).What
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if utf8.RuneCountInString(got) > 3000 {
				t.Errorf("got %d characters, want at most 3000", utf8.RuneCountInString(got))
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	p := policy(b, map[string]string{"files.*": "ask", "*": "deny", "run_command": "ask", "run_command:git": "allow", "run_command:find": "allow"})
	b.Run("tool", func(b *testing.B) {
		for b.Loop() {
			p.Decide(tools.Tool{Name: "files.write"}, json.RawMessage(`{"path":"a","content":"b"}`), nil)
		}
	})
	args := commandArgs(b, `git log --oneline | head -5 && find . -name '*.go' -exec sh -c 'wc "$1"' _ {} \;`)
	b.Run("command", func(b *testing.B) {
		for b.Loop() {
			p.Decide(runCommand, args, nil)
		}
	})
}

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/config"
	"agenthost/tools"
)

const goodSkill = "---\nname: good\ndescription: |\n  Two\n  lines.\nlicense: MIT\nmetadata: {a: [b]}\n---\n\nSay ${HOME}.\n"

func skillsOf(names string) string {
	return "models: {m: {provider: echo}}\nagents:\n  - {id: a, skills: [" + names + "]}\n"
}

func TestSkills(t *testing.T) {
	folder := write(t, map[string]string{
		"agenthost.yaml":          skillsOf(`"g*", good`),
		"skills/good/SKILL.md":    "\ufeff" + strings.ReplaceAll(goodSkill, "\n", "\r\n"),
		"skills/.hidden/SKILL.md": "",
		"skills/README.md":        "",
	})
	cfg, err := config.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := []tools.Skill{{Name: "good", Description: "Two lines.", Body: "Say ${HOME}.", Folder: filepath.Join(folder, "skills/good")}}
	if diff := cmp.Diff(want, cfg.Agents[0].Found); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if faults := cfg.SkillFaults(); len(faults) > 0 {
		t.Errorf("got faults %v", faults)
	}
}

func TestBrokenSkills(t *testing.T) {
	t.Setenv("SECRET", "hunter2")
	head := func(text string) string { return "---\n" + text + "\n---\nBody.\n" }
	tests := map[string]struct{ text, want string }{
		"no file":           {"", ": no such file or folder"},
		"no front matter":   {"Body.\n", ":1:1: want name: and description: between two lines of ---"},
		"not closed":        {"---\nname: bad\n", ":1:1: the front matter is not closed; want a second line of ---"},
		"not YAML":          {head("name: [\n"), ":3:1: not YAML: a value is missing here, or a bracket is not closed, or is one too many"},
		"not UTF-8":         {head("name: \xff"), ":1:1: not UTF-8"},
		"no name":           {head("description: x"), ":1:1: the skill has no name; add name:"},
		"no description":    {head("name: bad"), ":1:1: the skill has no description; add description:"},
		"another name":      {head("description: x\nname: good"), `:3:7: name "good": want the name of its folder, "bad", of a-z, 0-9, _ and -`},
		"a list":            {head("name: bad\ndescription: [x]"), ":3:14: description: want text, got a list"},
		"long description":  {head("name: bad\ndescription: " + strings.Repeat("x", 2000)), ":3:14: description: 2000 bytes; want 1024 at most"},
		"nothing below":     {"---\nname: bad\ndescription: x\n---\n", ":1:1: nothing is below the front matter; want what the skill says"},
		"too large":         {head("name: bad\ndescription: x") + strings.Repeat("x", 50<<10), ": cannot be read: larger than 40960 bytes"},
		"secrets stay away": {head("name: bad\ndescription: [\"${SECRET}\"]"), ":3:14: description: want text, got a list"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"agenthost.yaml": skillsOf(`"*"`), "skills/good/SKILL.md": goodSkill, "skills/bad/x": ""}
			if tt.text != "" {
				files["skills/bad/SKILL.md"] = tt.text
			}
			folder := write(t, files)
			cfg, err := config.Load(folder)
			if err != nil {
				t.Fatal(err)
			}
			if a := cfg.Agents[0]; len(a.Found) != 1 || a.Found[0].Name != "good" {
				t.Errorf("got skills %v, want only the good one", a.Found)
			}
			got := problems(t, &config.FileError{Problems: cfg.SkillFaults()})
			if diff := cmp.Diff([]string{filepath.Join(folder, "skills/bad/SKILL.md") + tt.want}, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSkillsThatAreNotThere(t *testing.T) {
	folder := write(t, map[string]string{"agenthost.yaml": skillsOf(`god, "x*", ../skills/good`), "skills/good/SKILL.md": goodSkill})
	_, err := config.Load(folder)
	at, in := folder+"/agenthost.yaml:3:", " in "+folder+"/skills; "
	want := []string{
		at + `22: there is no skill "god"` + in + `did you mean "good"?`,
		at + `27: there is no skill "x*"` + in + `want good`,
		at + `33: there is no skill "../skills/good"` + in + `want good`,
	}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func instructionFiles(names string) string {
	return "models: {m: {provider: echo}}\nagents:\n  - {id: a, instructions: Own., instruction_files: [" + names + "]}\n"
}

func TestInstructionFiles(t *testing.T) {
	folder := write(t, map[string]string{
		"agenthost.yaml": instructionFiles("./AGENTS.md, docs/tone.md"),
		"AGENTS.md":      "\r\nOne ${HOME}.\r\n", "docs/tone.md": "Two.\n",
		"agents/b.md": "---\ninstruction_files: [AGENTS.md]\n---\n",
	})
	cfg, err := config.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"Own.\n\nOne ${HOME}.\n\nTwo.", "One ${HOME}."} {
		if got := cfg.Agents[i].Instructions; got != want {
			t.Errorf("agent %d: got %q, want %q", i, got, want)
		}
	}
}

func TestInstructionFileProblems(t *testing.T) {
	outside := write(t, map[string]string{"secret": "hunter2"})
	folder := write(t, map[string]string{
		"agenthost.yaml": instructionFiles("none.md, ../x, " + outside + "/secret, link, bad, docs, half, half2"),
		"bad":            "\xff", "docs/x": "", "half": strings.Repeat("x", 40<<10), "half2": strings.Repeat("x", 40<<10),
	})
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(folder)
	got := problems(t, err)
	for i := range got {
		got[i] = strings.ReplaceAll(got[i][strings.Index(got[i], ": ")+2:], outside, "OUTSIDE")
	}
	const below = "; want a file below the folder of the configuration"
	want := []string{
		`"none.md" is not there` + below,
		`"../x": cannot be read: path escapes from parent` + below,
		`"OUTSIDE/secret" is not there` + below,
		`"link": cannot be read: path escapes from parent` + below,
		`"bad": not UTF-8`,
		`"docs": cannot be read: is a directory` + below,
		`"half2": more than 65536 bytes with the files before it; want less, for every call of the model sends them`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestOverrideProblems(t *testing.T) {
	const text = `
models: {m: {provider: echo}}
mcp: {files: {command: [files-mcp]}}
agents:
  - id: a
    tools: [now, "files.*"]
    limits: {run_timeout: 5m, budget: {run: 1}}
    channels:
      - {channel: ok, tools: [now, files.read, "*", "n*"], model: [m], language: pt-BR, limits: {run_timeout: 5m, tools: 8, budget: {session: 9}}}
      - {channel: x, tools: [file, skill, "["], model: [m, mm], language: french}
      - {channel: y, limits: {run_timeout: 6m, model_calls: 65, tools: 9, approval_timeout: 25h, budget: {run: 1.5}}}
  - {id: b, channels: [{channel: z, tools: [now]}]}
`
	_, err := config.Parse("c.yaml", []byte(text))
	want := []string{
		`c.yaml:10:30: tool "file": the agent does not have it, and a binding only takes away; want now or files.*`,
		`c.yaml:10:36: tool "skill": the agent does not have it, and a binding only takes away; want now or files.*`,
		`c.yaml:10:43: tool "[": want a name or a pattern such as "files.*"`,
		`c.yaml:10:60: there is no model "mm" in models; did you mean "m"?`,
		`c.yaml:10:75: language "french": want a code such as fr or pt-BR`,
		`c.yaml:11:44: run_timeout "6m": the agent has 5m; want less, or more for the agent`,
		`c.yaml:11:61: model_calls "65": the agent has 64; want less, or more for the agent`,
		`c.yaml:11:72: tools "9": the agent has 8; want less, or more for the agent`,
		`c.yaml:11:93: approval_timeout "25h": the agent has 24h; want less, or more for the agent`,
		`c.yaml:11:112: run "1.5": the agent has 1; want less, or more for the agent`,
		`c.yaml:12:45: tool "now": the agent has no tools, and a binding only takes away`,
	}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/config"
)

func TestFolderProblems(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  []string // below the folder
	}{
		"nothing": {
			map[string]string{"other.yaml": ""},
			[]string{": no configuration in this folder; want agenthost.yaml, agents/*.md or agents.d/*.yaml"},
		},
		"a name in two files": {
			map[string]string{
				"agenthost.yaml":  "nats: {}\nmodels:\n  m: {provider: echo}\nplugins: {exec: {a: {command: [b]}}}\n",
				"agents.d/x.yaml": "nats: {}\nmodels:\n  m: {provider: echo}\nplugins: {exec: {a: {command: [b]}}}\n",
			},
			[]string{
				"/agents.d/x.yaml:1:1: \"nats\" is in FOLDER/agenthost.yaml:1:1 as well; keep one",
				"/agents.d/x.yaml:3:3: \"m\" is in FOLDER/agenthost.yaml:3:3 as well; keep one",
				"/agents.d/x.yaml:4:18: \"a\" is in FOLDER/agenthost.yaml:4:18 as well; keep one",
			},
		},
		"an agent in two files": {
			map[string]string{
				"agents/ana.md":   "---\nmodel: m\n---\nHi.\n",
				"agents.d/x.yaml": "models: {m: {provider: echo}}\nagents:\n  - id: ana\n",
			},
			[]string{"/agents.d/x.yaml:3:9: agent id \"ana\" is at FOLDER/agents/ana.md:1:1 as well; want an id of its own"},
		},
		"nothing, then something": {
			map[string]string{
				"agenthost.yaml":  "models:\nagents:\n",
				"agents.d/x.yaml": "models: {m: {provider: echo}}\nagents: [{id: A}]\n",
			},
			[]string{"/agents.d/x.yaml:2:15: agent id \"A\": want 1 to 63 of a-z, 0-9, _ and -"},
		},
		"every file is told": {
			map[string]string{
				"agenthost.yaml":  "a: [\n",
				"agents.d/b.yaml": "",
				"agents.d/a.yaml": "htp: {}\n",
			},
			[]string{
				"/agenthost.yaml:2:1: not YAML: a value is missing here, or a bracket is not closed, or is one too many",
				"/agents.d/a.yaml:1:1: unknown key \"htp\"; did you mean \"http\"?",
				"/agents.d/b.yaml: the file is empty; want keys such as agents: and models:",
			},
		},
		"markdown": {
			map[string]string{
				"agents/a.md": "---\nmodel: m\n",
				"agents/b.md": "---\n\ninstructions: x\nmodle: m\n---\nText.\n",
				"agents/c.md": "---\n- a\n---\n",
				"agents/d.md": "---\na: [\n---\n",
				"agents/e.md": "---\nmodel: m\n---\nOlé, ol\xe9!\n",
			},
			[]string{
				"/agents/a.md:1:1: the front matter is not closed; want a second line of ---",
				"/agents/b.md:3:1: the text below the front matter is the instructions; want no key instructions",
				"/agents/b.md:4:1: unknown key \"modle\"; did you mean \"model\"?",
				"/agents/c.md:2:1: want keys such as model: and channels:, got a list",
				"/agents/d.md:2:1: not YAML: a value is missing here, or a bracket is not closed, or is one too many",
				"/agents/e.md:4:8: a character that is not UTF-8; want the file saved as UTF-8",
			},
		},
		"folders in place of files": {
			map[string]string{"agenthost.yaml/x": "", "agents": "a file"},
			[]string{
				"/agents: cannot be read: not a directory",
				"/agenthost.yaml: cannot be read: is a directory",
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			folder := write(t, tt.files)
			_, err := config.Load(folder)
			got := problems(t, err)
			for i := range got {
				got[i] = strings.ReplaceAll(strings.TrimPrefix(got[i], folder), folder, "FOLDER")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.yaml")
	_, err := config.Load(path)
	if diff := cmp.Diff([]string{path + ": no such file or folder"}, problems(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestSecretFilesStayInside has a link that leads out of the folder.
func TestSecretFilesStayInside(t *testing.T) {
	outside := write(t, map[string]string{"key": "hunter2"})
	folder := write(t, map[string]string{"large": strings.Repeat("x", 2<<20)})
	if err := os.Symlink(filepath.Join(outside, "key"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"link":                        "cannot be read: path escapes from parent",
		"large":                       "cannot be read: larger than 1048576 bytes",
		"a/../../key":                 "is not a path without ..",
		"":                            "is not a path without ..",
		filepath.Join(outside, "key"): "is not there",
	} {
		_, err := config.Parse(filepath.Join(folder, "c.yaml"), []byte("http: {token: '${file:"+path+"}'}\n"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("${file:%s}: got error %v, want one with %q", path, err, want)
		}
	}
}

func TestBounds(t *testing.T) {
	laughs := "models: {m: {provider: echo}}\nplugins:\n  a: &a {x: [l, l, l, l, l, l, l, l, l, l]}\n"
	for c := 'b'; c <= 'k'; c++ {
		before := string(c - 1)
		laughs += "  " + string(c) + ": &" + string(c) + " {x: [" + strings.TrimSuffix(strings.Repeat("*"+before+", ", 10), ", ") + "]}\n"
	}
	tests := map[string]struct{ text, want string }{
		"laughs": {laughs, "aliases bring in more than 100000 values"},
		"deep":   {"plugins: {a: {b: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}}\n", "more than 100 levels inside each other"},
		"deeper": {"plugins: " + strings.Repeat("[", 200_000), "too many levels inside each other"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("c.yaml", []byte(tt.text))
			if got := problems(t, err); len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Errorf("got %q, want one problem with %q", got, tt.want)
			}
		})
	}
}

// What is beside agenthost.yaml, and would count where the folder is named, is told.
func TestFilesThatAreNotRead(t *testing.T) {
	folder := write(t, map[string]string{
		"agenthost.yaml":  "models: {m: {provider: echo}}\nagents: [{id: one, model: m}]\n",
		"agents/ana.md":   "---\nmodel: m\n---\nHi.\n",
		"agents/README":   "",
		"agents/notes.md": "# Our agents\n",
		"agents.d/x.yaml": "agents: [{id: two, model: m}]\n",
		"agents.d/.y.yml": "",
		"agents.d/z.txt":  "",
	})
	c, err := config.Load(filepath.Join(folder, "agenthost.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range c.Warnings {
		got = append(got, strings.ReplaceAll(w.Warning(), folder, "F"))
	}
	const why = ": warning: it is not read, as the configuration is agenthost.yaml alone; name the folder instead, with -c F"
	if diff := cmp.Diff([]string{"F/agents.d/x.yaml" + why, "F/agents/ana.md" + why}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := os.Remove(filepath.Join(folder, "agents/notes.md")); err != nil { // which would be an agent as well
		t.Fatal(err)
	}
	if c, err := config.Load(folder); err != nil || len(c.Warnings) > 0 || len(c.Agents) != 3 {
		t.Errorf("the folder: got %+v, %v", c, err)
	}
}

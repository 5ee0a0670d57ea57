package builtin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/tools"
	"agenthost/tools/builtin"
)

func TestSkill(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"SKILL.md": "…", "a.md": "A.", "sub/b.md": "B.", ".git/x": "", ".hidden": "", "binary": "\x00", "../" + filepath.Base(outside) + "/secret": "s",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	tool, err := builtin.SkillTool([]tools.Skill{
		{Name: "one", Body: "Do it.", Folder: folder}, {Name: "gone", Body: "Go.", Folder: filepath.Join(folder, "none")},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ args, want, wrong string }{
		"body":           {args: `{"name":"one"}`, want: "Do it.\n\nFiles of this skill:\n- a.md\n- binary\n- sub/b.md"},
		"file":           {args: `{"name":"one","file":"sub/b.md"}`, want: "B."},
		"folder is gone": {args: `{"name":"gone"}`, want: "Go."},
		"file is gone":   {args: `{"name":"gone","file":"a.md"}`, wrong: `skill "gone": no such file or directory`},
		"no such file":   {args: `{"name":"one","file":"c.md"}`, wrong: `read "c.md" of skill "one": no such file or directory`},
		"outside":        {args: `{"name":"one","file":"../x"}`, wrong: "outside the folder of the skill"},
		"absolute":       {args: `{"name":"one","file":"/etc/passwd"}`, wrong: "outside the folder of the skill"},
		"a link outside": {args: `{"name":"one","file":"link"}`, wrong: "escapes"},
		"a folder":       {args: `{"name":"one","file":"sub"}`, wrong: "not a regular file"},
		"binary":         {args: `{"name":"one","file":"binary"}`, wrong: "a binary file"},
		"unknown":        {args: `{"name":"two"}`, wrong: `there is no skill "two"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			res, err := tool.Run(t.Context(), tools.Call{Agent: "ana", Args: json.RawMessage(tt.args)})
			if res.Text != tt.want || (err == nil) != (tt.wrong == "") || !strings.Contains(fmt.Sprint(err), tt.wrong) && err != nil {
				t.Errorf("got %q and %v, want %q and %q", res.Text, err, tt.want, tt.wrong)
			}
		})
	}
	if err := tools.CheckSchema(tool.Schema); err != nil {
		t.Error(err)
	}
	if err := (&tools.Validator{}).Check(tool, json.RawMessage(`{"name":"two"}`)); err == nil {
		t.Error("the schema allows a skill that is not there")
	}
}

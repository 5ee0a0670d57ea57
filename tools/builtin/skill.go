package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"agenthost/tools"
)

// SkillTool is the tool that reads skills, for an agent that has these. Files of
// a skill are reached through an os.Root of its folder.
func SkillTool(skills []tools.Skill) (tools.Tool, error) {
	names := make([]string, len(skills))
	for i, s := range skills {
		names[i] = s.Name
	}
	known, err := json.Marshal(names)
	if err != nil {
		return tools.Tool{}, err
	}
	return tools.Tool{
		Name:        tools.SkillTool,
		Description: "Reads what a skill says, or a file of its folder that it names.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["name"],"properties":{
			"name":{"enum":` + string(known) + `},
			"file":{"type":"string","minLength":1,"description":"relative to the folder of the skill; without it, what the skill says"}}}`),
		Source:   "built in",
		ReadOnly: true,
		Rerun:    true,
		Run:      decoded(shelf(skills).read),
	}, nil
}

type shelf []tools.Skill

func (s shelf) read(ctx context.Context, _ tools.Call, args struct{ Name, File string }) (tools.Result, error) {
	i := slices.IndexFunc(s, func(one tools.Skill) bool { return one.Name == args.Name })
	if i < 0 {
		return tools.Result{}, fmt.Errorf("there is no skill %q", args.Name)
	}
	skill := s[i]
	root, err := os.OpenRoot(skill.Folder)
	if err != nil && args.File != "" {
		return tools.Result{}, fmt.Errorf("skill %q: %w", skill.Name, cause(err))
	}
	if err != nil { // what it says is known all the same
		return tools.Result{Text: skill.Body}, nil
	}
	defer root.Close()
	if args.File == "" {
		return tools.Result{Text: skill.Body + moreFiles(ctx, root)}, nil
	}
	data, err := readWhole(root, args.File)
	switch {
	case err == nil && binary(data):
		err = errBinary
	case errors.Is(err, errOutside):
		err = errors.New("outside the folder of the skill")
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("read %q of skill %q: %w", args.File, skill.Name, err)
	}
	return tools.Result{Text: string(data)}, nil
}

// mostFiles is how many files of a skill are listed.
const mostFiles = 100

// moreFiles lists what else is in the folder of a skill.
func moreFiles(ctx context.Context, root *os.Root) string {
	var files []string
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil || len(files) == mostFiles:
			return fs.SkipAll
		case err != nil || path == "." || path == "SKILL.md":
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular():
			files = append(files, path)
		}
		return nil //nolint:nilerr // what cannot be listed can still be asked for
	})
	if len(files) == 0 {
		return ""
	}
	return "\n\nFiles of this skill:\n- " + strings.Join(files, "\n- ")
}

package config

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"agenthost/internal/yamldoc"
	"agenthost/tools"
)

const (
	skillFolder    = "skills" // in the folder of the configuration
	skillFile      = "SKILL.md"
	maxSkill       = 40 << 10 // bytes of a SKILL.md: what a model gets to see in one go
	maxDescription = 1024
)

var skillName = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// A shelf is the folder of skills. Each is read once, when an agent names it.
type shelf struct {
	folder string // of the configuration
	names  []string
	listed bool
	known  map[string]skill
}

// A skill is what was read of one, or what is wrong with it.
type skill struct {
	tools.Skill
	faults []Problem
}

// list are the names of the folders that may be skills.
func (s *shelf) list() []string {
	if s.listed {
		return s.names
	}
	s.listed = true
	entries, _ := os.ReadDir(filepath.Join(s.folder, skillFolder)) // no folder, no skills
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(s.folder, skillFolder, e.Name()))
		if err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			s.names = append(s.names, e.Name())
		}
	}
	return s.names
}

// findSkills fills in the skills that an agent names. One that is broken is
// left out and told of; one that is not there is a mistake in this file.
func (k *checker) findSkills(at string, a *Agent) {
	var named []string
	for i, glob := range a.Skills {
		p := fmt.Sprintf("%s.skills[%d]", at, i)
		var found []string
		for _, name := range k.shelf.list() {
			if ok, err := path.Match(glob, name); err == nil && ok {
				found = append(found, name)
			}
		}
		if len(found) == 0 {
			k.Fault(p, "there is no skill %s in %s; %s", k.Quote(p), filepath.Join(k.shelf.folder, skillFolder), yamldoc.Suggest(glob, k.shelf.list()))
		}
		named = append(named, found...)
	}
	slices.Sort(named)
	for _, name := range slices.Compact(named) {
		s := k.shelf.read(name)
		if len(s.faults) == 0 {
			a.Found = append(a.Found, s.Skill)
		}
		a.SkillFaults = append(a.SkillFaults, s.faults...)
	}
}

func (s *shelf) read(name string) skill {
	if known, ok := s.known[name]; ok {
		return known
	}
	folder := filepath.Join(s.folder, skillFolder, name)
	r := skillReader{loader: newLoader(folder), file: filepath.Join(folder, skillFile)}
	r.literal = true
	one := skill{Skill: r.read(name, folder)}
	if wrong, ok := r.Err().(*FileError); ok { //nolint:errorlint // err makes it
		one.faults = wrong.Problems
	}
	s.known[name] = one
	return one
}

// A skillReader reads one SKILL.md: YAML between two lines of dashes, then what
// the skill says. Variables in it are not replaced: it may come from a third party.
type skillReader struct {
	*loader
	file string
}

func (r skillReader) read(name, folder string) tools.Skill {
	text, err := yamldoc.ReadBelow(folder, skillFile, maxSkill)
	if err != nil {
		r.Add(yamldoc.Place{File: r.file}, "%s", yamldoc.WhyUnreadable(err))
		return tools.Skill{}
	}
	text = yamldoc.PlainText(text)
	front, body, closed := yamldoc.SplitFront(text)
	top := yamldoc.Place{File: r.file, Line: 1, Column: 1}
	switch {
	case !utf8.ValidString(text):
		r.Add(top, "not UTF-8")
		return tools.Skill{}
	case !closed:
		r.Add(top, "the front matter is not closed; want a second line of ---")
		return tools.Skill{}
	}
	head := r.parse(r.file, []byte(front))
	if head == nil {
		return tools.Skill{}
	}
	if head.Kind != yamldoc.Mapping {
		r.Add(top, "want name: and description: between two lines of ---")
		return tools.Skill{}
	}
	s := tools.Skill{Name: r.word(head, "name", top), Description: r.word(head, "description", top), Body: strings.TrimSpace(body), Folder: folder}
	if s.Name != "" && (s.Name != name || !skillName.MatchString(name)) {
		r.Add(head.Get("name").Value.At, "name %q: want the name of its folder, %q, of a-z, 0-9, _ and -", s.Name, name)
	}
	if len(s.Description) > maxDescription {
		r.Add(head.Get("description").Value.At, "description: %d bytes; want %d at most", len(s.Description), maxDescription)
	}
	if s.Body == "" {
		r.Add(top, "nothing is below the front matter; want what the skill says")
	}
	return s
}

// word is a line of text in the front matter. Other keys than name and
// description are for other programs.
func (r skillReader) word(head *yamldoc.Node, key string, top yamldoc.Place) string {
	f := head.Get(key)
	switch {
	case f == nil || f.Value.Null():
		r.Add(top, "the skill has no %s; add %s:", key, key)
		return ""
	case f.Value.Kind != yamldoc.Scalar:
		r.Add(f.Value.At, "%s: want text, got %s", key, f.Value.Describe())
		return ""
	}
	return strings.Join(strings.Fields(f.Value.Value), " ")
}

// SkillFaults are the skills that agents name and do not get, and why. The host
// serves the agents without them.
func (c *Config) SkillFaults() []Problem {
	var list []Problem
	for _, a := range c.Agents {
		for _, p := range a.SkillFaults {
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

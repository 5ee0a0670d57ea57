package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"agenthost/internal/yamldoc"
	"agenthost/plugins/settings"
)

// Load reads the configuration at path, a file or a folder. In a folder these
// are read, each group in the order of the names: agenthost.yaml, agents/*.md,
// agents.d/*.yaml (or .yml); names that start with a dot are passed over. Lists
// of agents and hooks are appended; models, mcp, services and the accounts of
// plugins are merged by name, and a name that two files give is an error.
//
// Everything that is wrong is reported at once, as a [*FileError].
func Load(path string) (*Config, error) { return Extensions{}.Load(path) }

// open reads the files of a configuration.
func open(path string, own Extensions) *loader {
	l := newLoader(filepath.Dir(path))
	l.own, l.named = own, path
	switch info, err := os.Stat(path); {
	case err != nil:
		l.Add(yamldoc.Place{File: path}, "%s", yamldoc.WhyUnreadable(err))
	case info.IsDir():
		l.folder = path
		l.readFolder()
	default:
		l.readYAML(path)
		l.passOver(path)
	}
	return l
}

// passOver notes what is beside agenthost.yaml and would be read of its folder.
func (l *loader) passOver(path string) {
	if filepath.Base(path) != "agenthost.yaml" {
		return
	}
	beside := newLoader(l.folder) // which tells nothing of what cannot be read
	for _, name := range beside.list("agents", ".md") {
		text, _ := yamldoc.ReadFile(name)
		if front, _, _ := yamldoc.SplitFront(yamldoc.PlainText(string(text))); front != "" { // else it may be any text
			l.passed = append(l.passed, name)
		}
	}
	l.passed = append(l.passed, beside.list("agents.d", ".yaml", ".yml")...)
}

// Parse reads data as [Load] reads the file of that name, which need not exist.
func Parse(name string, data []byte) (*Config, error) { return Extensions{}.Parse(name, data) }

// A loader reads files into one tree.
type loader struct {
	yamldoc.Problems
	folder  string
	named   string     // what -c names
	own     Extensions // that the names in the files may refer to
	root    *yamldoc.Node
	partial bool     // a file could not be read: names may refer to what is in it
	lost    bool     // that file may have said where NATS is
	literal bool     // variables are left as they are
	passed  []string // over: they are of the folder, and are not read
}

func newLoader(folder string) *loader {
	return &loader{folder: folder}
}

// config decodes and checks what was read.
func (l *loader) config() (*Config, error) {
	if l.root == nil {
		return nil, l.Err()
	}
	l.applyDefaults()
	c := &Config{Plugins: settings.Plugins{Own: l.own.accounts()}}
	d := yamldoc.NewDecoder(&l.Problems)
	d.Decode(l.root, reflect.ValueOf(c).Elem(), "")
	for _, name := range l.passed {
		c.Warnings = append(c.Warnings, yamldoc.Place{File: name}.Problem("it is not read, as the configuration is agenthost.yaml alone; name the folder instead, with -c "+l.folder))
	}
	k := &checker{Decoder: d, c: c, own: l.own, partial: l.partial, folder: l.folder, shelf: shelf{folder: l.folder, known: map[string]skill{}}}
	k.check()
	l.leaveOut(c)
	if err := l.Err(); err != nil {
		return nil, err
	}
	k.setDefaults()
	k.namePermissions()
	c.resolvePaths(l.folder)
	return c, nil
}

// leaveOut puts what a host goes on without in the order of the files: beside what
// keeps it from starting, or into c.
func (l *loader) leaveOut(c *Config) {
	left := slices.Concat(c.SkillFaults(), c.HookFaults, c.SchemaFaults)
	for _, p := range left { // skills come behind
		if !slices.Contains(l.Files, p.File) {
			l.Files = append(l.Files, p.File)
		}
	}
	to := &l.Problems
	if l.Err() == nil {
		to = &yamldoc.Problems{Files: l.Files}
	}
	for _, p := range left {
		to.Add(yamldoc.Place{File: p.File, Line: p.Line, Column: p.Column}, "%s", p.Text)
	}
	if wrong, ok := errors.AsType[*FileError](to.Err()); ok {
		c.LeftOut = wrong.Problems
	}
}

func (l *loader) readFolder() {
	var read int
	main := filepath.Join(l.folder, "agenthost.yaml")
	if _, err := os.Stat(main); err == nil {
		l.readYAML(main)
		read++
	}
	for _, name := range l.list("agents", ".md") {
		l.readMarkdown(name)
		read++
	}
	for _, name := range l.list("agents.d", ".yaml", ".yml") {
		l.readYAML(name)
		read++
	}
	if read == 0 {
		l.Add(yamldoc.Place{File: l.folder}, "no configuration in this folder; want agenthost.yaml, agents/*.md or agents.d/*.yaml")
	}
}

// list returns the files in a folder with one of the extensions, by name.
func (l *loader) list(folder string, extensions ...string) []string {
	folder = filepath.Join(l.folder, folder)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.Add(yamldoc.Place{File: folder}, "%s", yamldoc.WhyUnreadable(err))
	}
	var names []string
	for _, e := range entries {
		for _, ext := range extensions {
			if strings.HasSuffix(e.Name(), ext) && !strings.HasPrefix(e.Name(), ".") {
				names = append(names, filepath.Join(folder, e.Name()))
			}
		}
	}
	return names
}

func (l *loader) readYAML(name string) {
	data, ok := l.read(name)
	if !ok {
		l.lost = true
		return
	}
	l.addYAML(name, data)
}

func (l *loader) readMarkdown(name string) {
	if data, ok := l.read(name); ok {
		l.addMarkdown(name, data)
	}
}

// read reads a file. The one that -c names may be a pipe, as of <(…) of a shell.
func (l *loader) read(name string) ([]byte, bool) {
	read := yamldoc.ReadFile
	if name == l.named {
		read = os.ReadFile
	}
	data, err := read(name)
	if err != nil {
		l.Files = append(l.Files, name)
		l.Add(yamldoc.Place{File: name}, "%s", yamldoc.WhyUnreadable(err))
		l.partial = true
	}
	return data, err == nil
}

func (l *loader) addYAML(name string, data []byte) {
	l.Files = append(l.Files, name)
	root := l.parse(name, data)
	switch {
	case root == nil:
		l.lost = true
	case root.Null():
		l.Add(yamldoc.Place{File: name}, "the file is empty; want keys such as agents: and models:")
	case root.Kind != yamldoc.Mapping:
		l.Add(root.At, "want keys such as agents: and models:, got %s", root.Describe())
	default:
		l.merge(root)
	}
}

// keptVariables are the values whose ${…} belongs to who fills it: a webhook, from
// the body of a request.
var keptVariables = [][]string{{"plugins", "webhook", "*", "text"}}

// parse returns the tree of a file, nil when there is none.
func (l *loader) parse(name string, data []byte) *yamldoc.Node {
	root := yamldoc.Parse(&l.Problems, name, data, yamldoc.Options{Folder: l.folder, Literal: l.literal, Keep: keptVariables})
	l.partial = l.partial || root == nil
	return root
}

// mergedBy says of the keys that several files may give how many levels down a
// name is still a new one: 1 for a model, 2 for an instance of a channel. Lists
// are appended.
var mergedBy = map[string]int{"models": 1, "mcp": 1, "services": 1, "plugins": 2}

var appended = map[string]bool{"agents": true, "hooks": true}

// merge adds the keys of one more file to the tree.
func (l *loader) merge(file *yamldoc.Node) {
	if l.root == nil {
		l.root = &yamldoc.Node{Kind: yamldoc.Mapping, At: file.At}
	}
	for _, f := range file.Fields {
		l.mergeField(l.root, f, mergedBy[f.Key.Value], appended[f.Key.Value])
	}
}

func (l *loader) mergeField(into *yamldoc.Node, f yamldoc.Field, levels int, list bool) {
	old := into.Get(f.Key.Value)
	switch {
	case old == nil:
		into.Fields = append(into.Fields, f)
	case f.Value.Null():
	case old.Value.Null():
		old.Value = f.Value
	case list && old.Value.Kind == yamldoc.Sequence && f.Value.Kind == yamldoc.Sequence:
		old.Value.Items = append(old.Value.Items, f.Value.Items...)
	case levels > 0 && old.Value.Kind == yamldoc.Mapping && f.Value.Kind == yamldoc.Mapping:
		for _, inner := range f.Value.Fields {
			l.mergeField(old.Value, inner, levels-1, false)
		}
	default:
		l.Add(f.Key.At, "%q is in %s as well; keep one", f.Key.Value, old.Key.At)
	}
}

// A Problem is one thing that is wrong with a configuration, where it is, and
// what would be right.
type Problem = yamldoc.Problem

// A FileError is everything that is wrong with a configuration, in the order
// of the files and the lines.
type FileError = yamldoc.FileError

// Nearest returns the word of a list that is most like w, or "" when none is close.
func Nearest(w string, words []string) string { return yamldoc.Nearest(w, words) }

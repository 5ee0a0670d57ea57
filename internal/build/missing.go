package build

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agenthost/config"
	"agenthost/tools"
)

// NotOffered are the names of tools in the configuration that a connected MCP
// server or service does not offer, in words: a misspelt name, or a permission
// that holds nothing back. What is not connected is not asked: a look at its
// tools would start it.
func (t *Tools) NotOffered(list []config.Agent) []string {
	var words []string
	for _, a := range list {
		permissions := slices.Sorted(maps.Keys(a.Permissions))
		for _, key := range []struct {
			name  string
			globs []string
		}{{"tools", a.Tools}, {"permissions", permissions}} {
			for _, glob := range key.globs {
				if fault := t.notOffered(glob); fault != "" {
					words = append(words, fmt.Sprintf("agent %q: %s: %s", a.ID, key.name, fault))
				}
			}
		}
	}
	return words
}

// notOffered is why no tool of a connected source matches glob; empty when one
// may.
func (t *Tools) notOffered(glob string) string {
	name, _, dotted := strings.Cut(glob, ".")
	source, ok := t.awaiting[name].(tools.Source)
	if !dotted || !ok || !connected(source) {
		return ""
	}
	offered := tools.NewRegistry(source)
	if len(offered.Unmatched([]string{glob})) == 0 {
		return ""
	}
	var names []string
	for _, tool := range source.Tools() {
		names = append(names, tool.Name)
	}
	if len(names) == 0 {
		return fmt.Sprintf("%s does not offer %q; it offers no tools", source.Name(), glob)
	}
	return fmt.Sprintf("%s does not offer %q; it offers %s", source.Name(), glob, strings.Join(names, ", "))
}

// Has reports whether there is a tool of that name, as far as that is known without a
// connection to what nothing has needed yet.
func (t *Tools) Has(name string) bool {
	if _, ok := t.builtin.Find(tools.GrantOf("*"), name); ok {
		return true
	}
	word, _, _ := strings.Cut(name, ".")
	source, ok := t.awaiting[word].(tools.Source)
	return ok && connected(source) && slices.ContainsFunc(source.Tools(), func(t tools.Tool) bool { return t.Name == name })
}

// connected reports whether the tools of a source are known now.
func connected(s tools.Source) bool {
	return s.Version() > 0 && !slices.ContainsFunc(s.Faults(), func(f tools.Fault) bool { return f.Tool == "" })
}

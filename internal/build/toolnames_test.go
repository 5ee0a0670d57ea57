package build

import (
	"slices"
	"testing"

	"agenthost/tools"
	"agenthost/tools/builtin"
	"agenthost/tools/memory"

	"github.com/google/go-cmp/cmp"
)

// What the configuration takes for the names of tools are those there are.
func TestNamesOfBuiltInToolsAreKnown(t *testing.T) {
	own, err := builtin.New(builtin.Options{Workspace: func(string) string { return "" }, Reminders: remindTool{}})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{tools.SkillTool}
	for _, tool := range append(own, memory.New(nil, memory.Options{}).Tools()...) {
		names = append(names, tool.Name)
		if runs := tool.Commands != nil; runs != (tool.Name == tools.CommandTool) {
			t.Errorf("%s runs commands: %v", tool.Name, runs)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, tools.BuiltIn()); diff != "" {
		t.Errorf("names (-tools +known):\n%s", diff)
	}
}

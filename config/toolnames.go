package config

import (
	"fmt"
	"slices"
	"strings"

	"agenthost/internal/yamldoc"
	"agenthost/tools"
)

// checkToolName reports a name or pattern at path that no tool can ever have:
// a permission for it would hold nothing back. Which tools a server or service
// has is known only when it is there; its names begin with its own.
func (k *checker) checkToolName(report func(path, format string, args ...any), path, glob string) {
	if k.partial || k.Failed("mcp") || k.Failed("services") || k.mayBe(glob) {
		return
	}
	report(path, "no tool can have the name %q; %s", glob, k.suggestTool(glob))
}

// mayBe reports whether a tool may have a name that glob stands for.
func (k *checker) mayBe(glob string) bool {
	return slices.ContainsFunc(k.toolNames(), func(known string) bool { return tools.Overlap(glob, known) })
}

// ownTools are the names of the tools of the host and of its program.
func (k *checker) ownTools() []string { return append(tools.BuiltIn(), k.own.Tools...) }

// toolNames are those of the host, and patterns for those of what is configured.
func (k *checker) toolNames() []string {
	names := k.ownTools()
	for _, source := range append(sorted(k.c.MCP), sorted(k.c.Services)...) {
		names = append(names, source+".*")
	}
	return names
}

func (k *checker) suggestTool(glob string) string {
	if near := yamldoc.Nearest(glob, k.ownTools()); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	source, rest, dotted := strings.Cut(glob, ".")
	if !dotted {
		return "want one of " + strings.Join(k.toolNames(), ", ")
	}
	if near := yamldoc.Nearest(source, append(sorted(k.c.MCP), sorted(k.c.Services)...)); near != "" {
		return fmt.Sprintf("did you mean %q?", near+"."+rest)
	}
	return fmt.Sprintf("there is neither mcp.%s nor services.%s", source, source)
}

// checkPermissionName is checkToolName for a key of permissions. Behind a colon
// is a command, of which any may exist, but only one tool runs them, and it is
// looked up by its name.
func (k *checker) checkPermissionName(path, key string) {
	tool, command, has := strings.Cut(key, ":")
	switch {
	case !has:
		k.checkToolName(k.FaultKey, path, tool)
	case tool != tools.CommandTool:
		k.FaultKey(path, "permission %q: only %s runs commands; want \"%s:%s\"", key, tools.CommandTool, tools.CommandTool, command)
	case command == "":
		k.FaultKey(path, "permission %q names no command; want one such as \"%sls\"", key, key)
	}
}

package config

import (
	"fmt"
	"path"
	"strings"

	"agenthost/internal/yamldoc"
	"agenthost/tools"
)

// checkPolicy checks which tools the agent has and may use.
func (k *checker) checkPolicy(at string, a Agent) {
	for i, glob := range a.Tools {
		p := fmt.Sprintf("%s.tools[%d]", at, i)
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			k.Fault(p, `tool %s: want a name or a pattern such as "files.*"`, k.Quote(p))
			continue
		}
		k.checkToolName(k.Fault, p, glob)
	}
	for _, tool := range sorted(a.Permissions) {
		p := yamldoc.Join(at+".permissions", tool)
		if _, err := path.Match(tool, ""); err != nil || tool == "" {
			k.FaultKey(p, `tool %q: want a name or a pattern such as "files.*"`, tool)
		} else {
			k.checkPermissionName(p, tool, a.Permissions)
		}
		if a.Permissions[tool] == "" {
			k.Fault(p, "%q has no permission; want allow, ask or deny", tool)
		}
		k.oneOf(p, a.Permissions[tool], permissions...)
	}
}

// checkPermissionName is checkToolName for a key of permissions. Behind a colon
// is a command, of which any may exist, but only one tool runs them, and it is
// looked up by its name.
func (k *checker) checkPermissionName(path, key string, others map[string]string) {
	if own := k.permissionName(key); own != key {
		if _, twice := others[own]; twice {
			k.FaultKey(path, "permission %q is %q by its other name; keep one", key, own)
		}
		key = own
	}
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

// commandAlias is what permissions may call the tool that runs commands.
const commandAlias = "exec"

// permissionName is a key of permissions with the tool's own name. A program may have a
// tool that is called like the alias.
func (k *checker) permissionName(key string) string {
	tool, rest := key, ""
	if i := strings.IndexByte(key, ':'); i >= 0 {
		tool, rest = key[:i], key[i:]
	}
	if tool == commandAlias && !k.mayBe(tool) {
		return tools.CommandTool + rest
	}
	return key
}

// namePermissions gives the keys of all permissions the tools' own names.
func (k *checker) namePermissions() {
	for i := range k.c.Agents {
		k.c.Agents[i].Permissions = k.named(k.c.Agents[i].Permissions)
	}
	k.c.Defaults.Permissions = k.named(k.c.Defaults.Permissions)
}

func (k *checker) named(permissions map[string]string) map[string]string {
	if permissions == nil {
		return nil
	}
	named := make(map[string]string, len(permissions))
	for key, policy := range permissions {
		named[k.permissionName(key)] = policy
	}
	return named
}

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

// checkTools checks where tools come from.
func (k *checker) checkTools() {
	for _, name := range sorted(k.c.MCP) {
		path, c := yamldoc.Join("mcp", name), k.c.MCP[name]
		if !token.MatchString(name) {
			k.FaultKey(path, "mcp server %q: %s", name, wantToken)
		}
		if (len(c.Command) > 0) == (c.URL != "") {
			k.Fault(path, "mcp server %q: want one of command and url", name)
		}
		if c.URL != "" && !validURL(c.URL) {
			k.Fault(path+".url", "url: want http://… or https://…")
		}
		if len(c.Command) > 0 && c.Command[0] == "" {
			k.Fault(path+".command", "command: want the name of a program first")
		}
		k.checkOAuth(path+".oauth", c)
	}
	for _, name := range sorted(k.c.Services) {
		if !serviceName.MatchString(name) {
			k.FaultKey(yamldoc.Join("services", name), "service %q: want the name of a NATS micro service, of letters, digits, _ and -", name)
		}
		if _, twice := k.c.MCP[name]; twice {
			k.FaultKey(yamldoc.Join("services", name), "service %q: there is an mcp.%s, and both would have tools named %s.…; rename that", name, name, name)
		}
	}
}

func (k *checker) checkOAuth(path string, c tools.MCPConfig) {
	o := c.OAuth
	if o == (tools.OAuthConfig{}) {
		return
	}
	k.oneOf(path+".grant", o.Grant, tools.AuthorizationCode, tools.ClientCredentials)
	if c.URL == "" {
		k.Fault(path, "oauth is for servers with a url; give a program its keys by env")
	}
	switch {
	case o.Grant == tools.ClientCredentials && (o.ClientID == "" || o.ClientSecret == ""):
		k.Fault(path, "client_credentials: want client_id and client_secret")
	case o.ClientSecret != "" && o.ClientID == "":
		k.Fault(path, "client_secret without client_id; add client_id:")
	}
}

package config_test

import (
	"maps"
	"strings"
	"testing"

	"agenthost/config"
)

func TestNamesThatNoToolCanHave(t *testing.T) {
	const sources = "mcp: {wiki: {command: [wiki-mcp]}}\nservices: {billing: {}}\n" + agentA
	tests := map[string]struct{ line, want string }{
		"a typing error":                     {`permissions: {write_fle: deny}`, `no tool can have the name "write_fle"; did you mean "write_file"?`},
		"of a grant":                         {`tools: [now, write_fle]`, `no tool can have the name "write_fle"; did you mean "write_file"?`},
		"a pattern":                          {`permissions: {"wirte_*": deny}`, `no tool can have the name "wirte_*"; `},
		"a server that is not there":         {`tools: ["wikki.*"]`, `no tool can have the name "wikki.*"; did you mean "wiki.*"?`},
		"a service that is not there":        {`permissions: {"accounts.charge": deny}`, `no tool can have the name "accounts.charge"; there is neither mcp.accounts nor services.accounts`},
		"a server itself":                    {`permissions: {wiki: deny}`, `no tool can have the name "wiki"; want one of ask_human, `},
		"another case":                       {`permissions: {Write_File: deny}`, `no tool can have the name "Write_File"; did you mean "write_file"?`},
		"a command of a tool that runs none": {`permissions: {"fetch_url:git": deny}`, `permission "fetch_url:git": only run_command runs commands; want "run_command:git"`},
		"a command of a typing error":        {`permissions: {"run_comand:rm": deny}`, `only run_command runs commands; want "run_command:rm"`},
		"a command of a pattern":             {`permissions: {"run_*:rm": deny}`, `only run_command runs commands; want "run_command:rm"`},
		"a permission under two names":       {`permissions: {exec: deny, run_command: ask}`, `permission "exec" is "run_command" by its other name; keep one`},
		"a grant by the other name":          {`tools: [exec]`, `no tool can have the name "exec"; want one of ask_human, `},
		"no command":                         {`permissions: {"run_command:": deny}`, `permission "run_command:" names no command; want one such as "run_command:ls"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("f", []byte(sources+"    "+tt.line+"\n"))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestNamesThatAToolMayHave(t *testing.T) {
	const sources = "mcp: {wiki: {command: [wiki-mcp]}}\nservices: {billing: {}}\n" + agentA
	for _, name := range []string{
		"now", "skill", "remember", "remind", "*", "*_file", "read_?ile", "[rw]*", "wiki.*", "wiki.search", "w*", "*.search",
		"billing.charge", "*ing.*", "run_command",
	} {
		for _, line := range []string{"tools: ['" + name + "']", "permissions: {'" + name + "': deny}"} {
			if _, err := config.Parse("f", []byte(sources+"    "+line+"\n")); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	for _, key := range []string{"run_command:git", "run_command:>", "run_command:g*", "run_command:/usr/bin/x"} {
		if _, err := config.Parse("f", []byte(sources+"    permissions: {'"+key+"': deny}\n")); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// Permissions may call the tool that runs commands exec.
func TestCommandToolByItsOtherName(t *testing.T) {
	c, err := config.Parse("f", []byte(agentA+"    tools: [run_command]\n    permissions: {exec: deny, \"exec:ls\": allow}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"run_command": "deny", "run_command:ls": "allow"}
	if got := c.Agents[0].Permissions; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

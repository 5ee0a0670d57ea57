package tools

// CommandTool is the tool that runs commands, for which a permission may name
// one behind a colon.
const CommandTool = "run_command"

// BuiltIn are the names of the tools that a host has by itself.
func BuiltIn() []string {
	return []string{
		"ask_human", "delegate", "edit_file", "fetch_url", "forget", "list_files", "now", "read_file", "recall",
		"remember", "remind", CommandTool, "search_files", SkillTool, "write_file",
	}
}

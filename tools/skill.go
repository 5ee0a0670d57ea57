package tools

// A Skill is a folder with instructions for a kind of work. An agent knows its name
// and description, and reads the rest when it comes to that.
type Skill struct {
	Name        string // of the folder
	Description string // in one line
	Body        string // of its SKILL.md
	Folder      string // where its other files are
}

// SkillTool is the tool that reads skills. An agent has it with its skills.
const SkillTool = "skill"

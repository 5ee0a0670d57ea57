package doctor

import (
	"os"
	"strings"

	"agenthost/internal/build"
	"agenthost/internal/sandbox"
)

// sandbox checks what commands are held to, where an agent may run them.
func (d *Doctor) sandbox(n *notes) {
	agents := build.RunsCommands(d.Config)
	if len(agents) == 0 {
		return
	}
	o, p := n.on("tools", "run_command"), sandbox.Check()
	if !p.Confined {
		o.warn("see docs/security.md, or take the tool from the agents", "commands are not confined, so each needs an approval: %s", p.Layers)
	} else {
		o.ok("commands run in a sandbox (%s)", p.Layers)
	}
	if len(p.Open) > 0 {
		o.warn("allow namespaces; see docs/security.md", "here commands can %s", strings.Join(p.Open, ", "))
	}
	if os.Geteuid() == 0 {
		o.warn("run the host as a user of its own", "this user is root, and commands run as the user of the host")
	}
	for _, a := range agents {
		if a.Sandbox.Network {
			n.on("tools", a.ID).ok("its commands may use the network")
		}
	}
}

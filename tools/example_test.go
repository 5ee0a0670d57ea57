package tools_test

import (
	"encoding/json"
	"fmt"

	"agenthost/tools"
)

// A host asks what an agent has, whether the model's arguments fit, and whether
// the call may run.
func Example() {
	now := tools.Tool{Name: "now", ReadOnly: true, Run: run}
	registry := tools.NewRegistry(tools.Static{now, runCommand})
	var validator tools.Validator
	policy, err := tools.NewPolicy(map[string]string{"run_command:git": "allow", "run_command:rm": "deny"})
	if err != nil {
		fmt.Println(err)
		return
	}

	grant := tools.GrantOf("now", "run_*")
	for _, t := range registry.For(grant) {
		fmt.Println(t.Name)
	}
	fmt.Println(validator.Check(now, json.RawMessage(`{"zone":"UTC"}`)))
	for _, line := range []string{`git status`, `git status & rm -rf .`, `git log > ~/.bashrc`} {
		args := json.RawMessage(fmt.Sprintf(`{"command":%q}`, line))
		d := policy.Decide(runCommand, args, nil)
		fmt.Println(d.Verdict, "-", d.Reason)
	}
	// Output:
	// now
	// run_command
	// arguments of "now": /zone: unknown, leave it out
	// allow - permission "run_command:git" allows git
	// deny - permission "run_command:rm" denies rm
	// ask - writes to a file
}

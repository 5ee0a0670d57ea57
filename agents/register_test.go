package agents_test

import (
	"testing"

	"agenthost/agents"

	"github.com/google/go-cmp/cmp"
)

func TestRegister(t *testing.T) {
	make := func(agents.Env) (agents.Behavior, error) { return agents.Base{}, nil }
	agents.Register("registered", make)
	if agents.Registered("registered") == nil || agents.Registered("other") != nil {
		t.Error("it is not found under its name alone")
	}
	if diff := cmp.Diff([]string{"registered"}, agents.RegisteredNames()); diff != "" {
		t.Error(diff)
	}
	for name, register := range map[string]func(){
		"twice":      func() { agents.Register("registered", make) },
		"no name":    func() { agents.Register("", make) },
		"no factory": func() { agents.Register("nothing", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it does not panic")
				}
			}()
			register()
		})
	}
}

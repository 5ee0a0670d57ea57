package profile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/tools"
)

// A source is an Awaiter that takes its time, and has one tool after it.
type source struct {
	takes time.Duration
	tool  string
	fault error
	come  func()
}

func (s source) Await(ctx context.Context) { _ = s.wait(ctx) }

func (s source) wait(ctx context.Context) error {
	select {
	case <-time.After(s.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s source) AwaitTool(ctx context.Context, tool string) error {
	if s.tool != tool {
		return tools.ErrNoTool
	}
	if err := s.wait(ctx); err != nil {
		return err
	}
	if s.come != nil {
		s.come()
	}
	return s.fault
}

// All sources are waited for at once.
func TestAwait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := &Toolbox{Awaits: []Awaiter{source{takes: 2 * time.Second}, source{takes: 5 * time.Second}, source{takes: 3 * time.Second}}}
		start := time.Now()
		if box.Await(t.Context()); time.Since(start) != 5*time.Second {
			t.Errorf("it took %s, want as long as the slowest", time.Since(start))
		}
		new(Toolbox).Await(t.Context())
	})
}

// A tool whose source is away is waited for, at most for its patience.
func TestDemand(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name   string
		awaits []Awaiter // besides which the tool "here" is there, and "late" comes
		late   time.Duration
		fault  string
		takes  time.Duration
	}{
		"there":          {name: "here"},
		"its own":        {name: "own"},
		"not granted":    {name: "secret", fault: tools.ErrNoTool.Error()},
		"unknown":        {name: "nothing", awaits: []Awaiter{source{tool: "other"}}, fault: tools.ErrNoTool.Error()},
		"comes":          {name: "late", late: 3 * time.Second, takes: 3 * time.Second},
		"does not come":  {name: "late", late: time.Hour, fault: `"late" cannot be reached: context deadline exceeded`, takes: toolPatience},
		"its source ill": {name: "ill", awaits: []Awaiter{source{tool: "ill", fault: errors.New("refused")}}, fault: `tool_unavailable: "ill" cannot be reached: refused`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				box := boxOf(tools.GrantOf("here", "late", "nothing", "ill"), "here")
				box.Own, box.Awaits = []tools.Tool{{Name: "own"}}, tt.awaits
				box.Awaits = append(box.Awaits, source{tool: "late", takes: tt.late, come: func() {
					box.Registry = tools.NewRegistry(tools.Static{{Name: "late", Run: nothing}})
				}})
				start := time.Now()
				got, err := box.Demand(t.Context(), tt.name)
				if time.Since(start) != tt.takes {
					t.Errorf("it took %s, want %s", time.Since(start), tt.takes)
				}
				switch {
				case tt.fault == "":
					if err != nil || got.Name != tt.name {
						t.Errorf("got %q, %v", got.Name, err)
					}
				case err == nil || !strings.Contains(err.Error(), tt.fault):
					t.Errorf("got %v, want %q", err, tt.fault)
				}
			})
		})
	}
}

// A model is offered what is granted and what is the agent's own.
func TestDefs(t *testing.T) {
	t.Parallel()
	box := boxOf(tools.GrantOf("a*"), "again", "add", "delete")
	box.Own = []tools.Tool{{Name: "skill", Description: "reads"}}
	var names []string
	for _, d := range box.Defs() {
		names = append(names, d.Name)
	}
	if got := strings.Join(names, " "); got != "add again skill" {
		t.Errorf("got %q", got)
	}
	if len(box.Preview()) != 3 {
		t.Error("a person is shown others than the model")
	}
	if !box.safe("again") || box.safe("add") || box.safe("delete") || box.safe("nothing") {
		t.Error("only a granted tool that may run again is safe")
	}
	if boxOf(tools.Grant{}).Defs() != nil || boxOf(tools.Grant{}).Preview() == nil {
		t.Error("without tools: want no definitions, and an empty preview")
	}
}

package profile

import (
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/llm"
	"agenthost/tools"
)

func peersOf(list ...Peer) *Peers {
	p := new(Peers)
	p.Set(list)
	return p
}

// The prompt names the agents that may be asked, which take work from this one.
func TestPeersInThePrompt(t *testing.T) {
	t.Parallel()
	all := peersOf(
		Peer{ID: "ana", Description: "itself"},
		Peer{ID: "ben", Description: "counts"},
		Peer{ID: "kate", Accepts: []string{"ben"}},
		Peer{ID: "lea", Accepts: []string{"ana"}},
		Peer{ID: "zoe", Accepts: []string{}},
		Peer{ID: "max", Description: "not asked"},
	)
	tests := map[string]struct {
		delegates []string
		grant     tools.Grant
		want      []string
	}{
		"some":           {[]string{"ben", "kate", "lea"}, tools.GrantOf("delegate"), []string{"- ben: counts", "- lea: no description"}},
		"all":            {[]string{"*"}, tools.GrantOf("*"), []string{"- ben: counts", "- lea: no description", "- max: not asked"}},
		"without a tool": {[]string{"*"}, tools.GrantOf("read_file"), nil},
		"nobody":         {nil, tools.GrantOf("*"), nil},
		"only itself":    {[]string{"ana"}, tools.GrantOf("*"), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := peers(agents.Config{ID: "ana", Delegates: tt.delegates}, boxOf(tt.grant), all)
			want := ""
			if tt.want != nil {
				want = "You can hand work to these agents with the tool delegate:\n" + strings.Join(tt.want, "\n")
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestPeers(t *testing.T) {
	t.Parallel()
	if p := new(Peers); len(p.All()) != 0 || p.Has("ana") {
		t.Error("the zero Peers are not empty")
	}
	if p := peersOf(Peer{ID: "ana"}); !p.Has("ana") || p.Has("an") {
		t.Error("Has is not by the whole id")
	}
	for id, want := range map[string]string{"ana": "Ana", "émile": "Émile", "": ""} {
		if id == "" {
			continue
		}
		if got := Title(id); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What differs least among prompts comes first.
func TestOrderOfThePrompt(t *testing.T) {
	t.Parallel()
	box := boxOf(tools.GrantOf("*"))
	box.Skills = []tools.Skill{{Name: "taxes", Description: "how to file"}}
	cfg := agents.Config{ID: "ana", Instructions: "I", Delegates: []string{"*"}}
	got := system(cfg, agents.Binding{Prompt: "P", Language: "fr"}, box, peersOf(Peer{ID: "ben"}))
	at := -1
	for _, part := range []string{"I\n\n", "P\n\n", "code fr", "- ben: ", "- taxes: how to file"} {
		next := strings.Index(got, part)
		if next <= at {
			t.Errorf("%q is missing or too early in %q", part, got)
		}
		at = next
	}
}

// The shares of a prompt add up to all of it.
func TestMeasure(t *testing.T) {
	t.Parallel()
	box := boxOf(tools.GrantOf("*"), "count")
	box.Skills = []tools.Skill{{Name: "taxes", Description: "how to file"}}
	cfg := agents.Config{ID: "ana", Instructions: "Be kind."}
	m := Measure(cfg, box, new(Peers))
	if m.Instructions.Bytes != len("Be kind.") || m.Tools.Bytes != len("count")+len("does count") {
		t.Errorf("got %+v", m)
	}
	whole := len(system(cfg, agents.Binding{}, box, new(Peers))) + m.Tools.Bytes
	if got := m.Total(); got.Bytes != whole || got.Tokens == 0 {
		t.Errorf("the shares come to %+v, want %d bytes", got, whole)
	}
	if got := Overhead(llm.Request{System: "123", Tools: []llm.ToolDef{{Name: "abc", Schema: []byte("{}1")}}}); got != 3 {
		t.Errorf("overhead: got %d, want 3", got)
	}
}

package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

var inFolder = regexp.MustCompile("(?ms)^```[a-z]+ folder/([^\n]+)\n(.*?)^```$")

// shown is the configuration that a page shows file by file, with b as all of
// its models. change may write to its folder before it is loaded.
func shown(t *testing.T, page string, b *brain, change func(folder string)) *config.Config {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, m := range inFolder.FindAllStringSubmatch(string(text), -1) {
		putFile(t, filepath.Join(folder, m[1]), m[2])
	}
	if change != nil {
		change(folder)
	}
	cfg, err := config.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	none := ""
	cfg.NATS.Embedded = bus.Embedded{Store: t.TempDir(), Listen: &none}
	cfg.HTTP.Listen = "127.0.0.1:0"
	for name := range cfg.Models {
		cfg.Models[name] = llm.Config{Provider: "openai", Model: name, BaseURL: b.url}
	}
	return cfg
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tell says something on a channel and waits for the answer there.
func tell(t *testing.T, h *host.Host, channel, text string) bus.Outbound {
	t.Helper()
	sub, err := h.Bus().NC.SubscribeSync("plugin.outbound." + channel)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	publish(t, h.Bus().NC, "plugin.inbound."+channel, bus.Inbound{From: "bo", Text: text})
	return next(t, sub)
}

// A request is what of a prompt depends on who is asked where.
type request struct {
	Model string
	Tools []string
}

func (p prompt) request(t *testing.T) request {
	t.Helper()
	var body struct {
		Model string
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(p.body, &body); err != nil {
		t.Fatal(err)
	}
	r := request{Model: body.Model}
	for _, tool := range body.Tools {
		r.Tools = append(r.Tools, tool.Function.Name)
	}
	return r
}

func TestBindingOverrides(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	h, _ := start(t, shown(t, "agents.md", b, nil))
	const own = "You are Ana, and answer the customers of a bookshop.\n\nThe shop is open from 9 to 18, Monday to Saturday.\n\n" +
		"Be friendly and brief. Never promise a date."
	const peers = "\n\nYou can hand work to these agents with the tool delegate:\n- ops: Knows how this shop's machines work."
	const addendum = "\n\nAnswer in two sentences at most.\n\nAnswer in the language with the code fr, whatever language you are written to in."
	wide, narrow := request{"main", []string{"delegate", "now", "read_file"}}, request{"small", []string{"now"}}
	for i, tt := range []struct {
		channel, system string
		want            request
	}{
		{"web", own + peers, wide},
		{"telegram.sales", own + addendum, narrow},
		{"web", own + peers, wide},
		{"telegram.sales", own + addendum, narrow},
	} {
		tell(t, h, tt.channel, "hello")
		p := b.prompts()[i]
		if diff := cmp.Diff(tt.system, p.system); diff != "" {
			t.Errorf("%s: system prompt (-want +got):\n%s", tt.channel, diff)
		}
		if diff := cmp.Diff(tt.want, p.request(t)); diff != "" {
			t.Errorf("%s: request (-want +got):\n%s", tt.channel, diff)
		}
	}
	tell(t, h, "telegram.sales", `call read_file {"path":"a"}`)
	if last := last(b); last.last.Content != `there is no tool "read_file"` {
		t.Errorf("a tool that the binding takes away: got %q", last.last.Content)
	}
}

func last(b *brain) prompt {
	all := b.prompts()
	return all[len(all)-1]
}

// A task of another agent goes by none of the bindings.
func TestDelegateHasNoBinding(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cfg := shown(t, "agents.md", b, nil)
	h, _ := start(t, cfg)
	sub, err := h.Bus().NC.SubscribeSync("results")
	if err != nil {
		t.Fatal(err)
	}
	publish(t, h.Bus().NC, "agent.route.ana", bus.Route{ID: "1", Kind: bus.RouteDelegate, From: "telegram", Text: "hello", ReplyTo: "results"})
	next(t, sub)
	if got := last(b).request(t).Model; got != "main" {
		t.Errorf("got model %s, want main", got)
	}
}

func TestBindingLimits(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cfg := shown(t, "agents.md", b, nil)
	ana := slices.IndexFunc(cfg.Agents, func(a config.Agent) bool { return a.ID == "ana" })
	cfg.Agents[ana].Channels[1].Limits.ModelCalls = 1
	h, _ := start(t, cfg)
	if out := tell(t, h, "web", "call now {}"); out.Error != nil {
		t.Errorf("web: got %+v", out.Error)
	}
	if out := tell(t, h, "telegram.sales", "call now {}"); out.Error == nil || out.Error.Code != string(llm.CodeTurnLimit) {
		t.Errorf("telegram: got %+v, want a turn limit", out)
	}
}

// A run that another owner takes up goes by its binding from its first step.
func TestBindingAfterRestart(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cfg := shown(t, "agents.md", b, nil)
	ana := slices.IndexFunc(cfg.Agents, func(a config.Agent) bool { return a.ID == "ana" })
	cfg.Agents[ana].Channels[1].Tools = []string{"now"}
	cfg.Agents[ana].Permissions = map[string]string{"now": "ask"}
	h, stop := start(t, cfg)
	if out := tell(t, h, "telegram.sales", "call now {}"); out.Kind != "approval" {
		t.Fatalf("got %+v, want to be asked", out)
	}
	stop()
	h, _ = start(t, cfg)
	if out := tell(t, h, "telegram.sales", "approve"); out.Text != "Yes." {
		t.Fatalf("got %+v", out)
	}
	if diff := cmp.Diff(request{"small", []string{"now"}}, last(b).request(t)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestSkills(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	h, _ := start(t, shown(t, "skills.md", b, nil))
	for text, want := range map[string]string{
		`call skill {"name":"refunds"}`: "Ask for the number of the order. Within 30 days the customer gets all of it back, later a voucher.\n" +
			"What differs from country to country is in countries.md.\n\nFiles of this skill:\n- countries.md",
		`call skill {"name":"refunds","file":"countries.md"}`:         "In France it is 14 days by law, without a reason.\n",
		`call skill {"name":"refunds","file":"../../agenthost.yaml"}`: `read "../../agenthost.yaml" of skill "refunds": outside the folder of the skill`,
	} {
		tell(t, h, "web", text)
		p := last(b)
		if p.last.Role != "tool" || p.last.Content != want {
			t.Errorf("%s: got %s %q, want %q", text, p.last.Role, p.last.Content, want)
		}
	}
	const system = "You are Ana, and answer the customers of a bookshop.\n\n" +
		"You have these skills. Before you do what one of them is about, read it with the tool skill:\n" +
		"- refunds: How to give money back. Use it when a customer returns a book or asks for a refund."
	for _, p := range b.prompts() {
		if p.system != system || !slices.Equal(p.request(t).Tools, []string{"skill"}) {
			t.Errorf("got tools %v and system prompt %q", p.request(t).Tools, p.system)
		}
	}
}

// A binding that narrows the tools has the skills only if it says so.
func TestSkillsOfBinding(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cfg := shown(t, "skills.md", b, nil)
	a := &cfg.Agents[0]
	a.Tools = []string{"now"}
	a.Channels[0].Tools = []string{"now"}
	a.Channels = append(a.Channels, a.Channels[0], a.Channels[0])
	a.Channels[1].Channel, a.Channels[1].Tools = "irc", []string{"skill"}
	a.Channels[2].Channel, a.Channels[2].Tools = "none", []string{}
	h, _ := start(t, cfg)
	for channel, want := range map[string][]string{"web": {"now"}, "irc": {"skill"}, "none": nil} {
		tell(t, h, channel, "hello")
		p := last(b)
		if got := p.request(t).Tools; !slices.Equal(got, want) {
			t.Errorf("%s: got tools %v, want %v", channel, got, want)
		}
		if has := strings.Contains(p.system, "skills"); has != slices.Contains(want, "skill") {
			t.Errorf("%s: got system prompt %q", channel, p.system)
		}
	}
}

func TestBrokenSkillIsLeftOut(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	var file string
	h, _ := start(t, shown(t, "skills.md", b, func(folder string) {
		file = filepath.Join(folder, "skills", "bad", "SKILL.md")
		putFile(t, file, "---\nname: worse\ndescription: x\n---\ntext\n")
		putFile(t, filepath.Join(folder, "agents.d", "x.yaml"), "agents: [{id: bo, channels: [irc], skills: [\"*\"]}]\n")
	}))
	tell(t, h, "irc", "hello")
	if p := last(b); strings.Contains(p.system, "bad") || !strings.Contains(p.system, "refunds") {
		t.Errorf("got system prompt %q", p.system)
	}
	msg, err := h.Bus().NC.Request(client.StatusSubject, nil, 5*time.Second) //nolint:forbidigo // no bubble here
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.ReadStatus(msg.Data)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, a := range s.Agents {
		states[a.ID] = a.State + " " + a.Reason
	}
	want := map[string]string{
		"ana": "ready ", "bo": "degraded " + file + `:2:7: name "worse": want the name of its folder, "bad", of a-z, 0-9, _ and -`,
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

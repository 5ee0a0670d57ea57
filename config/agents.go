package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/heartbeat"
	"agenthost/internal/texts"
	"agenthost/internal/yamldoc"
	"agenthost/session"
	"agenthost/tools"
)

// An Agent is one entry of `agents:`.
type Agent struct {
	agents.Config `yaml:",inline"`
	Heartbeat     heartbeat.Config     `yaml:"heartbeat,omitempty" json:"heartbeat,omitzero"`
	Schedules     []heartbeat.Schedule `yaml:"schedules,omitempty" json:"schedules,omitempty"`
	Events        []heartbeat.Event    `yaml:"events,omitempty" json:"events,omitempty"`
	// Timezone is the zone of its schedules and reminders; empty: UTC.
	Timezone string `yaml:"timezone,omitempty" json:"timezone,omitempty"`

	Found       []tools.Skill `yaml:"-" json:"-"` // what Skills stands for
	SkillFaults []Problem     `yaml:"-" json:"-"` // what is wrong with those left out of Found
}

// addMarkdown reads an agent: YAML between two lines of dashes, then its
// instructions, in which nothing is replaced. Without an id the agent has the
// name of the file; without the dashes the whole file is its instructions.
func (l *loader) addMarkdown(name string, data []byte) {
	l.Files = append(l.Files, name)
	front, body, ok := yamldoc.SplitFront(yamldoc.PlainText(string(data)))
	if !ok {
		l.Add(yamldoc.Place{File: name, Line: 1, Column: 1}, "the front matter is not closed; want a second line of ---")
		l.partial = true
		return
	}
	agent := l.parse(name, []byte(front))
	switch {
	case agent == nil:
		return
	case agent.Null():
		agent = &yamldoc.Node{Kind: yamldoc.Mapping, At: yamldoc.Place{File: name, Line: 1, Column: 1}}
	case agent.Kind != yamldoc.Mapping:
		l.Add(agent.At, "want keys such as model: and channels:, got %s", agent.Describe())
		return
	}
	top := yamldoc.Place{File: name, Line: 1, Column: 1}
	if agent.Get("id") == nil {
		agent.Fields = append(agent.Fields, yamldoc.Text("id", strings.TrimSuffix(filepath.Base(name), ".md"), top))
	}
	if line, column, text := yamldoc.StrayBytes(data); !utf8.ValidString(body) {
		l.Add(yamldoc.Place{File: name, Line: line, Column: column}, "%s", text)
	}
	if f := agent.Get("instructions"); f != nil {
		l.Add(f.Key.At, "the text below the front matter is the instructions; want no key instructions")
	} else if body = strings.TrimSpace(body); body != "" {
		agent.Fields = append(agent.Fields, yamldoc.Text("instructions", body, top))
	}
	agents := &yamldoc.Node{Kind: yamldoc.Sequence, At: top, Items: []*yamldoc.Node{agent}}
	l.merge(&yamldoc.Node{Kind: yamldoc.Mapping, At: top, Fields: []yamldoc.Field{{Key: yamldoc.Text("agents", "", top).Key, Value: agents}}})
}

// The words that a value is limited to.
var (
	queues      = []string{string(session.Followup), string(session.Collect), string(session.Steer), string(session.Interrupt)}
	permissions = []string{string(tools.Allow), string(tools.Ask), string(tools.Deny)}
	excesses    = []string{"fail", "ask", "warn"}
)

func (k *checker) checkAgents() {
	k.checkIDs()
	for i := range k.c.Agents {
		at, a := fmt.Sprintf("agents[%d]", i), &k.c.Agents[i]
		k.checkAgent(at, *a)
		k.addInstructions(at, a)
		k.findSkills(at, a)
	}
}

func (k *checker) checkIDs() {
	first := make(map[string]string) // where an id was seen first
	unknown := k.partial || k.Failed("agents")
	for i, a := range k.c.Agents {
		at := fmt.Sprintf("agents[%d].id", i)
		if a.ID == "" {
			unknown = true
			k.required(at, a.ID, "id", "the agent")
			continue
		}
		k.token(at, "agent id", a.ID)
		if other := first[a.ID]; other != "" {
			k.Fault(at, "agent id %s is at %s as well; want an id of its own", k.Quote(at), k.NodeAt(other).At)
		}
		first[a.ID] = cmp.Or(first[a.ID], at)
	}
	if !unknown {
		k.ids = sorted(first)
	}
}

func (k *checker) checkAgent(at string, a Agent) {
	k.checkModel(at+".model", a)
	k.checkBehavior(at+".behavior", a)
	k.checkPeers(at, a)
	k.checkApprovers(at, a)
	k.checkPolicy(at, a)
	k.oneOf(at+".session.queue", string(a.Session.Queue), queues...)
	k.checkDebounce(at+".session", a)
	k.checkBudget(at+".limits.budget", a.Limits.Budget)
	k.checkAlert(at+".limits.budget.alert", a.Limits.Budget)
	if p := at + ".partitions"; a.Partitions > mostPartitions {
		k.Fault(p, "partitions: want %d at most, got %s", mostPartitions, k.Quote(p))
	}
	k.checkChannels(at+".channels", a)
	k.checkDoors(at+".doors", a)
	k.checkHeartbeat(at+".heartbeat", a.Heartbeat)
	k.checkSchedules(at+".schedules", a.Schedules)
	k.checkZone(at+".timezone", a.Timezone)
	k.checkEvents(at+".events", a)
	k.checkShadow(at, a)
	k.checkSchema(at+".output_schema", a)
	k.checkTexts(at, a)
}

// mostPartitions is what a fleet can do something with: each is a consumer of NATS.
const mostPartitions = 64

// checkSchema notes an output_schema that no answer can be checked by. The host
// quarantines that agent, and serves the others.
func (k *checker) checkSchema(path string, a Agent) {
	if a.OutputSchema == nil || k.Failed(path) {
		return
	}
	text, err := json.Marshal(a.OutputSchema)
	if err == nil {
		err = tools.CheckSchema(text)
	}
	if err != nil {
		at := k.NodeAt(path).At
		text := fmt.Sprintf("output_schema is no JSON Schema that can be read: %v", err)
		k.c.SchemaFaults = append(k.c.SchemaFaults, at.Problem(text))
	}
}

// checkBudget checks what happens when a budget is used up, or nearly.
func (k *checker) checkBudget(at string, b agents.Budget) {
	k.oneOf(at+".on_exceed", b.OnExceed, excesses...)
	for i, share := range b.Alert {
		if p := fmt.Sprintf("%s.alert[%d]", at, i); share <= 0 || share > 1 {
			k.Fault(p, "alert %s: want a share of the budget above 0 and up to 1, such as 0.8", k.Quote(p))
		}
	}
}

// checkAlert warns of an agent's own alert where nothing can be spent that it tells of.
func (k *checker) checkAlert(at string, b agents.Budget) {
	inherited := k.Set("defaults.limits.budget.alert") && k.NodeAt(at) == k.NodeAt("defaults.limits.budget.alert")
	if len(b.Alert) > 0 && b.Day == 0 && b.Month == 0 && b.PeerDay == 0 && !inherited {
		k.warn(at, "alert has no effect without a budget of a day, a month or a person; add day:, month: or peer_day:, or take alert out")
	}
}

func (k *checker) checkModel(at string, a Agent) {
	if k.partial || k.Failed("models") {
		return
	}
	names := sorted(k.c.Models)
	id := k.Quote(yamldoc.Parent(at) + ".id")
	switch {
	case a.Behavior != "" && len(a.Model) == 0: // it need not ask one
	case len(a.Model) == 0 && len(names) == 0:
		k.Fault(at, "agent %s names no model; add models:, and model: with the name of one", id)
	case len(a.Model) == 0 && len(names) > 1:
		k.Fault(at, "agent %s names no model; add model: %s", id, yamldoc.Alternatives(names))
	}
	k.checkModelNames(at, a.Model)
}

// checkModelNames checks that models of these names are there.
func (k *checker) checkModelNames(at string, chain []string) {
	if k.partial || k.Failed("models") {
		return
	}
	names := sorted(k.c.Models)
	for i, name := range chain {
		if !slices.Contains(names, name) {
			p := fmt.Sprintf("%s[%d]", at, i)
			k.Fault(p, "there is no model %s in models; %s", k.Quote(p), yamldoc.Suggest(name, names))
		}
	}
}

// checkPeers checks the names of other agents.
func (k *checker) checkPeers(at string, a Agent) {
	if k.ids == nil {
		return
	}
	for key, names := range map[string][]string{"delegates": a.Delegates, "accepts": a.Accepts} {
		for i, name := range names {
			p := fmt.Sprintf("%s.%s[%d]", at, key, i)
			switch {
			case name == "*":
			case key == "delegates" && name == a.ID:
				k.Fault(p, "agent %s cannot delegate to itself; want another agent", k.Quote(p))
			case !slices.Contains(k.ids, name):
				k.Fault(p, "there is no agent %s; %s", k.Quote(p), yamldoc.Suggest(name, k.ids))
			case key == "delegates" && !k.accepts(name, a.ID):
				k.warn(p, "agent %s accepts no work from %q; add %q to its accepts, or take it out here", k.Quote(p), a.ID, a.ID)
			}
		}
	}
}

// accepts reports whether the agent called name takes work from another.
func (k *checker) accepts(name, from string) bool {
	i := slices.IndexFunc(k.c.Agents, func(a Agent) bool { return a.ID == name })
	list := k.c.Agents[i].Accepts
	return list == nil || slices.Contains(list, "*") || slices.Contains(list, from)
}

// checkBehavior warns of a behaviour that this program does not have: one of a Go
// program of one's own, perhaps.
func (k *checker) checkBehavior(at string, a Agent) {
	if a.Behavior != "" && agents.Registered(a.Behavior) == nil {
		k.warn(at, "behavior %s is not in this program, so its agent cannot answer; run the Go program that registers it", k.Quote(at))
	}
}

// checkApprovers checks who may approve, and who hears of it.
func (k *checker) checkApprovers(at string, a Agent) {
	switch p := at + ".notify"; {
	case a.Notify != "" && a.Notify != agents.NotifyApprovers:
		k.Fault(p, "notify %s: want %s", k.Quote(p), agents.NotifyApprovers)
	case a.Notify != "" && len(a.Approvers) == 0:
		k.Fault(p, "notify: the agent has no approvers; add approvers, such as [telegram.sales/42]")
	}
	for i, who := range a.Approvers {
		p := fmt.Sprintf("%s.approvers[%d]", at, i)
		channel, from, _ := strings.Cut(who, "/")
		name, instance, some := strings.Cut(channel, ".")
		switch {
		case !token.MatchString(name) || some && !token.MatchString(instance) || from == "":
			k.Fault(p, "approver %s: want <channel>[.<instance>]/<from>, such as telegram.sales/42", k.Quote(p))
		case !k.received(channel):
			k.warn(p, "no agent is bound to %s, so approver %s cannot answer there; bind one", channel, k.Quote(p))
		case k.denied(channel, from):
			k.warn(p, "senders.deny of %s has approver %s, who is not asked there and cannot answer; take them out of one of the two", channel, k.Quote(p))
		}
	}
}

func (k *checker) checkDoors(at string, a Agent) {
	for i, door := range a.Doors {
		p := fmt.Sprintf("%s[%d]", at, i)
		k.oneOf(p, door, bus.Doors()...)
		if slices.Contains(a.Doors[:i], door) {
			k.Fault(p, "%s twice; name each door once", k.Quote(p))
		}
	}
}

// checkTexts checks the language of an agent and its own sentences.
func (k *checker) checkTexts(at string, a Agent) {
	if a.Language != "" && texts.Base(a.Language) == "" {
		k.Fault(at+".language", "there is no language %s; %s", k.Quote(at+".language"), yamldoc.Suggest(a.Language, texts.Languages()))
	}
	for _, key := range sorted(a.Texts) {
		p := yamldoc.Join(at+".texts", key)
		if !slices.Contains(texts.Keys(), key) {
			k.FaultKey(p, "there is no text %q; %s", key, suggestText(key))
			continue
		}
		known := texts.Placeholders(texts.Of(texts.Default, key))
		for _, placeholder := range texts.Placeholders(a.Texts[key]) {
			if !slices.Contains(known, placeholder) {
				k.Fault(p, "text %s has no placeholder %s; %s", key, placeholder, yamldoc.Suggest(placeholder, known))
			}
		}
	}
}

// suggestText is suggest for the key of a text, of which there are too many to list.
func suggestText(key string) string {
	if near := yamldoc.Nearest(key, texts.Keys()); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "docs/texts.md has the list"
}

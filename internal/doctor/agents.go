package doctor

import (
	"cmp"
	"slices"
	"strings"

	"agenthost/agents/engine"
	"agenthost/config"
	"agenthost/internal/build"
	"agenthost/internal/eval"
	"agenthost/llm"
)

// agents checks each agent, knowing what was found about the models.
func (d *Doctor) agents(b *build.Builder, found []Finding) []Finding {
	bad := map[string]bool{}
	for _, f := range found {
		bad[f.About] = bad[f.About] || f.Group == "models" && f.Verdict == VerdictFail
	}
	n := &notes{}
	shop, err := b.Tools(d.Config)
	if err != nil {
		n.on("tools", "sources").fail("correct that setting", "%v", err)
		return n.list
	}
	costs, err := eval.HeartbeatCosts(d.Config)
	if err != nil {
		n.on("agents", "heartbeat").fail("correct that setting", "%v", err)
		return n.list
	}
	peers := &engine.Peers{}
	peers.Set(build.Peers(d.Config))
	for _, a := range d.Config.Agents {
		o := n.on("agents", a.ID)
		o.chain(a, bad)
		d.prompt(o, shop, peers, a, costs)
	}
	return n.list
}

// chain reports which models answer for an agent.
func (o note) chain(a config.Agent, bad map[string]bool) {
	var faulty []string
	for _, name := range a.Model {
		if bad[name] {
			faulty = append(faulty, name)
		}
	}
	switch {
	case len(a.Model) == 0:
		o.ok("answered by its behavior %q", a.Behavior)
	case len(faulty) == len(a.Model):
		o.fail("fix the model errors listed above", "none of its models can be used: %s", strings.Join(faulty, ", "))
	case len(faulty) > 0:
		o.warn("fix the model errors listed above", "not all of its models can be used: %s", strings.Join(faulty, ", "))
	default:
		o.ok("answered by %s", strings.Join(a.Model, ", then "))
	}
}

// prompt reports how large the fixed part of an agent's prompt is.
func (d *Doctor) prompt(o note, shop *build.Tools, peers *engine.Peers, a config.Agent, costs []eval.HeartbeatCost) {
	box, err := shop.Toolbox(a)
	if err != nil {
		o.fail("correct that agent", "%v", err)
		return
	}
	box.Registry = shop.BuiltIn()
	for _, glob := range shop.Unknown(a) {
		o.warn("take it out of tools, or name what is there", "there is no tool %q", glob)
	}
	p := engine.Measure(a.Config, box, peers)
	all, more := p.Total(), ""
	if len(box.Awaits) > 0 {
		more = ", and what MCP servers and services bring"
	}
	o.ok("fixed prompt: %d bytes (about %d tokens): host %d, instructions %d, tools %d%s",
		all.Bytes, all.Tokens, p.Host.Bytes, p.Instructions.Bytes, p.Tools.Bytes, more)
	o.to.list[len(o.to.list)-1].Prompt = &p
	o.budget(d.Config.Models, a)
	o.heartbeat(costs)
}

// budget reports what an agent may spend.
func (o note) budget(models map[string]llm.Config, a config.Agent) {
	b := a.Limits.Budget
	var limits, unpriced []string
	for _, l := range []struct {
		dollars float64
		span    string
	}{{b.Run, "run"}, {b.Session, "session"}, {b.Day, "day"}, {b.Month, "month"}, {b.PeerDay, "person and day"}} {
		if l.dollars > 0 {
			limits = append(limits, llm.Money(llm.Amount(l.dollars))+" a "+l.span)
		}
	}
	paid := false
	for _, name := range a.Model {
		_, priced := models[name].Known()
		paid = paid || priced
		if !priced {
			unpriced = append(unpriced, name)
		}
	}
	switch {
	case len(limits) > 0 && len(unpriced) > 0:
		o.warn("set the price of "+strings.Join(unpriced, ", "), "its budget (%s) does not count calls of %s, which have no price",
			strings.Join(limits, ", "), strings.Join(unpriced, ", "))
	case len(limits) > 0:
		o.ok("budget of %s; then: %s", strings.Join(limits, ", "), cmp.Or(b.OnExceed, "fail"))
	case paid:
		o.warn("set limits.budget, say {day: 5}", "it costs money and has no budget")
	}
}

// heartbeat reports what the heartbeats of an agent cost.
func (o note) heartbeat(costs []eval.HeartbeatCost) {
	i := slices.IndexFunc(costs, func(c eval.HeartbeatCost) bool { return c.Agent == o.about && c.Enabled })
	if i < 0 {
		return
	}
	c, price := costs[i], "at a price that is not known"
	if c.Priced {
		price = "for " + llm.Money(llm.Amount(c.Dollars))
	}
	most := ""
	if c.Watches {
		most = "at most "
	}
	o.ok("a heartbeat every %s: %s%d calls a day, with %d tokens in and %d out, %s", c.Interval, most, c.Calls, c.Input, c.Output, price)
}

package config

import (
	"fmt"
	"slices"

	"agenthost/internal/yamldoc"
	"agenthost/llm"
)

var providers = []string{"openai", "anthropic", "gemini", "scripted", "echo"}

func (k *checker) checkModels() {
	for _, name := range sorted(k.c.Models) {
		path, m := yamldoc.Join("models", name), k.c.Models[name]
		if name == "" {
			k.FaultKey(path, "a model without a name")
		}
		what := "model " + k.KeyNode(path).Quote()
		k.required(path+".provider", m.Provider, "provider", what)
		k.oneOf(path+".provider", m.Provider, k.own.providers()...)
		if m.Provider == "scripted" {
			k.required(path+".script", m.Script, "script", what)
		}
		if slices.Contains(providers[:3], m.Provider) {
			k.required(path+".model", m.Model, "model", what)
		}
		k.checkServers(path+".base_url", &m)
		k.c.Models[name] = m
		k.checkModelNumbers(path, m)
	}
}

// checkServers checks base_url, which may be a list.
func (k *checker) checkServers(path string, m *llm.Config) {
	const want = "base_url: want http://… or https://…"
	if len(m.BaseURLs) == 0 {
		if m.BaseURLs != nil {
			k.Fault(path, "base_url: the list is empty; name a server, or leave it out")
		}
		if m.BaseURL != "" && !validURL(m.BaseURL) {
			k.Fault(path, want)
		}
		return
	}
	for i, url := range m.BaseURLs {
		at := fmt.Sprintf("%s[%d]", path, i)
		if !validURL(url) {
			k.Fault(at, want)
		} else if slices.Contains(m.BaseURLs[:i], url) {
			k.warn(at, "base_url %s stands there twice, so that server gets two shares of the calls; take one out", k.Quote(at))
		}
	}
	m.BaseURL = m.BaseURLs[0]
	if len(m.BaseURLs) == 1 {
		m.BaseURLs = nil
	}
}

// checkHedges warns of models that are to be asked together with the next one, and have
// none behind them.
func (k *checker) checkHedges() {
	if k.partial || k.Failed("models") || k.Failed("agents") {
		return
	}
	hedged := make(map[string]bool)
	for _, a := range k.c.Agents {
		for _, name := range a.Model[:max(len(a.Model)-1, 0)] {
			hedged[name] = true
		}
	}
	for _, name := range sorted(k.c.Models) {
		if k.c.Models[name].Hedge > 0 && !hedged[name] {
			k.warn(yamldoc.Join("models", name)+".hedge", "hedge has no effect, as no agent has another model behind %s; add one, such as model: [%s, spare], or take hedge out", name, name)
		}
	}
}

func (k *checker) checkModelNumbers(path string, m llm.Config) {
	if m.Effort != "" {
		k.oneOf(path+".effort", string(m.Effort), "none", "low", "medium", "high")
	}
	switch t := m.Temperature; {
	case t == nil:
	case *t < 0 || *t > 2:
		k.Fault(path+".temperature", "temperature: want a number from 0 to 2")
	case *t > 1 && m.Provider == "anthropic" && m.BaseURL == "": // Anthropic's own server refuses every call, some others take it
		k.Fault(path+".temperature", "temperature: want a number from 0 to 1 for anthropic")
	}
	if m.Price != nil {
		for _, key := range []string{"input", "output"} {
			if !k.Set(path + ".price." + key) {
				k.warn(path+".price", "price has no %[1]s, so what it is for costs nothing, and no budget counts it; add %[1]s, in dollars for a million tokens", key)
			}
		}
	}
	if m.Rate.Burst > 0 && m.Rate.Requests == 0 {
		k.Fault(path+".rate.burst", "burst without requests: want rate.requests too, in calls a minute")
	}
}

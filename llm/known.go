package llm

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// pricesJSON has, by vendor, the hosts that it answers on and its models: their
// window in tokens and the price of a million of them in dollars, as the
// vendors list them for standard calls.
//
//go:embed prices.json
var pricesJSON []byte

// Info is what is known of a model.
type Info struct {
	Window int // tokens
	Price  Price
}

type vendor struct {
	Hosts  []string `json:"hosts"`
	Models map[string]struct {
		Window int `json:"window"`
		Price
	} `json:"models"`
}

var vendors = sync.OnceValue(func() map[string]vendor {
	all := map[string]vendor{}
	if err := json.Unmarshal(pricesJSON, &all); err != nil {
		panic(fmt.Sprintf("prices.json: %v", err)) // it is part of the program
	}
	return all
})

// Known is what the table knows of a model of a vendor, as openai, groq or gemini.
// The longest name counts that model begins with, and nothing but a date, a
// number of a version or "latest" may follow it: what a new kind of a model
// costs is not guessed.
func Known(vendor, model string) (Info, bool) {
	info, longest := Info{}, -1
	for name, m := range vendors()[vendor].Models {
		if rest, ok := strings.CutPrefix(model, name); ok && len(name) > longest && isVersion(rest) {
			info, longest = Info{Window: m.Window, Price: m.Price}, len(name)
		}
	}
	return info, longest >= 0
}

// isVersion reports whether s is nothing but what follows a model's name to
// say which edition of it is meant.
func isVersion(s string) bool {
	if s == "" || s == "-latest" {
		return true
	}
	// A single digit may make another model: grok-4 is not grok-4-1.
	return len(s) >= 4 && s[0] == '-' && strings.Trim(s, "-0123456789") == ""
}

// Known is what the table knows of the model that c names: nothing when it is not
// served by a vendor of the table but, say, by a server of one's own. A price
// that c sets is put in the place of the table's.
func (c Config) Known() (info Info, priced bool) {
	info, priced = Known(c.vendor(), c.Model)
	if c.Window > 0 {
		info.Window = c.Window
	}
	if c.Price != nil {
		info.Price, priced = *c.Price, true
	}
	return info, priced
}

// vendor is who serves the model, empty when that is not known, or not the same
// of all servers.
func (c Config) vendor() string {
	servers := c.Servers()
	vendor := servers[0].vendorOfOne()
	for _, s := range servers[1:] {
		if s.vendorOfOne() != vendor {
			return ""
		}
	}
	return vendor
}

func (c Config) vendorOfOne() string {
	if c.BaseURL == "" {
		return c.Provider
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	for name, v := range vendors() {
		if slices.Contains(v.Hosts, host) {
			return name
		}
	}
	return ""
}

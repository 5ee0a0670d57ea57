package httpapi

import (
	"fmt"
	"hash/fnv"
	"strings"

	"agenthost/llm"
)

// longestName is what every provider allows.
const longestName = 64

// ToolNames translates between our tool names, which have dots, and what every
// provider allows: letters, digits, _ and -, of which the first is a letter or _.
// It is for the tools of one request.
type ToolNames struct {
	wire map[string]string // ours → the provider's, where they differ
	ours map[string]string // and back
}

// NamesOf is the translation for these tools; no two get the same name.
func NamesOf(tools []llm.ToolDef) *ToolNames {
	n := &ToolNames{wire: map[string]string{}, ours: map[string]string{}}
	for _, t := range tools { // a name that needs no change keeps it
		if WireName(t.Name) == t.Name {
			n.ours[t.Name] = t.Name
		}
	}
	for _, t := range tools {
		w := WireName(t.Name)
		if w == t.Name {
			continue
		}
		if other, taken := n.ours[w]; taken && other != t.Name {
			w = hashed(w, t.Name)
		}
		n.wire[t.Name], n.ours[w] = w, t.Name
	}
	return n
}

// ToWire is the name a provider is sent. It also translates the names of tools
// in old messages that are no longer offered.
func (n *ToolNames) ToWire(name string) string {
	if w, ok := n.wire[name]; ok {
		return w
	}
	return WireName(name)
}

// FromWire is the tool a model means; a name it made up is left alone.
func (n *ToolNames) FromWire(name string) string {
	if o, ok := n.ours[name]; ok {
		return o
	}
	return name
}

// WireName is name, or what is nearest to it of what ToolNames translates to.
func WireName(name string) string {
	if name == "" {
		return "_"
	}
	w := strings.Map(wireRune, strings.ReplaceAll(name, ".", "__"))
	if w[0] == '-' || '0' <= w[0] && w[0] <= '9' {
		w = "_" + w
	}
	if len(w) > longestName {
		return hashed(w, name)
	}
	return w
}

func wireRune(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}

// hashed tells two names apart whose readable forms are alike.
func hashed(wire, name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	const room = longestName - 9
	return fmt.Sprintf("%s_%08x", wire[:min(len(wire), room)], h.Sum32())
}

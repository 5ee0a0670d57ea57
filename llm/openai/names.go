package openai

import (
	"fmt"
	"hash/fnv"
	"strings"

	"agenthost/llm"
)

// longestName is what the API allows.
const longestName = 64

// toolNames translates between our tool names, which have dots, and the ones
// the API allows: letters, digits, _ and -.
type toolNames struct {
	wire map[string]string // ours → the API's, where they differ
	ours map[string]string // and back
}

func namesOf(tools []llm.ToolDef) *toolNames {
	n := &toolNames{wire: map[string]string{}, ours: map[string]string{}}
	for _, t := range tools { // a name that needs no change keeps it
		if wireName(t.Name) == t.Name {
			n.ours[t.Name] = t.Name
		}
	}
	for _, t := range tools {
		w := wireName(t.Name)
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

// toWire also translates the names of tools in old messages that are no longer
// offered.
func (n *toolNames) toWire(name string) string {
	if w, ok := n.wire[name]; ok {
		return w
	}
	return wireName(name)
}

// fromWire leaves a name alone that the model made up.
func (n *toolNames) fromWire(name string) string {
	if o, ok := n.ours[name]; ok {
		return o
	}
	return name
}

func wireName(name string) string {
	w := strings.Map(wireRune, strings.ReplaceAll(name, ".", "__"))
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

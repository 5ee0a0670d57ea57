package httpauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"
)

// A Token admits the requests that send it.
type Token struct {
	Name  string `yaml:"name" json:"name"`
	Token string `yaml:"token" json:"token"`
	Role  Role   `yaml:"role" json:"role"`
	// Agents are those it is good for; none: all.
	Agents []string `yaml:"agents,omitempty" json:"agents,omitempty"`
}

// A Role is what a caller may do.
type Role string

// The roles.
const (
	Admin Role = "admin" // everything
	Read  Role = "read"  // look at everything, change nothing
	Chat  Role = "chat"  // talk to agents
)

// Roles are all of them.
func Roles() []Role { return []Role{Admin, Read, Chat} }

// Operator is the name of who sends the one token that may do all. No Token has it.
const Operator = "operator"

// A Caller is who makes a request.
type Caller struct {
	Name string
	Role Role
	// Open says that no token is needed here: there is no name.
	Open   bool
	agents []string
}

// May reports whether the caller has one of the roles. An admin has all.
func (c Caller) May(roles ...Role) bool {
	return c.Role == Admin || slices.Contains(roles, c.Role)
}

// Reaches reports whether the caller's token is good for an agent.
func (c Caller) Reaches(agent string) bool {
	return len(c.agents) == 0 || slices.Contains(c.agents, agent)
}

// Limited reports whether the caller's token is good for some agents only.
func (c Caller) Limited() bool { return len(c.agents) > 0 }

// tokens are those of a configuration.
type tokens []Token

// with finds the one that was sent. How long that takes does not depend on how
// much of it is right.
func (ts tokens) with(sent string) (found Token, ok bool) {
	sum := sha256.Sum256([]byte(sent))
	for _, t := range ts {
		if t.Token == "" {
			continue
		}
		own := sha256.Sum256([]byte(t.Token))
		if subtle.ConstantTimeCompare(sum[:], own[:]) == 1 {
			found, ok = t, true
		}
	}
	return found, ok
}

func (ts tokens) named(name string) (Token, bool) {
	i := slices.IndexFunc(ts, func(t Token) bool { return t.Name == name })
	if i < 0 {
		return Token{}, false
	}
	return ts[i], true
}

func (t Token) caller() Caller { return Caller{Name: t.Name, Role: t.Role, agents: t.Agents} }

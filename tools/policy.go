package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agenthost/internal/shell"
)

// A Verdict says whether a call may run.
type Verdict string

// The words of `permissions:`.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask" // a person has to say yes first
	Deny  Verdict = "deny"
)

// A Decision is what the policy says to one call.
type Decision struct {
	Verdict Verdict
	Reason  string // why, in a few words
	What    string // what a person is asked about: the command line, or the arguments in short
	// Address lifts an ask when a person of the session has written it: what the
	// call would send is then no secret of the model. Empty: nothing does.
	Address string
}

// Approvals are the keys that a person has approved for this session, or for
// good. A key lifts an ask, never a deny.
type Approvals map[string]bool

// A Policy says which calls may run. By the zero Policy tools that only read
// run, all others ask.
type Policy struct {
	tools    rules
	commands map[string]rules // by the tool before the colon
}

// NewPolicy reads the `permissions:` of an agent. A key names a tool, or tools
// by a glob; `run_command:git` is for the command git in what the tool
// run_command runs, and `run_command:>` for redirections to files, which
// otherwise ask unless the tool itself is allowed. The most
// exact key counts: a name before a glob, a longer glob before a shorter one,
// and of two equals the stricter.
func NewPolicy(permissions map[string]string) (Policy, error) {
	p := Policy{commands: map[string]rules{}}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(permissions)) {
		r := rule{key: key, verdict: Verdict(permissions[key])}
		tool, command, isCommand := strings.Cut(key, ":")
		r.glob, r.command = tool, isCommand
		if isCommand {
			r.glob = command
		}
		if err := r.check(); err != nil {
			errs = append(errs, fmt.Errorf("permission %q: %w", key, err))
			continue
		}
		if isCommand {
			p.commands[tool] = append(p.commands[tool], r)
		} else {
			p.tools = append(p.tools, r)
		}
	}
	return p, errors.Join(errs...)
}

// Decide says whether t may run with args.
func (p Policy) Decide(t Tool, args json.RawMessage, approved Approvals) Decision {
	d := p.general(t, args)
	if t.Commands == nil {
		d.What = short(t.Name, args)
		return d.approve(approved, Key(t, args))
	}
	c := readCommand(t.Commands(args))
	d = p.command(t.Name, d, c)
	if reason := t.unconfined(); reason != "" {
		d = stricter(d, Decision{Verdict: Ask, Reason: "commands are not confined here: " + reason})
	}
	d.What = Shown(c.line)
	return d.approve(approved, c.key(t.Name))
}

func (t Tool) unconfined() string {
	if t.Unconfined == nil {
		return ""
	}
	return t.Unconfined()
}

// Key is what an approval of this call is remembered by: the tool's name, with
// the host where the call sends something, for a command with the names of all
// commands in the line, or the line itself when it hides some.
func Key(t Tool, args json.RawMessage) string {
	switch {
	case t.Outward != nil:
		d := t.Outward(args)
		if d.Host == "" {
			return t.Name + "=" + d.Address
		}
		return t.Name + ":" + d.Host
	case t.Commands == nil:
		return t.Name
	}
	return readCommand(t.Commands(args)).key(t.Name)
}

func (d Decision) approve(approved Approvals, key string) Decision {
	if d.Verdict == Ask && approved[key] {
		d.Verdict, d.Reason = Allow, "approved before"
	}
	return d
}

// general is what is said to a tool whatever commands it is called with.
func (p Policy) general(t Tool, args json.RawMessage) Decision {
	if r, ok := p.tools.best(t.Name); ok {
		return r.decision(t.Name)
	}
	if t.Outward != nil {
		return outward(t.Outward(args))
	}
	if t.ReadOnly {
		return Decision{Verdict: Allow, Reason: t.Name + " only reads"}
	}
	return Decision{Verdict: Ask, Reason: "no permission is set for " + t.Name}
}

func outward(to Destination) Decision {
	if to.Open {
		return Decision{Verdict: Allow, Reason: to.Host + " is open to this tool"}
	}
	return Decision{Verdict: Ask, Reason: "no permission is set for " + to.Host, Address: to.Address}
}

// command is the strictest of what is said to each command in the line.
func (p Policy) command(tool string, general Decision, c command) Decision {
	strictest := Decision{Verdict: Allow}
	for _, name := range c.names {
		strictest = stricter(strictest, p.named(tool, general, name))
	}
	if c.writes {
		writes := general
		if writes.Verdict != Allow {
			writes = Decision{Verdict: Ask, Reason: "writes to a file"}
		}
		if r, ok := p.commands[tool].best(">"); ok {
			writes = r.decision(">")
		}
		strictest = stricter(strictest, writes)
	}
	if c.err != nil && (!p.allowsAll(tool, general) || !errors.As(c.err, new(shell.DoubtError))) {
		strictest = stricter(strictest, Decision{Verdict: Ask, Reason: "the command is not clear: " + c.err.Error()})
		if general.Verdict == Deny {
			strictest = stricter(strictest, general)
		}
	}
	return strictest
}

// allowsAll reports whether a command may run whichever it is: then it does not matter what its
// name means.
func (p Policy) allowsAll(tool string, general Decision) bool {
	return general.Verdict == Allow && !slices.ContainsFunc(p.commands[tool], func(r rule) bool { return r.verdict != Allow })
}

// named is what is said to one command. A file elsewhere is not allowed for
// having the name of one that is, but it is denied for that.
func (p Policy) named(tool string, general Decision, name string) Decision {
	d := general
	if r, ok := p.commands[tool].best(name); ok {
		d = r.decision(name)
	}
	for _, alias := range []string{path.Base(name), strings.ToLower(path.Base(name))} {
		if r, ok := p.commands[tool].best(alias); ok && r.verdict == Deny {
			d = stricter(d, r.decision(name))
		}
	}
	return d
}

var strictness = []Verdict{Allow, Ask, Deny}

// stricter is the stricter of the two, a when they are equal but for the
// reason that is empty.
func stricter(a, b Decision) Decision {
	order := cmp.Compare(slices.Index(strictness, b.Verdict), slices.Index(strictness, a.Verdict))
	if order > 0 || order == 0 && a.Reason == "" {
		return b
	}
	return a
}

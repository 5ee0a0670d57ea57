package plugins

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agenthost/bus"
)

// mostData is how long Button.Data may be.
const mostData = 64

// The answers to an approval.
const (
	approve = "approve"
	deny    = "deny"
)

// buttons are those of a question or an approval; none where the platform has too few,
// or none that say enough.
func (c *Courier) buttons(out *bus.Outbound) []Button {
	if !asks(out) || out.Call == "" || len(out.Options) > c.limits.Buttons {
		return nil
	}
	list := make([]Button, len(out.Options))
	for i, option := range out.Options {
		data := buttonData(out, i)
		if data == "" {
			return nil
		}
		list[i] = Button{Label: option, Data: data}
	}
	return list
}

func asks(out *bus.Outbound) bool {
	return (out.Kind == bus.KindApproval || out.Kind == bus.KindQuestion) && len(out.Options) > 0
}

// buttonData is what a button says: a, d or the number of the option, a dot, and the
// id of the call. An id is <agent>.<session>.<26 characters>; of one that is too long
// the agent is left out, as the rest is enough to find it.
func buttonData(out *bus.Outbound, option int) string {
	choice := strconv.Itoa(option + 1)
	if out.Kind == bus.KindApproval {
		switch out.Options[option] {
		case approve:
			choice = "a"
		case deny:
			choice = "d"
		}
	}
	if data := choice + "." + out.Call; len(data) <= mostData {
		return data
	}
	_, rest, ok := strings.Cut(out.Call, ".")
	if data := choice + ".*." + rest; ok && callRest.MatchString(rest) && len(data) <= mostData {
		return data
	}
	return ""
}

var callRest = regexp.MustCompile(`^[a-z2-7]{20}\.[a-z0-9]{26}$`)

// readButton puts into env what a button that was pressed says, and whom it answers. The
// number of an option is beside the text as well: there it may be the name of another.
func (c *Courier) readButton(ctx context.Context, data string, env *bus.Inbound) (err error) {
	choice, call, ok := strings.Cut(data, ".")
	n, notNumber := strconv.Atoi(choice)
	switch {
	case !ok || call == "":
		return fmt.Errorf("%w: button %q does not belong to this account", ErrMalformed, data)
	case choice == "a":
		env.Text = approve
	case choice == "d":
		env.Text = deny
	case notNumber == nil && n > 0:
		env.Text, env.Meta = strconv.Itoa(n), withOption(env.Meta, n)
	default:
		return fmt.Errorf("%w: button %q does not belong to this account", ErrMalformed, data)
	}
	if rest, cut := strings.CutPrefix(call, "*."); cut {
		call, err = c.wholeCall(ctx, rest)
	}
	env.Answers = call
	return err
}

func withOption(meta map[string]any, n int) map[string]any {
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[bus.MetaOption] = n
	return meta
}

// wholeCall finds the id of a call whose agent is not known. One that waits no more
// answers to nothing: the host says so.
func (c *Courier) wholeCall(ctx context.Context, rest string) (string, error) {
	if !callRest.MatchString(rest) {
		return "", fmt.Errorf("%w: button of call %q does not belong to this account", ErrMalformed, rest)
	}
	prefix := "$KV." + bus.WaitingBucket + "."
	rec, err := c.parts.Reader.Last(ctx, "KV_"+bus.WaitingBucket, prefix+"*."+rest)
	switch {
	case err == nil:
		return strings.TrimPrefix(rec.Subject, prefix), nil
	case isMissing(err):
		return rest, nil
	}
	return "", fmt.Errorf("look up call: %w", err)
}

// example is how the host says by an example how one of several questions is answered.
var example = regexp.MustCompile(`\s#?\d+\s*\.?\s*$`)

// optionLines are the options of a question or an approval, for a platform without buttons. A
// number is the short answer, unless the text has an example with the question's own number, or
// an option is a number itself. An approval has its options in its text as well, so it needs no
// lines without numbers.
func (c *Courier) optionLines(out *bus.Outbound) string {
	if !asks(out) {
		return ""
	}
	numbered := !hasNumber(out) && !slices.ContainsFunc(out.Options, isNumber)
	if out.Kind == bus.KindApproval && !numbered {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\n")
	for i, option := range out.Options {
		if numbered {
			fmt.Fprintf(&b, "%d. %s\n", i+1, c.escape(option))
		} else {
			fmt.Fprintf(&b, "- %s\n", c.escape(option))
		}
	}
	return b.String()
}

// hasNumber reports whether a question has a number of its own, as one of several that are open:
// its text says how to answer with it.
func hasNumber(out *bus.Outbound) bool {
	if out.Kind == bus.KindApproval {
		return numberedVerdict.MatchString(out.Text)
	}
	return strings.Contains(out.Text, out.Options[0]+" ") && example.MatchString(out.Text)
}

// numberedVerdict is how the host says in any language how one of several approvals is answered.
var numberedVerdict = regexp.MustCompile(`\b(` + approve + `|` + deny + `)\s+#?\d`)

// lineNumber is the number of a line that a text names, and nothing else; 0: it says more. Where
// options are shown as lines the host takes it as that of an approval.
func lineNumber(text string) int {
	n, err := strconv.Atoi(strings.Trim(strings.TrimSpace(text), "#.)"))
	if err != nil || n < 1 || n > 99 {
		return 0
	}
	return n
}

func isNumber(option string) bool {
	_, err := strconv.Atoi(strings.TrimSpace(option))
	return err == nil
}

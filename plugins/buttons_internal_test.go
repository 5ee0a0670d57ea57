package plugins

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"agenthost/bus"

	"github.com/google/go-cmp/cmp"
)

const (
	aCall    = "ana." + aRest
	aRest    = "abcdefghij234567abcd.01abcdefghjkmnpqrstvwxyz01"
	longCall = "an-agent-with-a-very-long-name." + aRest
)

// What a button says is what is read when it is pressed.
func TestButtons(t *testing.T) {
	t.Parallel()
	c := &Courier{limits: Limits{Buttons: 3}}
	for name, tt := range map[string]struct {
		kind    string
		call    string
		options []string
		want    []string // the data
	}{
		"an approval":                   {bus.KindApproval, aCall, []string{"approve", "deny", "later"}, []string{"a." + aCall, "d." + aCall, "3." + aCall}},
		"a question":                    {bus.KindQuestion, aCall, []string{"approve", "deny"}, []string{"1." + aCall, "2." + aCall}},
		"the call of a long name":       {bus.KindQuestion, longCall, []string{"x"}, []string{"1.*." + aRest}},
		"a call that is too long":       {bus.KindQuestion, "ana." + strings.Repeat("x", 70), []string{"x"}, nil},
		"a long call of another kind":   {bus.KindQuestion, longCall + "x", []string{"x"}, nil},
		"a reply":                       {bus.KindReply, aCall, []string{"x"}, nil},
		"without a call":                {bus.KindQuestion, "", []string{"x"}, nil},
		"more than the platform has":    {bus.KindQuestion, aCall, []string{"1", "2", "3", "4"}, nil},
		"as many as the platform has":   {bus.KindQuestion, aCall, []string{"x", "y", "z"}, []string{"1." + aCall, "2." + aCall, "3." + aCall}},
		"a question that has no option": {bus.KindQuestion, aCall, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, b := range c.buttons(&bus.Outbound{Kind: tt.kind, Call: tt.call, Options: tt.options}) {
				got = append(got, b.Data)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadButton(t *testing.T) {
	t.Parallel()
	meta := map[string]any{"of": "the platform"}
	for data, want := range map[string]bus.Inbound{
		"a." + aCall: {Text: "approve", Answers: aCall, Meta: meta},
		"d." + aCall: {Text: "deny", Answers: aCall, Meta: meta},
		"2." + aCall: {Text: "2", Answers: aCall, Meta: map[string]any{"of": "the platform", bus.MetaOption: 2}},
		"a":          {}, "a.": {}, "": {}, "0." + aCall: {}, "-1." + aCall: {}, "x." + aCall: {}, "a.*.another": {},
	} {
		env := bus.Inbound{Meta: maps.Clone(meta)}
		given := env.Meta
		err := (&Courier{}).readButton(t.Context(), data, &env)
		if want.Answers == "" {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%q: got %+v, %v, want ErrMalformed", data, env, err)
			}
			continue
		}
		if diff := cmp.Diff(want, env); diff != "" || err != nil || len(given) != 1 {
			t.Errorf("%q: %v, the platform's own %v; %s", data, err, given, diff)
		}
	}
}

// Only a text that is a number and nothing else is that of a line, and only where there are lines.
func TestLineNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"1": 1, " 2. ": 2, "#3": 3, "4)": 4, "99": 99, "100": 0, "0": 0, "-1": 0, "1 yes": 0, "one": 0, "": 0,
	} {
		if got := lineNumber(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	for buttons, want := range map[int]map[string]any{0: {bus.MetaOption: 2}, 4: nil} {
		c := &Courier{account: Account{Channel: "test"}, limits: Limits{Buttons: buttons}}
		msg, err := c.inboundMessage(t.Context(), Received{ID: "1", From: "ana", Text: "2"})
		if err != nil {
			t.Fatal(err)
		}
		env, err := bus.DecodeInbound(msg.Data)
		if err != nil || env.SentAt != "" || (env.Meta == nil) != (want == nil) {
			t.Errorf("%d buttons: got %+v, %v, want %v", buttons, env, err, want)
		}
	}
}

// Where a question says itself how one of several is answered, its options have no numbers.
func TestHasNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Which one?\nReply with one of these and the number, such as: red 2": true, "Which one? such as: red #2.": true,
		"Which one of 2?": false, "Is it red or blue? There are 3 kinds.": false,
	} {
		if got := hasNumber(&bus.Outbound{Kind: bus.KindQuestion, Text: text, Options: []string{"red", "blue"}}); got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
	}
}

// An id is in a header as it is, where that can have it.
func TestHeaderText(t *testing.T) {
	t.Parallel()
	for id, as := range map[string]bool{"tg-1": true, "ü": true, "a b": true, "a\nb": false, "a\rb": false, " a": false, "a\t": false, "\xff": false} {
		if got := headerText(id); (got == id) != as || !as && got != hashed(id) {
			t.Errorf("%q: got %q", id, got)
		}
	}
}

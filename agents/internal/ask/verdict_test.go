package ask_test

import (
	"testing"

	"agenthost/agents/internal/ask"
	"agenthost/internal/texts"
	"agenthost/run"
)

// A number that a question was put with goes with its answer, whatever else is open.
// Text that only looks like a number stays part of the answer.
func TestNumberOfTheOnlyQuestion(t *testing.T) {
	t.Parallel()
	free := func(number int) run.Call { return run.Call{ID: "q", Asked: run.ForQuestion, Number: number} }
	option := func(number int) run.Call {
		return run.Call{ID: "q", Asked: run.ForQuestion, Number: number, Options: []string{"red", "green", "room 2"}}
	}
	tests := []struct {
		call       run.Call
		text, want string // empty: no answer
	}{
		{free(2), "2: here", "here"},
		{free(2), " #2 :here", "here"},
		{free(2), "here", "here"},
		{free(2), "1: here", "1: here"},
		{free(2), "2:", "2:"},
		{free(2), "2:30", "2:30"},
		{free(2), "2:30 or so", "2:30 or so"},
		{free(0), "1: here", "1: here"},
		{option(2), "green 2", "green"},
		{option(2), "Green #2.", "green"},
		{option(2), "green", "green"},
		{option(2), "room 2", "room 2"},
		{option(2), "2", "green"},
		{option(2), "green 1", ""},
		{option(1), "green 1", "green"},
		{option(2), "2: Green.", "green"},
		{option(2), "2:GREEN", "green"},
		{option(2), "2. green", "green"},
		{option(2), "#2 green", "green"},
		{option(2), "2: room 2", "room 2"},
		{option(2), "2: blue", ""},
		{option(2), "1: green", ""},
		{option(0), "Green 1", "green"},
		{option(0), "1: green", "green"},
		{option(0), "green 2", ""},
		{option(0), "2.", "green"},
		{option(0), "4", ""},
		{option(0), "2", "green"},
	}
	for _, test := range tests {
		_, sig, ok := ask.Pick(texts.Book{}, []run.Call{test.call}, test.text, false)
		if sig.Answer != test.want && ok || ok != (test.want != "") {
			t.Errorf("%q to question %d with %d options: %q, %t; want %q", test.text, test.call.Number, len(test.call.Options), sig.Answer, ok, test.want)
		}
	}
}

// What reads like the answer to an approval is text where none is open, and never the answer
// to a question with another number.
func TestWordsOfApprovalsToQuestions(t *testing.T) {
	t.Parallel()
	approval := func(number int) run.Call { return run.Call{ID: "approval", Asked: run.ForApproval, Number: number} }
	free := func(id string, number int) run.Call { return run.Call{ID: id, Asked: run.ForQuestion, Number: number} }
	choice := run.Call{ID: "choice", Asked: run.ForQuestion, Number: 2, Options: []string{"yes", "no"}}
	tests := []struct {
		open           []run.Call
		text, id, want string // no id: no answer
	}{
		{[]run.Call{free("a", 0)}, "no 2", "a", "no 2"},
		{[]run.Call{free("a", 0)}, "Yes, 3.", "a", "Yes, 3."},
		{[]run.Call{free("a", 2)}, "ok 5", "a", "ok 5"},
		{[]run.Call{free("a", 0), free("b", 2)}, "ok 5", "a", "ok 5"},
		{[]run.Call{free("a", 0), free("b", 2)}, "ok 2", "", ""},
		{[]run.Call{free("a", 0), choice}, "no 2", "choice", "no"},
		{[]run.Call{free("a", 0), choice}, "ok 2", "", ""},
		{[]run.Call{approval(0), choice}, "no 2", "choice", "no"},
		{[]run.Call{approval(0), choice}, "no 1", "approval", run.Deny},
		{[]run.Call{approval(0), free("b", 2)}, "no 2", "", ""},
		{[]run.Call{approval(0), free("b", 2)}, "no 7", "", ""},
		{[]run.Call{approval(0), free("b", 2)}, "no", "approval", run.Deny},
	}
	for _, test := range tests {
		call, sig, ok := ask.Pick(texts.Book{}, test.open, test.text, false)
		if ok != (test.id != "") || ok && (call.ID != test.id || sig.Answer != test.want) {
			t.Errorf("%q to %d calls: %q for %q, %t; want %q for %q", test.text, len(test.open), sig.Answer, call.ID, ok, test.want, test.id)
		}
	}
}

// A number alone is an option of an approval that is open alone and was put without a number.
func TestNumberAloneToApprovals(t *testing.T) {
	t.Parallel()
	approval := func(number int, options ...string) run.Call {
		return run.Call{ID: "approval", Asked: run.ForApproval, Number: number, Options: options}
	}
	question := run.Call{ID: "choice", Asked: run.ForQuestion, Number: 2, Options: []string{"red", "blue"}}
	tests := []struct {
		open       []run.Call
		text, want string // empty: no answer
	}{
		{[]run.Call{approval(0, run.Approve, run.Deny)}, "1", run.Approve},
		{[]run.Call{approval(0, run.Approve, run.Deny)}, "2.", run.Deny},
		{[]run.Call{approval(0, run.Deny, run.Approve)}, "1", run.Deny},
		{[]run.Call{approval(0, run.Approve, run.Deny)}, "3", ""},
		{[]run.Call{approval(0)}, "1", ""},
		{[]run.Call{approval(0, "ja", "nein")}, "1", run.Approve},
		{[]run.Call{approval(0, "later", "deny")}, "1", ""},
		{[]run.Call{approval(1, run.Approve, run.Deny)}, "1", ""},
		{[]run.Call{approval(2, run.Approve, run.Deny)}, "2", ""},
		{[]run.Call{approval(0, run.Approve, run.Deny), question}, "1", ""},
	}
	for _, test := range tests {
		_, sig, ok := ask.Pick(texts.New("de", nil), test.open, test.text, true)
		if ok != (test.want != "") || ok && (sig.Answer != test.want || sig.Scope != ask.ScopeOnce) {
			t.Errorf("%q to number %d of %d with %q: %q, %t; want %q", test.text, test.open[0].Number, len(test.open), test.open[0].Options, sig.Answer, ok, test.want)
		}
		if _, sig, ok := ask.Pick(texts.New("de", nil), test.open, test.text, false); ok {
			t.Errorf("%q is %q where no lines with numbers were shown", test.text, sig.Answer)
		}
	}
}

// What hooks leave of an answer is read as the answer was.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ said, answer, text, want string }{
		{"2: plain", "plain", "2: plain", "plain"},
		{" #2 :plain", "plain", "2: [hidden] ", "[hidden]"},
		{"2: plain", "plain", "[hidden]", "[hidden]"},
		{"2: plain", "plain", "3: plain", "3: plain"},
		{"2:30", "2:30", "2:30", "2:30"},
		{"plain", "plain", " 2: plain", "2: plain"},
	} {
		if got := ask.ReadAgain(test.said, test.answer, test.text); got != test.want {
			t.Errorf("%q of %q, read as %q: %q, want %q", test.text, test.said, test.answer, got, test.want)
		}
	}
}

// A number before an option names the question as one behind it does, also where the options are
// numbers themselves. A colon says which of two numbers it is.
func TestNumbersOfQuestionsWithOptions(t *testing.T) {
	t.Parallel()
	colors := []run.Call{
		{ID: "a", Asked: run.ForQuestion, Options: []string{"x", "y"}},
		{ID: "b", Asked: run.ForQuestion, Number: 2, Options: []string{"red", "Green"}},
	}
	sums := []run.Call{
		{ID: "a", Asked: run.ForQuestion, Number: 1, Options: []string{"1", "2"}},
		{ID: "b", Asked: run.ForQuestion, Number: 2, Options: []string{"1", "2", "2: 2"}},
	}
	tests := []struct {
		open           []run.Call
		text, id, want string // no id: no answer
	}{
		{colors, "Green 2", "b", "Green"},
		{colors, "2: Green", "b", "Green"},
		{colors, "2: GREEN.", "b", "Green"},
		{colors, "2 green", "b", "Green"},
		{colors, "2. Green", "b", "Green"},
		{colors, "1: Green", "", ""},
		{colors, "2", "", ""},
		{sums, "2: 1", "b", "1"},
		{sums, "2 1", "a", "2"},
		{sums, "1: 2", "a", "2"},
		{sums, "2: 2", "b", "2: 2"},
		{sums, "2", "a", "2"},
	}
	for _, test := range tests {
		call, sig, ok := ask.Pick(texts.Book{}, test.open, test.text, false)
		if ok != (test.id != "") || ok && (call.ID != test.id || sig.Answer != test.want) {
			t.Errorf("%q: %q for %q, %t; want %q for %q", test.text, sig.Answer, call.ID, ok, test.want, test.id)
		}
	}
}

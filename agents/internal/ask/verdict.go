package ask

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"agenthost/internal/texts"
	"agenthost/run"
)

// A ruling is what a person says to an approval: "approve", "yes", "no 2.",
// "approve 2 session".
type ruling struct {
	answer string // run.Approve or run.Deny
	scope  string
	number int // of the approval that it names; 0: none
}

// maxWords is how many words a ruling has at most.
const maxWords = 3

// readRuling reads text as a ruling, in English and in the language of book.
func readRuling(book texts.Book, text string) (r ruling, ok bool) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 || len(words) > maxWords {
		return r, false
	}
	for _, word := range words {
		if !r.read(book, strings.Trim(word, stops)) {
			return r, false
		}
	}
	r.scope = cmp.Or(r.scope, ScopeOnce)
	return r, r.answer != ""
}

// stops may stand around a word that a person types.
const stops = ".!,;:*`'\"()。！，"

// read reads one word. A second one of a kind makes it no ruling.
func (r *ruling) read(book texts.Book, word string) bool {
	answer, isAnswer := verdictWord(book, word)
	n, isNumber := readNumber(word)
	isScope := word == ScopeOnce || word == ScopeSession || word == ScopeAlways
	switch {
	case isAnswer && r.answer == "":
		r.answer = answer
	case isNumber && r.number == 0:
		r.number = n
	case isScope && r.scope == "":
		r.scope = word
	default:
		return false
	}
	return true
}

func verdictWord(book texts.Book, word string) (answer string, ok bool) {
	switch {
	case word == run.Approve || word == run.Deny:
		return word, true
	case word == "":
		return "", false
	case slices.Contains(book.Words("yes"), word):
		return run.Approve, true
	case slices.Contains(book.Words("no"), word):
		return run.Deny, true
	}
	return "", false
}

// readNumber reads the number of a question: "2", "#2".
func readNumber(word string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(word, "#"))
	return n, err == nil && n > 0 && len(word) <= 4
}

// Number is what a person calls a question by: the first of several may have been
// the only one when it was asked.
func Number(call run.Call) int { return max(call.Number, 1) }

// Pick reads text as the answer to one of the calls that wait for a person, in the
// order in which they asked. A word without a number is for the oldest that it fits;
// words that are for approvals and options go before questions that any text answers. listed
// is true where the platform has shown the options as numbered lines: a number alone is one of an
// approval, too, only there, where it cannot be anything else that the person had in mind.
func Pick(book texts.Book, calls []run.Call, text string, listed bool) (run.Call, run.Signal, bool) {
	r, rules := readRuling(book, text)
	if rules {
		call, ok := oldest(calls, func(call run.Call) bool {
			return call.Asked == run.ForApproval && (r.number == 0 || r.number == Number(call))
		})
		if ok {
			return call, run.Signal{Answer: r.answer, Scope: r.scope}, true
		}
	}
	if r, ok := listedRuling(book, calls, text); ok && listed {
		return calls[0], run.Signal{Answer: r.answer, Scope: r.scope}, true
	}
	if call, option, ok := pickOption(calls, text); ok {
		return call, run.Signal{Answer: option}, true
	}
	if rules && r.misses(calls) {
		return run.Call{}, run.Signal{}, false
	}
	return pickText(calls, text)
}

// listedRuling reads text as the number of an option of the approval that is open alone. To one
// that was put with a number of its own it might be that.
func listedRuling(book texts.Book, calls []run.Call, text string) (r ruling, ok bool) {
	if len(calls) != 1 || calls[0].Asked != run.ForApproval || calls[0].Number > 0 {
		return r, false
	}
	option, ok := listedOption(calls[0].Options, text)
	if !ok {
		return r, false
	}
	return readRuling(book, option)
}

// misses reports whether a ruling that is for none of calls is meant for one of them, or for
// an approval: it is no text then.
func (r ruling) misses(calls []run.Call) bool {
	return r.number > 0 && slices.ContainsFunc(calls, func(call run.Call) bool {
		return call.Asked == run.ForApproval || len(calls) > 1 && r.number == Number(call)
	})
}

// pickText is Pick for questions that any text answers: "2: blue" is for the second.
func pickText(calls []run.Call, text string) (run.Call, run.Signal, bool) {
	text = strings.TrimSpace(text)
	free := func(call run.Call) bool { return call.Asked == run.ForQuestion && len(call.Options) == 0 }
	if n, rest, ok := cutNumber(text, len(calls) > 1); ok {
		call, ok := oldest(calls, func(call run.Call) bool { return free(call) && called(call, n, len(calls) > 1) })
		if ok {
			return call, run.Signal{Answer: rest}, true
		}
	}
	if _, ok := namesOther(calls, text); ok {
		return run.Call{}, run.Signal{}, false
	}
	call, ok := oldest(calls, free)
	return call, run.Signal{Answer: text}, ok && text != ""
}

// Misnumbered is the one of several calls whose number text has, though it cannot answer it.
func Misnumbered(book texts.Book, calls []run.Call, text string) (run.Call, bool) {
	if _, _, ok := Pick(book, calls, text, false); ok || len(calls) < 2 {
		return run.Call{}, false
	}
	if r, ok := readRuling(book, text); ok && r.number > 0 {
		return oldest(calls, func(call run.Call) bool { return called(call, r.number, true) })
	}
	return namesOther(calls, text)
}

// namesOther is the one of several calls whose number stands before a text, if it takes none:
// "2: Bob". "2:30" is a time then.
func namesOther(calls []run.Call, text string) (run.Call, bool) {
	n, _, ok := cutNumber(text, false)
	if !ok || len(calls) < 2 {
		return run.Call{}, false
	}
	return oldest(calls, func(call run.Call) bool {
		return called(call, n, true) && (call.Asked != run.ForQuestion || len(call.Options) > 0)
	})
}

// cutNumber cuts the number of a question off the text before which it stands. To one
// that is open alone "2:30" is a time.
func cutNumber(text string, several bool) (n int, rest string, ok bool) {
	head, rest, _ := strings.Cut(text, ":")
	if !several && strings.IndexFunc(rest, unicode.IsDigit) == 0 {
		return 0, "", false
	}
	n, ok = readNumber(strings.TrimSpace(head))
	rest = strings.TrimSpace(rest)
	return n, rest, ok && rest != ""
}

// ReadAgain reads text, which hooks have left of what was said, as that was read: without the number
// of the question where its answer was read without it.
func ReadAgain(said, answer, text string) string {
	said, text = strings.TrimSpace(said), strings.TrimSpace(text)
	n, _, numbered := cutNumber(said, true)
	if !numbered || answer == said {
		return text
	}
	if left, rest, ok := cutNumber(text, true); ok && left == n {
		return rest
	}
	return text
}

// called reports whether n is the number of a question: one of several, or one that was
// put with it and is the last that is left.
func called(call run.Call, n int, several bool) bool {
	return n == Number(call) && (several || call.Number > 0)
}

func oldest(calls []run.Call, fits func(run.Call) bool) (call run.Call, ok bool) {
	if i := slices.IndexFunc(calls, fits); i >= 0 {
		return calls[i], true
	}
	return call, false
}

// pickOption is Pick for questions with options.
func pickOption(calls []run.Call, text string) (run.Call, string, bool) {
	for _, read := range []func(call run.Call, text string) (string, bool){plainOption, numberedOption} {
		for _, call := range calls {
			if call.Asked != run.ForQuestion {
				continue
			}
			if option, ok := read(call, text); ok {
				return call, option, true
			}
		}
	}
	if len(calls) == 1 && calls[0].Asked == run.ForQuestion {
		option, ok := listedOption(calls[0].Options, text)
		return calls[0], option, ok
	}
	return run.Call{}, "", false
}

// plainOption reads text as an option of call: as it is written there, whatever its case and
// with a stop behind it, also behind the number of the question and a colon ("2: red").
func plainOption(call run.Call, text string) (option string, ok bool) {
	if option, ok = namedOption(call.Options, text); ok {
		return option, true
	}
	n, rest, ok := cutNumber(text, true)
	if !ok || n != Number(call) {
		return "", false
	}
	return namedOption(call.Options, rest)
}

// numberedOption reads text as an option of call before or behind the number of the question:
// "red 2", "2 red", "2. red".
func numberedOption(call run.Call, text string) (option string, ok bool) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return "", false
	}
	last := len(words) - 1
	if n, ok := readNumber(strings.Trim(words[last], stops)); ok && n == Number(call) {
		if option, ok = namedOption(call.Options, strings.Join(words[:last], " ")); ok {
			return option, true
		}
	}
	if n, ok := readNumber(strings.Trim(words[0], stops)); ok && n == Number(call) {
		return namedOption(call.Options, strings.Join(words[1:], " "))
	}
	return "", false
}

// listedOption reads text as the number of an option in its list.
func listedOption(options []string, text string) (option string, ok bool) {
	n, ok := readNumber(strings.Trim(strings.TrimSpace(text), stops))
	if !ok || n > len(options) {
		return "", false
	}
	return options[n-1], true
}

func namedOption(options []string, text string) (option string, ok bool) {
	if slices.Contains(options, text) { // two may differ in their case alone
		return text, true
	}
	text = strings.TrimSpace(text)
	for _, said := range []string{text, strings.Trim(text, stops)} {
		if i := slices.IndexFunc(options, func(o string) bool { return strings.EqualFold(strings.TrimSpace(o), said) }); i >= 0 && said != "" {
			return options[i], true
		}
	}
	return "", false
}

// InOrder are the questions of a chat, those of its own run and lists of those of others, which
// are each in order and have their wait ids: the oldest first. That is told by their numbers,
// as clocks of hosts differ.
func InOrder(own []run.Call, lists ...[]Waiting) []run.Call {
	calls := slices.Clone(own)
	several := 0
	for _, others := range lists {
		several += min(len(calls), len(others))
		for _, w := range others {
			calls = append(calls, run.Call{ID: w.ID, Asked: w.Kind, Options: w.Options, Number: w.Number, AskedAt: w.AskedAt})
		}
	}
	if several > 0 {
		slices.SortStableFunc(calls, func(a, b run.Call) int {
			return cmp.Or(cmp.Compare(Number(a), Number(b)), a.AskedAt.Compare(b.AskedAt))
		})
	}
	return calls
}

// ReadVerdict is what a word says to an approval, run.Approve or run.Deny, in English:
// "Yes." approves.
func ReadVerdict(word string) (answer string, ok bool) {
	return verdictWord(texts.Book{}, strings.ToLower(strings.Trim(strings.TrimSpace(word), stops)))
}

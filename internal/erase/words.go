package erase

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agenthost/internal/erasure"
)

// Erased takes the place of what was erased.
const Erased = "[erased]"

// identifying is how many characters a text of a person has at least to be theirs wherever
// it is found: what is shorter others say as well.
const identifying = 16

// words are texts that are looked for in other texts, each as a whole.
type words struct {
	byStart map[string][]string // by the first bytes, the longest first
	known   map[string]bool
	shared  map[string]bool // what others have said as well, and so is not looked for
}

// shortest is how many bytes a text has at least: what is shorter cannot be looked for.
const shortest = 3

// add adds a text, and what it is in a text that holds JSON.
func (w *words) add(text string) { eachForm(text, w.put) }

// eachForm calls do with a text, and with what it is in a text that holds JSON.
func eachForm(text string, do func(string)) {
	text = strings.TrimSpace(text)
	do(text)
	for range 2 { // JSON can hold JSON
		quoted, err := encode(text)
		if err != nil || string(quoted[1:len(quoted)-1]) == text {
			return
		}
		text = string(quoted[1 : len(quoted)-1])
		do(text)
	}
}

func (w *words) put(text string) {
	if len(text) < shortest || w.known[text] || w.shared[text] || strings.TrimSpace(strings.ReplaceAll(text, Erased, "")) == "" {
		return
	}
	if w.known == nil {
		w.byStart, w.known = map[string][]string{}, map[string]bool{}
	}
	w.known[text] = true
	start := text[:shortest]
	list := w.byStart[start]
	at, _ := slices.BinarySearchFunc(list, text, func(a, b string) int { return len(b) - len(a) })
	w.byStart[start] = slices.Insert(list, at, text)
}

// addText adds a text, its lines and its sentences, as far as they are identifying.
func (w *words) addText(text string) { eachPart(text, w.add) }

// share takes out what another person has said as well, in whole, as a line or as a sentence.
func (w *words) share(text string) {
	eachPart(text, func(part string) {
		eachForm(part, func(form string) {
			if !w.known[form] {
				return
			}
			if w.shared == nil {
				w.shared = map[string]bool{}
			}
			w.shared[form] = true
			delete(w.known, form)
			start := form[:shortest]
			w.byStart[start] = slices.DeleteFunc(w.byStart[start], func(one string) bool { return one == form })
		})
	})
}

// eachPart calls do with a text, its lines and its sentences, as far as they are identifying.
func eachPart(text string, do func(string)) {
	part := func(text string) {
		if text = strings.TrimSpace(text); utf8.RuneCountInString(text) >= identifying {
			do(text)
		}
	}
	part(text)
	for line := range strings.Lines(text) {
		part(line)
		for sentence := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(".!?;。！？", r) }) {
			part(sentence)
		}
	}
}

// addLong adds a text that is identifying.
func (w *words) addLong(text string) {
	if text = strings.TrimSpace(text); utf8.RuneCountInString(text) >= identifying {
		w.add(text)
	}
}

// addName adds an id or a name that can be told from other words.
func (w *words) addName(name string) {
	digits := strings.IndexFunc(name, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
	if name != erasure.Anonymous && (!digits || len(name) >= 6) {
		w.add(name)
	}
}

// replace is text with what is found in it erased.
func (w *words) replace(text string) string {
	if len(w.byStart) == 0 || len(text) < shortest {
		return text
	}
	var b strings.Builder
	done := 0
	for i := 0; i+shortest <= len(text); {
		n := w.match(text, i)
		if n == 0 {
			i++
			continue
		}
		b.WriteString(text[done:i])
		b.WriteString(Erased)
		i += n
		done = i
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

// match is the length of what begins at i, 0 when nothing does.
func (w *words) match(text string, i int) int {
	for _, one := range w.byStart[text[i:i+shortest]] {
		if strings.HasPrefix(text[i:], one) && apart(text, i, i+len(one)) {
			return len(one)
		}
	}
	return 0
}

// apart reports whether a part of a text does not begin or end inside of a word.
func apart(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	first, _ := utf8.DecodeRuneInString(text[from:])
	last, _ := utf8.DecodeLastRuneInString(text[:to])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return (!inWord(before) || !inWord(first)) && (!inWord(last) || !inWord(after))
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

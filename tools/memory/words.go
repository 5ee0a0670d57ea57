package memory

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// words calls yield with the words of text as the index has them: lower case,
// without accents and without their usual endings. alt is another way to write
// the word, as Mueller is for Müller, and mostly empty. Scripts that put no
// space between words give their characters, and every two side by side.
func words(text string, yield func(term, alt string)) {
	var w spelling
	flush := func() {
		if w.term.Len() > 0 {
			w.emit(yield)
		}
		w = spelling{}
	}
	for _, r := range norm.NFKD.String(text) {
		switch {
		case unicode.Is(unicode.Mn, r):
			w.accent(r)
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mc, r):
			flush()
		default:
			if unicode.In(r, unspaced...) != w.unspaced {
				flush()
			}
			w.add(r)
		}
	}
	flush()
}

var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// A spelling is a word that is being read.
type spelling struct {
	term, alt strings.Builder
	last      rune
	differs   bool // alt is another word than term
	unspaced  bool
}

// letters are those that carry no accent to take away.
var letters = map[rune]struct{ term, alt string }{
	'ß': {"ss", "ss"}, 'ø': {"o", "oe"}, 'æ': {"ae", "ae"}, 'œ': {"oe", "oe"}, 'ł': {"l", "l"}, 'đ': {"d", "d"},
	'ð': {"d", "d"}, 'þ': {"th", "th"}, 'ı': {"i", "i"}, 'ς': {"σ", "σ"},
}

func (w *spelling) add(r rune) {
	r = unicode.ToLower(r)
	w.last, w.unspaced = r, unicode.In(r, unspaced...)
	if l, ok := letters[r]; ok {
		w.term.WriteString(l.term)
		w.alt.WriteString(l.alt)
		w.differs = w.differs || l.term != l.alt
		return
	}
	w.term.WriteRune(r)
	w.alt.WriteRune(r)
}

// accent takes the sign after a letter away, or spells it out.
func (w *spelling) accent(sign rune) {
	switch {
	case sign == '\u0308' && strings.ContainsRune("aou", w.last):
		w.alt.WriteByte('e')
	case sign == '\u030a' && w.last == 'a':
		w.alt.WriteByte('a')
	default:
		return
	}
	w.differs = true
}

func (w *spelling) emit(yield func(term, alt string)) {
	term := w.term.String()
	switch {
	case w.unspaced:
		pairs(term, yield)
	case w.differs:
		yield(stem(term), stem(w.alt.String()))
	default:
		yield(stem(term), "")
	}
}

// pairs gives the characters of s, and every two that stand side by side.
func pairs(s string, yield func(term, alt string)) {
	last := 0 // where the character before begins
	for i, r := range s {
		end := i + utf8.RuneLen(r)
		yield(s[i:end], "")
		if i > 0 {
			yield(s[last:end], "")
		}
		last = i
	}
}

// endings are what inflection adds in the languages of western Europe, the
// longest first.
var endings = []string{"ungen", "ments", "ings", "ment", "ing", "ung", "ers", "ern", "est", "ed", "er", "en", "em", "es", "ly", "s"}

// stem takes an ending away. It does not know the language, so it takes little:
// what is left of the difference is for the search to overlook.
func stem(s string) string {
	if len(s) < 4 || strings.IndexFunc(s, func(r rune) bool { return r < 'a' || r > 'z' }) >= 0 {
		return s
	}
	if cut, ok := strings.CutSuffix(s, "ies"); ok {
		return cut + "i"
	}
	for _, e := range endings {
		if cut, ok := strings.CutSuffix(s, e); ok && (len(cut) >= 4 || len(cut) == 3 && e == "s") {
			s = cut
			break
		}
	}
	if cut, ok := strings.CutSuffix(s, "e"); ok && len(cut) >= 3 {
		s = cut
	}
	if cut, ok := strings.CutSuffix(s, "y"); ok {
		s = cut + "i"
	}
	if n := len(s); n > 3 && s[n-1] == s[n-2] {
		s = s[:n-1]
	}
	return s
}

// common are the words that say nothing about what is looked for.
var common = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	words(`a about am an and any are as at be been by can could did do does for from had has have he her him his how
		i if in into is it its ll me my of on or our please re s she should so t tell that the their them there they this to
		us ve was we were what when where which who whom whose why will with would you your d m not any anything something must may might
		der die das den dem des ein eine einen einem einer eines und oder ist sind war wie was wer wo wann warum welche
		welcher welches ich du er sie es wir ihr mein meine sein seine im am zu zum zur von vom mit für auf aus bei nicht
		hat haben wird mir mich dir dich uns
		le la les un une des du de et ou est sont qui que quoi quel quelle quels quelles où quand comment pourquoi je tu il
		elle nous vous ils mon ma mes son sa ses au aux en dans pour sur avec ne pas ce cette c l j n qu y
		el los las una unos y o es son qué quién cuál cuándo dónde cómo mi su sus del al con por para se no lo
		il lo gli i uno ed è sono che chi quale quando dove come perché di da per si suo sua
		os as um uma e é são quem qual onde seu sua do da dos das em no na com
		de het een en van is wie wat waar wanneer hoe zijn haar met voor op`, func(term, alt string) {
		set[term] = true
		if alt != "" {
			set[alt] = true
		}
	})
	return set
})

package memory_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/tools/memory"

	"github.com/google/go-cmp/cmp"
)

// A query is what is asked and the note that must be found first.
type query struct{ text, want string }

func fixture(t testing.TB) (list []string, queries []query) {
	t.Helper()
	data, err := os.ReadFile("testdata/recall.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if q, ok := strings.CutPrefix(line, "? "); ok {
			queries = append(queries, query{q, list[len(list)-1]})
		} else if line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list, queries
}

func TestTheRightNoteIsFirst(t *testing.T) {
	t.Parallel()
	h := start(t, open(t).JS, memory.Options{})
	list, queries := fixture(t)
	for i, text := range list {
		h.remember(t, ana, fmt.Sprint(i), text, "")
	}
	if len(queries) < 30 {
		t.Fatalf("%d queries", len(queries))
	}
	for _, q := range queries {
		if found := h.found(t, ana, q.text); len(found) == 0 || found[0] != q.want {
			t.Errorf("%q:\n got %q\nwant %q", q.text, found[:min(len(found), 3)], q.want)
		}
	}
}

// What an inflection, an accent or another way to write a word leaves must not
// hide a note; nor may a beginning that two words share bring up anything.
func TestWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		note, query string
		found       bool
	}{
		"case":                {"Lives in OSLO", "oslo", true},
		"plural":              {"two cats", "cat", true},
		"plural in ies":       {"has allergies", "allergy", true},
		"another ending":      {"stopped smoking", "smokes", true},
		"beginning":           {"Geburtstagsgeschenk", "geburtstag", true},
		"compound":            {"Geburtstag", "Geburtstagsfeier", true},
		"accent in the note":  {"café", "cafe", true},
		"accent in the query": {"cafe", "CAFÉ", true},
		"umlaut":              {"Müller", "Muller", true},
		"umlaut spelled out":  {"Müller", "mueller", true},
		"spelled-out umlaut":  {"Mueller", "Müller", true},
		"decomposed":          {"Mu\u0308ller", "Müller", true},
		"sharp s":             {"Straße", "strasse", true},
		"ring":                {"Ångström", "Aangstrom", true},
		"slashed o":           {"Tromsø", "tromso", true},
		"full width":          {"ＡＢＣ", "abc", true},
		"number":              {"invoice 2024-0815", "0815", true},
		"Cyrillic":            {"ключи", "ключей", true},
		"Greek":               {"Οδυσσέας", "οδυσσεασ", true},
		"Chinese":             {"他住在上海", "上海", true},
		"one character":       {"他住在上海", "上", true},
		"Korean":              {"서울에서 살아요", "서울", true},
		"only common words":   {"to be or not to be", "to be", true},
		"no word":             {"ticket", "?!", false},
		"another word":        {"police", "polite", false},
		"too short":           {"carrot", "ca", false},
		"nothing in common":   {"tea", "coffee", false},
	}
	b := open(t)
	h := start(t, b.JS, memory.Options{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			peer := "web/dm/" + name
			h.remember(t, peer, name, tt.note, "")
			want := []string{tt.note}
			if !tt.found {
				want = []string{}
			}
			if diff := cmp.Diff(want, h.found(t, peer, tt.query)); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecallWithoutAQueryTellsTheNewest(t *testing.T) {
	t.Parallel()
	h := start(t, open(t).JS, memory.Options{})
	for i := range 7 {
		h.remember(t, ana, fmt.Sprint(i), fmt.Sprint("note ", i), "")
	}
	text := h.do(t, ana, "r", "recall", args{})
	if n := strings.Count(text, "\n") + 1; n != 5 || !strings.Contains(text, "note 6") || strings.Contains(text, "note 0") {
		t.Errorf("got %s", text)
	}
	if text := h.do(t, bob, "r", "recall", args{}); text != "Nothing that is remembered fits." {
		t.Errorf("got %s", text)
	}
}

// Notes as people write them: the words of a language are few and many of them
// common.
func filler(r *rand.Rand) string {
	z := rand.NewZipf(r, 1.1, 8, 30_000)
	words := make([]string, 8+r.IntN(25))
	for i := range words {
		words[i] = word(z.Uint64())
	}
	return strings.Join(words, " ")
}

// word is the n-th word of a language of its own.
func word(n uint64) string {
	syllables := []string{"ka", "ren", "sto", "mi", "lun", "ver", "da", "prio", "tes", "go", "bra", "ni", "sal", "ton", "fe", "wi"}
	text := ""
	for n += 16; n > 0; n /= 16 {
		text += syllables[n%16]
	}
	return text
}

func full(b *testing.B, h host) []string {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var queries []string
	for i := range 10_000 {
		text := filler(r)
		h.remember(b, ana, fmt.Sprint(i), text, "")
		if i%20 == 0 {
			words := strings.Fields(text)
			queries = append(queries, strings.Join(words[:min(5, len(words))], " "))
		}
	}
	return queries
}

// BenchmarkRecall is a search of 10,000 notes with everything around it.
func BenchmarkRecall(b *testing.B) {
	h := start(b, open(b).JS, memory.Options{})
	queries := full(b, h)
	for _, q := range queries { // each note counts as used once an hour
		h.do(b, ana, "r", "recall", args{"query": q})
	}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		h.do(b, ana, "r", "recall", args{"query": queries[len(took)%len(queries)]})
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs/op")
}

// BenchmarkOpen is the first use of a memory of 10,000 notes.
func BenchmarkOpen(b *testing.B) {
	js := open(b).JS
	full(b, start(b, js, memory.Options{}))
	for b.Loop() {
		h := start(b, js, memory.Options{})
		h.do(b, ana, "r", "recall", args{"query": "nothing"})
		h.stop()
	}
}

// BenchmarkRemember is a note that takes the place of another.
func BenchmarkRemember(b *testing.B) {
	h := start(b, open(b).JS, memory.Options{})
	full(b, h)
	r := rand.New(rand.NewPCG(3, 4))
	n := 10_000
	for b.Loop() {
		h.remember(b, ana, fmt.Sprint(n), filler(r), "")
		n++
	}
}

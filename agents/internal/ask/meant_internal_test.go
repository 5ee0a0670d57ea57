package ask

import (
	"testing"
	"testing/synctest"
	"time"
)

// A question that was given a word has it, until its answer is stored: another word of the same
// person is for the next question. That of another person is not held against it, and a word
// that came to nothing keeps no answer away for long.
func TestWordsThatQuestionsWereGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewIndex()
		q.Give("first", "m1", "ana")
		q.Give("first", "m2", "bob") // the first word counts
		type word struct{ question, input, sender string }
		expect := func(when string, want map[word]bool) {
			t.Helper()
			for w, has := range want {
				if got := q.HasOther(w.question, w.input, w.sender); got != has {
					t.Errorf("%s: %+v: the question has another word: %t, want %t", when, w, got, has)
				}
			}
		}
		expect("at once", map[word]bool{
			{"first", "m1", "ana"}:  false,
			{"first", "m3", "ana"}:  true,
			{"first", "m3", "bob"}:  false,
			{"second", "m3", "ana"}: false,
		})
		time.Sleep(meantFor / 2)
		q.Give("second", "m3", "ana")
		time.Sleep(meantFor / 2)
		expect("later", map[word]bool{
			{"first", "m4", "ana"}:  false,
			{"second", "m4", "ana"}: true,
		})
		time.Sleep(time.Nanosecond)
		q.Give("first", "m5", "ana")
		expect("once more", map[word]bool{
			{"first", "m5", "ana"}:  false,
			{"first", "m6", "ana"}:  true,
			{"second", "m6", "ana"}: true,
		})
		if len(q.given) != 2 || len(q.givenDue) != 2 {
			t.Errorf("it remembers %d words, of which %d end; want 2", len(q.given), len(q.givenDue))
		}
	})
}

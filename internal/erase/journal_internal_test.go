package erase

import (
	"testing"

	"agenthost/internal/erasure"

	"github.com/google/go-cmp/cmp"
)

// Each erasure that is cut off leaves a journal with all that those before it have: it does not grow by
// that.
func TestJournalsAreTakenOnce(t *testing.T) {
	t.Parallel()
	e := &eraser{markers: map[string][]string{}, r: &redactor{person: erasure.Person{From: "zoe"}}}
	for range 3 {
		e.take(journal{Markers: map[string][]string{"B": {"b", "a"}, "C": {"a"}}})
		e.mark("B", []string{"a", "c"})
	}
	if diff := cmp.Diff(map[string][]string{"B": {"a", "b", "c"}, "C": {"a"}}, e.markers); diff != "" {
		t.Error(diff)
	}
}

package run_test

import (
	"os"
	"regexp"
	"testing"

	"agenthost/run"
)

// All types of events that this version writes are known to it.
func TestKnownTypes(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("event.go")
	if err != nil {
		t.Fatal(err)
	}
	types := regexp.MustCompile(`EventType += "([a-z._]+)"`).FindAllSubmatch(source, -1)
	if len(types) < 20 {
		t.Fatalf("%d types found", len(types))
	}
	for _, found := range types {
		if name := run.EventType(found[1]); !name.Known() {
			t.Errorf("%s is not known", name)
		}
	}
	if run.EventType("mood.noted").Known() {
		t.Error("what no version writes is known")
	}
}

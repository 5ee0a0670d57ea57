package agents_test

import (
	"flag"
	"os"
	"testing"
)

// The tests mostly wait, so more of them run at once than there are processors.
func TestMain(m *testing.M) {
	flag.Set("test.parallel", "8") // the command line goes before
	os.Exit(m.Run())
}

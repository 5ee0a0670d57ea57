package bustest

import (
	"flag"
	"os"
	"runtime/debug"
)

// ManyAtOnce lets eight parallel tests run at once, where the command line says nothing
// else. It is for the TestMain of packages whose tests mostly wait, for processes, for
// the server's redeliveries or a platform's limits: by default as many run at once as
// there are processors, and on two of them most of the time nothing would be at work.
// It has them collect less, too.
func ManyAtOnce() {
	_ = flag.Set("test.parallel", "8") // a flag of testing; flag.Parse overwrites it
	CollectLess()
}

// CollectLess has garbage be collected less often, unless GOGC says how often. It is for
// the TestMain of packages whose tests start many servers that live for a moment: the
// collector took an eighth of the time.
func CollectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

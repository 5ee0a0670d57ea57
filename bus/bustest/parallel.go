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
//
// Such tests start many servers that live for a moment. What these leave is collected
// less often, unless GOGC says how often: the collector took an eighth of the time.
func ManyAtOnce() {
	_ = flag.Set("test.parallel", "8") // a flag of testing; flag.Parse overwrites it
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

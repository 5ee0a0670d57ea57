package bustest

import "flag"

// ManyAtOnce lets eight parallel tests run at once, where the command line says nothing
// else. It is for the TestMain of packages whose tests mostly wait, for processes, for
// the server's redeliveries or a platform's limits: by default as many run at once as
// there are processors, and on two of them most of the time nothing would be at work.
func ManyAtOnce() {
	_ = flag.Set("test.parallel", "8") // a flag of testing; flag.Parse overwrites it
}

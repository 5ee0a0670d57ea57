package bus

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// APITimeout bounds what JetStream may take for one answer.
const APITimeout = 5 * time.Second

// APIPrefix is that of the subjects of the JetStream API that js uses.
func APIPrefix(js jetstream.JetStream) string {
	switch o := js.Options(); {
	case o.Domain != "":
		return "$JS." + o.Domain + ".API."
	case o.APIPrefix != "":
		return strings.TrimSuffix(o.APIPrefix, ".") + "."
	}
	return OwnAPI
}

// OwnAPI is the prefix of the JetStream that the server itself has.
const OwnAPI = "$JS.API."

// AtOnce calls all makers, so that a start takes the time of one answer of NATS
// and not of a dozen. It returns what is wrong with the first of them that
// failed, in their order.
func AtOnce(makers []func() error) error {
	faults := make([]error, len(makers))
	var all sync.WaitGroup
	for i, do := range makers {
		all.Go(func() { faults[i] = do() })
	}
	all.Wait()
	return cmp.Or(faults...)
}

package host

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"agenthost/llm"

	"github.com/rs/zerolog"
)

const (
	descriptorsSaid = time.Minute      // a lack is logged again
	descriptorsLast = 15 * time.Second // a lack counts after it was met last: longer than a model's next attempt takes to come
)

// errNoDescriptors is what /readyz and the log say.
var errNoDescriptors = errors.New("this host has no file descriptors left, and retries what needs one; allow it more: ulimit -n, or LimitNOFILE in its systemd unit")

// A descriptors notes when this process has no descriptor left: it says nothing
// of the model or the tool that needed one.
type descriptors struct {
	log zerolog.Logger
	met atomic.Int64 // in Unix nanoseconds; 0: never
}

func newDescriptors(log zerolog.Logger) *descriptors {
	return &descriptors{log: log.Sample(&zerolog.BurstSampler{Burst: 1, Period: descriptorsSaid})}
}

// note looks at how an attempt has ended.
func (d *descriptors) note(a llm.Attempt) {
	if a.Err == nil || !llm.AsError(a.Err).Exhausted {
		return
	}
	d.met.Store(time.Now().UnixNano())
	d.log.Error().Err(errNoDescriptors).AnErr("reason", a.Err).Str("model", a.Entry).Msg("model not reached: out of file descriptors")
}

// lacking is errNoDescriptors while there is no descriptor left.
func (d *descriptors) lacking() error {
	f, err := os.Open(os.DevNull)
	if err == nil {
		_ = f.Close()
	}
	if llm.NoDescriptors(err) || time.Since(time.Unix(0, d.met.Load())) < descriptorsLast {
		return errNoDescriptors
	}
	return nil
}

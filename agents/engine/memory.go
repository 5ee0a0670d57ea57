package engine

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// memoryEvery is how often the memory of the process is looked at.
	memoryEvery = 250 * time.Millisecond

	// Of the soft limit, in percent, what is in use: above tightMemory the
	// collector would have little to collect and much to do; below easyMemory
	// there is room again.
	tightMemory = 85
	easyMemory  = 75

	// One session of shedPart leaves memory at a time, and only one that has been
	// idle for shedIdle. Those that are busy come back at once: NATS would load the
	// blocks of 8 MB that their commits are spread over, and hold them for seconds.
	shedPart = 32
	shedIdle = time.Minute
)

// watchMemory keeps the host within its soft memory limit, where there is one.
func (f *Fleet) watchMemory(ctx context.Context) {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for tight := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(sample)
		used := int64(sample[0].Value.Uint64() * 100 / uint64(max(limit, 1)))
		f.relieve(used, shedIdle)
		if was := tight; was != (f.brake.Pause() > 0) {
			tight = !was
			f.sayMemory(tight, used, limit)
		}
	}
}

// relieve acts on the part of the limit that is in use. Lanes hand out their
// messages more slowly: most of what is in use are messages of the last seconds.
// Where that does not do, sessions that have been idle for so long leave memory, a
// few at a time: to read one again, NATS loads all that is stored around it.
func (f *Fleet) relieve(used int64, idle time.Duration) {
	switch {
	case used >= tightMemory && f.brake.Longest():
		for _, r := range f.runtimes() {
			for _, p := range r.all() {
				p.sessions.Shed((p.sessions.Len()+shedPart-1)/shedPart, idle)
			}
		}
	case used >= tightMemory:
		f.brake.Harder()
	case used < easyMemory:
		f.brake.Ease()
	}
}

func (f *Fleet) sayMemory(tight bool, used, limit int64) {
	if !tight {
		f.parts.Few.Info().Int64("live_percent", used).Msg("memory: enough again; lanes run at full speed")
		return
	}
	f.parts.Few.Warn().Int64("live_percent", used).Int64("soft_limit_mb", limit>>20).
		Msg("memory: close to the soft limit; lanes slow down, and idle sessions may leave memory; give the host more memory")
}

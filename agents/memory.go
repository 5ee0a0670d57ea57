package agents

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
	tightMemory = 75
	easyMemory  = 65
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
		f.relieve(used)
		if was := tight; was != (f.brake.Pause() > 0) {
			tight = !was
			f.sayMemory(tight, used, limit)
		}
	}
}

// relieve acts on the part of the limit that is in use: the sessions that have
// been idle longest leave memory, an eighth of them at a time, and lanes hand out
// their messages more slowly.
func (f *Fleet) relieve(used int64) {
	switch {
	case used >= tightMemory:
		for _, r := range f.runtimes() {
			r.sessions.Shed((r.sessions.Len() + 7) / 8)
		}
		f.brake.Harder()
	case used < easyMemory:
		f.brake.Ease()
	}
}

func (f *Fleet) sayMemory(tight bool, used, limit int64) {
	if !tight {
		f.parts.few.Info().Int64("live_percent", used).Msg("memory: enough again; lanes run at full speed")
		return
	}
	f.parts.few.Warn().Int64("live_percent", used).Int64("soft_limit_mb", limit>>20).
		Msg("memory: close to the soft limit; idle sessions leave memory and lanes slow down; give the host more memory")
}

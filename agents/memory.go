package agents

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"agenthost/bus"
)

const (
	// memoryEvery is how often the memory of the process is looked at.
	memoryEvery = 250 * time.Millisecond

	// Of the soft limit, in percent, what is in use: from tightMemory on lanes slow
	// down, the more the less is left. From fullMemory on the collector has little to
	// collect and much to do, and sessions leave memory.
	tightMemory = 65
	fullMemory  = 85
	brakeStep   = 4 // the pause of the lanes doubles with so much more in use

	shedPart = 32 // one session of so many leaves memory at a time
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

// relieve acts on the part of the limit that is in use. Lanes hand out their
// messages more slowly: much of what is in use comes with the messages of the last
// seconds and minutes. Where that does not do, the sessions that have been idle
// longest leave memory, a few at a time: to read one again costs memory, too, and
// thousands of those that are busy would be read all the time.
func (f *Fleet) relieve(used int64) {
	f.brake.Set(brakeAt(used))
	if used < fullMemory {
		return
	}
	for _, r := range f.runtimes() {
		r.sessions.Shed((r.sessions.Len() + shedPart - 1) / shedPart)
	}
}

// brakeAt is the pause of the lanes when so much is in use.
func brakeAt(used int64) time.Duration {
	if used < tightMemory {
		return 0
	}
	return bus.FirstBrake << min((used-tightMemory)/brakeStep, 10) // far beyond the longest one
}

func (f *Fleet) sayMemory(tight bool, used, limit int64) {
	if !tight {
		f.parts.few.Info().Int64("live_percent", used).Msg("memory: enough again; lanes run at full speed")
		return
	}
	f.parts.few.Warn().Int64("live_percent", used).Int64("soft_limit_mb", limit>>20).
		Msg("memory: close to the soft limit; lanes slow down, and idle sessions may leave memory; give the host more memory")
}

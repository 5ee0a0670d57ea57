package lanes

import (
	"slices"
	"strings"

	"agenthost/bus"
)

// A directory knows the agents of a lane by what they are bound to: finding
// those that a message is for costs the same whatever their number.
type directory struct {
	bound map[string][]Agent // by the subject
	wide  map[string][]Agent // by the channel, of which they take every instance
}

func newDirectory(agents []Agent) *directory {
	d := &directory{bound: map[string][]Agent{}, wide: map[string][]Agent{}}
	for _, r := range agents {
		d.add(r)
	}
	return d
}

func (d *directory) add(r Agent) {
	add(d.bound, bus.RoutePrefix+r.ID(), r)
	for _, subject := range r.Bindings() {
		if channel, every := strings.CutSuffix(subject, everyInstance); every {
			add(d.wide, strings.TrimPrefix(channel, bus.InboundPrefix), r)
		} else {
			add(d.bound, subject, r)
		}
	}
}

// everyInstance ends the binding to all instances of a channel.
const everyInstance = ".*"

// add adds r to those of key, once.
func add(to map[string][]Agent, key string, r Agent) {
	if !slices.Contains(to[key], r) {
		to[key] = append(to[key], r)
	}
}

// takers are the agents that are bound to subject.
func (d *directory) takers(subject string) []Agent {
	return joined(d.bound[subject], d.wide[wideChannel(subject)])
}

// joined are those of both lists, each once.
func joined(list, more []Agent) []Agent {
	list = slices.Clip(list)
	for _, r := range more {
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

// wideChannel is the channel of a subject, for those that take every instance of it;
// empty when they do not take this one.
func wideChannel(subject string) string {
	channel, instance, _ := bus.Channel(subject)
	if instance == "" || strings.Contains(instance, ".") {
		return ""
	}
	return channel
}

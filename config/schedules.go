package config

import (
	"fmt"
	"strings"
	"time"

	"agenthost/heartbeat"
)

func (k *checker) checkHeartbeat(at string, h heartbeat.Config) {
	if k.Set(at+".interval") && (h.Interval < time.Second || h.Interval%time.Millisecond != 0) {
		k.Fault(at+".interval", "interval %s: want 1s or more, in whole milliseconds", k.Quote(at+".interval"))
	}
	if h.Prompt == "" && (len(h.Watch) > 0 || k.Set(at+".to")) {
		k.Fault(at, "the heartbeat has no prompt; add prompt:, or take out watch and to")
	}
	for i, subject := range h.Watch {
		if p := fmt.Sprintf("%s.watch[%d]", at, i); !validFilter(subject) {
			k.Fault(p, "watch %s: want a subject, such as plugin.inbound.mail or $KV.stock.>", k.Quote(p))
		}
	}
	k.checkAddress(at+".to", h.To)
}

// validFilter reports whether subject is one, with wildcards or without.
func validFilter(subject string) bool {
	tokens := strings.Split(subject, ".")
	for i, token := range tokens {
		if token == "" || strings.ContainsAny(token, " \t\r\n") || token == ">" && i < len(tokens)-1 {
			return false
		}
	}
	return true
}

func (k *checker) checkSchedules(at string, schedules []heartbeat.Schedule) {
	first := make(map[string]int)
	for i, s := range schedules {
		p := fmt.Sprintf("%s[%d]", at, i)
		if k.required(p+".name", s.Name, "name", "the schedule") {
			k.token(p+".name", "schedule", s.Name)
			if j, double := first[s.Name]; double {
				k.Fault(p+".name", "schedule %s is at %s as well; want a name of its own", k.Quote(p+".name"), k.NodeAt(fmt.Sprintf("%s[%d].name", at, j)).At)
			} else {
				first[s.Name] = i
			}
			if heartbeat.ReservedName(s.Name) {
				k.Fault(p+".name", "schedule %s: that name is taken; want one that is not heartbeat and begins neither with %s nor with wait-",
					k.Quote(p+".name"), heartbeat.ReminderPrefix)
			}
		}
		k.required(p+".prompt", s.Prompt, "prompt", "the schedule")
		k.oneOf(p+".missed", s.Missed, heartbeat.MissedOnce, heartbeat.MissedSkip)
		k.checkTime(p, s.Spec)
		k.checkAddress(p+".to", s.To)
	}
}

// checkTime checks when the schedule is due.
func (k *checker) checkTime(at string, s heartbeat.Spec) {
	var given int
	for _, key := range []string{".cron", ".every", ".at", ".window"} {
		if k.Set(at + key) {
			given++
		}
	}
	if given != 1 {
		k.Fault(at, "the schedule has %d of cron, every, at and window; want one", given)
	}
	zone := k.checkZone(at+".timezone", s.Timezone)
	if k.Set(at + ".cron") {
		if _, err := heartbeat.ParseCron(s.Cron); err != nil {
			k.Fault(at+".cron", "cron %s: %v", k.Quote(at+".cron"), err)
		}
	}
	if k.Set(at+".every") && (s.Every < time.Second || s.Every%time.Second != 0) {
		k.Fault(at+".every", "every %s: want 1s or more, in whole seconds", k.Quote(at+".every"))
	}
	if k.Set(at + ".at") {
		due, err := heartbeat.ParseAt(s.At, zone)
		switch {
		case err != nil:
			k.Fault(at+".at", "at %s: %v", k.Quote(at+".at"), err)
		case due.Before(time.Now()):
			k.warn(at+".at", "at %s is past: this schedule fires no more; set another time, or take it out", k.Quote(at+".at"))
		}
	}
	if k.Set(at + ".window") {
		if _, _, err := heartbeat.ParseWindow(s.Window); err != nil {
			k.Fault(at+".window", "window %s: %v", k.Quote(at+".window"), err)
		}
	}
}

func (k *checker) checkZone(at, name string) *time.Location {
	zone, err := heartbeat.Zone(name)
	if err != nil {
		k.Fault(at, "timezone %s: want an IANA name, such as Europe/Paris", k.Quote(at))
		return time.UTC
	}
	return zone
}

func (k *checker) checkAddress(at string, to heartbeat.Address) {
	if !k.Set(at) {
		return
	}
	k.required(at+".channel", to.Channel, "channel", "the address")
	k.token(at+".channel", "channel", to.Channel)
	k.token(at+".instance", "instance", to.Instance)
	if to.To == "" && to.Chat == "" {
		k.Fault(at, "the address has no recipient; add chat:, or to: with the id of a person")
	}
}

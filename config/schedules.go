package config

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"github.com/robfig/cron/v3"

	"agenthost/heartbeat"
)

var cronFields = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

func (k *checker) checkSchedules(at string, schedules []heartbeat.Schedule) {
	first := make(map[string]int)
	for i, s := range schedules {
		p := fmt.Sprintf("%s[%d]", at, i)
		if k.required(p+".name", s.Name, "name", "the schedule") {
			k.token(p+".name", "schedule", s.Name)
			if j, double := first[s.Name]; double {
				k.fault(p+".name", "schedule %s is at %s as well; want a name of its own", k.quote(p+".name"), k.nodeAt(fmt.Sprintf("%s[%d].name", at, j)).at)
			} else {
				first[s.Name] = i
			}
		}
		k.required(p+".prompt", s.Prompt, "prompt", "the schedule")
		k.checkTime(p, s)
		k.checkAddress(p+".to", s.To)
	}
}

// checkTime checks when the schedule is due.
func (k *checker) checkTime(at string, s heartbeat.Schedule) {
	var given int
	for _, key := range []string{".cron", ".every", ".at"} {
		if k.set(at + key) {
			given++
		}
	}
	if given != 1 {
		k.fault(at, "the schedule has %d of cron, every and at; want one", given)
	}
	if s.Timezone != "" {
		if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
			k.fault(at+".timezone", "timezone %s: want an IANA name, such as Europe/Paris", k.quote(at+".timezone"))
		}
	}
	if k.set(at + ".cron") {
		if err := checkCron(s.Cron); err != nil {
			k.fault(at+".cron", "cron %s: %v", k.quote(at+".cron"), err)
		}
	}
	if s.Every > 0 && s.Every < time.Second {
		k.fault(at+".every", "every %s: want 1s or more", k.quote(at+".every"))
	}
	if k.set(at + ".at") {
		if _, err := time.Parse(time.RFC3339, s.At); err != nil {
			k.fault(at+".at", "at %s: want a time with its zone, such as 2027-01-31T08:00:00+01:00", k.quote(at+".at"))
		}
	}
}

func checkCron(spec string) error {
	const want = `want five or six fields, such as "0 8 * * 1-5"`
	if strings.Contains(spec, "TZ=") {
		return errors.New("a zone in cron; want it as timezone")
	}
	schedule, err := cronFields.Parse(spec)
	if err != nil {
		return errors.New(want)
	}
	if schedule.Next(time.Now()).IsZero() {
		return errors.New("a day that never comes; " + want)
	}
	return nil
}

func (k *checker) checkAddress(at string, to heartbeat.Address) {
	if !k.set(at) {
		return
	}
	k.required(at+".channel", to.Channel, "channel", "the address")
	k.token(at+".channel", "channel", to.Channel)
	k.token(at+".instance", "instance", to.Instance)
}

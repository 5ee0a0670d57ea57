//go:build unix && crashtest && long

package chaos_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agenthost/bus"
)

// Three hosts are restarted one after the other while people talk: nothing is lost
// or answered twice, and the answers are late only for a moment at each restart.
func TestRollingRestart(t *testing.T) {
	const hosts, people, lasts, between = 3, 500, 60 * time.Second, 10 * time.Second
	perSecond := pick(100, 500)
	w := external(t, "")
	var fleet [hosts]*process
	for i := range fleet {
		fleet[i] = newHost(t, w.config, strconv.Itoa(i))
		fleet[i].start()
	}
	w.hold(talk{channel: chat, people: 2, each: 1, word: "first"})
	w.audit()
	every := people * time.Second / time.Duration(perSecond)
	said := w.begin(talk{channel: chat, people: people, each: int(lasts / every), every: every, from: 1, spread: true})
	<-time.After(between) // into the load
	var restarts []time.Time
	for i, h := range fleet {
		restarts = append(restarts, time.Now())
		ready := h.count(`"ready"`)
		h.signal(syscall.SIGTERM)
		if code := h.awaitExit(patience); code != 0 {
			t.Errorf("host %d ended with code %d", i, code)
		}
		h.start()
		await(t, "the host to be back", func() bool { return h.count(`"ready"`) > ready })
		<-time.After(between) // the load goes on
	}
	<-said
	w.audit()
	t.Logf("restarted %d hosts under %d messages/s: %s\n%s%s", hosts, perSecond, w.summary(), w.latency(restarts), moves(fleet[:]))
}

// moves are the lines of the hosts' logs about lanes, and how often a fence refused them.
func moves(fleet []*process) (lines string) {
	for _, h := range fleet {
		for line := range strings.Lines(string(h.tail(1 << 20))) {
			if strings.Contains(line, "lane") || strings.Contains(line, "stopping") {
				lines += h.name + ": " + strings.TrimSuffix(line, "\n") + "\n"
			}
		}
		lines += fmt.Sprintf("%s: %d refused commits\n", h.name, h.count("another host has written"))
	}
	return lines
}

// latency is how long answers took, in each second of the load.
func (l *ledger) latency(marks []time.Time) (report string) {
	l.t.Helper()
	took := map[int64][]time.Duration{}
	for _, msg := range l.answers.msgs {
		out := bus.Outbound{}
		if err := json.Unmarshal(msg.Data, &out); err != nil {
			l.t.Fatal(err)
		}
		if s, ok := l.said[out.InReplyTo]; ok && out.Final {
			second := s.begun.Unix()
			took[second] = append(took[second], msg.Time.Sub(s.begun))
		}
	}
	var seconds []int64
	var all []time.Duration
	for second, list := range took {
		seconds = append(seconds, second)
		all = append(all, list...)
	}
	slices.Sort(seconds)
	usual := percentile(all, 50)
	for _, second := range seconds {
		mark := ""
		for _, m := range marks {
			if m.Unix() == second {
				mark = " restart"
			}
		}
		if p99 := percentile(took[second], 99); p99 > 10*usual+100*time.Millisecond || mark != "" {
			report += fmt.Sprintf("second %d: %d messages, p99 %v%s\n", second-seconds[0], len(took[second]), p99.Round(time.Millisecond), mark)
		}
	}
	return fmt.Sprintf("p50 %v, p99 %v, longest %v\n", usual.Round(time.Millisecond), percentile(all, 99).Round(time.Millisecond), percentile(all, 100).Round(time.Millisecond)) + report
}

// percentile is the value that p of 100 do not exceed.
func percentile(list []time.Duration, p int) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[max(0, (len(list)*p+99)/100-1)]
}

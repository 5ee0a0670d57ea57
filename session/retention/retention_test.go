package retention_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/session"
	"agenthost/session/retention"

	"github.com/rs/zerolog"
)

// pruned counts what is asked of an archive, by agent.
type pruned struct {
	asked map[string][]time.Time // the ages that were asked for
	files []time.Duration        // how long ago files must have been left
	left  int                    // how many there are
	fails int                    // which look for them fails
	err   error
	ahead time.Duration // by which the clock of NATS is
}

func (p *pruned) Now(context.Context) (time.Time, error) { return time.Now().Add(p.ahead), nil }

func (p *pruned) DeleteLeft(_ context.Context, before time.Time) (int, error) {
	p.files = append(p.files, time.Since(before))
	if len(p.files) == p.fails {
		return p.left, errors.New("no leader")
	}
	return p.left, nil
}

func (p *pruned) Prune(_ context.Context, agent string, before time.Time, busy func(session.Key) bool, gone func(session.Key)) (session.Pruning, error) {
	p.asked[agent] = append(p.asked[agent], before)
	if busy("web/dm/1") || p.err != nil {
		return session.Pruning{}, p.err
	}
	gone("web/dm/1")
	return session.Pruning{Sessions: 1, Commits: 2, Objects: 3}, nil
}

// Ages that are short are looked after often, long ones once an hour, and only the
// agents that this host owns at that moment.
func TestSweeperKeepsItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		archive := &pruned{asked: map[string][]time.Time{}}
		ages := map[string]time.Duration{"ana": 365 * 24 * time.Hour, "bob": time.Minute, "elsewhere": time.Minute}
		var gone []string
		log := &bytes.Buffer{}
		s := &retention.Sweeper{
			Archive: archive, Ages: func() map[string]time.Duration { return ages }, Log: zerolog.New(log),
			Owns: func(_ context.Context, agent string) (bool, error) { return agent != "elsewhere", nil },
			Busy: func(agent string, _ session.Key) bool { return agent == "bob" },
			Gone: func(agent string, key session.Key) { gone = append(gone, agent+" "+string(key)) },
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		begun := time.Now()
		time.Sleep(2*time.Hour + 30*time.Minute)
		cancel()
		<-done
		if n := len(archive.asked["ana"]); n != 3 {
			t.Errorf("ana was swept %d times in two and a half hours, want 3", n)
		}
		if n := len(archive.asked["bob"]); n != 150*20 && n != 150*20-1 {
			t.Errorf("bob was swept %d times, want every 3 s", n)
		}
		if n := len(archive.asked["elsewhere"]); n != 0 {
			t.Errorf("the agent of another host was swept %d times", n)
		}
		if before := archive.asked["ana"][0]; begun.Sub(before) < 364*24*time.Hour || begun.Sub(before) > 365*24*time.Hour {
			t.Errorf("ana: sessions before %v were deleted at %v", before, begun)
		}
		if len(gone) != 3 || gone[0] != "ana web/dm/1" {
			t.Errorf("gone: got %q", gone)
		}
		if text := log.String(); strings.Count(text, "\n") != 3 || !strings.Contains(text, `"agent":"ana"`) || !strings.Contains(text, `"sessions":1,"commits":2,"files":3`) {
			t.Errorf("got the log\n%s", text)
		}
	})
}

// What is old is so by the clock of NATS, whatever that of the host says.
func TestSweeperGoesByTheClockOfNATS(t *testing.T) {
	for _, ahead := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			archive := &pruned{asked: map[string][]time.Time{}, ahead: ahead, err: errors.New("none")}
			s := &retention.Sweeper{
				Archive: archive, Ages: func() map[string]time.Duration { return map[string]time.Duration{"ana": 24 * time.Hour} }, Log: zerolog.Nop(),
				Owns: func(context.Context, string) (bool, error) { return true, nil },
				Busy: func(string, session.Key) bool { return false }, Gone: func(string, session.Key) {},
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); s.Run(ctx) }()
			begun := time.Now()
			time.Sleep(2 * time.Hour)
			cancel()
			<-done
			for _, before := range archive.asked["ana"] {
				if off := before.Sub(begun.Add(ahead - 24*time.Hour)); off < 0 || off > 2*time.Hour {
					t.Errorf("NATS is %v ahead: sessions before %v were deleted at %v", ahead, before, begun)
				}
			}
			for _, age := range archive.files {
				if age != 24*time.Hour-ahead {
					t.Errorf("NATS is %v ahead: files that were left for %v were deleted", ahead, age)
				}
			}
			if len(archive.asked["ana"]) == 0 || len(archive.files) == 0 {
				t.Error("nothing was looked at")
			}
		})
	}
}

// Files that were left are looked for once an hour, each once a day, with or without
// agents that delete old sessions.
func TestSweeperDeletesLeftFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		archive, log := &pruned{left: 1, fails: 3}, &bytes.Buffer{}
		s := &retention.Sweeper{Archive: archive, Ages: func() map[string]time.Duration { return nil }, Log: zerolog.New(log)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		time.Sleep(3*time.Hour + 30*time.Minute)
		cancel()
		<-done
		if !slices.Equal(archive.files, []time.Duration{24 * time.Hour, 24 * time.Hour, 24 * time.Hour}) {
			t.Errorf("got files looked for that were left %v ago, want three times those of a day", archive.files)
		}
		if text := log.String(); strings.Count(text, `"files":1`) != 3 || strings.Count(text, "no leader") != 1 {
			t.Errorf("got the log\n%s", text)
		}
	})
}

// What fails is logged and tried again.
func TestSweeperTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		archive := &pruned{asked: map[string][]time.Time{}, err: errors.New("no leader")}
		log, tries := &bytes.Buffer{}, 0
		s := &retention.Sweeper{
			Archive: archive, Ages: func() map[string]time.Duration { return map[string]time.Duration{"ana": time.Minute} }, Log: zerolog.New(log),
			Owns: func(context.Context, string) (bool, error) {
				if tries++; tries == 1 {
					return false, errors.New("no answer")
				}
				return true, nil
			},
			Busy: func(string, session.Key) bool { return false }, Gone: func(string, session.Key) {},
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		time.Sleep(30 * time.Second)
		cancel()
		<-done
		if n := len(archive.asked["ana"]); n < 3 {
			t.Errorf("tried %d times, want again and again", n)
		}
		if !strings.Contains(log.String(), "no answer") || !strings.Contains(log.String(), "no leader") || !strings.Contains(log.String(), "retrying") {
			t.Errorf("got the log\n%s", log)
		}
	})
}

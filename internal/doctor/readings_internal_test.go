package doctor

import (
	"errors"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus/streams"
	"agenthost/client"
	"agenthost/config"
	"agenthost/internal/eval"
	"agenthost/llm"
	"agenthost/plugins"

	"github.com/nats-io/nats.go/jetstream"
)

// Each reading has its verdict, and says what is so.
func TestReadings(t *testing.T) {
	t.Parallel()
	const cheap, free = "cheap", "free"
	models := map[string]llm.Config{cheap: {Provider: "openai", Model: "gpt-5-mini"}, free: {Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1:1"}}
	state := func(s streams.State) func(note) { return func(o note) { o.stream(s) } }
	clock := func(skew time.Duration) func(note) { return func(o note) { o.clock(skew) } }
	tier := func(taken uint64, most int64) func(note) {
		return func(o note) {
			o.tier(" of the tier R3", jetstream.Tier{Store: taken, Limits: jetstream.AccountLimits{MaxStore: most}})
		}
	}
	disk := func(left uint64) func(note) { return func(o note) { o.disk(left) } }
	account := func(state string, waiting int) func(note) {
		return func(o note) {
			a := client.ChannelAccount{Owner: "kiwi"}
			a.State, a.Waiting, a.Error = state, waiting, "why"
			o.account(a)
		}
	}
	budget := func(b agents.Budget, models map[string]llm.Config, names ...string) func(note) {
		return func(o note) {
			a := config.Agent{}
			a.Model, a.Limits.Budget = names, b
			o.budget(models, a)
		}
	}
	beats := func(costs ...eval.HeartbeatCost) func(note) { return func(o note) { o.heartbeat(costs) } }
	window := func(c llm.Config) func(note) { return func(o note) { o.window(c) } }
	key := func(c llm.Config) func(note) { return func(o note) { o.key(c) } }
	rate := func(requests, atOnce int) func(note) {
		return func(o note) { o.rate(llm.Config{Rate: llm.Rate{Requests: requests, Concurrency: atOnce}}) }
	}
	away := func(err error) func(note) { return func(o note) { o.unreached("http://x", err) } }
	own := func(key string) llm.Config {
		return llm.Config{Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1:1", APIKey: key}
	}
	for name, tt := range map[string]struct {
		say  func(note)
		want string // verdicts and texts; empty: nothing
	}{
		"a stream that is well":       {state(streams.State{Has: 1, Replicas: 1}), ""},
		"a stream that is missing":    {state(streams.State{Missing: true, Has: 3, Lacks: "x", Losing: "y"}), ""},
		"a stream of no use":          {state(streams.State{Fault: errors.New("bad"), Has: 3, Replicas: 1}), "fail bad"},
		"settings that hosts set":     {state(streams.State{Lacks: "ttl"}), "warn lacks what hosts need: ttl"},
		"settings that lose messages": {state(streams.State{Losing: "max_msgs", Foreign: "max_msgs"}), "fail deletes messages that hosts have not read, or still need: max_msgs"},
		"settings of its own":         {state(streams.State{Losing: "max_msgs", Foreign: "max_msgs, max_age"}), "fail deletes messages … max_msgs|warn has settings of its own, which stay: max_msgs, max_age"},

		"clocks agree":         {clock(skewWarn - 1), "ok the server's agrees"},
		"clocks differ":        {clock(-skewWarn), "warn the server's clock and this machine's differ by 2s"},
		"clocks are far apart": {clock(-skewFail), "fail the server's clock and this machine's differ by 1m0s"},

		"storage without a limit": {tier(7, -1), ""},
		"no storage":              {tier(0, 0), "fail its account has no storage of the tier R3"},
		"storage":                 {tier(799, 1000), "ok 79% of the storage of the tier R3 of its account is taken (799 bytes of 1.0 kB)"},
		"storage that is short":   {tier(949, 1000), "warn 94%"},
		"storage at 80":           {tier(800, 1000), "warn 80%"},
		"storage that is full":    {tier(950, 1000), "fail 95%"},

		"a disk":            {disk(diskWarn), "ok its disk has 1.1 GB left"},
		"a disk with less":  {disk(diskWarn - 1), "warn its disk has"},
		"a disk at the end": {disk(diskFail - 1), "fail its disk has 67.1 MB left"},
		"a disk before it":  {disk(diskFail), "warn its disk has 67.1 MB left"},

		"an account":                    {account(plugins.StateConnected, 0), "ok connected, by the host kiwi"},
		"an account that is refused":    {account(plugins.StateRefused, 0), "fail refused: why"},
		"an account that has failed":    {account("failed", 0), "fail failed: why"},
		"an account that was lost":      {account(plugins.StateRetrying, 0), "fail reconnecting: why"},
		"an account that begins":        {account(plugins.StateConnecting, 0), "warn it is connecting"},
		"an account that was removed":   {account(client.StateUnconfigured, 0), "ok no host has it in its configuration"},
		"an account that has work left": {account(client.StateUnconfigured, 3), "warn no host has it in its configuration, and 3 replies wait for it"},

		"a budget": {
			budget(agents.Budget{Run: 1, Session: 2, Day: 3, Month: 4, PeerDay: 5}, models, cheap),
			"ok budget of $1.00 a run, $2.00 a session, $3.00 a day, $4.00 a month, $5.00 a person and day; then: fail",
		},
		"a budget that asks":           {budget(agents.Budget{Day: 3, OnExceed: "ask"}, models, cheap), "ok budget of $3.00 a day; then: ask"},
		"a budget that counts a part":  {budget(agents.Budget{Day: 3}, models, cheap, free), "warn its budget ($3.00 a day) does not count calls of free, which have no price"},
		"no budget":                    {budget(agents.Budget{}, models, free, cheap), "warn it costs money and has no budget"},
		"no budget, and nothing costs": {budget(agents.Budget{}, models, free), ""},

		"heartbeats": {
			beats(eval.HeartbeatCost{Agent: "other", Enabled: true, Calls: 1}, eval.HeartbeatCost{Agent: "it", Enabled: true, Interval: "1h", Calls: 24, Input: 5, Output: 6, Priced: true, Dollars: 2}),
			"ok a heartbeat every 1h: 24 calls a day, with 5 tokens in and 6 out, for $2.00",
		},
		"heartbeats that watch":   {beats(eval.HeartbeatCost{Agent: "it", Enabled: true, Watches: true, Calls: 24}), "ok a heartbeat every : at most 24 calls a day, with 0 tokens in and 0 out, at a price that is not known"},
		"heartbeats that are off": {beats(eval.HeartbeatCost{Agent: "it", Calls: 24}), ""},

		"a window":                  {window(llm.Config{Provider: "openai", Model: "gpt-4o", Window: 128_000, MaxTokens: 127_999}), "ok window of 128000 tokens, as is configured"},
		"a window that is too wide": {window(llm.Config{Provider: "openai", Model: "gpt-4o", Window: 128_001}), "warn its window is set to 128001 tokens, and it has 128000"},
		"a window of its own":       {window(llm.Config{Provider: "openai", Model: "m", Window: leastWindow}), "ok window of 2048 tokens"},
		"no room for a question":    {window(llm.Config{Provider: "openai", Model: "m", Window: 4096, MaxTokens: 4096}), "ok window of 4096 …|warn max_tokens (4096) leaves nothing"},

		"no rate":   {rate(0, 0), ""},
		"a rate":    {rate(1, 0), "ok at most 1 call a minute, by each host"},
		"few calls": {rate(0, 2), "ok at most 2 at once, by each host"},

		"a server that refuses": {away(&url.Error{Op: "Get", URL: "http://x?key=1", Err: syscall.ECONNREFUSED}), "fail nothing answers at http://x"},
		"a server out of reach": {away(&url.Error{Op: "Get", URL: "http://x?key=1", Err: errors.New("odd")}), "fail http://x cannot be reached: odd"},

		"no key, and none is needed":  {key(own("")), "ok no key, as for a server of one's own"},
		"any key where none is":       {key(own("test")), "ok a key of 4 characters is set"},
		"a bad key for one's own":     {key(own("a b")), "warn the key (3 characters) has blanks inside"},
		"a bad key":                   {key(llm.Config{Provider: "anthropic", APIKey: "a b"}), "fail the key (3 characters) has blanks inside"},
		"a key that cannot be one":    {key(llm.Config{Provider: "gemini", APIKey: "schlüssel"}), "fail the key (9 characters) has characters that no key has"},
		"a key with a control":        {key(llm.Config{Provider: "gemini", APIKey: "a\x00b"}), "fail the key (3 characters) has characters that no key has"},
		"dots in the place of a key":  {key(llm.Config{Provider: "gemini", APIKey: "…"}), "fail the key (1 character) is what stands in examples"},
		"a vendor behind an address":  {key(llm.Config{Provider: "openai", Model: "gpt-5-mini", BaseURL: "https://api.openai.com/v1"}), "fail it has no key"},
		"anthropic behind an address": {key(llm.Config{Provider: "anthropic", BaseURL: "http://127.0.0.1:1"}), "ok no key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &notes{}
			tt.say(n.on("group", "it"))
			want := strings.Split(tt.want, "|")
			if tt.want == "" {
				want = nil
			}
			if len(n.list) != len(want) {
				t.Fatalf("got %+v, want %q", n.list, want)
			}
			for i, f := range n.list {
				line := string(f.Verdict) + " " + f.Text
				for part := range strings.SplitSeq(want[i], "…") {
					if part = strings.TrimSpace(part); part != "" && !strings.Contains(line, part) {
						t.Errorf("got %q, want %q", line, want[i])
					}
				}
			}
		})
	}
}

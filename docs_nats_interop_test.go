//go:build interop

package agenthost_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// natsHost is what the blocks with the nats command are about: the agents that the
// pages name.
const natsHost = `mkdir ~/fleet && cd ~/fleet
cat > agenthost.yaml <<'END'
models:
  main: {provider: scripted, script: play.yaml, price: {input: 1, output: 1}}
agents:
  - id: ana
    model: main
    channels: [web, telegram]
    tools: [write_file]
    limits: {budget: {day: 5}}
    heartbeat: {enabled: true, interval: 3s}
  - {id: assistant, model: main, channels: [demo]}
http: {listen: ""}
END
cat > play.yaml <<'END'
rules:
  - {when: note, tool_calls: [{name: write_file, args: {path: note.txt, text: hi}}]}
  - {text: "You said: ${text}", usage: {input: 10, output: 100}}
END
echo picture > photo.png
agenthost run 2> host.log &
`

// A natsBlock is a block with the nats command, what has to be there before it, and
// what it prints.
type natsBlock struct {
	page, block string // the page, and a line of the block
	before      string
	fill        map[string]string // the commands that print what stands for an example
	want        []string          // in what it prints; of a subscription, sooner or later
	subscribed  string            // a subject of it, to know when it is
	look        string            // what prints it then, if the subscription does not
	config      string            // of the host, if not that of the folder
}

var natsBlocks = []natsBlock{
	{
		page: "README.md", block: "nats pub plugin.inbound.demo 'hello'", subscribed: "plugin.outbound.demo",
		before: "mkdir ~/demo && cd ~/demo\nagenthost run 2> host.log &\n",
		want:   []string{`"text":"hello"`, `"final":true`, `"in_reply_to":"`},
	},
	{
		page: "docs/behaviors.md", block: "nats pub plugin.inbound.door", subscribed: "plugin.outbound.door",
		before: stopped + "cd ~/clone\ngo build -C examples/greeter -o ~/greeter .\n" + // go run would leave it behind
			"(cd examples/greeter && exec ~/greeter agenthost.yaml 2> ~/greeter.log) &\n" +
			"until grep -q ' ready ' ~/greeter.log; do sleep 0.1; done\n",
		config: "examples/greeter/agenthost.yaml",
		want:   []string{`"agent":"greeter".*Ana`},
	},
	{
		page: "docs/getting-started.md", block: "nats pub plugin.inbound.demo", subscribed: "plugin.outbound.demo",
		before: stopped + "rm -r ~/clone/examples/greeter/data\n" + natsHost,
		want:   []string{`"in_reply_to":"demo-1"`, `You said: what is a derailleur\?`},
	},
	{page: "docs/getting-started.md", block: "nats-context --select", want: []string{`AGENT_SESSIONS`, `"key":"demo/dm/ana@example.org"`}},
	{
		page: "docs/budgets.md", block: "nats kv get AGENT_SPEND",
		before: `agenthost send ana hello --wait --session s
`,
		fill: map[string]string{"2026-11-21": "date -u +%F"},
		want: []string{`"spent":[1-9]`, `"models":\{"main":[1-9]`, `"hosts":`},
	},
	{page: "docs/hooks.md", block: "nats reply acme.moderate", look: `nats req acme.moderate '{}'`, want: []string{`"action":"continue"`}},
	{
		page: "docs/heartbeats.md", block: "agent.events.ana.heartbeat",
		before: "until nats stream get AGENT_EVENTS --last-for agent.events.ana.heartbeat > /dev/null 2>&1; do sleep 0.1; done\n",
		want:   []string{`"agent":"ana"`, `"phase":"idle"`},
	},
	{page: "docs/models.md", block: "agenthost.breaker", want: []string{`\{"ok":true\}`}},
	{
		page: "docs/subjects.md", block: "nats req agenthost.approve",
		before: `agenthost models reset main
nats pub plugin.inbound.web '{"from":"7","text":"note"}'
until agenthost approvals ls | grep -q 'wants to write'; do sleep 0.1; done
`,
		fill: map[string]string{
			"ana.2lq7dk6jx4nbmzc5tyhe.m5kq2vthx7r4c6oyd3jwabzn2e": `agenthost approvals ls | sed -n 's/^\(ana\.[^ ]*\).*/\1/p'`,
		},
		want: []string{`\{"ok":true\}`},
	},
	{
		page: "docs/subjects.md", block: "nats req agenthost.dead.ls",
		before: `nats pub plugin.inbound.web '{'
until agenthost dead ls | grep -q plugin.inbound.web; do sleep 0.1; done
`,
		fill: map[string]string{"[17]": "echo '[1]'"},
		want: []string{`"letters":\[`, `"retried":\[\{"dead_seq":1`},
	},
	{page: "docs/streaming.md", block: "nats object put", want: []string{`telegram-AgADBAAD`, `Published`}},
	{
		page: "docs/streaming.md", block: "nats object get",
		fill: map[string]string{"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824": "echo telegram-AgADBAAD"},
		want: []string{`picture\.png`},
	},
	{
		page: "docs/hooks.md", block: "nats object get",
		before: "echo '{}' >whole.json\nnats object put AGENT_FILES whole.json --name agenthost-lent-46XV3Q2PUBI4MBFJKC5E7WM6LS --force\n",
		want:   []string{`request\.json`},
	},
	{
		page: "docs/doors/agentprotocol.md", block: "agents.prompt.agenthost.default.assistant",
		want: []string{`(?m)^\{"type":"status","data":"ack"\}`, `(?m)^\{"type":"response","data":"You said: hello"\}`, `"interval_s":30`, `"max_payload":"768KB"`},
	},
	{
		page: "docs/operations.md", block: "nats sub --stream AGENT_INBOUND",
		before: `nats pub plugin.inbound.telegram '{"id":"tg-1","from":"7","text":"hello"}'
`,
		want: []string{`AGENT_INBOUND seq: \d+ .*plugin\.inbound\.telegram`, `"id":"tg-1"`},
	},
	{
		page: "docs/operations.md", block: "nats stream purge",
		fill: map[string]string{"<sid>": `nats stream subjects AGENT_SESSIONS --names | sed -n 's/^agent\.session\.ana\.//p' | head -1`},
		want: []string{`AGENT_SESSIONS`},
	},
	{page: "docs/operations.md", block: "agenthost agents --context agenthost", before: "rm -r ~/.config/nats\n", want: []string{`AGENT_ROUTES`, `(?m)^ana +ready`}},
}

func (b natsBlock) configured() string {
	if b.config == "" {
		return ""
	}
	return "-c " + b.config
}

// stopped ends the host of the block before.
const stopped = "kill $(jobs -p); wait\n"

var natsLine = regexp.MustCompile(`(?m)^nats `)

// The blocks of all pages with the nats command, run by it as they are written.
func TestInteropNATSCommand(t *testing.T) {
	if _, err := exec.LookPath("nats"); err != nil {
		t.Fatalf("install the nats command (github.com/nats-io/natscli/nats): %v", err)
	}
	binary, here := built(t), workingFolder(t)
	w := newWalk(t)
	w.run(fmt.Sprintf("export PATH=%q:$PATH XDG_CONFIG_HOME=~/.config\nln -s %q ~/clone\n", filepath.Dir(binary), here))
	left := natsFences(t)
	for _, b := range natsBlocks {
		i := slices.IndexFunc(left, func(f fence) bool { return f.page == b.page && strings.Contains(f.text, b.block) })
		if i < 0 {
			t.Errorf("%s has no block with %q", b.page, b.block)
			continue
		}
		w.nats(left[i], b)
		left = slices.Delete(left, i, i+1)
	}
	for _, f := range left {
		t.Errorf("%v: this block is not run:\n%s", f, f.text)
	}
}

func workingFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func natsFences(t *testing.T) []fence {
	t.Helper()
	var list []fence
	for _, info := range []string{"sh", "sh nats"} {
		for _, f := range fences(t, info) {
			if natsLine.MatchString(f.text) {
				list = append(list, f)
			}
		}
	}
	return list
}

// nats runs a block. A subscription of it goes on beside the rest, until it has
// printed what is wanted.
func (w *walk) nats(f fence, b natsBlock) {
	w.t.Helper()
	if b.before != "" {
		w.block(fence{page: f.page, line: f.line, text: b.before})
	}
	for example, command := range b.fill {
		f.text = strings.ReplaceAll(f.text, example, strings.TrimSpace(w.run(command+"\n")))
	}
	first, subscription, rest := cutSubscription(f.text)
	said := w.plain(f, first)
	if subscription != "" {
		w.run(subscription + " > ~/heard 2>&1 &\nheard=$!\n")
		if b.subscribed != "" {
			w.until("agenthost nats-context --force "+b.configured()+" > /dev/null; nats --context agenthost pub "+b.subscribed+" probe; cat ~/heard", `(?m)^probe$`)
			w.run("rm -r ~/.config/nats\n")
		}
	}
	said += w.plain(f, rest)
	for _, want := range b.want {
		if subscription != "" && !regexp.MustCompile(want).MatchString(said) {
			w.until(cmp.Or(b.look, "cat ~/heard"), want)
		} else if !regexp.MustCompile(want).MatchString(said) {
			w.t.Errorf("%v: want %s in\n%s", f, want, said)
		}
	}
	if subscription != "" {
		w.run("kill $heard; wait $heard || true\n")
	}
}

// plain is block for what does not go on.
func (w *walk) plain(f fence, text string) string {
	w.t.Helper()
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return w.block(fence{page: f.page, line: f.line, text: text})
}

// cutSubscription takes the line out of a block that goes on.
func cutSubscription(text string) (first, subscription, rest string) {
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "nats sub ") || strings.HasPrefix(line, "nats reply "):
			subscription = strings.TrimSuffix(strings.TrimSpace(line), " &")
		case subscription == "":
			first += line
		default:
			rest += line
		}
	}
	return first, subscription, rest
}

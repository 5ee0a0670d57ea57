package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/host"
	"agenthost/internal/cli"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	bustest.TempInMemory()
	host.Begin() // this binary is also the sandbox of the commands of its hosts
	bustest.ManyAtOnce()
	testscript.Main(m, map[string]func(){"agenthost": main})
}

func TestUsageErrors(t *testing.T) {
	tests := map[string]struct{ args, want string }{
		"unknown command":          {"foo", `unknown command "foo"`},
		"nearly a command":         {"chatt", `did you mean "chat"?`},
		"nearly a command below":   {"dead purg", `did you mean "purge"?`},
		"a word for run":           {"start", `did you mean "run"?`},
		"a word for fleet":         {"status", `did you mean "fleet"?`},
		"a word for approvals":     {"approve", `did you mean "approvals"?`},
		"a word for drain":         {"stop", `did you mean "drain"?`},
		"a word for abort":         {"runs stop", `did you mean "abort"?`},
		"a word for delete":        {"sessions rm", `did you mean "delete"?`},
		"unknown flag":             {"run --foo", "unknown flag: --foo"},
		"unknown flag of the root": {"--foo", "unknown flag: --foo"},
		"flag without its value":   {"run --name", "flag needs an argument: --name"},
		"arguments where none":     {"run now", `want no arguments, got ["now"]`},
		"configuration as one":     {"check bots.yaml", "a configuration is given with -c bots.yaml"},
		"too few arguments":        {"send ana", "want AGENT TEXT; TEXT is missing"},
		"too many arguments":       {"send ana a b", `want AGENT TEXT, got ["b"] too many`},
		"duration":                 {"run --grace soon", `invalid argument "soon"`},
		"duration in Go's words":   {"send ana hi --timeout 5", `invalid argument "5" for "--timeout" flag: want a duration such as 30s or 10m`},
		"number of a list":         {"sessions ls --limit many", `invalid argument "many" for "--limit" flag: want a whole number`},
		"number below nothing":     {"sessions ls --after -5", `invalid argument "-5" for "--after" flag: want a whole number, 0 or more`},
		"number beyond all":        {"bench --sessions 99999999999999999999", `invalid argument "99999999999999999999" for "--sessions" flag: want a smaller number`},
		"share of seconds":         {"bench --rate fast", `invalid argument "fast" for "--rate" flag: want a number`},
		"name of a host":           {"run --name a/b", `--name "a/b": want one without slashes and spaces`},
		"agents to probe":          {"probe ana bob", `want [AGENT], got ["bob"] too many`},
		"no time to probe":         {"probe --timeout 0s", "--timeout 0s: want more than 0"},
		"arguments of no object":   {"approvals answer x approve --args {path", `--args: want a JSON object, such as {"path":"other.txt"}`},
		"arguments in a list":      {"approvals answer x approve --args []", `--args: want a JSON object`},
		"negative grace":           {"run --grace -1s", "--grace -1s: want 0 or more"},
		"log level":                {"run --log-level loud", "want one of trace, debug, info, warn, error"},
		"log format":               {"chat --log-format xml", "want one of auto, text, json"},
		"agent of send":            {"send a.b hi", `agent "a.b": want 1 to 63 of a-z, 0-9, _ and -`},
		"agent of chat":            {"chat *", `agent "*": want`},
		"agent of dead letters":    {"dead ls A", `agent "A": want`},
		"agent to retry":           {"dead retry --all >", `agent ">": want`},
		"empty message":            {"send ana -", "the message is empty"},
		"no sender":                {"send ana hi --from=", "--from is empty"},
		"no time to wait":          {"send ana hi --timeout 0s", "--timeout 0s: want more than 0"},
		"lanes that are no number": {"lanes four", `lanes "four": want a number from 1 to 64`},
		"too many lanes":           {"lanes 65", `lanes "65": want a number from 1 to 64`},
		"no lanes":                 {"lanes", "want N; N is missing"},
		"dead letter by name":      {"dead show x", `dead letter "x": want its number`},
		"dead letter zero":         {"dead retry 0", `dead letter "0": want its number`},
		"none to retry":            {"dead retry", "want NUMBER or ID, or --all"},
		"all of two agents":        {"dead purge --all a b", "want at most one AGENT with --all"},
		"no terminal":              {"dead purge 1", "use --force"},
		"nobody to erase":          {"erase", "say whom to erase: --peer"},
		"erased by a key":          {"erase --peer web/dm/ana", `"web/dm/ana" is the key of a session; name the person as web/ana`},
		"no terminal to erase":     {"erase --peer web/ana", "use --force"},
		"agent of an erasure":      {"erase --peer ana --agent A --dry-run", `agent "A": want`},
		"agent of approvals":       {"approvals ls --agent A", `agent "A": want`},
		"no answer":                {"approvals answer x", "want ID approve|deny|TEXT; approve|deny|TEXT is missing"},
		"no such scope":            {"approvals answer x approve --scope ever", "want one of once, session, always"},
		"nobody who answers":       {"approvals answer x approve --by=", "--by is empty"},
		"scope of a refusal":       {"approvals answer x deny --scope session", "--scope needs the answer approve"},
		"arguments of a refusal":   {`approvals answer x deny --args {}`, "--args needs the answer approve"},
		"null as arguments":        {"approvals answer x approve --args null", "--args: want a JSON object"},
		"no time to answer":        {"approvals answer x approve --timeout 0s", "--timeout 0s: want more than 0"},
		"agent of a run":           {"runs abort A x", `agent "A": want`},
		"nobody who stops":         {"runs abort ana x --by=", "--by is empty"},
		"half a bench of a host":   {"bench -s nats://127.0.0.1:1", "--channel"},
		"bench of another's model": {"bench --channel web --model openai", "--model is for a host that bench starts"},
		"echo with tools":          {"bench --tools 1", "the echo model neither calls tools nor waits"},
		"two ends of a bench":      {"bench --messages 1 --duration 1s", "messages and duration: want one of them"},
		"bench of nothing":         {"bench --sessions -1", "sessions -1: want 1 or more"},
		"bench of no rounds":       {"bench --rounds 0", "rounds 0: want 1 or more"},
		"bench of no agents":       {"bench --idle 0", "--idle 0: want 1 agent or more"},
		"sync of a bench":          {"bench --sync soon", `--sync "soon": want always, interval`},
		"version of no command":    {"sesions --version", `unknown command "sesions"; did you mean "sessions"?`},
		"version before none":      {"-v nosuch", `unknown command "nosuch"`},
		"flag before no command":   {"-c F nosuch", `unknown command "nosuch"`},
		"flag behind no command":   {"nosuch -c F", `unknown command "nosuch"`},
		"flag behind none below":   {"sessions nosuch --limit 5", `unknown command "nosuch"`},
		"flag of commands":         {"-c F", "unknown shorthand flag: 'c' in -c; it belongs behind the name of a command"},
		"flag of commands, long":   {"--config=F", "unknown flag: --config; it belongs behind the name of a command"},
		"flag of commands below":   {"sessions --limit 5", "unknown flag: --limit; it belongs behind the name of a command"},
		"help of no command":       {"help sesions", `unknown command "sesions"; did you mean "sessions"?`},
		"help of none below":       {"help sessions nosuch", `unknown command "nosuch"`},
		"help by flag of none":     {"sesions --help", `unknown command "sesions"; did you mean "sessions"?`},
		"help by flag, none below": {"sessions nosuch -h", `unknown command "nosuch"`},
		"help by flag, then none":  {"-s nats://127.0.0.1:1 dead --help purg", `unknown command "purg"; did you mean "purge"?`},
		"help of an argument":      {"help send ana", `agenthost send has no command "ana"`},
		"two sessions of a chat":   {"chat ana --last --session x", "--last and --session: want one of them"},
		"session of a channel":     {"send ana hi --session web/dm/7", "belongs to a chat and can only be continued there; want a name, or a key such as route/cli/apples"},
		"two places to restore":    {"restore backup --store data -s nats://127.0.0.1:1", "--store and --server: want one of them"},
		"a context and a store":    {"restore backup --store data --context prod", "--store and --context: want one of them"},
		"two places to read":       {"sessions ls --store data -s nats://127.0.0.1:1", "--store and --server: want one of them"},
		"two places to scrub":      {"scrub --store data --context prod", "--store and --context: want one of them"},
		"two agents of a list":     {"sessions ls ana --agent bob", "--agent bob, and ana: name one agent"},
		"age of a list":            {"runs ls --since soon", "want a duration such as 90m or 2d"},
		"search of nothing":        {"sessions search", "want TEXT; TEXT is missing"},
		"no time to stop":          {"runs abort ana x --timeout -1s", "--timeout -1s: want more than 0"},
		"id of a lost variable":    {"why ''", "want ID; ID is empty"},
		"agent of a lost variable": {"pause ''", "AGENT is empty"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := strings.Fields(tt.args)
			for i := range args {
				args[i] = strings.Trim(args[i], "'")
			}
			code := execute(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
			if code != cli.CodeUsage {
				t.Errorf("exit code: got %d, want %d", code, cli.CodeUsage)
			}
			if stdout.Len() > 0 {
				t.Errorf("standard output: %q", stdout.String())
			}
			lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
			if len(lines) != 2 || !strings.HasPrefix(lines[0], "agenthost: ") || !strings.Contains(lines[0], tt.want) {
				t.Errorf("got %q, want agenthost: … %s …", lines, tt.want)
			}
			if help := lines[len(lines)-1]; !strings.HasPrefix(help, `Run "agenthost`) || !strings.HasSuffix(help, `--help" for help.`) {
				t.Errorf("how to get help: %q", help)
			}
		})
	}
}

// Who starts the program for the first time reads how to see it work, without a file.
func TestHelpOfTheFirstStart(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := execute(t.Context(), nil, strings.NewReader(""), &stdout, &stderr)
	_, examples, _ := strings.Cut(stdout.String(), "Examples:\n")
	first, _, _ := strings.Cut(examples, "agenthost chat")
	got := strings.Join(strings.Fields(first), " ")
	want := "agenthost run serve the agents of ./agenthost.yaml; without that file a demo, with a chat page in the browser"
	if code != cli.CodeDone || got != want || stderr.Len() > 0 {
		t.Errorf("exit code %d, got %q, want %q; %s", code, got, want, &stderr)
	}
}

// Help is asked for before or after the name of the command.
func TestHelpByFlag(t *testing.T) {
	for _, args := range []string{"sessions ls --help", "sessions --help ls", "--help sessions ls", "-h sessions ls", "help sessions ls"} {
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), strings.Fields(args), strings.NewReader(""), &stdout, &stderr)
		if code != cli.CodeDone || !strings.Contains(stdout.String(), "agenthost sessions ls [AGENT] [flags]") {
			t.Errorf("%s: exit code %d, %.80q %s", args, code, &stdout, &stderr)
		}
	}
}

// Every command shows how it is used.
func TestEveryCommandHasAnExample(t *testing.T) {
	for _, c := range newApp(nil, nil, nil, os.Getenv).root().Commands() {
		for _, cmd := range append(c.Commands(), c) {
			if cmd.Example == "" || cmd.Short == "" {
				t.Errorf("%s: no example, or no line about it", cmd.CommandPath())
			}
		}
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script")
}

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir: dir, Setup: setup, RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start, "signal": signalHost, "ended": ended, "logged": logged,
			"publish": publish, "buried": buried, "running": running, "busy": busy,
			"waiting": waiting, "allowed": allowed, "asked-pairing": askedPairing, "empty-nats": emptyNATS,
		},
	})
}

// setup keeps a script from an Ollama of this machine.
func setup(env *testscript.Env) error {
	env.Setenv("OLLAMA_HOST", "127.0.0.1:1")
	env.Setenv("NO_COLOR", "1")
	env.Setenv("GORACE", "atexit_sleep_ms=0") // else each process takes a second to end
	env.Values[vars{}] = env
	return nil
}

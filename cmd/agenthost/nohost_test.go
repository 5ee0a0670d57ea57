package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/cli"
	"agenthost/internal/freeport"

	"github.com/nats-io/nats-server/v2/server"
)

// call runs a command and returns what it printed.
func call(t *testing.T, code int, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := execute(t.Context(), args, strings.NewReader(stdin), &out, &errs); got != code {
		t.Errorf("%q: exit code: got %d, want %d; %s", args, got, code, &errs)
	}
	return out.String(), errs.String()
}

func contains(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %q, want … %s …", got, want)
	}
}

// A NATS that no host has ever used.
func TestEmptyNATS(t *testing.T) {
	if alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	url, _ := bustest.Server(t)
	for command, want := range map[string]string{
		"send demo hi": "send to demo: there is no stream for it: no host has run on this NATS yet",
		"agents":       "no host answers",
		"chat":         "no host answers there; start one",
		"dead ls":      "no stream AGENT_DEAD: no host has run on this NATS yet",
		"dead show 1":  "no stream AGENT_DEAD",
		"dead retry 1": "no stream AGENT_DEAD",
		"lanes 2":      "change lanes: ",

		"audit":                      "read the audit log: no stream AGENT_AUDIT: no host of this version has run on this NATS yet",
		"audit --json":               "no stream AGENT_AUDIT",
		"memory ls":                  "no host has run on this NATS yet",
		"approvals ls":               "no host has run on this NATS yet",
		"approvals allowed":          "no host has run on this NATS yet",
		"approvals revoke x":         `revoke "x": list standing approvals: nats: bucket not found: no host has run on this NATS yet`,
		"runs abort demo x":          "stop x of demo: there is no stream for it: no host has run on this NATS yet",
		"sessions ls":                "no stream AGENT_SESSIONS: no host has run on this NATS yet",
		"sessions show a web/dm/x":   "agenthost: no stream AGENT_SESSIONS: no host has run on this NATS yet",
		"sessions export a web/dm/x": "no host has run on this NATS yet",
		"sessions tail a web/dm/x":   "no host has run on this NATS yet",
		"sessions replay a web/dm/x": "no host has run on this NATS yet",
		"sessions fork a web/dm/x":   "no host has run on this NATS yet",

		"erase --peer web/x --force":              "no stream AGENT_SESSIONS: no host has run on this NATS yet",
		"sessions delete a web/dm/x --force":      "no host has run on this NATS yet",
		"sessions delete a --peer x --force":      "no host has run on this NATS yet",
		"approvals answer " + waitID + " approve": "no host has run on this NATS yet",

		"send demo x -c": "no such file",
	} {
		args := strings.Fields(command)
		if args[len(args)-1] == "-c" {
			args = append(args, "nowhere.yaml")
		}
		stdout, stderr := call(t, cli.CodeFailed, "", append(args, "-s", url)...)
		contains(t, stderr, want)
		if strings.Contains(stderr, "the message waits") {
			t.Errorf("%s: nothing took the message: %s", command, stderr)
		}
		if stdout != "" {
			t.Errorf("%s: standard output: %q", command, stdout)
		}
	}
}

// A NATS that keeps nothing.
func TestNoJetStream(t *testing.T) {
	t.Chdir(t.TempDir())
	url, _ := bustest.Server(t, func(o *server.Options) { o.JetStream = false })
	for _, command := range []string{
		"approvals ls", "approvals allowed", "dead ls", "sessions ls", "sessions show a web/dm/x", "schedules ls", "memory ls", "lanes 2", "scrub",
	} {
		_, stderr := call(t, cli.CodeFailed, "", append(strings.Fields(command), "-s", url)...)
		contains(t, stderr, "JetStream does not answer there: start that server with -js")
	}
}

// A message that is sent while no host runs waits for the next.
func TestSendWithoutAHost(t *testing.T) {
	t.Chdir(t.TempDir())
	url, _ := bustest.Server(t)
	// A chat with a configuration starts a host on the NATS that it names.
	file := "nats: {url: \"" + url + "\"}\nmodels: {main: {provider: echo}}\nagents: [{id: demo}]\n"
	if err := os.WriteFile(cli.DefaultConfig, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, _ := call(t, cli.CodeDone, "first\n", "chat"); stdout != "first\n" {
		t.Errorf("chat: %q", stdout)
	}

	stdout, stderr := call(t, cli.CodeDone, "", "send", "demo", "hi", "-s", url)
	contains(t, stderr, "agenthost: no host is running; the message waits")
	if len(strings.Fields(stdout)) != 1 {
		t.Errorf("standard output: %q", stdout)
	}
	_, stderr = call(t, cli.CodeFailed, "", "send", "demo", "hi", "--wait", "--timeout", "1ms", "-s", url)
	contains(t, stderr, "no answer of demo within 1ms")
	if stdout, _ := call(t, cli.CodeDone, "hello\n", "chat"); stdout != "hello\n" {
		t.Errorf("chat: %q", stdout)
	}
}

// A host that was started for a restore would make the streams that must not be there. With port 0
// the address is that of the host before, which was killed.
func TestRestoreWithoutAServer(t *testing.T) {
	address := freeport.Address(t)
	for _, listen := range []string{address, "127.0.0.1:0"} {
		t.Chdir(t.TempDir())
		file := "nats: {embedded: {listen: \"" + listen + "\"}}\nmodels: {main: {provider: echo}}\nagents: [{id: demo}]\n"
		err := errors.Join(os.WriteFile(cli.DefaultConfig, []byte(file), 0o600),
			os.Mkdir("data", 0o700), os.WriteFile(filepath.Join("data", "address"), []byte(address), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		_, stderr := call(t, cli.CodeFailed, "", "restore", "copy")
		contains(t, stderr, "restore: no server answers at "+address)
		contains(t, stderr, "name its data folder while its host is stopped: --store data")
		if strings.Contains(stderr, "start a host") {
			t.Errorf("got %q", stderr)
		}
	}
}

// The way of a message is in the streams: no host needs to run.
func TestWhyWithoutAHost(t *testing.T) {
	t.Chdir(t.TempDir())
	url, _ := bustest.Server(t)
	h := startHostIn(t, configured(t, strings.Replace(quietConfig, "id: ana", "id: demo", 1)), nil, "-s", url, "--name", "blue")
	h.until(t, "ready")
	stdout, _ := call(t, cli.CodeDone, "", "send", "demo", "hi", "--wait", "--json", "-s", url)
	reply := bus.Route{}
	if err := json.Unmarshal([]byte(stdout), &reply); err != nil {
		t.Fatalf("got %q, %v", stdout, err)
	}
	h.kill()
	run, _, _ := strings.Cut(reply.ID, ".")
	for id, kind := range map[string]string{reply.InReplyTo: "inbound", reply.ID: "outbound", run: "run"} {
		stdout, _ := call(t, cli.CodeDone, "", "why", id, "-s", url)
		contains(t, stdout, kind+" "+id+": answered\n")
		contains(t, stdout, "demo on blue")
		contains(t, stdout, "run ended")
	}
	stdout, _ = call(t, cli.CodeDone, "", "send", "demo", "later", "-s", url)
	id := strings.TrimSpace(stdout)
	stdout, _ = call(t, cli.CodeDone, "", "why", id, "-s", url)
	contains(t, stdout, "inbound "+id+": waiting\n")
	_, stderr := call(t, cli.CodeFailed, "", "why", "none", "-s", url)
	contains(t, stderr, "no stream has anything of this id")
}

// Without a configuration it is the demo.
func TestSettingsWithoutAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	a := newApp(nil, nil, nil, func(string) string { return "" })
	cfg, path, err := a.Settings()
	if err != nil || path != "" || len(cfg.Agents) != 1 || cfg.Agents[0].ID != "demo" {
		t.Errorf("got %+v, %q, %v", cfg, path, err)
	}
}

// A NATS that does not know the user says which flags name another one.
func TestWrongCredentials(t *testing.T) {
	t.Chdir(t.TempDir())
	url, _ := bustest.Server(t, func(o *server.Options) { o.Authorization = "right" })
	for _, command := range []string{"agents", "sessions ls", "why x", "send demo hi", "chat"} {
		_, stderr := call(t, cli.CodeFailed, "", append(strings.Fields(command), "-s", url, "--token", "wrong")...)
		contains(t, stderr, "Authorization Violation; name a user of that NATS with --token, --user and --password, --creds, --nkey or --context")
	}
}

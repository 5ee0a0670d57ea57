package sandbox_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/internal/sandbox"
)

func TestSandboxedSaysWhat(t *testing.T) {
	got := sandbox.Check()
	if levels := sandbox.Levels(); got.Layers == "" || got.Confined != (len(levels) > 0) {
		t.Errorf("got %+v with %v", got, levels)
	}
}

func TestProtectionSaysWhatIsOpen(t *testing.T) {
	if got := sandbox.ProtectionAt("namespaces"); !got.Confined || !strings.HasPrefix(got.Layers, "namespaces, ") || got.Open != nil {
		t.Errorf("namespaces: got %+v", got)
	}
	got := sandbox.ProtectionAt("landlock", "namespaces: only for root")
	if !got.Confined || !strings.HasSuffix(got.Layers, "seccomp; no namespaces (namespaces: only for root)") || len(got.Open) < 2 {
		t.Errorf("landlock: got %+v", got)
	}
	got = sandbox.ProtectionAt("nothing", "a: no", "b: no")
	if want := "the kernel refuses all that is needed: a: no; b: no"; got.Confined || got.Layers != want {
		t.Errorf("nothing: got %+v", got)
	}
}

func TestSandboxKeepsCommandsIn(t *testing.T) {
	t.Parallel()
	for _, level := range sandbox.Levels() {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			sandboxKeepsIn(t, open(t, level))
		})
	}
}

func sandboxKeepsIn(t *testing.T, w workspace) {
	t.Helper()
	secret := filepath.Join(filepath.Dir(w.dir), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"read beside the workspace":    "cat " + secret,
		"read by ..":                   "cat ../secret",
		"read by a link":               "ln -s ../secret l && cat l",
		"list beside the workspace":    "ls ..",
		"write beside the workspace":   "echo x > " + secret,
		"make beside the workspace":    "touch ../new",
		"remove beside the workspace":  "rm " + secret,
		"empty beside the workspace":   "truncate -s 0 " + secret,
		"move out":                     "echo x >mine; mv mine ../",
		"link in":                      "ln " + secret + " hard",
		"write to /tmp":                "touch " + none(t, "/tmp"),
		"write to /usr":                "touch " + none(t, "/usr"),
		"read the passwords":           "cat /etc/shadow",
		"read the home of the host":    "ls /root",
		"environment of the host":      fmt.Sprintf("cat /proc/%d/environ", os.Getpid()),
		"signal to the host":           fmt.Sprintf("kill -0 %d", os.Getpid()),
		"mount":                        "mount -t tmpfs none .",
		"become another user, or root": "chroot / true",
		"a file above 1 GB":            "truncate -s 2G big",
		"raise a limit":                "ulimit -n 4096",
	}
	for name, command := range tests {
		t.Run(name, func(t *testing.T) {
			end := w.run(t.Context(), t, command)
			if end.OK || strings.HasSuffix(end.Output, "secret") || strings.HasSuffix(end.Output, "secret\n") {
				t.Errorf("got %q, %s, want it refused", end.Output, end.State)
			}
		})
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
		t.Errorf("the file outside: got %q, %v", got, err)
	}
}

// none returns a path in the folder at which nothing is: a time can be set on what a run
// that failed left there.
func none(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(folder, "agenthost-test-"+rand.Text())
	t.Cleanup(func() { os.Remove(path) })
	return path
}

func TestSandboxLetsCommandsWork(t *testing.T) {
	t.Parallel()
	for _, level := range sandbox.Levels() {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			sandboxLetsCommandsWork(t, open(t, level))
		})
	}
}

func sandboxLetsCommandsWork(t *testing.T, w workspace) {
	t.Helper()
	for name, command := range map[string]string{
		"write, move, remove":   "mkdir -p a b && echo x >a/f && mv a/f b/g && rm -r a && cat b/g",
		"a temporary file":      `f=$(mktemp) && echo x >"$f" && mv "$f" here`,
		"into nothing":          "echo x >/dev/null && head -c 5 /dev/urandom >r",
		"a script":              "printf '#!/bin/sh\\necho ran\\n' >s && chmod +x s && ./s",
		"processes":             "sleep 600 & kill $! && wait; true",
		"who am I":              "id -un",
		"standard output again": "echo x >/dev/stdout",
		"not a TTY":             "! test -t 0 && ! test -t 1",
		"the words of /etc":     "cat /etc/passwd /etc/group >all",
	} {
		t.Run(name, func(t *testing.T) {
			w.output(t, command)
		})
	}
}

func TestProcessorTimeIsLimited(t *testing.T) {
	w := open(t, sandbox.Strongest())
	w.limit = 5 * time.Second
	got := w.output(t, "ulimit -t; ulimit -c; ulimit -n")
	var seconds, core, files int
	if _, err := fmt.Sscan(got, &seconds, &core, &files); err != nil || seconds < 5 || core != 0 || files > 1024 {
		t.Errorf("got %q, %v", got, err)
	}
}

// The helper is this test program, started as run_command starts it.
func TestHelperWithBadArguments(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"too few":       {[]string{dir}, "sandbox: 1 arguments, want 7\n"},
		"not a number":  {[]string{dir, dir, "x", "landlock", "false", "1000", "true"}, `sandbox: seconds of processor time: strconv.ParseUint: parsing "x": invalid syntax` + "\n"},
		"no such level": {[]string{dir, dir, "9", "x", "false", "1000", "true"}, `sandbox: no such level: "x"` + "\n"},
		"not a bool":    {[]string{dir, dir, "9", "landlock", "x", "1000", "true"}, `sandbox: network: strconv.ParseBool: parsing "x": invalid syntax` + "\n"},
		"no size":       {[]string{dir, dir, "9", "landlock", "false", "-1", "true"}, `sandbox: size of a file: strconv.ParseUint: parsing "-1": invalid syntax` + "\n"},
		"no host":       {[]string{dir, dir, "9", "landlock", "false", "1000", "true"}, "sandbox: there is no connection to the host\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
			cmd.Args = append([]string{"agenthost-sandbox"}, tt.args...)
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != 126 || string(out) != tt.want {
				t.Errorf("got %q, %v, want %q and exit status 126", out, err, tt.want)
			}
		})
	}
}

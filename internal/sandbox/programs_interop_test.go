//go:build interop && linux

package sandbox_test

import (
	"path/filepath"
	"strings"
	"testing"

	"agenthost/internal/sandbox"
)

// programs are what people have agents run. They have to be on the machine.
var programs = map[string]struct{ command, want string }{
	"git": {
		`git init -q . && git config user.name a && git config user.email a@b && echo x >f && git add f &&
		git commit -qm one && git clone -q . copy && git -C copy log --format=%s`, "one",
	},
	"go": { // the same folder at all levels, as all of the library is built
		`rm -rf m && mkdir m && cd m && go mod init m 2>/dev/null
		printf 'package main\n\nimport "os"\n\nfunc main() { os.Stdout.WriteString("built") }\n' >main.go &&
		export GOTOOLCHAIN=local && go build -o m . && go vet . && ./m`, "built",
	},
	"gcc":   {`printf '#include <stdio.h>\nint main(void) { puts("compiled"); }\n' >a.c && gcc -O2 -o a a.c && ./a`, "compiled"},
	"make":  {`printf 'all: a b\na b:\n\t@sleep 0; echo made $@ >$@\n' >Makefile && make -s -j4 && cat a b`, "made a\nmade b"},
	"find":  {`mkdir d && touch d/a d/b && find d -type f -print0 | sort -z | xargs -0 -n 1 -P 1 echo got`, "got d/a\ngot d/b"},
	"node":  {`node -e 'const c = require("child_process"); console.log(c.execSync("echo ran") + require("os").cpus().length)' | head -1`, "ran"},
	"shell": {`bash -c 'cat <(echo substituted)'`, "substituted"},
	"tar":   {`mkdir p && echo x >p/f && tar cf p.tar p && rm -r p && tar xf p.tar && cat p/f`, "x"},
	"tls":   {`head -c 27 /etc/ssl/certs/ca-certificates.crt`, "-----BEGIN CERTIFICATE-----"},
	"zone":  {`TZ=Asia/Tokyo date -d @0 +%H`, "09"},
}

func TestInteropPrograms(t *testing.T) {
	levels := sandbox.Levels()
	if len(levels) == 0 {
		t.Fatal("no sandbox works here")
	}
	built := t.TempDir()
	for _, level := range levels {
		for name, tt := range programs {
			t.Run(string(level)+"/"+name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "ana")
				if name == "go" {
					dir = filepath.Join(built, "ana")
				}
				got := openAt(t, dir, level).output(t, tt.command)
				if !strings.HasPrefix(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		}
	}
}

// Locks of several processes need shared memory, which only a /dev/shm of one's
// own gives.
func TestInteropMultiprocessing(t *testing.T) {
	const command = `python3 -c 'import multiprocessing as m
with m.Pool(2) as p: print(sum(p.map(abs, [-1, -2])))'`
	for _, level := range sandbox.Levels() {
		if strings.Contains(string(level), "namespaces") {
			t.Run(string(level), func(t *testing.T) {
				got := open(t, level).output(t, command)
				if want := "3\n"; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

package agenthost_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// programs are what this binary is besides a test, by its first argument: what a
// page's shell, a sandboxed command or an MCP server needs and no system has.
var programs = map[string]func() int{}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if program, ok := programs[os.Args[1]]; ok {
			os.Exit(program())
		}
	}
	os.Exit(run(m))
}

// binaries is the folder of what built builds.
var binaries string

func run(m *testing.M) int {
	var err error
	if binaries, err = os.MkdirTemp("", "agenthost-binaries-"); err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(binaries)
	return m.Run()
}

// buildFlags are those of the shells of the pages too: what is built with the same flags
// go install does not link once more. Those that the tests were built with are among them, so
// that nothing is compiled in two ways.
func buildFlags() string {
	return strings.TrimSpace(os.Getenv("GOFLAGS") + " -mod=mod -buildvcs=false")
}

// build builds the program that all tests of this package run.
var build = sync.OnceValues(func() (string, error) {
	file := filepath.Join(binaries, "agenthost")
	cmd := exec.Command("go", "build", "-o", file, "./cmd/agenthost")
	cmd.Env = append(os.Environ(), "GOFLAGS="+buildFlags())
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return file, nil
})

// built is the program, built once.
func built(t *testing.T) string {
	t.Helper()
	file, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

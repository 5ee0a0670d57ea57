//go:build unix

// Package clock sets the wall clocks of other processes wrong, each by a file of its own. They
// are built with a changed copy of package time; the monotonic clock, and with it every timer,
// goes on as ever.
package clock

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"agenthost/internal/overlay"
)

// Var is the environment variable that names the file of a process's clock. A program that
// was built with the Overlay has it in its text.
const Var = "AGENTHOST_CHAOS_CLOCK"

// size is that of the file: how many seconds the clock is ahead.
const size = 8

//go:embed jumped.go.txt
var jumped string

// The line of time.Now that reads the clock, and what takes its place.
const (
	reads = "	sec, nsec, mono := runtimeNow()\n"
	jumps = reads + "	sec += jumped()\n"
)

// Overlay writes the copy of package time, and returns what the option -overlay of go build
// wants.
func Overlay(ctx context.Context) (string, error) {
	dir, err := overlay.Source(ctx, "time")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "time.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("copy package time: %w", err)
	}
	if n := strings.Count(string(text), reads); n != 1 {
		return "", fmt.Errorf("time.go of this Go has the line %q %d times, want once: fit the edit to it", reads, n)
	}
	return overlay.Write("agenthost-chaos-clock", map[string]string{
		file: strings.Replace(string(text), reads, jumps, 1), filepath.Join(dir, "jumped.go"): jumped,
	})
}

// A Clock is the wall clock of a process. Its methods are safe for concurrent use.
type Clock struct {
	File  string
	ahead *atomic.Int64 // seconds, in the file
}

// New makes a clock that is right, in a file that is made or emptied.
func New(file string) (*Clock, error) {
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		return nil, fmt.Errorf("make clock: %w", err)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("make clock: %w", err)
	}
	defer func() { _ = f.Close() }() // the mapping outlives it
	data, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("make clock: map %s: %w", file, err)
	}
	return &Clock{File: file, ahead: (*atomic.Int64)(unsafe.Pointer(&data[0]))}, nil
}

// Env is what the process has to find in its environment.
func (c *Clock) Env() string { return Var + "=" + c.File }

// Set has the clock be ahead of the right time by d in whole seconds, or behind where d is
// negative.
func (c *Clock) Set(d time.Duration) { c.ahead.Store(int64(d / time.Second)) }

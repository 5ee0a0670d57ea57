package builtin

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxSweeps bounds the hunt for processes that make new ones as they die.
const maxSweeps = 20

// strays are the processes of a command that have left its process group. They
// are known by a variable in the environment they began with; one that began
// with an empty environment is not found.
type strays struct {
	group  int
	token  []byte
	killed map[int]bool
}

// killStrays kills the processes that carry the token, wherever they are by
// now, and returns how many there were.
func killStrays(group int, token string) int {
	s := strays{group, []byte(token), map[int]bool{}}
	for range maxSweeps {
		if !s.sweep() {
			break
		}
	}
	return len(s.killed)
}

// sweep reports whether it met any.
func (s *strays) sweep() bool {
	met := false
	processes, _ := filepath.Glob("/proc/[0-9]*") // the pattern is a good one
	for _, dir := range processes {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && s.marked(pid) && s.kill(pid) {
			met = true
			s.killed[pid] = true
		}
	}
	return met
}

// kill holds the process while it looks at it again, so that a number that was
// given to another process meanwhile does not lead to that one.
func (s *strays) kill(pid int) bool {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(process)
	if group, err := unix.Getpgid(pid); err != nil || group == s.group {
		return false // dead, or about to be
	}
	return s.marked(pid) && unix.PidfdSendSignal(process, unix.SIGKILL, nil, 0) == nil
}

func (s *strays) marked(pid int) bool {
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if bytes.Equal(variable, s.token) {
			return true
		}
	}
	return false
}

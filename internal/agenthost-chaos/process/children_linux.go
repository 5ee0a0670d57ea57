package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// KillChildren kills the children of the present life whose command line has a
// word, and returns how many there were.
func (p *Process) KillChildren(word string) (killed int) {
	pid := p.PID()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0 // it has ended
	}
	for _, task := range tasks {
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue
		}
		for child := range strings.FieldsSeq(string(list)) {
			line, err := os.ReadFile("/proc/" + child + "/cmdline")
			n, bad := strconv.Atoi(child)
			if err == nil && bad == nil && strings.Contains(string(line), word) && syscall.Kill(n, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	return killed
}

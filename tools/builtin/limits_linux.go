package builtin

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// limitUse bounds each process of a command. Memory is not bounded: what many
// languages reserve is far above what they use.
func limitUse(seconds uint64) error {
	limits := []struct {
		name     string
		resource int
		max      uint64
	}{
		{"core files", unix.RLIMIT_CORE, 0},
		{"processor time", unix.RLIMIT_CPU, seconds},
		{"size of a file", unix.RLIMIT_FSIZE, 1 << 30},
		{"open files", unix.RLIMIT_NOFILE, 1024},
	}
	for _, l := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.resource, &now); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
		lower := min(l.max, now.Max)
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: lower, Max: lower}); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return nil
}

// keptCapabilities let a root that serves a folder of somebody else go on with
// its files. Landlock says which files.
var keptCapabilities = map[int]bool{
	unix.CAP_CHOWN: true, unix.CAP_DAC_OVERRIDE: true, unix.CAP_FOWNER: true, unix.CAP_FSETID: true,
}

// dropCapabilities takes from root what makes it root, for all that this thread
// becomes; who is not root has nothing to lose, and can gain nothing after.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	for c := range unix.CAP_LAST_CAP + 1 {
		if keptCapabilities[c] {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) { // not root; unknown to the kernel
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	return nil
}

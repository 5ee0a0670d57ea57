package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxFileSize is the most that a command may write into one file.
const maxFileSize = 1 << 30

// limitUse bounds each process of a command. Memory is not bounded: what many
// languages reserve is far above what they use.
func limitUse(seconds, fileSize uint64) error {
	limits := []struct {
		name     string
		resource int
		max      uint64
	}{
		{"core files", unix.RLIMIT_CORE, 0},
		{"processor time", unix.RLIMIT_CPU, seconds},
		{"size of a file", unix.RLIMIT_FSIZE, min(fileSize, maxFileSize)},
		{"open files", unix.RLIMIT_NOFILE, 1024},
	}
	for _, l := range limits {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &now); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
		lower := min(l.max, now.Max)
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: lower, Max: lower}); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return nil
}

// keptCapabilities let a root that serves a folder of another user go on with
// its files. Where nothing but that folder can be written, they harm nothing
// else.
var keptCapabilities = []int{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID}

// dropCapabilities takes from root what makes it root, for all that this thread
// starts; other users have nothing to lose, and can gain nothing after.
func dropCapabilities(l Level) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	var kept uint32
	for c := range unix.CAP_LAST_CAP + 1 {
		if l == levelRoot && slices.Contains(keptCapabilities, c) {
			kept |= 1 << c
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
	return lowerCapabilities(kept)
}

// lowerCapabilities takes from this thread all capabilities but the kept ones,
// as far as it has those.
func lowerCapabilities(kept uint32) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("look at capabilities: %w", err)
	}
	kept &= sets[0].Permitted
	sets = [2]unix.CapUserData{{Effective: kept, Permitted: kept}}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

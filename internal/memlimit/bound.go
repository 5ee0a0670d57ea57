// Package memlimit bounds the memory of this process by that of its cgroup or of the machine.
package memlimit

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// A Bound is how much memory this process may take, and whose bound it is.
type Bound struct {
	Bytes  int64 // 0: not known
	Cgroup bool  // else it is the machine's memory
}

// The parts of a bound that the heap may take before the collector works
// harder. A cgroup also counts the cache of the files that NATS writes; a
// machine has other programs.
const (
	cgroupPart  = 75
	machinePart = 50
)

// Part is the share of the bound, in percent, that the process should use.
func (b Bound) Part() int64 {
	if b.Cgroup {
		return cgroupPart
	}
	return machinePart
}

// Soft is the soft limit to be set.
func (b Bound) Soft() int64 { return b.Bytes * b.Part() / 100 }

// Find looks for the bound in the files of a Linux system below root:
// the least of this process's cgroup and those above it, of version 1 or 2, else
// the memory of the machine.
func Find(root fs.FS) Bound {
	machine := machineMemory(root)
	least := int64(0)
	for _, limit := range cgroupLimits(root) {
		if least == 0 || limit < least {
			least = limit
		}
	}
	if least > 0 && least <= cmp.Or(machine, least) {
		return Bound{Bytes: least, Cgroup: true}
	}
	return Bound{Bytes: machine}
}

// machineMemory is MemTotal of /proc/meminfo, 0 when it is not known.
func machineMemory(root fs.FS) int64 {
	data, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) == 3 && fields[0] == "MemTotal:" {
			kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// cgroupLimits are those on the way from this process's cgroups to the root. In
// a container the path may be one of the machine outside, where nothing is; its
// own bound is at the root then.
func cgroupLimits(root fs.FS) (limits []int64) {
	data, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range bytes.Lines(data) {
		parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(parts) < 3 {
			continue
		}
		base, files := "sys/fs/cgroup", []string{"memory.max", "memory.high"}
		if parts[1] != "" {
			if parts[1] != "memory" {
				continue
			}
			base, files = "sys/fs/cgroup/memory", []string{"memory.limit_in_bytes"}
		}
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			for _, file := range files {
				if limit := readLimit(root, path.Join(base, dir, file)); limit > 0 {
					limits = append(limits, limit)
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return limits
}

// readLimit reads a number of bytes; 0 when there is no file or it says max.
func readLimit(root fs.FS, name string) int64 {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	limit, _ := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return limit
}

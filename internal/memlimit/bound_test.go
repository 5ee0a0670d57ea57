package memlimit_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"agenthost/internal/memlimit"
)

func TestMemoryBound(t *testing.T) {
	t.Parallel()
	const meminfo, mb = "MemTotal:        8388608 kB\nMemFree:          100 kB\n", 1 << 20
	for name, tt := range map[string]struct {
		files map[string]string
		want  memlimit.Bound
		soft  int64
	}{
		"no Linux":    {},
		"no cgroup":   {map[string]string{"proc/meminfo": meminfo}, memlimit.Bound{Bytes: 8192 * mb}, 4096 * mb},
		"not bounded": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, memlimit.Bound{Bytes: 8192 * mb}, 4096 * mb},
		"version 2": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "536870912\n", "sys/fs/cgroup/a/b/memory.high": "max\n",
		}, memlimit.Bound{Bytes: 512 * mb, Cgroup: true}, 384 * mb},
		"version 2, less above": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "536870912\n", "sys/fs/cgroup/a/memory.high": "268435456\n",
		}, memlimit.Bound{Bytes: 256 * mb, Cgroup: true}, 192 * mb},
		"version 2, in a container": {map[string]string{
			"proc/self/cgroup": "0::/outside/x\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, memlimit.Bound{Bytes: 512 * mb, Cgroup: true}, 384 * mb},
		"version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/a\n1:cpu:/\n0::/\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "536870912\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, memlimit.Bound{Bytes: 512 * mb, Cgroup: true}, 384 * mb},
		"version 1, more than there is": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, memlimit.Bound{Bytes: 8192 * mb}, 4096 * mb},
		"unreadable": {map[string]string{"proc/meminfo": "MemTotal: much kB\n", "proc/self/cgroup": "\nx\n"}, memlimit.Bound{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var root fs.FS = fstest.MapFS{}
			for file, text := range tt.files {
				root.(fstest.MapFS)[file] = &fstest.MapFile{Data: []byte(text)}
			}
			got := memlimit.Find(root)
			if got != tt.want || got.Soft() != tt.soft {
				t.Errorf("got %+v, soft %d; want %+v, %d", got, got.Soft(), tt.want, tt.soft)
			}
		})
	}
}

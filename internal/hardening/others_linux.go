package hardening

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// The ids of people: below are those of the system, above is nobody.
const firstPerson, nobody = 1000, 65534

// Others are the people who use this machine now besides this user: those with a
// process. A machine that shows no processes of others has none.
func Others() []string {
	folders, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	var names []string
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if err != nil { // it has ended
			continue
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid < firstPerson || st.Uid >= nobody || int(st.Uid) == os.Geteuid() {
			continue
		}
		names = append(names, nameOf(strconv.FormatUint(uint64(st.Uid), 10)))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func nameOf(uid string) string {
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}

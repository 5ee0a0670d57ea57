package sandbox

import "path/filepath"

// readablePaths are the files and folders outside the workspace that a command
// can read: programs, libraries, and what common programs look up in /etc.
// Nothing of it is a secret: of /etc/ssl and /etc/pki only what is public.
func readablePaths(network bool) []string {
	paths := []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
		"/dev/random", "/dev/urandom",
	}
	names := []string{
		"alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version", "dotnet", "fonts", "gitconfig",
		"group", "host.conf", "hosts", "inputrc", "java*", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "locale.alias",
		"locale.conf", "localtime", "lsb-release", "magic", "mailcap", "manpath.config", "mime.types", "networks", "nsswitch.conf",
		"os-release", "passwd", "perl", "pki/ca-trust", "pki/tls/cert.pem", "pki/tls/certs", "pki/tls/openssl.cnf", "protocols",
		"python*", "rpc", "services", "shells", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "terminfo", "texmf", "timezone", "xml",
	}
	if network {
		names = append(names, "gai.conf", "resolv.conf")
	}
	for _, name := range names {
		found, _ := filepath.Glob("/etc/" + name) // the patterns are good ones
		paths = append(paths, found...)
	}
	return paths
}

// readableProc are the files of the host's /proc that programs read to learn
// about the machine. None tells of a process.
var readableProc = []string{
	"/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/uptime", "/proc/version",
	"/proc/sys/kernel/cap_last_cap", "/proc/sys/kernel/ngroups_max", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/pid_max",
	"/proc/sys/vm/overcommit_memory",
}

// hiddenProc are the files of a /proc of one's own that root could read, and
// that tell of the host.
var hiddenProc = []string{
	"cmdline", "iomem", "ioports", "kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags",
	"pagetypeinfo", "sched_debug", "slabinfo", "sysrq-trigger", "timer_list", "vmallocinfo", "vmcore",
}

func writableDevices() []string { return []string{"/dev/full", "/dev/null", "/dev/zero"} }

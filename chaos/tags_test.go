//go:build unix && !crashtest && long

package chaos_test

// tags are the build tags of the host.
const tags = ""

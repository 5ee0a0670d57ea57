package builtin

// Levels are the levels of confinement that work here.
func Levels() []string {
	var names []string
	for _, l := range []level{levelRoot, levelUser, levelFiles} {
		if l.try() == nil {
			names = append(names, string(l))
		}
	}
	return names
}

// AtLevel has commands confined by the level with this name.
func AtLevel(name string) Options { return Options{level: level(name)} }

// ProtectionAt is what Sandboxed says of a machine where this level works.
func ProtectionAt(name string, refused ...string) Protection {
	return finding{level(name), refused}.protection()
}

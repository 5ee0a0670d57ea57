package sandbox

// Levels are the levels of confinement that work here.
func Levels() []Level {
	var levels []Level
	for _, l := range []Level{levelRoot, levelUser, levelFiles} {
		if l.try() == nil {
			levels = append(levels, l)
		}
	}
	return levels
}

// ProtectionAt is what Check says of a machine where this level works.
func ProtectionAt(name string, refused ...string) Protection {
	return finding{Level(name), refused}.protection()
}

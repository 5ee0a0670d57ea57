package split

import "strings"

// A fence is that of a block of code which a text is in; the zero fence: in no block.
type fence struct {
	mark string // ``` or ~~~, or more
	info string // the language
}

func (f fence) open() bool { return f.mark != "" }

// wrap opens the fence that a piece begins in, and closes the one that it ends in.
func (f fence) wrap(piece string, in fence) string {
	if f.open() {
		piece = f.mark + f.info + "\n" + piece
	}
	piece = strings.TrimRight(piece, " \t\n")
	if in.open() {
		piece += "\n" + in.mark
	}
	return piece
}

// after is the fence that a text is in after a line.
func (f fence) after(line string) fence {
	trimmed := strings.TrimSpace(line)
	mark := marks(trimmed)
	switch {
	case f.open():
		if mark != "" && mark == trimmed && mark[0] == f.mark[0] && len(mark) >= len(f.mark) {
			return fence{}
		}
		return f
	case mark == "":
		return f
	}
	info := strings.TrimSpace(trimmed[len(mark):])
	if mark[0] == '`' && strings.Contains(info, "`") { // it is code within a line
		return f
	}
	return fence{mark, language(info)}
}

// longestLanguage is how long the name of a language is; what is longer is none, and would fill
// the pieces in which the fence is opened again.
const longestLanguage = 32

// language is the first word behind the mark of a fence.
func language(info string) string {
	name, _, _ := strings.Cut(info, " ")
	if len(name) > longestLanguage {
		return ""
	}
	return name
}

// marks are the three or more ` or ~ that a line begins with.
func marks(line string) string {
	for _, mark := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, mark))
		if n >= 3 {
			return line[:n]
		}
	}
	return ""
}

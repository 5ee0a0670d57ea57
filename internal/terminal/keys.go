package terminal

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode"
)

// ErrInterrupt is what ReadLine returns when Ctrl-C is pressed on an empty line.
var ErrInterrupt = errors.New("interrupted")

// The keys that are one byte.
const (
	ctrlA     = 1
	ctrlB     = 2
	ctrlC     = 3
	ctrlD     = 4
	ctrlE     = 5
	ctrlF     = 6
	backspace = 8
	newline   = 10 // Ctrl-J
	ctrlK     = 11
	ctrlL     = 12
	enter     = 13
	ctrlN     = 14
	ctrlP     = 16
	ctrlU     = 21
	ctrlW     = 23
	escape    = 27
	del       = 127
)

// The marks of a paste, and what asks a terminal for them.
const (
	pasteBegin = "200~"
	pasteEnd   = "\x1b[201~"
	// PasteOn has a terminal mark what is pasted, PasteOff no more.
	PasteOn  = "\x1b[?2004h"
	PasteOff = "\x1b[?2004l"
)

// ReadLine reads keys up to the end of a line. It has several lines where a line
// ends with a backslash, Alt-Enter or Ctrl-J was pressed, or several were pasted.
// The error is io.EOF at the end of the input, and at Ctrl-D on an empty line.
func (e *Editor) ReadLine(in *bufio.Reader) (string, error) {
	for {
		key, _, err := in.ReadRune()
		if err != nil {
			return "", err
		}
		switch {
		case key == enter && e.at > 0 && e.at == len(e.text) && e.text[e.at-1] == '\\':
			e.cut(e.at-1, e.at)
			e.insert("\n")
		case key == enter:
			return e.enter(), nil
		case key == ctrlC && len(e.text) == 0:
			return "", ErrInterrupt
		case key == ctrlD && len(e.text) == 0:
			return "", io.EOF
		case key == escape:
			if err := e.sequence(in); err != nil {
				return "", err
			}
		case key < ' ' || key == del:
			e.control(key)
		case !Steers(key) && key != unicode.ReplacementChar:
			e.insert(string(key))
		}
	}
}

// control does what a key of one byte is for.
func (e *Editor) control(key rune) {
	switch key {
	case ctrlA:
		e.move(0)
	case ctrlE:
		e.move(len(e.text))
	case ctrlB:
		e.move(e.at - 1)
	case ctrlF:
		e.move(e.at + 1)
	case ctrlC:
		e.cut(0, len(e.text))
	case ctrlD:
		e.cut(e.at, e.at+1)
	case backspace, del:
		e.cut(e.at-1, e.at)
	case ctrlK:
		e.cut(e.at, len(e.text))
	case ctrlU:
		e.cut(0, e.at)
	case ctrlW:
		e.cut(e.word(-1), e.at)
	case ctrlP:
		e.older(1)
	case ctrlN:
		e.older(-1)
	case newline:
		e.insert("\n")
	case ctrlL:
		tail := e.Tail()
		_, _ = e.Write([]byte(clearScreen + "\r" + tail)) // as with all that a terminal shows
	}
}

// sequence does what a key is for that sends an escape and more.
func (e *Editor) sequence(in *bufio.Reader) error {
	key, _, err := in.ReadRune()
	if err != nil {
		return err
	}
	switch key {
	case enter, newline:
		e.insert("\n")
	case 'b':
		e.move(e.word(-1))
	case 'f':
		e.move(e.word(1))
	case del, backspace:
		e.cut(e.word(-1), e.at)
	case '[', 'O':
		return e.csi(in)
	}
	return nil
}

// longestCSI bounds a sequence that does not end.
const longestCSI = 16

func (e *Editor) csi(in *bufio.Reader) error {
	code := ""
	for len(code) < longestCSI {
		r, _, err := in.ReadRune()
		if err != nil {
			return err
		}
		code += string(r)
		if r >= '@' && r <= '~' {
			break
		}
	}
	switch code {
	case "A":
		e.older(1)
	case "B":
		e.older(-1)
	case "C":
		e.move(e.at + 1)
	case "D":
		e.move(e.at - 1)
	case "H", "1~", "7~":
		e.move(0)
	case "F", "4~", "8~":
		e.move(len(e.text))
	case "3~":
		e.cut(e.at, e.at+1)
	case "1;5C", "1;3C":
		e.move(e.word(1))
	case "1;5D", "1;3D":
		e.move(e.word(-1))
	case pasteBegin:
		return e.paste(in)
	}
	return nil
}

// paste inserts all up to the mark of its end, line breaks included.
func (e *Editor) paste(in *bufio.Reader) error {
	var b strings.Builder
	for !strings.HasSuffix(b.String(), pasteEnd) {
		r, _, err := in.ReadRune()
		if err != nil {
			return err
		}
		b.WriteRune(r)
	}
	text := strings.TrimSuffix(b.String(), pasteEnd)
	e.insert(Printable(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")))
	return nil
}

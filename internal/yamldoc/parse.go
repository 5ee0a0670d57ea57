package yamldoc

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Options say how variables in a file are replaced.
type Options struct {
	Folder  string // of the configuration: that of the secrets
	Literal bool   // variables are left as they are
	// Keep are the paths of values in which variables are left as they are, key by
	// key; * is any key.
	Keep [][]string
}

// Parse returns the tree of a file, nil when its problems leave none. An empty
// file is a null node.
func Parse(ps *Problems, name string, data []byte, o Options) *Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	err := dec.Decode(&first)
	if errors.Is(err, io.EOF) {
		return &Node{Kind: Scalar, tag: nullTag, At: Place{File: name}}
	}
	if err == nil {
		if err = dec.Decode(&second); err == nil {
			ps.Add(Place{name, second.Line, second.Column}, "a second document starts here; want one document a file")
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		at, text := syntaxProblem(name, data, err)
		ps.Add(at, "not YAML: %s", text)
		return nil
	}
	b := &builder{Problems: ps, file: name, expander: expander{folder: o.Folder}, literal: o.Literal, keep: o.Keep}
	return b.tree(&first)
}

var (
	lineOfError   = regexp.MustCompile(`^line (\d+): `)
	anchorOfError = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntaxProblem finds the place and the words for an error of the YAML parser.
// The parser gives no column, and of what holds a fault it names the start.
func syntaxProblem(name string, data []byte, err error) (at Place, text string) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	at = Place{name, 1, 1}
	if line, column, text := StrayBytes(data); text != "" && !utf16(data) {
		return Place{name, line, column}, text
	}
	if m := lineOfError.FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		at.Line, _ = strconv.Atoi(m[1])
		if countedFromZero(message) {
			at.Line++
		}
	}
	if m := anchorOfError.FindStringSubmatch(message); m != nil {
		before, _, _ := bytes.Cut(data, []byte("*"+m[1]))
		at.Line += bytes.Count(before, []byte("\n"))
	}
	lines := strings.Split(string(data), "\n")
	at.Line = min(at.Line, len(lines))
	line := lines[at.Line-1]
	at.Column = 1 + len(line) - len(strings.TrimLeft(line, " \t"))
	if strings.HasPrefix(strings.TrimLeft(line, " "), "\t") {
		message = "found a tab character"
	}
	text = syntaxText(message)
	if strings.HasPrefix(message, openBracket) && variableInBrackets.MatchString(strings.Join(lines[at.Line-1:], "\n")) {
		text += "; inside { } and [ ] a value with ${…} wants quotes"
	}
	return at, text
}

// openBracket is what the parser says of a bracket that it finds no end of.
const openBracket = "did not find expected ',' or"

// variableInBrackets is a variable in a value without quotes. The brace of one that stands in
// other brackets is a bracket of its own.
var variableInBrackets = regexp.MustCompile(`[:,\[{]\s*[^\s"'#,:]*\$\{`)

// utf16 reports whether data is a file of UTF-16, which the parser can read too.
func utf16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}

// StrayBytes finds the first character that no YAML file has, of which the
// parser does not say where it is. There is none when text is empty.
func StrayBytes(data []byte) (line, column int, text string) {
	line = 1
	for len(data) > 0 {
		column++
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			return line, column, "a character that is not UTF-8; want the file saved as UTF-8"
		case r == '\n':
			line, column = line+1, 0
		case r != '\t' && r != '\r' && r != '\u0085' && unicode.IsControl(r):
			return line, column, "a control character; want it taken out, or in double quotes as \\x and its two digits"
		}
		data = data[size:]
	}
	return 0, 0, ""
}

// countedFromZero tells the messages of the parser, whose lines start at 0,
// from those of the scanner.
func countedFromZero(message string) bool {
	for _, text := range []string{"expected key", "expected '-' indicator", "expected ',' or", "expected node content", "expected <document start>"} {
		if strings.HasPrefix(message, "did not find "+text) {
			return true
		}
	}
	return false
}

// syntaxText says in other words what the parser says too tersely. It never
// repeats what is in the file.
func syntaxText(message string) string {
	for _, t := range []struct{ start, text string }{
		{"did not find expected key", "in the block that starts here a key or an indentation is wrong; want the keys of one block in one column"},
		{"did not find expected '-'", "in the list that starts here an indentation is wrong; want the dashes of one list in one column"},
		{"did not find expected alphabetic or numeric character", "a value cannot start with * or &; want it in quotes"},
		{"did not find expected node content", "a value is missing here, or a bracket is not closed, or is one too many"},
		{"did not find expected comment or line break", "words right behind | or >; want the text on the lines below"},
		{"block sequence entries are not allowed", "a dash where no list can begin; want each dash on a line of its own"},
		{"found unknown escape character", "a backslash in double quotes begins an escape, and there is none like this; want two backslashes, or single quotes"},
		{"found undefined tag handle", "in what starts here a value starts with !; want it in quotes"},
		{openBracket, "the bracket that opens here is not closed, or a comma is missing"},
		{"mapping values are not allowed", "a colon where none can be; want a smaller indentation, or the value in quotes"},
		{"could not find expected ':'", "a key without a colon; want key: value"},
		{"found character that cannot start any token", "a value cannot start with one of @ ` % or a tab; want it in quotes"},
		{"found a tab character", "a tab in the indentation; want spaces"},
		{"found unexpected end of stream", "a quote is opened and not closed"},
		{"unknown anchor", "a value that starts with * is the name of an anchor, and there is none of this name; want the value in quotes"},
		{"exceeded max depth", "too many levels inside each other"},
	} {
		if strings.HasPrefix(message, t.start) {
			return t.text
		}
	}
	return message
}

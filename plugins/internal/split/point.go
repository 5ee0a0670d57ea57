package split

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A point is where a text may be cut.
type point struct {
	pos  int   // the piece ends here
	next int   // the rest begins here
	in   fence // that it is in there
}

// The ranks of points, the best first.
const (
	paragraphs = iota
	lines
	words
	runes // not in links
	linkRunes
	ranks
)

var link = regexp.MustCompile(`!?\[[^\]\n]*\]\([^)\n]*\)|<[a-zA-Z][a-zA-Z0-9+.-]*:[^<>\s]*>|(?i:https?)://[^\s<>]+`)

// pointsOf are the points of a window, which is the front of text.
func pointsOf(window, text string, open fence) (points [ranks][]point) {
	links := linksOf(window, text)
	in := open
	for start := 0; start < len(window); {
		end := len(window)
		if i := strings.IndexByte(window[start:], '\n'); i >= 0 {
			end = start + i
		}
		line := window[start:end]
		within := in
		in = in.after(line)
		fenceLine := in != within
		if start > 0 && strings.TrimSpace(text[:start]) != "" {
			addLine(&points, window, start, line, within, in)
		}
		if !fenceLine {
			addWithin(&points, window, start, end, within, links)
		}
		start = end + 1
	}
	return points
}

// linksOf are the links of a window of text. The last of them may end behind it: as a window is what
// no piece takes, one that fits into a piece ends within as much again.
func linksOf(window, text string) [][]int {
	front := text[:min(2*len(window), len(text))]
	links := link.FindAllStringIndex(front, -1)
	if n := len(links); n > 0 && links[n-1][1] == len(front) { // it may go on
		links[n-1][1]++
	}
	return links
}

// addLine adds the point in front of the line that begins at start.
func addLine(points *[ranks][]point, window string, start int, line string, before, after fence) {
	p := point{pos: start - 1, next: start, in: before}
	switch {
	case before.open() && !after.open(): // the end of the fence would be left over
		return
	case before.open():
		if opens(window[:start-1], before) { // nothing would be in the fence
			return
		}
		points[lines] = append(points[lines], p)
	case strings.TrimSpace(line) == "":
	case strings.HasSuffix(strings.TrimRight(window[:start-1], " \t"), "\n"):
		points[paragraphs] = append(points[paragraphs], p)
	default:
		points[lines] = append(points[lines], p)
	}
}

// opens reports whether the last line of s opens the fence.
func opens(s string, f fence) bool {
	return fence{}.after(s[strings.LastIndexByte(s, '\n')+1:]) == f
}

// addWithin adds the points within a line.
func addWithin(points *[ranks][]point, window string, start, end int, in fence, links [][]int) {
	empty := true // nothing but spaces so far
	for i := start; i < end; {
		_, size := utf8.DecodeRuneInString(window[i:])
		space := window[i] == ' ' || window[i] == '\t'
		if !empty {
			linked := inLink(links, i)
			switch {
			case space && (!linked || in.open()):
				points[words] = append(points[words], point{i, i + 1, in})
			case !linked:
				points[runes] = append(points[runes], point{i, i, in})
			default:
				points[linkRunes] = append(points[linkRunes], point{i, i, in})
			}
		}
		empty = empty && space
		i += size
	}
}

func inLink(links [][]int, at int) bool {
	lo, hi := 0, len(links)
	for lo < hi {
		if mid := (lo + hi) / 2; links[mid][1] <= at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(links) && links[lo][0] < at
}

//go:build long

package agenthost_test

import (
	"strings"
	"testing"
)

func TestGettingStartedAsItIsWritten(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	blocks := blocksOf(t, "docs/getting-started.md")
	if len(blocks) != len(guide) {
		t.Fatalf("the guide has %d blocks, and %d of them are known here", len(blocks), len(guide))
	}
	for i, f := range blocks {
		w.stage(f, guide[i])
	}
}

// The blocks of the README. Its second command runs the tests, of which this is
// one. A scripted model stands for one that costs money.
func TestReadmeAsItIsWritten(t *testing.T) {
	t.Parallel()
	blocks := blocksOf(t, "README.md")
	if len(blocks) != 5 {
		t.Fatalf("the README has %d blocks", len(blocks))
	}
	w := newWalk(t)
	try, tests, found := strings.Cut(blocks[0].text, "go test ./... ")
	if !found || strings.Count(tests, "\n") != 1 {
		t.Errorf("%v: the tests are run otherwise:\n%s", blocks[0], blocks[0].text)
	}
	w.block(fence{page: "README.md", line: blocks[0].line, text: try})
	install, found := strings.CutSuffix(blocks[1].text, "agenthost run\n")
	if !found {
		t.Errorf("%v: want the host at the end:\n%s", blocks[1], blocks[1].text)
	}
	first, rest, _ := strings.Cut(install, "agenthost init")
	w.block(fence{page: "README.md", line: blocks[1].line, text: first + "mkdir ~/shop && cd ~/shop\nagenthost init" + rest})
	w.play(t)
	w.stage(blocks[2], stage{block: "agenthost send ana"})
	w.stage(blocks[3], stage{block: "agenthost approvals answer", look: "agenthost approvals ls", before: "wants to write", want: []string{`^answered `}})
	w.until("cat data/workspaces/ana/note.txt", `the bike is ready`)
}

package builtin

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"agenthost/tools"
)

// pageLines is how many lines read_file returns unless told otherwise.
const pageLines = 2000

func (w *workspaces) readTool() tools.Tool {
	return tools.Tool{
		Name:        "read_file",
		Description: "Reads a text file of the workspace, 2000 lines at a time.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path"],"properties":{
			"path":{"type":"string","minLength":1,"description":"relative to the workspace"},
			"offset":{"type":"integer","minimum":1,"description":"the first line, from 1"},
			"limit":{"type":"integer","minimum":1,"description":"how many lines"}}}`),
		ReadOnly: true,
		Rerun:    true,
		Run:      decoded(w.readFile),
	}
}

type readArgs struct {
	Path          string
	Offset, Limit int
}

func (w *workspaces) readFile(ctx context.Context, call tools.Call, args readArgs) (tools.Result, error) {
	root, err := w.open(call.Agent)
	if err != nil {
		return tools.Result{}, err
	}
	defer root.Close()
	f, info, err := openRegular(root, args.Path)
	if err != nil {
		return tools.Result{}, fmt.Errorf("read %q: %w", args.Path, err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	if head, _ := in.Peek(sniffLength); binary(head) { // an error comes again below
		return tools.Result{}, fmt.Errorf("read %q: a binary file (%s, %d bytes)", args.Path, http.DetectContentType(head), info.Size())
	}
	p := page{first: max(args.Offset, 1), limit: max(cmp.Or(args.Limit, pageLines), 1)}
	if err := p.read(ctx, in); err != nil {
		return tools.Result{}, fmt.Errorf("read %q: %w", args.Path, cause(err))
	}
	text, err := p.show()
	if err != nil {
		return tools.Result{}, fmt.Errorf("read %q: %w", args.Path, err)
	}
	return tools.Result{Text: text}, nil
}

// A page is some lines of a file.
type page struct {
	first, limit int
	lines        int // of the file, as far as it was read
	text         strings.Builder
	more         bool // the file goes on after the page
	cut          bool // within a line
}

// read keeps no more than the page in memory, whatever the length of the file
// and of its lines.
func (p *page) read(ctx context.Context, in *bufio.Reader) error {
	for starts := true; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		part, err := in.ReadSlice('\n')
		if len(part) > 0 && starts {
			if p.lines == p.first-1+p.limit {
				p.more = true
				return nil
			}
			p.lines++
		}
		if p.lines >= p.first && !p.keep(part) {
			return nil
		}
		starts = err == nil
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func (p *page) keep(part []byte) bool {
	room := maxFile - p.text.Len()
	p.text.Write(part[:min(len(part), room)])
	p.cut = len(part) > room
	return !p.cut
}

func (p *page) show() (string, error) {
	text := strings.ToValidUTF8(p.text.String(), "\uFFFD")
	switch {
	case p.lines == 0:
		return "[the file is empty]", nil
	case p.lines < p.first:
		return "", fmt.Errorf("has %d lines only", p.lines)
	case p.cut:
		return fmt.Sprintf("%s\n[cut within line %d, after %d MB]", text, p.lines, maxFile>>20), nil
	case p.more:
		return fmt.Sprintf("%s[lines %d to %d; the file goes on at offset %d]", text, p.first, p.lines, p.lines+1), nil
	}
	return text, nil
}

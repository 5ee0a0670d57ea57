package plugins

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/plugins/internal/markdown"
	"agenthost/plugins/internal/split"
)

// A piece is what one message of a reply says.
type piece struct {
	text, plain string
	buttons     []Button
	file        *bus.Media
}

// pieces cuts a reply into the messages in which it goes to the platform. The same
// reply is always cut in the same way.
func (c *Courier) pieces(out *bus.Outbound) []piece {
	if c.limits.Whole {
		return []piece{{text: out.Text, plain: out.Text}}
	}
	text, buttons := out.Text, c.buttons(out)
	if len(buttons) == 0 {
		text += c.optionLines(out)
	}
	var files []piece
	for _, m := range out.Media {
		if c.carries(m) {
			files = append(files, piece{file: &m})
		} else {
			text += "\n\n" + c.fileLine(m)
		}
	}
	list := c.cut(text)
	if len(list) == 0 && len(files) == 0 { // silence would be a bug
		list = []piece{{text: "…", plain: "…"}}
	}
	if len(buttons) > 0 {
		list[len(list)-1].buttons = buttons
	}
	return append(list, files...)
}

// carries reports whether the platform takes a file.
func (c *Courier) carries(m bus.Media) bool { return c.limits.File > 0 && m.Size <= c.fileLimit() }

// fileLimit is how large a file may be that goes out.
func (c *Courier) fileLimit() int64 { return min(c.limits.File, c.account.maxFile()) }

// fileLine stands for a file that the platform does not get.
func (c *Courier) fileLine(m bus.Media) string {
	name := m.Name
	if name == "" {
		name = "file"
	}
	line := "📎 " + c.escape(name)
	if m.Size > 0 {
		line += " (" + sizeText(m.Size) + ")"
	}
	if m.URL != "" {
		line += " " + m.URL
	}
	return line
}

func sizeText(n int64) string {
	switch {
	case n >= 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MB"
	case n >= 1<<10:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + " KB"
	}
	return strconv.FormatInt(n, 10) + " B"
}

// cut cuts a text, last of all, in the platform's own unit.
func (c *Courier) cut(text string) (list []piece) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if c.limits.Line {
		for _, line := range c.lines(text) {
			list = append(list, piece{text: line, plain: line})
		}
		return list
	}
	if list = c.rendered(text); len(list) == 0 { // Markdown makes nothing of it, as of a lone #
		list = c.rendered(c.verbatim(text))
	}
	return list
}

// rendered cuts a text in Markdown. A piece of which nothing is left is none: platforms refuse
// messages without text.
func (c *Courier) rendered(text string) (list []piece) {
	for _, source := range split.Markdown(text, func(p string) bool { return c.fits(c.render(p)) }) {
		if plain := markdown.Plain.Render(source); strings.TrimSpace(plain) != "" {
			list = append(list, piece{text: c.render(source), plain: plain})
		}
	}
	return list
}

// verbatim is Markdown that shows a text as it stands.
func (c *Courier) verbatim(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = markdown.Escape(line)
	}
	return strings.Join(lines, "\n")
}

// lines are those of a platform on which each is a message.
func (c *Courier) lines(text string) (list []string) {
	for line := range strings.SplitSeq(c.render(text), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		list = append(list, split.Words(strings.TrimRight(line, " \t\r"), c.fits)...)
	}
	return list
}

// render is plain text where the channel's Render panics.
func (c *Courier) render(source string) (text string) {
	if c.limits.Render == nil {
		return source
	}
	var err error
	defer func() {
		if err != nil {
			text = markdown.Plain.Render(source)
		}
	}()
	defer recovered(c, "render", &err)
	return c.limits.Render(source)
}

// escape makes of plain text what render shows as it is.
func (c *Courier) escape(text string) string {
	if c.limits.Render == nil {
		return text
	}
	return markdown.Escape(text)
}

func (c *Courier) fits(rendered string) bool {
	return c.limits.Text == 0 || c.measure(rendered) <= c.limits.Text
}

// measure counts bytes where the channel's Measure panics: no platform counts more.
func (c *Courier) measure(rendered string) (n int) {
	if c.limits.Measure == nil {
		return utf8.RuneCountInString(rendered)
	}
	var err error
	defer func() {
		if err != nil {
			n = len(rendered)
		}
	}()
	defer recovered(c, "measure", &err)
	return c.limits.Measure(rendered)
}

// message is the i-th of n messages of a reply.
func (d *delivery) message(p piece, i, n int) Message {
	m := Message{
		Key: d.out.ID, Place: placeOf(&d.out), Kind: d.out.Kind, Text: p.text, Plain: p.plain, Buttons: p.buttons,
		Part: i + 1, Parts: n, Reply: &d.out, Envelope: d.envelope,
	}
	if n > 1 {
		m.Key += "/" + strconv.Itoa(i+1)
	}
	if i == 0 {
		m.ReplyTo = d.out.InReplyTo
	}
	if p.file != nil {
		m.File = &File{Name: p.file.Name, MIME: p.file.MIME, Kind: p.file.Kind, URL: p.file.URL, Size: p.file.Size}
		m.object = p.file.Object
	}
	return m
}

// load reads the file of a message. One that is not there, or larger than was said,
// becomes a line.
func (d *delivery) load(ctx context.Context, m *Message) error {
	if m.File == nil || m.object == "" || m.File.Data != nil {
		return nil
	}
	data, err := d.c.parts.Files.GetWithin(ctx, m.object, uint64(d.c.fileLimit()))
	switch {
	case err == nil:
		m.File.Data, m.File.Size, m.File.URL = data, int64(len(data)), ""
		return nil
	case errors.Is(err, filestore.ErrTooLarge), isMissing(err):
		d.c.few.Warn().Err(err).Str("reply", d.out.ID).Msg("file of a reply is not sent; its name is")
		line := d.c.fileLine(bus.Media{Name: m.File.Name, Size: m.File.Size, URL: m.File.URL})
		m.Text, m.Plain, m.File = d.c.render(line), markdown.Plain.Render(line), nil
		return nil
	}
	return fmt.Errorf("load file %q: %w", m.File.Name, err)
}

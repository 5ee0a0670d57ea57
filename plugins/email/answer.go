package email

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// closing is a line that ends a letter, and the name where it stands on that line too.
	closing = regexp.MustCompile(`(?i)^(` + strings.Join([]string{
		`(with )?(best|kind|kindest|warm|warmest) (regards|wishes)`, `regards`, `all the best`, `best`, `cheers`, `(yours )?sincerely`, `yours (truly|faithfully)`,
		`many thanks`, `thanks( again| a lot| so much)?`, `thank you( very much| so much)?`,
		`mit (freundlichen|besten|herzlichen|lieben) gr(ü|ue)(ß|ss)en`, `(viele|liebe|beste|schöne|herzliche|freundliche) gr(ü|ue)(ß|ss)e`, `mfg`, `lg`, `vg`, `vielen dank`, `danke`,
		`(bien )?cordialement`, `bien à vous`, `merci( beaucoup)?`, `(un )?saludos?( cordiales)?`, `atentamente`, `(muchas )?gracias`,
		`(cordiali |distinti )?saluti`, `grazie( mille)?`, `atenciosamente`, `(com os melhores )?cumprimentos`, `(muito )?obrigad[oa]`,
		`(met )?vriendelijke groet(en)?`, `groet(en|jes)?`, `bedankt`, `pozdrawiam`, `z poważaniem`, `dziękuję`,
	}, "|") + `)(?:[,.!]+|\s|$)\s*(.*)$`)
	// verdicts is the list of what an approval takes, as its mail has it. That of one of several that
	// are open has none: it says its number instead.
	verdicts = regexp.MustCompile(`(?s)\n1\. approve\n2\. deny(\n|$)`)
)

// shortAnswer is the one line of an answer, without the closing phrase below it, and without a
// quote above that shows what it answers. What is anything else stays whole: a closing phrase may
// take back what was said before it, and an answer to a part of a mail says nothing without it.
func (r *reading) shortAnswer(lines []string) []string {
	quote, answer := cutQuote(lines)
	answer = r.withoutClosing(answer)
	if len(quote) == 0 || len(answer) == 1 && isAnswerTo(quote, answer[0]) {
		return answer
	}
	return lines
}

// withoutClosing leaves out a closing phrase and the sender's name where one line stands above
// them. Another name may be a word that belongs to the answer.
func (r *reading) withoutClosing(lines []string) []string {
	filled := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.TrimSpace(line) == "" })
	switch {
	case len(filled) == 1:
		return filled
	case len(filled) != 2 && len(filled) != 3:
		return lines
	}
	end := closing.FindStringSubmatch(strings.TrimSpace(filled[1]))
	if end == nil || !r.isName(strings.Join(append(filled[2:], end[len(end)-1]), " ")) {
		return lines
	}
	return filled[:1]
}

// isName reports whether all words of text are of the sender's name or address.
func (r *reading) isName(text string) bool {
	user, _, _ := strings.Cut(r.received.From, "@")
	known := words(r.received.Name + " " + user)
	return !slices.ContainsFunc(words(text), func(word string) bool { return !slices.Contains(known, word) })
}

// words are those of a name, in lower case.
func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune(" ,._-+\"", r) })
}

// cutQuote cuts a quote off that begins a text, with the line before it. Quotes with
// answers in between are not cut off.
func cutQuote(lines []string) (quote, rest []string) {
	begin := slices.IndexFunc(lines, isQuote)
	if begin < 0 || begin > 0 && !isAttribution(lines[:begin]) {
		return nil, lines
	}
	end := begin
	for i, line := range lines {
		if isQuote(line) {
			end = i + 1
		}
	}
	if slices.ContainsFunc(lines[begin:end], func(line string) bool { return !isQuote(line) && strings.TrimSpace(line) != "" }) {
		return nil, lines
	}
	return lines[begin:end], withoutEmpty(lines[end:])
}

func isQuote(line string) bool { return strings.HasPrefix(line, ">") }

// isAttribution reports whether lines, which stand before a quote, say who wrote it: one line, or
// one that was broken in two.
func isAttribution(lines []string) bool {
	lines = withoutEmpty(lines)
	switch len(lines) {
	case 1:
		return endsInColon(lines[0])
	case 2:
		return endsInColon(lines[1]) && (attribution.MatchString(lines[0]) || strings.HasPrefix(lines[1], "<"))
	}
	return false
}

// isAnswerTo reports whether a line is an order, or belongs to what is quoted above it: an approval,
// or a question that has it in its list.
func isAnswerTo(quote []string, line string) bool {
	var b strings.Builder
	b.WriteByte('\n')
	for _, one := range quote {
		if one = strings.TrimSpace(strings.TrimLeft(one, "> ")); one != "" {
			b.WriteString(one + "\n")
		}
	}
	asked := b.String()
	option := regexp.MustCompile(`(?i)\n\d+\. ` + regexp.QuoteMeta(strings.TrimSpace(line)) + `\n`)
	return strings.HasPrefix(line, "/") || verdicts.MatchString(asked) || option.MatchString(asked)
}

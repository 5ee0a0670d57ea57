package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"
)

// readText is the text of a message without the mentions of the bot, and whether
// there were any. A link behind other words is written out.
func readText(text string, entities []entity, bot user) (clean string, mentioned bool) {
	units := utf16.Encode([]rune(text))
	entities = slices.Clone(entities)
	slices.SortFunc(entities, func(a, b entity) int { return b.Offset - a.Offset }) // from the end: places before stay
	for _, e := range entities {
		if e.Offset < 0 || e.Offset > len(units) || e.Length < 0 || e.Length > len(units)-e.Offset {
			continue
		}
		end := e.Offset + e.Length
		part := string(utf16.Decode(units[e.Offset:end]))
		switch command, to, _ := strings.Cut(part, "@"); {
		case e.Type == "mention" && strings.EqualFold(to, bot.Username),
			e.Type == "text_mention" && e.User != nil && e.User.ID == bot.ID:
			units, mentioned = cutOut(units, e.Offset, end), true
		case e.Type == "bot_command" && strings.EqualFold(to, bot.Username):
			units, mentioned = slices.Concat(units[:e.Offset], utf16.Encode([]rune(command)), units[end:]), true
		case e.Type == "text_link" && e.URL != "" && e.URL != part:
			units = slices.Concat(units[:end], utf16.Encode([]rune(" ("+e.URL+")")), units[end:])
		}
	}
	clean = string(utf16.Decode(units))
	if mentioned {
		clean = strings.TrimSpace(clean)
	}
	if clean == "" { // a call without words
		clean = text
	}
	return clean, mentioned
}

// cutOut takes out a mention: with the space behind it, and at the beginning of
// the text with what sets it off.
func cutOut(units []uint16, start, end int) []uint16 {
	for start == 0 && end < len(units) && strings.ContainsRune(",:;", rune(units[end])) {
		end++
	}
	if start == 0 || units[start-1] == ' ' {
		for end < len(units) && units[end] == ' ' {
			end++
		}
	}
	return slices.Concat(units[:start], units[end:])
}

package telegram

import (
	"fmt"
	"strconv"
	"strings"
)

// messageID names a message everywhere else: tg-<chat>-<message>.
func messageID(chat, message int64) string {
	return fmt.Sprintf("tg-%d-%d", chat, message)
}

// editID names an edit of a message.
func editID(chat, message, update int64) string {
	return fmt.Sprintf("%s.%d", messageID(chat, message), update)
}

// parseID is what messageID or editID has named.
func parseID(id string) (chat, message int64, ok bool) {
	id, _, _ = strings.Cut(id, ".")
	id, ok = strings.CutPrefix(id, "tg-")
	end := strings.LastIndexByte(id, '-')
	if !ok || end < 1 {
		return 0, 0, false
	}
	chat, err := strconv.ParseInt(id[:end], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	message, err = strconv.ParseInt(id[end+1:], 10, 64)
	return chat, message, err == nil
}

package heartbeat

import (
	"errors"

	"agenthost/internal/texts"
)

// A fault is what is wrong with a reminder that a person asked for, by the key of
// its sentence.
type fault struct {
	key    string
	values []string
}

// Error is the sentence in English.
func (f *fault) Error() string { return texts.Book{}.Say(f.key, f.values...) }

// reason is err for a person: in the words of book where it has some.
func reason(book texts.Book, err error) string {
	if f, ok := errors.AsType[*fault](err); ok {
		return book.Say(f.key, f.values...)
	}
	if errors.Is(err, ErrNoSchedule) {
		return book.Say("remind_unknown")
	}
	return err.Error()
}

package settings

import (
	"fmt"
	"strconv"
	"strings"
)

// Bytes is a size, written as 20MB, 64KB, 1GB or in bytes.
type Bytes int64

var units = []struct {
	name string
	size int64
}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"B", 1}, {"", 1}}

// UnmarshalText reads a size.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.ToUpper(strings.TrimSpace(string(text)))
	for _, unit := range units {
		number, ok := strings.CutSuffix(s, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n <= 0 || n > (1<<62)/unit.size {
			break
		}
		*b = Bytes(n * unit.size)
		return nil
	}
	return fmt.Errorf("size %q: want a number of bytes, or one with KB, MB or GB, such as 20MB", text)
}

// MarshalText writes a size as UnmarshalText reads it.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

func (b Bytes) String() string {
	for _, unit := range units {
		if n := int64(b); unit.size > 1 && n >= unit.size && n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

package client

import "testing"

func TestRenamed(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"id":"old","text":"hi","x":{"y":1}}`: `{"id":"new","text":"hi","x":{"y":1}}`,
		`{"text":"hi"}`:                        `{"text":"hi"}`,
		`{"id":`:                               `{"id":`,
		`plain`:                                `plain`,
	} {
		if got := string(renamed([]byte(data), "new")); got != want {
			t.Errorf("%s: got %s, want %s", data, got, want)
		}
	}
}

package bench

import "testing"

func TestSpread(t *testing.T) {
	for name, tt := range map[string]struct {
		lanes map[string][]int
		want  int
	}{
		"no host":                           {nil, 0},
		"each has its own":                  {map[string][]int{"a": {0, 2}, "b": {1, 3}}, 2},
		"one has all":                       {map[string][]int{"a": {0, 1}, "b": {}}, 1},
		"the first does not know the other": {map[string][]int{"a": {0, 1, 2, 3}, "b": {1, 3}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := spread(tt.lanes); got != tt.want {
				t.Errorf("spread() = %d, want %d", got, tt.want)
			}
		})
	}
}

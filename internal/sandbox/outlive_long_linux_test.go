//go:build long

package sandbox_test

import (
	"context"
	"testing"

	"agenthost/internal/sandbox"
	"agenthost/internal/waittest"
)

func TestNothingOutlivesItsCall(t *testing.T) {
	t.Parallel()
	for _, level := range sandbox.Levels() {
		for name, escape := range escapes {
			for how, rest := range map[string]string{"exit": "exit 0", "stop": "sleep 600"} {
				t.Run(string(level)+"/"+name+"/"+how, func(t *testing.T) {
					t.Parallel()
					w := open(t, level)
					p := w.pipeline(t)
					ctx, stop := context.WithTimeout(t.Context(), waittest.Within)
					defer stop()
					begun := make(chan struct{})
					go func() {
						defer close(begun)
						if p.begins(); how == "stop" {
							stop()
						}
					}()
					w.run(ctx, t, holdFIFO+escape+"\n"+rest)
					<-begun
					p.ends()
				})
			}
		}
	}
}

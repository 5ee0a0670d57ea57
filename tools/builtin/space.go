package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"agenthost/internal/diskuse"
	"agenthost/tools"
)

// DefaultSpace is what a workspace may take where nothing else is said.
const DefaultSpace = 2 << 30

const (
	spaceCure  = "delete files that are not needed, or raise limits.workspace_mb"
	spaceEvery = time.Second // how often the folders of a command are measured
	// spaceSlack is what a command may add to a workspace that is full already, as
	// deleting can take room as well.
	spaceSlack = 1 << 20
)

// A space is what a workspace takes and may take, in bytes.
type space struct{ used, limit int64 }

func (w *workspaces) space(ctx context.Context, agent string) (space, error) {
	used, err := diskuse.Of(ctx, w.folder(agent))
	return space{used, w.limit(agent)}, err
}

// fits returns an error when a file of so many bytes at name would take the
// workspace above its limit. One that is no larger than what it replaces fits.
func (w *workspaces) fits(ctx context.Context, root *os.Root, agent, name string, size int) error {
	info, err := root.Lstat(name)
	if err == nil && int64(size) <= info.Size() {
		return nil
	}
	s, err := w.space(ctx, agent)
	if err != nil {
		return err
	}
	if more := int64(size); s.room() < more {
		return fmt.Errorf("%d bytes do not fit: %w", more, s.full())
	}
	return nil
}

// room is what may still be written.
func (s space) room() int64 { return max(0, s.limit-s.used) }

func (s space) full() error {
	return fmt.Errorf("the workspace takes %.1f of %.1f MB; %s", megabytes(s.used), megabytes(s.limit), spaceCure)
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

// watch ends the context it returns once the folders of a command take more than
// the workspace may, or than it took before: deleting is always possible.
func (s space) watch(ctx context.Context, folders ...string) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	most, done := max(s.limit, s.used+spaceSlack), make(chan struct{})
	go func() {
		defer close(done)
		for pause := spaceEvery; ; {
			select {
			case <-watched.Done():
				return
			case <-time.After(pause):
			}
			began := time.Now()
			var err error
			if s.used, err = total(watched, folders); err != nil {
				cancel(err)
			} else if s.used > most {
				cancel(s.full())
			}
			pause = max(spaceEvery, 10*time.Since(began)) // a large workspace is not measured all the time
		}
	}()
	return watched, func() {
		cancel(nil)
		<-done
	}
}

func total(ctx context.Context, folders []string) (sum int64, err error) {
	for _, dir := range folders {
		used, failed := diskuse.Of(ctx, dir)
		sum, err = sum+used, errors.Join(err, failed)
	}
	return sum, err
}

// explain adds to the result of a command that failed in a workspace with little
// room what would help. The kernel says of it at most "File size limit exceeded".
func (w *workspaces) explain(ctx context.Context, agent string, r tools.Result) tools.Result {
	if !r.Failed || strings.Contains(r.Text, spaceCure) {
		return r
	}
	s, err := w.space(context.WithoutCancel(ctx), agent) // the command may have used up its time
	if err == nil && s.room() < s.limit/10 {
		r.Text += fmt.Sprintf("\n[%v]", s.full())
	}
	return r
}

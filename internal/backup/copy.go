package backup

import (
	"context"
	"errors"
	"io"
)

// copy copies one stream into files of its own.
func (w *writer) copy(ctx context.Context, step step) (Stream, error) {
	w.progress(step.stream, 0)
	out, err := w.create(step.stream + ".snapshot")
	if err != nil {
		return Stream{}, err
	}
	answer, have, err := w.snapshot(ctx, step, out)
	file, closed := out.finish()
	if err := errors.Join(err, closed); err != nil {
		return Stream{}, err
	}
	s := Stream{
		Name: step.stream, File: file, Messages: have.messages, FirstSeq: have.state.FirstSeq, LastSeq: have.state.LastSeq,
		Config: compact(answer.Config), State: compact(answer.State),
	}
	if step.newest != "" && have.messages < have.state.Messages {
		if err := w.copyReplaced(ctx, step, have, &s); err != nil {
			return Stream{}, err
		}
	}
	w.done++
	return s, nil
}

// snapshot copies the snapshot of a stream to out, and reads it on its way.
func (w *writer) snapshot(ctx context.Context, step step, out io.Writer) (answer snapshotAnswer, have contents, err error) {
	read, write := io.Pipe()
	inspected := make(chan error, 1)
	go func() {
		var err error
		have, err = inspect(read, step.newest != "")
		read.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		inspected <- err
	}()
	answer, err = snapshot(ctx, w.js, step.stream, io.MultiWriter(out, progressWriter{w, step.stream}, write))
	write.CloseWithError(err)                                                       // nil: the end
	if wrong := <-inspected; err == nil || wrong != nil && !errors.Is(wrong, err) { // what is wrong with the archive says more
		err = wrong
	}
	return answer, have, err
}

// A progressWriter counts what is written of a stream.
type progressWriter struct {
	w      *writer
	stream string
}

func (p progressWriter) Write(data []byte) (int, error) {
	p.w.progress(p.stream, len(data))
	return len(data), nil
}

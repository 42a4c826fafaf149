package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/flyball-io/flyball/apiserver"
)

// stateFile is the name of the file in which "flyball apiserver" keeps its state; "" if it keeps none.
type stateFile string

var errFolder = errors.New("is a directory")

// check returns an error if the state could not be written at the end. exists reports whether there is a state to
// start from.
func (f stateFile) check() (exists bool, err error) {
	if f == "" {
		return false, nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("--state %s: %w", f, err)
		}
	}()
	switch info, err := os.Stat(string(f)); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, err
	case info.IsDir():
		return false, errFolder
	default:
		exists = true
	}
	return exists, replaceable(string(f))
}

// save replaces the file, in one step, by one with the text that write writes. After an error the file is as it was.
func (f stateFile) save(write func(io.Writer) error) error {
	if err := replace(string(f), write); err != nil {
		return f.unsaved(err)
	}
	return nil
}

// saveEvery is the time between two saves of a server that runs.
const saveEvery = 30 * time.Second

// whileRunning saves the state of a server every 30 seconds, if that has changed, until ctx ends. An error is written
// to errOut: a later save may work.
func (f stateFile) whileRunning(ctx context.Context, s *apiserver.Server, errOut io.Writer) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	saved := s.Snapshot().Version()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := s.Snapshot().Version(); f != "" && now != saved {
			if err := f.save(s.Export); err != nil {
				fmt.Fprintln(errOut, "flyball:", err)
				continue
			}
			saved = now
		}
	}
}

func (f stateFile) unsaved(err error) error {
	kept := "there is no such file yet"
	if _, gone := os.Stat(string(f)); gone == nil {
		kept = "the file is as it was before"
	}
	return fmt.Errorf("the state is not saved in %s, %s: %w", string(f), kept, err)
}

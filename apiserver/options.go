package apiserver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/shared"
)

// check returns an error that names each field with a value that can only be a mistake.
func (o Options) check() error {
	var errs []error
	if o.Port < 0 || o.Port > 65535 {
		errs = append(errs, fmt.Errorf("Options.Port %d: a port is a number from 0 to 65535", o.Port))
	}
	if o.InMemory && o.Port != 0 {
		errs = append(errs, fmt.Errorf("Options.Port %d: a server with InMemory listens nowhere", o.Port))
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"Options.History", o.History}, {"Options.Bookmarks", o.Bookmarks}, {"Options.Latency", o.Latency}} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("%s %v: it is negative", f.name, f.value))
		}
	}
	return errors.Join(errs...)
}

// files returns the files of CRDs. Files that are missing are found here, before the rules are built.
func (o Options) files() (crds []string, err error) {
	if crds, err = shared.FilesOf(o.CRDs); err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	if o.State != "" {
		if _, err := os.Stat(o.State); err != nil {
			return nil, fmt.Errorf("apiserver: state: %w", err)
		}
	}
	return crds, nil
}

// progress returns where lines about the start go.
func (o Options) progress() io.Writer {
	if o.Progress != nil {
		return o.Progress
	}
	return os.Stderr
}

// early returns the definitions that are part of the first objects, and those that are created after them: all, if a
// file has other objects of the state.
func (o Options) early(definitions []shared.Definition) (first, later []shared.Definition) {
	if o.State != "" {
		return nil, definitions
	}
	return shared.Early(definitions)
}

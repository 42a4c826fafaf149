package shared

import (
	"context"
	"io"
	"testing"

	"github.com/flyball-io/flyball/test/plane"
)

// impatient starts the rules as the first call of a process does, with a context that has ended. It returns the error of
// that call, and the error that is kept for later calls.
func impatient(t *testing.T) (err, later error) {
	t.Setenv(plane.RulesEnv, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	own.Lock()
	client := own.client
	own.client = nil
	own.Unlock()
	_, err = Rules(ctx, io.Discard)
	own.Lock()
	defer own.Unlock()
	later, own.client, own.err = own.err, client, nil
	return err, later
}

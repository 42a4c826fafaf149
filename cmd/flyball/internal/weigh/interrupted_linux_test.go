package weigh

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/flyball-io/flyball/scheme"
)

// Ctrl-C ends the weighing of a recording also where it skips objects. This recording has no end.
func TestRecordedInterruptedWhileItSkips(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recording")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	cause := errors.New("interrupt signal received")
	wrote := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			wrote <- err
			return
		}
		defer f.Close()
		zip := gzip.NewWriter(f)
		_, err = fmt.Fprintln(zip, `{"format":"flyball-recording-1","resource":{"GVK":{"Group":"","Version":"v1","Kind":"Pod"},"GVR":{"Group":"","Version":"v1","Resource":"pods"},"Namespaced":true},"objects":1000000000}`)
		for n := 0; err == nil; n++ {
			if n == 10000 {
				cancel(cause)
			}
			_, err = fmt.Fprintf(zip, "{\"data\": \"%x\"}\n", rand.Uint64())
		}
		wrote <- err
	}()
	r, err := Recorded(ctx, file, scheme.New(), Options{Selection: Selection{Kinds: []string{"nodes"}}})
	if r != nil || err != cause {
		t.Errorf("%+v, %v", r, err)
	}
	if err := <-wrote; !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the recording: %v", err)
	}
}

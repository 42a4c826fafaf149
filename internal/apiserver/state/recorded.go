package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/recording"
)

// IsRecording reports whether a file that begins with these two bytes or more may be a recording: one is compressed.
func IsRecording(begin []byte) bool { return bytes.HasPrefix(begin, []byte{0x1f, 0x8b}) }

// Record adds the objects of a recorded cluster to a state. They replace those with the same keys. It leaves out kinds
// that the state does not serve, and calls report with a line for each.
func Record(in io.ReadSeeker, into *core.State, now time.Time, report func(line string)) error {
	l := newLoading(into, now)
	if err := l.recorded(in, true, report); err != nil {
		return err
	}
	if len(l.problems) == 0 {
		l.define()
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := l.recorded(in, false, report); err != nil {
			l.wait()
			return err
		}
	}
	return l.end()
}

// recorded adds either the definitions of a recording or all other objects.
func (l *loading) recorded(in io.Reader, definitions bool, report func(string)) error {
	r, err := recording.NewReader(in)
	if err != nil {
		return err
	}
	number := 0
	for {
		res, n, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		defines := res.GVR.Group == "apiextensions.k8s.io" && res.GVK.Kind == definition
		if defines != definitions || res.GVR.Group == "events.k8s.io" { // Events are in the core group, too
			continue
		}
		if !definitions {
			id := identity{}
			id.APIVersion, id.Kind = res.GVK.GroupVersion().String(), res.GVK.Kind
			id.Metadata.Name = "any"
			_, err := l.path(id)
			if u := (*unknownKind)(nil); errors.As(err, &u) {
				if n > 0 {
					report(fmt.Sprintf("left out: %d objects of %s %s, a kind that this server does not serve", n, id.APIVersion, id.Kind))
				}
				continue
			}
		}
		for i := range n {
			text, err := r.Object()
			if err != nil {
				return err
			}
			object := slices.Clone(text)
			number++
			l.add(number, fmt.Sprintf("object %d of %s", i+1, res.GVR.GroupResource()), 0, func() ([]byte, bool, error) { return object, false, nil })
			if l.failed() {
				return nil
			}
		}
	}
}

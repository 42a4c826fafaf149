package web

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"slices"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/faults"
)

// Sharer is a [http.ResponseWriter] of the same process.
type Sharer interface {
	// WriteShared is Write for bytes that nobody changes afterwards: they need not be copied.
	WriteShared([]byte) (int, error)
}

// frames writes the frames of a watch.
type frames struct {
	w        http.ResponseWriter
	shares   Sharer // nil if w is none
	flush    *http.ResponseController
	protobuf bool
	faults   *faults.Stream  // nil if nothing goes wrong
	held     []byte          // frames to send after the next one
	over     <-chan struct{} // closed when the watch has to end
}

func newFrames(w http.ResponseWriter, protobuf bool, broken *faults.Stream, over <-chan struct{}) *frames {
	shares, _ := w.(Sharer)
	return &frames{w: w, shares: shares, flush: http.NewResponseController(w), protobuf: protobuf, faults: broken, over: over}
}

// late reports whether the watch has to end although there are more events: a client or a fault was slow.
func (f *frames) late(end <-chan time.Time) bool {
	select {
	case <-end:
		return true
	case <-f.over:
		return true
	default:
		return false
	}
}

// start writes the header. Errors show when the first frame is written.
func (f *frames) start() {
	contentType := "application/json"
	if f.protobuf {
		contentType = "application/vnd.kubernetes.protobuf;stream=watch"
	}
	f.w.Header().Set("Content-Type", contentType)
	f.w.WriteHeader(http.StatusOK)
}

// send sends the frame of an event, as a fault has it. The object must not change afterwards: all watches of a process
// share it.
func (f *frames) send(kind string, object []byte, as faults.Frame) error {
	parts := FrameParts(kind, object, f.protobuf)
	if f.shares != nil && f.faults == nil {
		for _, part := range parts {
			if _, err := f.shares.WriteShared(part); err != nil {
				return err
			}
		}
		return nil
	}
	text := slices.Concat(parts[:]...)
	if as.Cut {
		writeUntil(f.w, text, len(text)/2)
	}
	if as.Times > 1 {
		text = slices.Repeat(text, as.Times)
	}
	if as.Hold {
		f.held = append(f.held, text...)
		return nil
	}
	_, err := f.w.Write(append(text, f.held...))
	f.held = nil
	return err
}

// FrameParts returns what comes before the object in the frame of an event, the object, and what comes after it.
func FrameParts(kind string, object []byte, protobuf bool) [3][]byte {
	if protobuf {
		return [3][]byte{protobufHead(kind, len(object)), object, nil}
	}
	return [3][]byte{jsonHeads[kind], bytes.TrimSpace(object), jsonEnd}
}

var jsonEnd = []byte("}\n")

// jsonHeads has what comes before an object, by the type of the event.
var jsonHeads = func() map[string][]byte {
	out := map[string][]byte{}
	for _, kind := range []string{core.Added, core.Modified, core.Deleted, core.Bookmark, core.Failure} {
		out[kind] = []byte(`{"type":"` + kind + `","object":`)
	}
	return out
}()

// protobufHead returns what comes before an object of a size: the length of the frame, and a WatchEvent whose last field
// is the object.
func protobufHead(kind string, size int) []byte {
	raw := binary.AppendUvarint([]byte{1<<3 | 2}, uint64(size))
	text := append(binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(kind))), kind...)
	text = binary.AppendUvarint(append(text, 2<<3|2), uint64(len(raw)+size))
	text = append(text, raw...)
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text)+size)), text...)
}

// raw returns a frame with any text in it.
func (f *frames) raw(text string) string {
	if !f.protobuf {
		return text + "\n"
	}
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + text
}

package wire_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/wire"
)

// rooms is a body, part after part, that notes how much room each read had.
type rooms struct {
	parts [][]byte
	room  []int // of the reads of each part, the last of them
	first weak.Pointer[byte]
	kept  bool // the room of the first part is in use during the read of the second
}

func (r *rooms) Read(p []byte) (int, error) {
	if len(r.parts) == 0 {
		return 0, io.EOF
	}
	part := len(r.room) - len(r.parts)
	r.room[part] = len(p)
	switch part {
	case 0:
		r.first = weak.Make(&p[0])
	case 1:
		runtime.GC()
		r.kept = r.kept || r.first.Value() != nil
	}
	n := copy(p, r.parts[0])
	if r.parts[0] = r.parts[0][n:]; len(r.parts[0]) == 0 {
		r.parts = r.parts[1:]
	}
	return n, nil
}

// What a list needed to be read is not kept while nothing happens: behind its bookmark the buffer is
// small, until more comes than fits.
func TestWatchForgetsTheBufferOfAList(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		var list []event
		for i := range 200 {
			list = append(list, event{"ADDED", typedPod(i)})
		}
		list = append(list, event{"BOOKMARK", bookmark("900", map[string]string{metav1.InitialEventsAnnotationKey: "true"})})
		later := []event{{"MODIFIED", typedPod(1)}}
		one, _ := stockWatch(t, enc, list...)
		two, _ := stockWatch(t, enc, later...)
		three, _ := stockWatch(t, enc, list[:200]...)
		r := &rooms{parts: [][]byte{one, two, three}, room: make([]int, 3)}
		frames, bad, err := drainWatch(t, r, watchType(enc), pods, wire.Limits{})
		if err != nil || len(bad) > 0 || len(frames) != 402 {
			t.Fatal(len(frames), bad, err)
		}
		for i, ev := range list[:200] {
			if !bytes.Equal(frames[i].Object.Bytes, frames[202+i].Object.Bytes) {
				t.Fatalf("%s %d is another the second time", ev.name, i)
			}
		}
		if r.kept {
			t.Error("the buffer of a list is kept")
		}
		if r.room[0] < 32<<10 || r.room[1] > 8<<10 || r.room[2] < 32<<10 {
			t.Errorf("rooms of reads: %d for a list, then %d, then %d for many events", r.room[0], r.room[1], r.room[2])
		}
	})
}

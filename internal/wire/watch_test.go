package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

type event struct {
	name string
	obj  runtime.Object
}

// stockWatch writes a watch body as an API server does, and says where its frames end.
func stockWatch(t testing.TB, enc wire.Encoding, events ...event) (body []byte, ends []int) {
	t.Helper()
	var buf bytes.Buffer
	var w io.Writer = kjson.Framer.NewFrameWriter(&buf)
	s := runtime.Encoder(stockJSON)
	if enc == wire.Protobuf {
		w = protobuf.LengthDelimitedFramer.NewFrameWriter(&buf)
		s = protobuf.NewRawSerializer(types, types)
	}
	e := streaming.NewEncoder(w, s)
	for _, ev := range events {
		we := &metav1.WatchEvent{Type: ev.name, Object: runtime.RawExtension{Raw: stock(t, enc, ev.obj)}}
		if err := e.Encode(we); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, buf.Len())
	}
	return buf.Bytes(), ends
}

func watchType(enc wire.Encoding) string {
	if enc == wire.Protobuf {
		return wire.ContentTypeProtobufWatch
	}
	return wire.ContentTypeJSONWatch
}

// drainWatch reads a watch to its end. Errors about one event are kept apart.
func drainWatch(t testing.TB, in io.Reader, contentType string, kind *wire.Kind, lim wire.Limits) (frames []wire.Frame, bad []error, err error) {
	t.Helper()
	w, err := wire.NewWatch(io.NopCloser(in), contentType, kind, lim)
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	return toEnd(t, w.Next, func(f wire.Frame) wire.Frame {
		f.Object = f.Object.Clone()
		return f
	})
}

func typedPod(i int) *corev1.Pod {
	p := bigPod(i)
	p.SetGroupVersionKind(pods.GVK)
	return p
}

func bookmark(version string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, Annotations: annotations},
	}
}

var gone = &metav1.Status{
	TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonGone, Code: 410, Message: "too old",
}

func story() []event {
	return []event{
		{"ADDED", typedPod(1)}, {"MODIFIED", typedPod(2)}, {"DELETED", typedPod(3)},
		{"BOOKMARK", bookmark("99", nil)},
		{"BOOKMARK", bookmark("100", map[string]string{metav1.InitialEventsAnnotationKey: "true"})},
		{"ERROR", gone},
	}
}

func TestWatchOfStockSerializers(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		in, _ := stockWatch(t, enc, story()...)
		frames, bad, err := drainWatch(t, iotest.OneByteReader(bytes.NewReader(in)), watchType(enc), pods, wire.Limits{})
		if err != nil || len(bad) > 0 || len(frames) != 6 {
			t.Fatal(len(frames), bad, err)
		}
		for i, want := range []wire.EventType{wire.Added, wire.Modified, wire.Deleted, wire.Bookmark, wire.Bookmark, wire.Error} {
			f := frames[i]
			if f.Type != want || f.Type.String() != story()[i].name {
				t.Errorf("event %d: %v, want %v", i, f.Type, want)
			}
			if i > 2 {
				continue
			}
			got := new(corev1.Pod)
			if err := f.Object.Decode(got); err != nil {
				t.Fatal(err)
			}
			if d := diffObjects(typedPod(i+1), got); d != "" {
				t.Error(d)
			}
			if len(f.Object.Bytes) != cap(f.Object.Bytes) {
				t.Errorf("event %d: %d bytes in %d", i, len(f.Object.Bytes), cap(f.Object.Bytes))
			}
		}
		if f := frames[3]; f.ResourceVersion != "99" || f.InitialEventsEnd {
			t.Errorf("%+v", f)
		}
		if f := frames[4]; f.ResourceVersion != "100" || !f.InitialEventsEnd {
			t.Errorf("%+v", f)
		}
		if d := diffObjects(gone, frames[5].Status); d != "" {
			t.Error(d)
		}
	})
}

// reads is a body that gives so many bytes at a time.
type reads struct {
	b    []byte
	at   int
	most int
}

func (r *reads) Read(b []byte) (int, error) {
	n := copy(b, r.b[r.at:min(r.at+r.most, len(r.b))])
	if r.at += n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestTakeReadsNothing: Take returns every event that is complete, and leaves reading to Fill.
func TestTakeReadsNothing(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		in, ends := stockWatch(t, enc, story()...)
		for i := range ends {
			if enc == wire.JSON {
				ends[i]-- // the event is whole before its line is
			}
		}
		for _, most := range []int{1, 7, 1000, len(in)} {
			body := &reads{b: in, most: most}
			w, err := wire.NewWatch(io.NopCloser(body), watchType(enc), pods, wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			taken, fills := 0, 0
			for err == nil {
				was := body.at
				if _, err = w.Take(); err == nil {
					taken++
				}
				if body.at != was {
					t.Fatal("Take has read the body")
				}
				if err != wire.ErrIncomplete {
					continue
				}
				whole := 0
				for whole < len(ends) && ends[whole] <= body.at {
					whole++
				}
				if taken != whole {
					t.Errorf("reads of %d: %d events taken of %d bytes, not %d", most, taken, body.at, whole)
				}
				w.Fill()
				fills++
				if err = nil; body.at > was+most {
					t.Fatal("Fill has read more than once")
				}
			}
			if err != io.EOF || taken != len(ends) || fills < len(in)/most {
				t.Errorf("reads of %d: %d events, %d fills: %v", most, taken, fills, err)
			}
			w.Close()
		}
	})
}

func TestWatchCutAnywhere(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		in, ends := stockWatch(t, enc, event{"ADDED", typedPod(1)}, event{"BOOKMARK", bookmark("5", nil)})
		for n := range in {
			frames, bad, err := drainWatch(t, bytes.NewReader(in[:n]), watchType(enc), pods, wire.Limits{})
			whole := 0
			between := n == 0
			for _, e := range ends {
				// A JSON value is whole without the line end after it.
				if n >= e || enc == wire.JSON && n == e-1 {
					whole++
					between = between || n == e || n == e-1
				}
			}
			switch cut := (*wire.TruncatedError)(nil); {
			case len(bad) > 0 || len(frames) != whole:
				t.Fatalf("%d of %d bytes: %d frames, want %d; %v", n, len(in), len(frames), whole, bad)
			case between && err != nil:
				t.Fatalf("%d of %d bytes, between frames: %v", n, len(in), err)
			case !between && (!errors.As(err, &cut) || !errors.Is(err, io.ErrUnexpectedEOF)):
				t.Fatalf("%d of %d bytes: %v", n, len(in), err)
			}
		}
	})
}

// An event must be handed out when its last byte is there, not with the next event.
func TestWatchDoesNotWaitForMore(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		in, ends := stockWatch(t, enc, story()...)
		if enc == wire.JSON {
			for i := range ends {
				ends[i]-- // before the line end
			}
		}
		r, w := io.Pipe()
		watch, err := wire.NewWatch(r, watchType(enc), pods, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Close()
		from := 0
		for i, end := range ends {
			wrote := make(chan error, 1)
			go func() {
				_, err := w.Write(in[from:end])
				wrote <- err
			}()
			if _, err := watch.Next(); err != nil { // blocks for ever if it wants more
				t.Fatal(i, err)
			}
			if err := <-wrote; err != nil {
				t.Fatal(err)
			}
			from = end
		}
	})
}

// frame wraps an envelope (or anything) into a protobuf watch frame.
func frame(name string, object []byte) []byte {
	b := msg(1, name, 2, msg(1, object))
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func TestDamagedWatchIsAnError(t *testing.T) {
	first := map[wire.Encoding][]byte{}
	for _, enc := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		first[enc], _ = stockWatch(t, enc, event{"ADDED", typedPod(1)})
	}
	for _, c := range []struct {
		name string
		enc  wire.Encoding
		in   string
	}{
		{"no message", wire.Protobuf, "\x00\x00\x00\x04\xff\xff\xff\xff"},
		{"message cut short", wire.Protobuf, "\x00\x00\x00\x02\x0a\x7f"},
		{"words", wire.JSON, "nonsense"},
		{"array", wire.JSON, "[]"},
		{"type is a number", wire.JSON, `{"type":1,"object":{}}`},
		{"bad JSON in the object", wire.JSON, `{"type":"ADDED","object":{"kind":}}`},
		{"zero bytes", wire.JSON, "\x00\x00\x00\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := append(bytes.Clone(first[c.enc]), c.in...)
			frames, _, err := drainWatch(t, bytes.NewReader(in), watchType(c.enc), pods, wire.Limits{})
			var bad *wire.SyntaxError
			if !errors.As(err, &bad) || bad.Encoding != c.enc || bad.Offset < int64(len(first[c.enc])) || bad.Offset > int64(len(in)) {
				t.Errorf("got %v", err)
			}
			if len(frames) != 1 {
				t.Errorf("%d good frames before, want 1", len(frames))
			}
		})
	}
}

func TestWatchUnknownEventType(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		in, _ := stockWatch(t, enc, event{"RENAMED", typedPod(1)})
		_, _, err := drainWatch(t, bytes.NewReader(in), watchType(enc), pods, wire.Limits{})
		var bad *wire.EventTypeError
		if !errors.As(err, &bad) || bad.Type != "RENAMED" {
			t.Errorf("got %v", err)
		}
	})
}

func TestWatchErrorWithoutStatus(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		in, _ := stockWatch(t, enc, event{"ERROR", typedPod(1)})
		_, _, err := drainWatch(t, bytes.NewReader(in), watchType(enc), pods, wire.Limits{})
		var bad *wire.KindError
		if !errors.As(err, &bad) || bad.Got.Kind != "Pod" {
			t.Errorf("got %v", err)
		}
	})
}

func TestWatchOversizeIsNotBuffered(t *testing.T) {
	const limit = 64 << 10
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		endless := &endlessReader{}
		head := "\x7f\xff\xff\xff"
		if enc == wire.JSON {
			head = `{"type":"ADDED","object":{"a":"`
		}
		in := io.MultiReader(strings.NewReader(head), endless)
		_, _, err := drainWatch(t, in, watchType(enc), pods, wire.Limits{Frame: limit})
		var big *wire.TooLargeError
		if !errors.As(err, &big) || big.Limit != limit || big.Size <= limit {
			t.Fatalf("got %v", err)
		}
		if endless.n > 2*limit {
			t.Errorf("%d bytes read", endless.n)
		}
	})
}

func TestWatchBadObjectsDoNotStopIt(t *testing.T) {
	nameless := typedPod(1)
	nameless.Name = ""
	service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "svc"}}
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		in, _ := stockWatch(t, enc, event{"ADDED", service}, event{"BOOKMARK", bookmark("", nil)}, event{"ADDED", nameless}, event{"MODIFIED", typedPod(2)})
		frames, bad, err := drainWatch(t, bytes.NewReader(in), watchType(enc), pods, wire.Limits{})
		if err != nil || len(frames) != 2 || len(bad) != 2 {
			t.Fatal(len(frames), bad, err)
		}
		var foreign *wire.DecodeError
		var kind *wire.KindError
		if !errors.As(bad[0], &foreign) || foreign.Key != (object.Key{Namespace: "ns", Name: "svc"}) || !errors.As(foreign, &kind) ||
			kind.Got.Kind != "Service" || kind.Want.Kind != "Pod" {
			t.Errorf("object of another kind: %v", bad[0])
		}
		if !errors.As(bad[1], &foreign) || foreign.Field != "metadata.resourceVersion" {
			t.Errorf("bookmark without version: %v", bad[1])
		}
		if _, err := frames[0].Object.Header(); !errors.As(err, &foreign) || foreign.Key.Namespace != nameless.Namespace {
			t.Errorf("object without a name: %v", err)
		}
		if _, err := frames[1].Object.Header(); err != nil {
			t.Error(err)
		}
	})
}

func TestWatchBodyErrorComesThrough(t *testing.T) {
	reset := errors.New("connection reset")
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		in, _ := stockWatch(t, enc, event{"ADDED", typedPod(1)})
		for _, n := range []int{0, 2, len(in) / 2, len(in)} {
			r := io.MultiReader(bytes.NewReader(in[:n]), iotest.ErrReader(reset))
			if _, _, err := drainWatch(t, r, watchType(enc), pods, wire.Limits{}); !errors.Is(err, reset) {
				t.Errorf("after %d bytes: %v", n, err)
			}
		}
	})
}

// An HTTP body that lost its connection ends with io.ErrUnexpectedEOF, also between frames.
func TestLostConnectionIsAnUnexpectedEOF(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		watch, _ := stockWatch(t, enc, event{"ADDED", typedPod(1)})
		list := stock(t, enc, podList(1))
		for _, n := range []int{0, 100, len(watch)} {
			r := io.MultiReader(bytes.NewReader(watch[:n]), iotest.ErrReader(io.ErrUnexpectedEOF))
			if _, _, err := drainWatch(t, r, watchType(enc), pods, wire.Limits{}); !errors.As(err, new(*wire.TruncatedError)) {
				t.Errorf("watch after %d bytes: %v", n, err)
			}
		}
		for _, n := range []int{0, 100, len(list)} {
			r := io.MultiReader(bytes.NewReader(list[:n]), iotest.ErrReader(io.ErrUnexpectedEOF))
			if _, _, _, err := drain(t, r, contentType(enc), pods, wire.Limits{}); !errors.As(err, new(*wire.TruncatedError)) {
				t.Errorf("list after %d bytes: %v", n, err)
			}
		}
	})
}

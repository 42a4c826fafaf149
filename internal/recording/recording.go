// Package recording is the format of a recorded cluster: a file with the objects of its kinds. The
// benchmarks write and replay it, and "flyball weigh" reads it.
//
//	Writer: Add(kind, objects) … ──► gzip of JSON, a value on each line ──► Reader: Next, Object …
//
// For each kind there is a line that names it and the number of its objects, and a line for each
// object. A reader holds one object at a time.
package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const format = "flyball-recording-1"

// Resource is a kind, and its name in URLs.
type Resource struct {
	GVK        schema.GroupVersionKind
	GVR        schema.GroupVersionResource
	Namespaced bool
}

// section is the line before the objects of a kind.
type section struct {
	Format   string   `json:"format"`
	Resource Resource `json:"resource"`
	Objects  int      `json:"objects"`
}

// Writer writes a recording. Its methods must not be called concurrently.
type Writer struct {
	zip  *gzip.Writer
	enc  *json.Encoder
	kind Resource
	left int // objects of the kind that are not written yet
}

// NewWriter begins a recording.
func NewWriter(w io.Writer) *Writer {
	zip := gzip.NewWriter(w)
	enc := json.NewEncoder(zip)
	enc.SetEscapeHTML(false)
	return &Writer{zip: zip, enc: enc}
}

// Begin begins a kind. Add must follow for each of its objects.
func (w *Writer) Begin(res Resource, objects int) error {
	err := w.complete()
	w.kind, w.left = res, objects
	return errors.Join(err, w.enc.Encode(section{format, res, objects}))
}

// Add writes an object of the kind, as JSON with apiVersion and kind. The data of Secrets is
// replaced by zeros; see [Blank].
func (w *Writer) Add(o json.RawMessage) error {
	w.left--
	if w.kind.GVK == secretKind {
		var err error
		if o, err = Blank(o); err != nil {
			return err
		}
	}
	return w.enc.Encode(o)
}

func (w *Writer) complete() error {
	if w.left != 0 {
		return fmt.Errorf("recording: %s has %d objects fewer than were announced", w.kind.GVR.Resource, w.left)
	}
	return nil
}

// Close ends the recording. It does not close the underlying writer.
func (w *Writer) Close() error { return errors.Join(w.complete(), w.zip.Close()) }

// Reader reads a recording. It is for one goroutine.
type Reader struct {
	lines *bufio.Reader
	long  []byte // a line that is longer than the buffer
	now   section
	read  int // objects of the current kind
}

// maxLine bounds the size of one object.
const maxLine = 64 << 20

var (
	errFormat = errors.New("it is no recording: it does not begin with a line of the format " + format)
	errLine   = fmt.Errorf("a line is longer than %d MiB", maxLine>>20)
)

// NewReader begins to read. An error means that r is no recording.
func NewReader(r io.Reader) (*Reader, error) {
	zip, err := gzip.NewReader(bufio.NewReaderSize(r, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("it is no recording: %w", err)
	}
	return &Reader{lines: bufio.NewReaderSize(zip, 64<<10)}, nil
}

// Next returns the next kind and the number of its objects, or io.EOF. It skips the objects of the
// current kind that were not read.
func (r *Reader) Next() (Resource, int, error) {
	for {
		if _, err := r.Object(); err == io.EOF {
			break
		} else if err != nil {
			return Resource{}, 0, err
		}
	}
	b, err := r.line()
	if err != nil {
		return Resource{}, 0, err
	}
	r.now, r.read = section{}, 0
	if err := json.Unmarshal(b, &r.now); err != nil || r.now.Format != format || r.now.Objects < 0 {
		r.now = section{}
		return Resource{}, 0, errors.Join(errFormat, err)
	}
	return r.now.Resource, r.now.Objects, nil
}

// Object returns the next object of the current kind, or io.EOF after the last one. Its JSON is not
// checked. The bytes are valid until the next call. Other errors name the kind and the number of
// the object.
func (r *Reader) Object() (json.RawMessage, error) {
	if r.read == r.now.Objects {
		return nil, io.EOF
	}
	b, err := r.line()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%s, object %d of %d: %w", r.now.Resource.GVR.GroupResource(), r.read+1, r.now.Objects, err)
	}
	r.read++
	return b, nil
}

// line returns the next line, without its end.
func (r *Reader) line() ([]byte, error) {
	r.long = r.long[:0]
	for {
		b, err := r.lines.ReadSlice('\n')
		switch {
		case err == nil && len(r.long) == 0:
			return b[:len(b)-1], nil
		case err == nil:
			r.long = append(r.long, b[:len(b)-1]...)
			return r.long, nil
		case err == io.EOF && len(r.long)+len(b) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != bufio.ErrBufferFull:
			return nil, err
		case len(r.long)+len(b) > maxLine:
			return nil, errLine
		}
		r.long = append(r.long, b...)
	}
}

var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// Blank replaces the data of a Secret by zeros of about the same length, and removes the
// annotations, since one of them may contain the data.
func Blank(raw json.RawMessage) (json.RawMessage, error) {
	var o map[string]any
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	data, _ := o["data"].(map[string]any)
	for k, v := range data {
		text, _ := v.(string)
		data[k] = strings.Repeat("A", len(text)/4*4) // base64 of zeros
	}
	delete(o, "stringData")
	if m, ok := o["metadata"].(map[string]any); ok {
		delete(m, "annotations")
	}
	var b bytes.Buffer
	err := json.NewEncoder(&b).Encode(o)
	return bytes.TrimSpace(b.Bytes()), err
}

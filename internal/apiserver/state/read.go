package state

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// maxDocument bounds one document. An object of a real server has 1.5 MB at the most.
const maxDocument = 16 << 20

// Read adds the objects of a file of [Write] to an empty state. After an error the state is void. Errors name the
// document of an object by its number; the header is document 1.
func Read(r io.Reader, into *core.State, now time.Time) error {
	d := &documents{in: bufio.NewReaderSize(r, 1<<16)}
	h, err := d.header()
	if err != nil {
		return err
	}
	kubernetes, err := version(into.Now())
	if err != nil {
		return err
	}
	if minor(h.Kubernetes) != minor(kubernetes) {
		return fmt.Errorf("it is of Kubernetes %s, and this server is %s: start the Flyball that wrote it, or take out what Kubernetes %s does not know and change the line %q", h.Kubernetes, kubernetes, minor(kubernetes), "kubernetes:")
	}
	into.Resume(core.Saved{Version: h.Version, Created: h.Created})
	l := newLoading(into, now)
	l.strict = true // people write here
	for {
		text, err := d.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			l.wait()
			return fmt.Errorf("document %d: %w", d.number, err)
		}
		l.add(d.number, fmt.Sprintf("document %d", d.number), h.Version, func() ([]byte, bool, error) { return parse(text) })
		if l.failed() {
			break
		}
	}
	if err := l.end(); err != nil {
		return err
	}
	if h.End && !d.marked {
		return errCut
	}
	return nil
}

var errCut = errors.New(`it was cut: its first document says "end: true", but no line is "` + end + `"`)

// documents reads a stream of documents.
type documents struct {
	in     *bufio.Reader
	number int // of the document that was read last
	begun  bool
	ended  bool
	marked bool // whether there was the mark of the end
}

var errLong = fmt.Errorf("it is longer than %d MiB", maxDocument>>20)

// next returns the next document that is not empty. The caller owns it.
func (d *documents) next() ([]byte, error) {
	for !d.ended {
		text, err := d.one()
		if err != nil {
			return nil, err
		}
		if !blank(text) {
			d.number++
			return text, nil
		}
	}
	return nil, io.EOF
}

// one returns the text before the next line that begins with three dashes.
func (d *documents) one() ([]byte, error) {
	var doc []byte
	for {
		line, err := d.in.ReadSlice('\n')
		whole := err == nil
		if !d.begun && string(bytes.TrimRight(line, " \r\n")) == end {
			d.marked, d.ended = true, err == io.EOF
			return doc, nil // people may add more
		}
		switch {
		case err == io.EOF:
			d.ended = true
			if doc = append(doc, line...); len(doc) > 0 && doc[len(doc)-1] != '\n' {
				doc = append(doc, '\n')
			}
			return doc, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case !d.begun && whole && bytes.HasPrefix(line, []byte("---")) && len(bytes.TrimSpace(line[3:])) == 0:
			return doc, nil
		}
		d.begun = !whole
		if len(doc)+len(line) > maxDocument {
			return nil, errLong
		}
		doc = append(doc, line...)
	}
}

// blank reports whether a document has only comments and empty lines.
func blank(doc []byte) bool {
	for line := range bytes.Lines(doc) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

var errFormat = errors.New("it is no state of an API server in memory: its first document has no line \"format: " + format + "\"")

var errNoVersion = errors.New(`document 1: it has no line "kubernetes:" with the version that the objects are of`)

// header reads the first document.
func (d *documents) header() (header, error) {
	var h header
	text, err := d.next()
	if err == io.EOF {
		return h, errFormat
	}
	if err != nil {
		return h, err
	}
	object, _, err := parse(text)
	if err != nil {
		return h, fmt.Errorf("%w: %w", errFormat, err)
	}
	err = json.Unmarshal(object, &h)
	if name, is := strings.CutPrefix(h.Format, "flyball-state-"); is && h.Format != format {
		return h, fmt.Errorf("its format is %s, and this Flyball reads %s: start the Flyball that wrote it, apply its objects to a server of this one, and save that (format number %s)", h.Format, format, name)
	}
	switch {
	case h.Format != format:
		return h, errors.Join(errFormat, err)
	case err != nil:
		return h, fmt.Errorf("document 1: it cannot be read: %w", err)
	case h.Kubernetes == "":
		return h, errNoVersion
	}
	strict := json.NewDecoder(bytes.NewReader(object))
	strict.DisallowUnknownFields() // a key that is misspelled would count as missing
	if err := strict.Decode(&h); err != nil {
		return h, fmt.Errorf("document 1: %w", err)
	}
	return h, nil
}

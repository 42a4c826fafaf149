package memo

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/jsonscan"
	"github.com/flyball-io/flyball/internal/protoscan"
)

// kind is a kind of stamp.
type kind int

// The kinds of stamps. All stamps of one length can replace each other in any format.
const (
	stampUID     kind = iota
	stampTime         // in RFC 3339
	stampSeconds      // a time in seconds, as a varint of protobuf
	stampVersion
	stampTimeout // in seconds
	prefix       // no stamp: what a generated name begins with
)

// stamp is the place of a text that the server owns, and its kind.
type stamp struct {
	span
	kind kind
}

// span is a part of a text.
type span struct{ begin, end int }

func (s span) of(text []byte) []byte { return text[s.begin:s.end] }

const (
	uidLength     = 36
	secondsLength = 5
)

// field is a field of an object that is a stamp, or has some. An array stands for its elements.
type field struct {
	name   string
	number int // in protobuf
	kind   kind
	in     []field // empty for a stamp
}

var (
	metadata = field{"metadata", 1, 0, []field{
		{"generateName", 2, prefix, nil}, {"uid", 5, stampUID, nil}, {"resourceVersion", 6, stampVersion, nil}, {"creationTimestamp", 8, stampTime, nil}, {"deletionTimestamp", 9, stampTime, nil},
		{"ownerReferences", 13, 0, []field{{"uid", 4, stampUID, nil}}}, {"managedFields", 17, 0, []field{{"time", 4, stampTime, nil}}},
	}}
	preconditions = field{"preconditions", 2, 0, []field{{"uid", 1, stampUID, nil}, {"resourceVersion", 2, stampVersion, nil}}}

	stored   = []field{metadata}
	deletion = []field{preconditions}
	eviction = []field{metadata, {"deleteOptions", 2, 0, deletion}}
	// Objects of [context] also have conditions, whose times the server has set.
	observed = []field{metadata, {"status", 3, 0, []field{{"conditions", 0, 0, []field{{"lastTransitionTime", 0, stampTime, nil}}}}}}
)

// stampsOfBody returns the stamps of a body, and whether it asks for a generated name. ok is false if they have no certain
// places: in YAML, and in a list of changes.
func stampsOfBody(req *rules.Request) (stamps []stamp, generates, ok bool) {
	if len(req.Body) == 0 {
		return nil, false, true
	}
	path, _, _ := strings.Cut(req.URL, "?")
	fields := stored
	switch {
	case req.Method == http.MethodDelete:
		fields = deletion
	case strings.HasSuffix(path, "/eviction"):
		fields = eviction
	}
	switch mediaType, _, _ := strings.Cut(req.ContentType, ";"); mediaType {
	case "", "application/json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml":
		if _, _, err := jsonscan.Check(req.Body); err != nil {
			return nil, false, false
		}
		s := scanned(req.Body, fields)
		return s.stamps, s.generates, s.ok
	case "application/vnd.kubernetes.protobuf":
		const magic = "k8s\x00"
		if !bytes.HasPrefix(req.Body, []byte(magic)) {
			return nil, false, false
		}
		s := scan{text: req.Body, ok: true}
		s.protobuf(span{len(magic), len(req.Body)}, []field{{number: 2, in: fields}}) // the object in its envelope
		return s.stamps, s.generates, s.ok
	}
	return nil, false, false
}

// stampsOf returns the stamps of an object in JSON. It reports false if a stamp is written in another way than the server
// does, or if the text is no object.
func stampsOf(text []byte, fields []field) ([]stamp, bool) {
	s := scanned(text, fields)
	return s.stamps, s.ok
}

// scan finds the stamps of a text.
type scan struct {
	text      []byte
	stamps    []stamp
	generates bool
	ok        bool
}

func scanned(text []byte, fields []field) scan {
	s := scan{text: text, ok: true}
	r := jsonscan.Reader{B: text}
	r.Space()
	s.ok = r.Peek() == '{' && s.json(&r, field{in: fields}) == nil && s.ok
	return s
}

// take adds a stamp. A text that can equal no stamp of the server is none.
func (s *scan) take(at span, kind kind) {
	switch text := at.of(s.text); {
	case kind == prefix:
		s.generates = s.generates || len(text) > 0
	case canonical(kind, text):
		s.stamps = append(s.stamps, stamp{at, kind})
	case kind == stampUID && bytes.IndexByte(text, '\\') < 0, kind == stampVersion && string(text) == "0", len(text) == 0:
	default:
		s.ok = false
	}
}

func (s *scan) json(r *jsonscan.Reader, of field) error {
	switch c := r.Peek(); {
	case c == '[':
		return r.Array(func() error { return s.json(r, of) })
	case c == '{' && len(of.in) > 0:
		return r.Object(func(name []byte) error {
			for _, f := range of.in {
				if f.name == string(name) {
					return s.json(r, f)
				}
			}
			return r.Skip()
		})
	case c == '"' && len(of.in) == 0:
		begin := r.I + 1
		err := r.Skip()
		s.take(span{begin, r.I - 1}, of.kind)
		return err
	}
	return r.Skip()
}

// protobuf is json for a message.
func (s *scan) protobuf(in span, fields []field) {
	c := protoscan.Cursor{B: s.text[:in.end], I: in.begin}
	for c.Next() {
		i := slices.IndexFunc(fields, func(f field) bool { return f.number == c.Num })
		if i < 0 {
			continue
		}
		c.Bytes() // fails for a number
		switch at := (span{c.From, c.To}); {
		case len(fields[i].in) > 0:
			s.protobuf(at, fields[i].in)
		case fields[i].kind == stampTime:
			s.seconds(at)
		default:
			s.take(at, fields[i].kind)
		}
	}
	s.ok = s.ok && c.Err == nil
}

// seconds adds the stamp of a time in protobuf: seconds, and nanoseconds, which are zero.
func (s *scan) seconds(in span) {
	c := protoscan.Cursor{B: s.text[:in.end], I: in.begin}
	for c.Next() {
		switch {
		case c.Num == 1 && c.Type == protoscan.Number:
			s.take(span{c.I - secondsLength, c.I}, stampSeconds)
			s.ok = s.ok && in.begin+1+secondsLength <= c.I
		default:
			s.ok = s.ok && c.Num == 2 && c.Number == 0
		}
	}
	s.ok = s.ok && c.Err == nil
}

// canonical reports whether a text is a stamp as the server writes it. Times are those from 1979 to 2069, whose seconds
// have five bytes as a varint.
func canonical(kind kind, text []byte) bool {
	switch kind {
	case stampUID:
		for i, c := range text {
			dash := i == 8 || i == 13 || i == 18 || i == 23
			if dash != (c == '-') || !dash && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
		return len(text) == uidLength
	case stampTime:
		at, err := time.Parse(time.RFC3339, string(text))
		return err == nil && at.UTC().Format(time.RFC3339) == string(text) && at.Year() >= 1979 && at.Year() <= 2069
	case stampSeconds:
		n, size := binary.Uvarint(text)
		return size == secondsLength && canonical(stampTime, []byte(timeOf(int64(n)*int64(time.Second))))
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0 && len(text) < 19 && text[0] != '0'
}

// timeOf returns a time in nanoseconds as the server writes it.
func timeOf(now int64) string { return time.Unix(0, now).UTC().Format(time.RFC3339) }

// timeAt returns a canonical time.
func timeAt(text string) time.Time {
	at, _ := time.Parse(time.RFC3339, text)
	return at
}

// secondsOf returns a canonical time as a varint of its seconds.
func secondsOf(text string) string {
	return string(binary.AppendUvarint(nil, uint64(timeAt(text).Unix())))
}

// token is a stamp without its place. Equal stamps are one token.
type token struct {
	kind kind
	text string // of seconds that of the time
}

type tokens []token

// index returns the index of a token, which is added if necessary.
func (t *tokens) index(kind kind, text string) int {
	if kind == stampSeconds {
		n, _ := binary.Uvarint([]byte(text))
		kind, text = stampTime, timeOf(int64(n)*int64(time.Second))
	}
	i := slices.Index(*t, token{kind, text})
	if i < 0 {
		i = len(*t)
		*t = append(*t, token{kind, text})
	}
	return i
}

// times returns the indexes of the times in their order.
func (t tokens) times() (out []int) {
	for i := range t {
		if t[i].kind == stampTime {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b int) int { return strings.Compare(t[a].text, t[b].text) })
	return out
}

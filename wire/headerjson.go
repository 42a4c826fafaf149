package wire

import (
	"bytes"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// jsonScanner reads the header of a JSON object. On an error it holds what came before, and field
// says where.
type jsonScanner struct {
	r                *jsonReader
	h                object.Header
	apiVersion, kind string
	field            string

	digests bool // are wanted
	d       Digest
	hasSpec bool
	content uint64 // of the members that stand in for a spec
}

// scanJSON reads the header of an object of this kind, and the digests if they are wanted. The
// object need not say its kind, as the items of a list of a built-in kind do not.
func scanJSON(b []byte, want *Kind, digests bool) (object.Header, Digest, string, error) {
	s := jsonScanner{digests: digests}
	err := readJSON(b, func(r *jsonReader) error {
		s.r = r
		return s.scan()
	})
	switch {
	case err != nil:
		return s.h, s.d, s.field, err
	case !utf8.Valid(b):
		return s.h, s.d, "", errUTF8
	case want != nil && (s.kind != "" || s.apiVersion != "") && !want.is(s.apiVersion, s.kind):
		return s.h, s.d, "", &KindError{Want: want.GVK, Got: schema.FromAPIVersionAndKind(s.apiVersion, s.kind)}
	}
	return s.h, s.d, "", nil
}

func (s *jsonScanner) scan() error {
	if s.r.d.PeekKind() != '{' {
		if err := s.r.skip(); err != nil {
			return err
		}
		return errNotObject
	}
	err := s.r.object(func(name []byte) (err error) {
		switch string(name) {
		case "apiVersion":
			s.apiVersion, err = s.at("apiVersion").str()
		case "kind":
			s.kind, err = s.at("kind").str()
		case "metadata":
			s.h, s.field = object.Header{}, "metadata"
			s.d.Labels, s.d.Annotations = 0, 0
			err = s.r.object(s.meta)
		default:
			err = s.body(name)
		}
		if err == nil {
			s.field = ""
		}
		return err
	})
	if err != nil {
		return err
	}
	if !s.hasSpec {
		s.d.Spec = s.content
	}
	return s.r.end()
}

// body passes over a member of the object that the header has nothing of.
func (s *jsonScanner) body(name []byte) error {
	if !s.digests {
		return s.r.skip()
	}
	switch string(name) {
	case "spec":
		v, err := s.r.d.ReadValue()
		s.d.Spec, s.hasSpec = hashOfValue(v), len(v) > 0 && v.Kind() != 'n'
		return err
	case "status":
		v, err := s.r.d.ReadValue()
		s.d.Status = hashOfValue(v)
		return err
	}
	key := hashOf(name) // the name is good until the value is read
	v, err := s.r.d.ReadValue()
	if h := hashOfValue(v); h != 0 {
		s.content = chain(chain(s.content, key), h)
	}
	return err
}

// hashOfValue is 0 for null and for no value.
func hashOfValue(v jsontext.Value) uint64 {
	if len(v) == 0 || v.Kind() == 'n' {
		return 0
	}
	return hashOf(v)
}

// at notes the field that is read next.
func (s *jsonScanner) at(field string) *jsonReader {
	s.field = field
	return s.r
}

// meta reads one member of the metadata.
func (s *jsonScanner) meta(name []byte) (err error) {
	h := &s.h
	switch string(name) {
	case "name":
		h.Name, err = s.at("metadata.name").str()
	case "namespace":
		h.Namespace, err = s.at("metadata.namespace").str()
	case "uid":
		var uid string
		uid, err = s.at("metadata.uid").str()
		h.UID = types.UID(uid)
	case "resourceVersion":
		h.ResourceVersion, err = s.at("metadata.resourceVersion").str()
	case "generation":
		h.Generation, err = s.at("metadata.generation").integer()
	case "deletionTimestamp":
		h.DeletionTimestamp, err = s.at("metadata.deletionTimestamp").time()
	case "labels":
		start := s.r.offset()
		if h.Labels, err = s.at("metadata.labels").strings(); s.digests {
			s.d.Labels = s.hashSince(start, h.Labels)
		}
	case "annotations":
		start := s.r.offset()
		if h.Annotations, err = s.at("metadata.annotations").strings(); s.digests {
			s.d.Annotations = s.hashSince(start, h.Annotations)
		}
	case "ownerReferences":
		h.Owners = nil
		err = s.at("metadata.ownerReferences").array(s.owner)
	default:
		err = s.r.skip()
	}
	if err == nil {
		s.field = "metadata"
	}
	return err
}

// hashSince is that of the map that was read since the offset start, 0 if it is empty.
func (s *jsonScanner) hashSince(start int, m map[string]string) uint64 {
	if len(m) == 0 {
		return 0
	}
	return hashOf(bytes.TrimLeft(s.r.b[start:s.r.offset()], ": \t\r\n"))
}

func (s *jsonScanner) owner() error {
	var o object.Owner
	err := s.r.object(func(name []byte) (err error) {
		switch string(name) {
		case "apiVersion":
			o.APIVersion, err = s.r.str()
		case "kind":
			o.Kind, err = s.r.str()
		case "name":
			o.Name, err = s.r.str()
		case "uid":
			var uid string
			uid, err = s.r.str()
			o.UID = types.UID(uid)
		case "controller":
			o.Controller, err = s.r.boolean()
		default:
			err = s.r.skip()
		}
		return err
	})
	s.h.Owners = append(s.h.Owners, o)
	return err
}

// integer reads a whole number, written without fraction or exponent. A null is zero.
func (r *jsonReader) integer() (int64, error) {
	v, err := r.d.ReadValue()
	if err != nil || v.Kind() == 'n' {
		return 0, err
	}
	return strconv.ParseInt(string(v), 10, 64)
}

// time reads an RFC 3339 time. A null is the zero time.
func (r *jsonReader) time() (time.Time, error) {
	if r.d.PeekKind() == 'n' {
		return time.Time{}, r.skip()
	}
	text, err := r.str()
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, text)
	return t.UTC(), err
}

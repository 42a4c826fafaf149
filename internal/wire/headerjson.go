package wire

import (
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// jsonScanner reads the header of a JSON object. After an error it has the fields that were read before, and field
// is the path of the error.
type jsonScanner struct {
	r                viewReader
	h                object.Header
	apiVersion, kind string
	field            string

	digests bool // computes them
	d       Digest
	hasSpec bool
	content uint64 // of the members beside the spec, or in place of one
}

// scanJSON reads the header of an object, and on request the digests. The object may omit its kind, as the items of a
// list of a built-in kind do.
func scanJSON(raw Raw, digests bool) (object.Header, Digest, string, error) {
	raw, syntax := raw.check()
	s := jsonScanner{r: viewReader{Reader: raw.reader()}, digests: digests}
	err := s.scan() // also of invalid JSON, which may name its object
	field := s.field
	want := raw.Kind
	switch {
	case syntax != nil:
		if err == nil {
			field = ""
		}
		err = syntax
	case err != nil:
	case !utf8.Valid(raw.Bytes):
		field, err = "", errUTF8
	case want != nil && (s.kind != "" || s.apiVersion != "") && !want.is(s.apiVersion, s.kind):
		field, err = "", &KindError{Want: want.GVK, Got: schema.FromAPIVersionAndKind(s.apiVersion, s.kind)}
	}
	return s.h, s.d, field, err
}

func (s *jsonScanner) scan() error {
	s.r.Space()
	if s.r.Peek() != '{' {
		return errNotObject
	}
	err := s.r.Object(s.member)
	if s.hasSpec {
		s.d.Rest = s.content
	} else {
		s.d.Spec = s.content
	}
	return err
}

// member reads one member of the object.
func (s *jsonScanner) member(name []byte) (err error) {
	switch string(name) {
	case "apiVersion":
		s.apiVersion, err = s.at("apiVersion").kept()
	case "kind":
		s.kind, err = s.at("kind").kept()
	case "metadata":
		s.h, s.field = object.Header{}, "metadata"
		s.d.Labels, s.d.Annotations = 0, 0
		err = s.r.Object(s.meta)
	default:
		err = s.body(name)
	}
	if err == nil {
		s.field = ""
	}
	return err
}

// body skips a member of the object that the header does not need.
func (s *jsonScanner) body(name []byte) error {
	if !s.digests {
		return s.r.Skip()
	}
	v, err := s.r.Value()
	switch string(name) {
	case "spec":
		s.d.Spec = hashOfValue(v)
		s.hasSpec = s.d.Spec != 0
	case "status":
		s.d.Status = hashOfValue(v)
	default:
		if h := hashOfValue(v); h != 0 {
			s.content = chain(chain(s.content, hashOf(name)), h)
		}
	}
	return err
}

// hashOfValue returns 0 for null and for a missing value.
func hashOfValue(v []byte) uint64 {
	if len(v) == 0 || v[0] == 'n' {
		return 0
	}
	return hashOf(v)
}

// at records the path of the next field.
func (s *jsonScanner) at(field string) *viewReader {
	s.field = field
	return &s.r
}

// meta reads one member of the metadata.
func (s *jsonScanner) meta(name []byte) (err error) {
	h := &s.h
	switch string(name) {
	case "name":
		h.Name, err = s.at("metadata.name").kept()
	case "namespace":
		h.Namespace, err = s.at("metadata.namespace").kept()
	case "uid":
		var uid string
		uid, err = s.at("metadata.uid").kept()
		h.UID = types.UID(uid)
	case "resourceVersion":
		h.ResourceVersion, err = s.at("metadata.resourceVersion").kept()
	case "generation":
		h.Generation, err = s.at("metadata.generation").Int(64)
	case "deletionTimestamp":
		h.DeletionTimestamp, err = s.at("metadata.deletionTimestamp").time()
	case "labels":
		s.field = "metadata.labels"
		h.Labels, s.d.Labels, err = s.texts()
	case "annotations":
		s.field = "metadata.annotations"
		h.Annotations, s.d.Annotations, err = s.texts()
	case "ownerReferences":
		h.Owners = nil
		err = s.at("metadata.ownerReferences").Array(s.owner)
	default:
		err = s.r.Skip()
	}
	if err == nil {
		s.field = "metadata"
	}
	return err
}

// texts reads an object of strings, and its digest. The map is nil if it is empty.
func (s *jsonScanner) texts() (m map[string]string, hash uint64, err error) {
	start := s.r.I
	if s.digests {
		v, err := s.r.Value()
		if err == nil {
			if hash = hashOfValue(v); hash != 0 {
				m = cachedTexts(hash)
			}
		}
		if m != nil {
			return m, hash, nil
		}
		s.r.I = start
	}
	err = s.r.Object(func(name []byte) error {
		key := s.r.keep(name)
		value, err := s.r.kept()
		if err != nil {
			return err
		}
		if m == nil {
			m = make(map[string]string)
		}
		m[key] = value
		return nil
	})
	if len(m) == 0 || !s.digests {
		return m, 0, err
	}
	if err == nil {
		cacheTexts(hash, m, s.r.I-start)
	}
	return m, hash, err
}

func (s *jsonScanner) owner() error {
	var o object.Owner
	err := s.r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "apiVersion":
			o.APIVersion, err = s.r.kept()
		case "kind":
			o.Kind, err = s.r.kept()
		case "name":
			o.Name, err = s.r.kept()
		case "uid":
			var uid string
			uid, err = s.r.kept()
			o.UID = types.UID(uid)
		case "controller":
			o.Controller, err = s.r.Bool()
		default:
			err = s.r.Skip()
		}
		return err
	})
	s.h.Owners = append(s.h.Owners, o)
	return err
}

// kept returns a copy of a string, empty for a null.
func (d *viewReader) kept() (string, error) {
	b, err := d.Text()
	return d.keep(b), err
}

// time reads an RFC 3339 time. A null is the zero time.
func (d *viewReader) time() (time.Time, error) {
	if d.Null() {
		return time.Time{}, nil
	}
	text, err := d.kept()
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, text)
	return t.UTC(), err
}

package wire

import (
	"strconv"
	"time"
	"unicode/utf8"

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
}

// scanJSON reads the header of an object of this kind; the object need not say its kind, as the
// items of a list of a built-in kind do not.
func scanJSON(b []byte, want *Kind) (object.Header, string, error) {
	s := jsonScanner{}
	err := readJSON(b, func(r *jsonReader) error {
		s.r = r
		return s.scan()
	})
	switch {
	case err != nil:
		return s.h, s.field, err
	case !utf8.Valid(b):
		return s.h, "", errUTF8
	case want != nil && (s.kind != "" || s.apiVersion != "") && !want.is(s.apiVersion, s.kind):
		return s.h, "", &KindError{Want: want.GVK, Got: schema.FromAPIVersionAndKind(s.apiVersion, s.kind)}
	}
	return s.h, "", nil
}

func (s *jsonScanner) scan() error {
	if s.r.d.PeekKind() != '{' {
		if err := s.r.d.SkipValue(); err != nil {
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
			err = s.r.object(s.meta)
		default:
			err = s.r.d.SkipValue()
		}
		if err == nil {
			s.field = ""
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.r.end()
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
		h.Labels, err = s.at("metadata.labels").strings()
	case "annotations":
		h.Annotations, err = s.at("metadata.annotations").strings()
	case "ownerReferences":
		h.Owners = nil
		err = s.at("metadata.ownerReferences").array(s.owner)
	default:
		err = s.r.d.SkipValue()
	}
	if err == nil {
		s.field = "metadata"
	}
	return err
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
			err = s.r.d.SkipValue()
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
		return time.Time{}, r.d.SkipValue()
	}
	text, err := r.str()
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, text)
	return t.UTC(), err
}

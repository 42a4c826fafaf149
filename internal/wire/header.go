package wire

import (
	"errors"
	"maps"

	"github.com/flyball-io/flyball/object"
)

// Header scans the metadata of the object. The header shares no memory with the bytes. Labels and annotations are nil
// if the object has none.
//
// The header equals the metadata of the decoded object. In JSON, names are case-sensitive, the last of several equal
// names wins, and a null is a missing value. In protobuf, the last value of a field wins, and embedded messages are
// merged.
//
// The error is a *[DecodeError] with the readable part of the key. The object has no name, unreadable metadata or
// another kind, or it has invalid UTF-8: in the metadata, or in JSON anywhere.
func (r Raw) Header() (object.Header, error) {
	h, _, err := r.header(false)
	h.Labels, h.Annotations = maps.Clone(h.Labels), maps.Clone(h.Annotations) // textCache may share them
	return h, err
}

// header scans the header, and on request the digests.
func (r Raw) header(digests bool) (object.Header, Digest, error) {
	h, d, field, err := r.scan(digests)
	if err == nil && h.Name == "" {
		field, err = "metadata.name", errEmptyName
	}
	if err != nil {
		return object.Header{}, Digest{}, r.decodeError(h.Key, field, err)
	}
	return h, d, nil
}

var (
	errEncoding  = errors.New("neither JSON nor protobuf")
	errNotObject = errors.New("not a JSON object")
)

// scan reads the header, and on request the digests. After an error the header has the fields that were read before.
func (r Raw) scan(digests bool) (object.Header, Digest, string, error) {
	switch r.Encoding {
	case Protobuf:
		return scanProtobuf(r.Bytes, r.Kind, digests)
	case JSON:
		return scanJSON(r, digests)
	}
	return object.Header{}, Digest{}, "", errEncoding
}

// failed returns the error for an object that cannot be decoded, with the part of the key that a scan finds.
func (r Raw) failed(field string, err error) *DecodeError {
	h, _, _, _ := r.scan(false)
	return r.decodeError(h.Key, field, err)
}

func (r Raw) decodeError(key object.Key, field string, err error) *DecodeError {
	e := &DecodeError{Key: key, Field: field, Err: err}
	if r.Kind != nil {
		e.Kind = r.Kind.GVK
	}
	return e
}

package wire

import (
	"errors"
	"maps"

	"github.com/flyball-io/flyball/object"
)

// Header scans the metadata of the object. The header owns its memory: nothing in it is shared
// with the bytes. Labels and annotations are nil where the object has none.
//
// The header is what reading the metadata of the decoded object gives. For JSON that means: names
// are case-sensitive, the last of several equal names wins, null is as if it were not there. For
// protobuf: the last value of a field wins, embedded messages are merged.
//
// The error is a *[DecodeError] with as much of the key as could be learned. It means that the object
// has no name, has metadata that cannot be read, or says that it is of another kind. It also means
// invalid UTF-8 in the metadata; in JSON, anywhere.
func (r Raw) Header() (object.Header, error) {
	h, _, err := r.header(false)
	h.Labels, h.Annotations = maps.Clone(h.Labels), maps.Clone(h.Annotations) // textCache may share them
	return h, err
}

// header scans the header, and the digests if they are wanted.
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

// scan reads the header, and the digests if they are wanted. On an error the header holds what was
// read before.
func (r Raw) scan(digests bool) (object.Header, Digest, string, error) {
	switch r.Encoding {
	case Protobuf:
		return scanProtobuf(r.Bytes, r.Kind, digests)
	case JSON:
		return scanJSON(r, digests)
	}
	return object.Header{}, Digest{}, "", errEncoding
}

// failed is the error for an object that cannot be decoded, with as much of its key as a scan finds.
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

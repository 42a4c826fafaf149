package wire

import (
	"errors"
	"maps"
	"sync/atomic"

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

// texts are the labels or annotations of an object.
type texts struct {
	digest uint64
	values map[string]string
}

// textCache is a hash table of texts by digest, without chains: a new entry replaces the old one of its slot.
// Most objects have the texts of others, such as the labels of the Pods of one owner, and share them. Cached
// texts must not be changed.
var textCache [256]atomic.Pointer[texts]

// seenDigests has the last digest of each slot. Texts are cached when their digest comes a second time: texts
// that come once, such as an annotation with a time, are not worth a slot.
var seenDigests [len(textCache)]atomic.Uint64

// maxShared is the size of the largest metadata that a cached text may keep in memory, in bytes.
const maxShared = 4 << 10

// cachedTexts returns the texts of a digest, or nil.
func cachedTexts(digest uint64) map[string]string {
	if t := textCache[digest%uint64(len(textCache))].Load(); t != nil && t.digest == digest {
		return t.values
	}
	return nil
}

// cacheTexts caches texts if their digest is the last one of its slot. size is the number of bytes that they keep
// in memory.
func cacheTexts(digest uint64, values map[string]string, size int) {
	if digest != 0 && size <= maxShared && seenDigests[digest%uint64(len(seenDigests))].Swap(digest) == digest {
		textCache[digest%uint64(len(textCache))].Store(&texts{digest, values})
	}
}

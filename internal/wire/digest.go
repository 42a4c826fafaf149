package wire

import (
	"hash/maphash"
	"reflect"

	"github.com/flyball-io/flyball/internal/protoscan"
	"github.com/flyball-io/flyball/object"
)

// Digest has a hash of each part of an object. It shows whether a part changed, without decoding. 0 is the hash of a
// missing part, and of a null in JSON.
//
// Equal digests mean equal parts: two different ones have the same 64 bits once in 10¹⁹ comparisons. Different digests
// mean different bytes. The decoded values may still be equal, if a server of another version writes them in another
// way. So "unchanged" is reliable, and "changed" may be wrong.
//
// The hashes are of the received bytes, with a seed of the process. Do not store or send them. Do not compare those of
// two encodings or kinds.
type Digest struct {
	Labels, Annotations uint64
	// Spec is the hash of the member spec. For an object without a spec, such as a ConfigMap or a Role, it
	// is the hash of all but apiVersion, kind, metadata and status. So a change of Spec is a change of
	// content for every kind.
	//
	// In protobuf only the Go type shows whether the kind has a spec. Without a Go type Spec is the hash of
	// all but the metadata, and includes the status.
	Spec uint64
	// Status is the hash of the member status.
	Status uint64
	// Rest is the hash of all other members of an object with a spec, except apiVersion, kind and metadata.
	// Rest, Spec and Status are 0 for a kind that is MetadataOnly.
	Rest uint64
}

// Scan returns the [Raw.Header] and the digests of the object, in one pass. The labels and annotations of the header
// may be shared with other headers, and must not be changed. With an error the digest is zero.
func (r Raw) Scan() (object.Header, Digest, error) {
	h, d, err := r.header(true)
	if r.Kind != nil && r.Kind.MetadataOnly {
		d.Spec, d.Status, d.Rest = 0, 0, 0
	}
	return h, d, err
}

// seed is of this process.
var seed = maphash.MakeSeed()

// hashOf is never 0.
func hashOf(b []byte) uint64 { return max(maphash.Bytes(seed, b), 1) }

// chain adds the hash h of the next element to sum, the hash of a sequence.
func chain(sum, h uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15
	return max(sum*odd+h, 1)
}

// fields hashes the added fields of one message, in order. It hashes adjacent fields together. Call flush after the
// last one.
type fields struct {
	from, to int // added and not hashed yet
	hash     uint64
}

// add adds the field at msg[from:to].
func (f *fields) add(msg []byte, from, to int) {
	if f.to != from || f.from == f.to {
		f.flush(msg)
		f.from = from
	}
	f.to = to
}

func (f *fields) flush(msg []byte) {
	if f.from == f.to {
		return
	}
	h := hashOf(msg[f.from:f.to])
	if f.hash != 0 {
		h = chain(f.hash, h)
	}
	f.hash, f.from, f.to = h, 0, 0
}

// parts are the protobuf fields that hold spec and status; 0 for a kind without.
type parts struct{ spec, status int }

// parts are those of the Go type, looked up once.
func (k *Kind) parts() parts {
	if k == nil {
		return parts{}
	}
	k.partsOnce.Do(func() {
		if t := k.GoType(); t != nil {
			k.knownParts = parts{fieldNamed(t, "spec"), fieldNamed(t, "status")}
		}
	})
	return k.knownParts
}

// fieldNamed is the number of the field of this JSON name, 0 if there is no such field.
func fieldNamed(t reflect.Type, name string) int {
	f, ok := findField(t, name)
	if !ok || len(f.nums) != 1 {
		return 0
	}
	return f.nums[0]
}

// splitProtobuf returns the metadata of an object, as embedded does, and the digests of the rest.
func splitProtobuf(msg []byte, p parts) (meta []byte, d Digest, err error) {
	var spec, status, rest fields
	c, found := protoscan.Cursor{B: msg}, false
	for start := 0; c.Next(); start = c.I {
		switch {
		case c.Num == metaField:
			if b := c.Bytes(); !found {
				meta, found = b, true
			} else {
				meta = append(meta, b...) // cap is len: this copies
			}
		case c.Num == p.status:
			status.add(msg, start, c.I)
		case c.Num == p.spec || p.spec == 0:
			spec.add(msg, start, c.I)
		default:
			rest.add(msg, start, c.I)
		}
	}
	spec.flush(msg)
	status.flush(msg)
	rest.flush(msg)
	return meta, Digest{Spec: spec.hash, Status: status.hash, Rest: rest.hash}, c.Err
}

package wire

import (
	"hash/maphash"
	"reflect"

	"github.com/flyball-io/flyball/object"
)

// Digest is a hash of each part of an object: it tells whether a part changed without decoding it.
// 0 stands for a part that is absent (in JSON also: null).
//
// Two states of one object with equal digests of a part are equal in that part: two different ones
// have the same 64 bits once in 10¹⁹ comparisons. Different digests mean that the bytes differ; the
// decoded values are then different, too, unless the server wrote the same value in another way,
// as one of another version might. So "unchanged" can be relied on, and "changed" may be one time
// too many.
//
// The hashes are of the bytes as they came, with a seed of the process. Do not store them, send them,
// or compare those of two encodings or kinds.
type Digest struct {
	Labels, Annotations uint64
	// Spec is of the member spec. An object that has none, such as a ConfigMap or a Role, has its
	// content elsewhere: then Spec is of all but apiVersion, kind, metadata and status. So a change of
	// Spec is a change of content for every kind.
	//
	// In protobuf only the Go type knows whether the kind has a spec. Without a Go type Spec is of all
	// but the metadata, the status included.
	Spec uint64
	// Status is of the member status.
	Status uint64
	// Rest is of the members beside apiVersion, kind, metadata, spec and status, where Spec is of a spec
	// and not of them. It, Spec and Status are 0 for a kind that is MetadataOnly.
	Rest uint64
}

// Scan is [Raw.Header] and the digests of the object, in one pass over it. The labels and annotations
// of the header may be shared with other headers: read only. With an error the digest is zero.
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

// chain is the hash of a sequence whose next element has the hash h, and the ones before it sum.
func chain(sum, h uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15
	return max(sum*odd+h, 1)
}

// fields hashes some of the fields of one message: those that are added, in their order. Fields
// that follow one another, as those of one part do, are hashed at once; flush when all are added.
type fields struct {
	from, to int // seen and not hashed yet
	hash     uint64
}

// add takes the field at msg[from:to].
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
	c, found := cursor{b: msg}, false
	for start := 0; c.next(); start = c.i {
		switch {
		case c.num == metaField:
			if b := c.bytes(); !found {
				meta, found = b, true
			} else {
				meta = append(meta, b...) // cap is len: this copies
			}
		case c.num == p.status:
			status.add(msg, start, c.i)
		case c.num == p.spec || p.spec == 0:
			spec.add(msg, start, c.i)
		default:
			rest.add(msg, start, c.i)
		}
	}
	spec.flush(msg)
	status.flush(msg)
	rest.flush(msg)
	return meta, Digest{Spec: spec.hash, Status: status.hash, Rest: rest.hash}, c.err
}

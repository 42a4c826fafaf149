package wire

import "sync/atomic"

// texts are the labels or annotations of an object.
type texts struct {
	digest uint64
	values map[string]string
}

// recent are texts that were read of late, by their digest: most objects have those of others, as the
// Pods of one owner have its labels, and share them. So they are read only.
var recent [256]atomic.Pointer[texts]

// once are the digests that were seen last: what is seen once only, such as an annotation with a time,
// is not worth remembering.
var once [len(recent)]atomic.Uint64

// mostShared is the size of the metadata that texts may keep in memory, in bytes.
const mostShared = 4 << 10

// recall returns the texts of a digest, nil if they are not at hand.
func recall(digest uint64) map[string]string {
	if t := recent[digest%uint64(len(recent))].Load(); t != nil && t.digest == digest {
		return t.values
	}
	return nil
}

// remember keeps texts for recall that it is given for the second time, until others take their place.
// They keep so many bytes in memory.
func remember(digest uint64, values map[string]string, size int) {
	if digest != 0 && size <= mostShared && once[digest%uint64(len(once))].Swap(digest) == digest {
		recent[digest%uint64(len(recent))].Store(&texts{digest, values})
	}
}

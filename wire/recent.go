package wire

import "sync/atomic"

// texts are the labels or annotations of an object.
type texts struct {
	digest uint64
	values map[string]string
}

// recent are the texts that were read last, by their digest: most objects have those of others, as
// the Pods of one owner have its labels, and share them. So they are read only.
var recent [64]atomic.Pointer[texts]

// mostShared is the size of the metadata that texts may keep in memory, in bytes.
const mostShared = 4 << 10

// recall returns the texts of a digest, nil if they are not at hand.
func recall(digest uint64) map[string]string {
	if t := recent[digest%uint64(len(recent))].Load(); t != nil && t.digest == digest {
		return t.values
	}
	return nil
}

// remember keeps texts for recall, until others take their place. They keep so many bytes in memory.
func remember(digest uint64, values map[string]string, size int) {
	if digest != 0 && size <= mostShared {
		recent[digest%uint64(len(recent))].Store(&texts{digest, values})
	}
}

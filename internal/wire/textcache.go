package wire

import "sync/atomic"

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

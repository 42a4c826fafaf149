package core

import (
	"hash/fnv"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// shards are the ranges of a shard selector; nil selects everything.
type shards []rules.Shard

// have reports whether an object is in one of the ranges.
func (s shards) have(o *Object) bool {
	if s == nil {
		return true
	}
	h := fnv.New64a()
	h.Write(unquoted(member(member(o.JSON, "metadata"), s[0].Field))) // never fails
	hash := h.Sum64()
	for _, r := range s {
		if r.First <= hash && hash <= r.Last {
			return true
		}
	}
	return false
}

// shardInfo returns the field shardInfo of the metadata of a list; nil if the list does not have it. Lists of custom
// resources never do.
func shardInfo(l *rules.List) any {
	if l.ShardSelector == "" || l.Whole {
		return nil
	}
	return map[string]string{"selector": l.ShardSelector}
}

// maxFetch is how many objects the real server reads at once.
const maxFetch = 10000

// fetched returns how many objects the real server has read in earlier steps when it reads the last object of a page,
// if it has no cache. It begins with the limit, and reads twice as many each time. It does not count them as remaining.
func fetched(limit, last int) (n int) {
	for size := limit; n+size < last; size = min(2*size, maxFetch) {
		n += size
	}
	return n
}

package core

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// identity returns the uid of a new object, and the suffix of a generated name. Both depend on the seed, the collection,
// the number n of objects created there, the query, the body and the number of the try. Requests about other collections do not
// change them.
func (s *State) identity(t target, req Request, n uint64, try int) (uid, suffix string) {
	_, query, _ := strings.Cut(req.URL, "?") // so a dry run has other names
	of := t.collection()
	if t.subresource != "" {
		of = t.key()
	}
	text := make([]byte, 0, 256)
	for _, part := range []string{s.opts.Seed, of, query} {
		text = append(strconv.AppendQuote(text, part), ' ')
	}
	text = append(strconv.AppendUint(text, n, 10), ' ')
	text = append(strconv.AppendInt(text, int64(try), 10), ' ')
	body := sha256.Sum256(req.Body)
	sum := sha256.Sum256(hex.AppendEncode(text, body[:]))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // a random uuid, by its form
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	var end [5]byte
	for i := range end {
		end[i] = letters[int(sum[16+i])%len(letters)]
	}
	out := make([]byte, 0, 36)
	for i, n := range []int{4, 2, 2, 2, 6} {
		if i > 0 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, id[:n])
		id = id[n:]
	}
	return string(out), string(end[:])
}

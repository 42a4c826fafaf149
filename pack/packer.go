package pack

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Packer packs objects. The zero value works. It is for one goroutine; it keeps tables of 16 to
// 144 kB, the indexes of some templates, and nothing of the objects.
type Packer struct {
	// MaxIndex bounds the bytes of the indexes of all templates together. Over it the oldest index
	// is dropped, to be made again when it is needed, in about a microsecond for 4 kB of template.
	// Zero: 1 MiB. Negative: one template at a time has an index.
	MaxIndex int

	indexes indexes
	early   table // of objects below bigObject
	big     table // of others; made when there is one

	// The object at hand.
	dst    []byte
	obj    []byte
	t      []byte
	from   *Template
	own    *table
	cursor int  // in the template, as the reader of the record will have it
	at     int  // where the copy that is not written yet begins in the template
	n      int  // and how long it is; 0: there is none
	lit    int  // where the bytes of the object begin that nothing was found for
	used   bool // something was copied from the template
	missed int  // bytes that were looked for in vain, less what was found: the less pays, the less is tried
}

const (
	bigObject    = 32 << 10
	defaultIndex = 1 << 20

	minCopy = 4  // bytes worth a copy from the cursor
	minMove = 7  // bytes worth a copy from elsewhere
	minHex  = 12 // digits that are surely not text
	near    = 16 // bytes behind a difference where alignment is sought first
	slack   = 6  // by how many bytes it may have shifted there

	dull = 1024 // missed bytes behind which nothing is expected nearby
)

// Append appends the record of obj to dst: at most len(obj)+1 bytes. It is packed against t, which
// may be nil, and against its own earlier part, or kept as it is when that is smaller.
//
// The inputs are only read and must not overlap dst; obj is not kept.
func (p *Packer) Append(dst []byte, t *Template, obj []byte) []byte {
	if len(obj) == 0 || len(obj) > MaxSize {
		return append(append(dst, 0), obj...)
	}
	start := len(dst)
	v := uint64(len(obj)) << 1
	p.dst, p.obj, p.from, p.t = binary.AppendUvarint(dst, v), obj, t, nil
	p.cursor, p.n, p.lit, p.used, p.missed = 0, 0, 0, false, 0
	if t != nil {
		p.t = t.b
	}
	if p.own = &p.early; len(obj) >= bigObject {
		p.own = &p.big
	}
	p.own.next(len(obj))
	p.pack()
	dst = p.dst
	if p.used {
		dst[start] |= 1
	}
	p.dst, p.obj, p.from, p.t = nil, nil, nil, nil
	if len(dst)-start > len(obj) {
		dst = append(append(dst[:start], 0), obj...)
	}
	return dst
}

// Release takes the index of a template away that is not used any more. Without it the memory of
// the template is only given back when its index is replaced by another.
func (p *Packer) Release(t *Template) {
	if i := slices.Index(p.indexes.ring, t); i >= 0 {
		p.indexes.remove(i)
	}
}

// IndexSize is how many bytes the indexes of all templates hold.
func (p *Packer) IndexSize() int { return p.indexes.held }

func load32(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }
func load64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// equal is how many of the first bytes of a and b are the same.
func equal(a, b []byte) int {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := load64(a, i) ^ load64(b, i); x != 0 {
			return i + bits.TrailingZeros64(x)>>3
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// pack writes the operations of p.obj.
func (p *Packer) pack() {
	for i := 0; i < len(p.obj); {
		if j := p.same(i); j > i {
			i = j
			continue
		}
		if j := p.number(i); j > i {
			i = j
			continue
		}
		i = p.search(i)
	}
	p.flush(len(p.obj))
}

// fellow is the position in the template that stands beside i: they are equal up to p.lit.
func (p *Packer) fellow(i int) int { return p.cursor + p.n + i - p.lit }

// same copies what is equal at i and its fellow, and returns where that ends.
func (p *Packer) same(i int) int {
	f := p.fellow(i)
	if f >= len(p.t) {
		return i
	}
	n := equal(p.obj[i:], p.t[f:])
	if n >= minCopy || n > 1 && p.lit == i || n > 0 && i+n == len(p.obj) {
		p.copy(f, i, n)
		return i + n
	}
	return i
}

// number writes a UUID or a long number in hex that begins at i, or just before.
func (p *Packer) number(i int) int {
	back := 0
	if p.lit == i {
		back = min(8, p.n) // the first digits may be the same by chance
	}
	for k := range back + 1 {
		if s := i - k; len(p.obj)-s >= uuidLen && p.obj[s+8] == '-' && isUUID(p.obj[s:]) {
			if p.known(s) {
				return i
			}
			p.cut(k)
			p.flush(s)
			p.dst = appendUUID(p.dst, p.obj[s:])
			return p.done(s, uuidLen)
		}
	}
	s := i
	for s > i-min(back, 3) && class[p.obj[s-1]] != notHex {
		s--
	}
	f := p.fellow(i) - i
	end := p.digits(i, min(len(p.obj), s+minHex), f)
	if end-s < minHex || p.known(s) {
		return i
	}
	end = p.digits(end, len(p.obj), f)
	p.cut(i - s)
	p.flush(s)
	p.hex(p.obj[s:end])
	return p.done(s, end-s)
}

// digits is where the hex digits end that begin at i or before, or the bytes are those of the
// template again, whose bytes stand f further.
func (p *Packer) digits(i, end, f int) int {
	for ; i < end && class[p.obj[i]] != notHex; i++ {
		if g := f + i; i+8 <= len(p.obj) && g+8 <= len(p.t) && load64(p.obj, i) == load64(p.t, g) {
			break
		}
	}
	return i
}

// known reports whether the digits at s were in the object before: then they are copied.
func (p *Packer) known(s int) bool {
	at := p.own.find(p.obj, s)
	return at >= 0 && s+minHex <= len(p.obj) && equal(p.obj[s:s+minHex], p.obj[at:s]) == minHex
}

// cut gives the last k bytes of the copy back that is not written yet.
func (p *Packer) cut(k int) {
	p.n -= k
	p.lit -= k
}

// done ends an operation that was written for the n bytes at s.
func (p *Packer) done(s, n int) int {
	p.own.insert(p.obj, s)
	p.own.insert(p.obj, s+1)
	p.own.insert(p.obj, s+2)
	p.cursor += n
	p.lit = s + n
	return p.lit
}

// search looks for bytes behind i that are elsewhere, writes the copy, and returns where it ends.
func (p *Packer) search(i int) int {
	if j := p.nearby(i); j > 0 {
		return j
	}
	if p.from != nil && p.from.slots == nil && len(p.t) >= 64 {
		p.index()
	}
	for try := 0; i+8 <= len(p.obj); i += 1 + p.missed>>7 {
		p.missed++
		try++
		if f := p.fellow(i); f+8 <= len(p.t) && load32(p.obj, i) == load32(p.t, f) {
			return i // same copies it
		}
		if p.from != nil && p.from.slots != nil {
			if at := p.from.find(load64(p.obj, i)); at >= 0 {
				if n := equal(p.obj[i:], p.t[at:]); n >= minMove {
					for i > p.lit && at > 0 && p.obj[i-1] == p.t[at-1] {
						i, at, n = i-1, at-1, n+1
					}
					p.copy(at, i, n)
					return i + n
				}
			}
		}
		if j := p.earlier(i); j > 0 {
			return j
		}
		if try&3 == 3 && class[p.obj[i]] != notHex {
			if j := p.number(i); j > i {
				return j
			}
		}
	}
	return len(p.obj)
}

// nearby looks a few bytes ahead for the fellow, for one that has shifted a little, and for bytes
// of the object itself. 0: nothing.
func (p *Packer) nearby(i int) int {
	f := p.fellow(i)
	if p.missed > dull {
		return 0
	}
	for end := i + near; i < end && i+8 <= len(p.obj); i, f = i+1, f+1 {
		v := load64(p.obj, i)
		if f+8 <= len(p.t) && uint32(v) == load32(p.t, f) {
			return i // same copies it
		}
		if lo, hi := f-slack, f+slack+8; lo >= 0 && hi <= len(p.t) {
			w := p.t[lo:hi]
			for k := range 2*slack + 1 {
				if load64(w, k) == v {
					p.copy(lo+k, i, equal(p.obj[i:], p.t[lo+k:]))
					return p.lit
				}
			}
		}
		if j := p.earlier(i); j > 0 {
			return j
		}
	}
	return 0
}

// earlier looks for the bytes at i in the object before, and remembers them.
func (p *Packer) earlier(i int) int {
	at := p.own.swap(p.obj, i)
	if at < 0 {
		return 0
	}
	n := equal(p.obj[i:], p.obj[at:]) // it may reach beyond i: a run that feeds itself
	for i > p.lit && at > 0 && p.obj[i-1] == p.obj[at-1] {
		i, at, n = i-1, at-1, n+1
	}
	if n < minMove-1 && (n < 5 || i-at > 127) {
		return 0
	}
	p.flush(i)
	p.found(n)
	p.dst = binary.AppendUvarint(appendOp(p.dst, opSelf, bitsSelf, n), uint64(i-at))
	if len(p.t) == 0 { // nothing else remembers these bytes
		for k := i + 1; k < i+n; k += 2 + n>>5 {
			p.own.insert(p.obj, k)
		}
	}
	p.cursor += n
	p.lit = i + n
	return p.lit
}

// found says that n bytes are copied.
func (p *Packer) found(n int) { p.missed = max(0, p.missed-4*(n-3)) }

// index makes that of the template.
func (p *Packer) index() {
	limit := p.MaxIndex
	if limit == 0 {
		limit = defaultIndex
	}
	p.indexes.add(p.from, limit)
}

// copy is a copy of n bytes of the template at f, to i. It is written when what follows is known.
func (p *Packer) copy(f, i, n int) {
	p.flush(i)
	p.at, p.n, p.lit = f, n, i+n
	p.used = true
	p.found(n)
	p.moved()
}

// moved puts the cursor where the copy begins: what was written before says so.
func (p *Packer) moved() {
	// The distance is written by flush; until then cursor+n is where the next fellow is.
	p.at, p.cursor = p.at-p.cursor, p.at
}

// flush writes the copy that waits and then the bytes from p.lit to i as they are.
func (p *Packer) flush(i int) {
	if p.n > 0 {
		if p.at == 0 {
			p.dst = appendOp(p.dst, opCopy, bitsCopy, p.n)
		} else {
			p.dst = binary.AppendVarint(appendOp(p.dst, opMoved, bitsCopy, p.n), int64(p.at))
		}
	} else if p.at != 0 {
		p.cursor -= p.at // a copy that was given back as a whole
	}
	p.cursor += p.n
	p.n, p.at = 0, 0
	if p.lit < i {
		p.literal(p.obj[p.lit:i])
		p.cursor += i - p.lit
		p.lit = i
	}
}

// hex writes a number of hex digits, by its decimal digits if it has no others and that is shorter.
func (p *Packer) hex(s []byte) {
	if len(s) <= maxDigits && decimal(s) {
		p.dst = appendDigits(p.dst, s)
		return
	}
	p.dst = appendHex(appendOp(p.dst, opHex, bitsHex, len(s)), s)
}

func decimal(s []byte) bool {
	for _, c := range s {
		if c-'0' > 9 {
			return false
		}
	}
	return true
}

// literal writes bytes that nothing was found for, numbers in them packed.
func (p *Packer) literal(s []byte) {
	done := 0
	for i := 0; i < len(s); {
		if class[s[i]] == notHex {
			i++
			continue
		}
		start := i
		for i < len(s) && class[s[i]] != notHex {
			i++
		}
		n := i - start
		if n >= 8 && len(s)-i >= uuidLen-8 && s[i] == '-' && isUUID(s[i-8:]) {
			p.plain(s[done : i-8])
			p.dst = appendUUID(p.dst, s[i-8:])
			i += uuidLen - 8
			done = i
			continue
		}
		cost := 1 + (n+1)/2
		if n <= maxDigits && decimal(s[start:i]) {
			cost = 1 + digitBytes[n]
		}
		p.part(s, &done, start, i, cost)
	}
	p.plain(s[done:])
}

// part writes s[start:end] packed, which takes cost bytes, when that is less than without. What is
// before it and not written yet is written first.
func (p *Packer) part(s []byte, done *int, start, end, cost int) {
	opens, closes := *done < start, end < len(s)
	if opens && closes {
		cost++ // one operation becomes three
	}
	plain := end - start
	if !opens && !closes {
		plain++
	}
	if cost >= plain || end-start < minDigits {
		return
	}
	p.plain(s[*done:start])
	p.hex(s[start:end])
	*done = end
}

func (p *Packer) plain(s []byte) {
	if len(s) > 0 {
		p.dst = append(appendOp(p.dst, opLit, bitsCopy, len(s)), s...)
	}
}

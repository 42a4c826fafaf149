package pack

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Packer packs objects. The zero value works. It is for one goroutine. It keeps tables of 16 to 144
// kB; it keeps nothing of the objects.
type Packer struct {
	early table // for objects below bigObject
	big   table // for larger objects; made on first use

	// The current object.
	dst    []byte
	obj    []byte // the known bytes and then the object
	joined []byte // memory for obj
	t      []byte
	from   *Template
	own    *table
	cursor int  // position in the template, as the reader of the record will have it
	at     int  // start of the pending copy in the template, relative to the cursor before it
	n      int  // length of the pending copy; 0: none
	lit    int  // start of the pending literal bytes in the object
	used   bool // something was copied from the template
	missed int  // bytes searched without success, less those found: the search gets coarser as it grows

	runs     []run  // where literal bytes are in the object
	literals int    // how many there are
	lits     []byte // memory for them

	unknown int    // end of the last long copy from the template
	parts   []part // what is not in the template, if that is a dictionary
}

const (
	bigObject = 32 << 10

	minCopy   = 4  // bytes worth a copy from the cursor
	minMove   = 7  // bytes worth a copy from elsewhere
	minHex    = 12 // digits that cannot be a word
	minRecall = 16 // bytes worth a copy from a dictionary where others were not sought yet
	near      = 16 // bytes after a difference in which alignment is sought first
	slack     = 6  // largest shift of the alignment there

	maxMissed   = 1024 // missed bytes after which no match is expected nearby
	fine        = 512  // bytes without a match before a search gets coarser for them
	longLiteral = 1024 // literal bytes from which only numbers of minHex digits and more are sought in them
)

// maxJoined is the size in bytes of the largest buffer that is kept for the next object.
const maxJoined = 64 << 10

// Append appends the record of obj to dst: at most len(obj)+1 bytes. obj is packed against t, which
// may be nil, against the known bytes, and against its own earlier part. It is stored as it is when
// that is smaller. The known bytes are those that the reader of the record has anyway.
//
// The inputs are only read and must not overlap dst; obj is not kept.
func (p *Packer) Append(dst []byte, t *Template, known, obj []byte) []byte {
	if len(obj) == 0 || len(obj) > MaxSize {
		return append(append(dst, 0), obj...)
	}
	start := p.begin(dst, t, known, obj)
	p.pack(len(known))
	return p.finish(start, obj)
}

// begin prepares the packing of obj, and returns where its record begins.
func (p *Packer) begin(dst []byte, t *Template, known, obj []byte) (start int) {
	p.joined = append(append(p.joined[:0], known...), obj...)
	p.dst, p.obj, p.from, p.t = binary.AppendUvarint(dst, uint64(len(obj))<<sizeShift), p.joined, t, nil
	p.cursor, p.at, p.n, p.lit, p.used, p.missed = 0, 0, 0, len(known), false, 0
	p.unknown, p.parts, p.runs, p.literals = len(known), p.parts[:0], p.runs[:0], 0
	if t != nil {
		p.t = t.b
	}
	if p.own = &p.early; len(obj) >= bigObject {
		p.own = &p.big
	}
	p.own.next(len(p.obj))
	for i := range known {
		p.own.insert(p.obj, i)
	}
	return len(dst)
}

// finish returns the record of obj, which begins at start.
func (p *Packer) finish(start int, obj []byte) []byte {
	p.flush(len(p.obj))
	if p.from != nil && p.from.max > 0 {
		p.endPart(len(p.obj), 0)
		p.from.learn(p.obj, p.parts)
	}
	dst := p.appendLiterals(p.dst, start)
	if p.used {
		dst[start] |= usesTemplate
	}
	p.dst, p.obj, p.from, p.t = nil, nil, nil, nil
	if cap(p.joined) > maxJoined {
		p.joined = nil
	}
	if len(dst)-start > len(obj) {
		dst = append(append(dst[:start], 0), obj...)
	}
	return dst
}

func load32(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }
func load64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// equal returns the length of the common prefix of a and b.
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

// pack writes the operations of p.obj from i on. The last bytes may still be pending.
func (p *Packer) pack(i int) {
	for i < len(p.obj) {
		if j := p.copyAligned(i); j > i {
			i = j
			continue
		}
		if j := p.recall(i); j > i {
			i = j
			continue
		}
		if j := p.packNumber(i); j > i {
			i = j
			continue
		}
		i = p.search(i)
	}
}

// aligned returns the template position aligned with i, given that both are equal up to p.lit.
func (p *Packer) aligned(i int) int { return p.cursor + p.n + i - p.lit }

// copyAligned copies the bytes at i that equal those at the aligned position of the template. It
// returns where they end.
func (p *Packer) copyAligned(i int) int {
	f := p.aligned(i)
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

// packNumber writes a UUID or a long hex number that begins at i, or just before.
func (p *Packer) packNumber(i int) int {
	back := 0
	if p.lit == i {
		back = min(8, p.n) // the first digits may be equal by chance
	}
	for k := range back + 1 {
		if s := i - k; len(p.obj)-s >= uuidLen && p.obj[s+8] == '-' && isUUID(p.obj[s:]) {
			if p.repeats(s) {
				return i
			}
			p.shortenCopy(k)
			p.flush(s)
			p.dst = appendUUID(p.dst, p.obj[s:])
			return p.endOperation(s, uuidLen)
		}
	}
	s := i
	for s > i-min(back, 3) && class[p.obj[s-1]] != notHex {
		s--
	}
	f := p.aligned(i) - i
	end := p.digits(i, min(len(p.obj), s+minHex), f)
	if end-s < minHex || p.repeats(s) {
		return i
	}
	end = p.digits(end, len(p.obj), f)
	p.shortenCopy(i - s)
	p.flush(s)
	p.hex(p.obj[s:end])
	return p.endOperation(s, end-s)
}

// digits returns where the hex digits from i on end. It also ends where the bytes equal those of
// the template, at distance f.
func (p *Packer) digits(i, end, f int) int {
	for ; i < end && class[p.obj[i]] != notHex; i++ {
		if g := f + i; i+8 <= len(p.obj) && g+8 <= len(p.t) && load64(p.obj, i) == load64(p.t, g) {
			break
		}
	}
	return i
}

// repeats reports whether the digits at s occurred earlier in the object: then they are copied.
func (p *Packer) repeats(s int) bool {
	at := p.own.find(p.obj, s)
	return at >= 0 && s+minHex <= len(p.obj) && equal(p.obj[s:s+minHex], p.obj[at:s]) == minHex
}

// shortenCopy removes the last k bytes from the pending copy.
func (p *Packer) shortenCopy(k int) {
	p.n -= k
	p.lit -= k
}

// endOperation finishes an operation that was written for the n bytes at s.
func (p *Packer) endOperation(s, n int) int {
	p.own.insert(p.obj, s)
	p.own.insert(p.obj, s+1)
	p.own.insert(p.obj, s+2)
	p.cursor += n
	p.lit = s + n
	return p.lit
}

// search looks for a match of the bytes from i on, writes the copy, and returns where it ends.
func (p *Packer) search(i int) int {
	if j := p.nearby(i); j > 0 {
		return j
	}
	p.needIndex()
	for try := 0; i+8 <= len(p.obj); i += p.step(i) {
		p.missed++
		try++
		if f := p.aligned(i); f+8 <= len(p.t) && load32(p.obj, i) == load32(p.t, f) {
			return i // copyAligned copies it
		}
		if j := p.copyIndexed(i, i+minMove); j > 0 {
			return j
		}
		if j := p.copyEarlier(i); j > 0 {
			return j
		}
		if try&3 == 3 && class[p.obj[i]] != notHex {
			if j := p.packNumber(i); j > i {
				return j
			}
		}
	}
	return len(p.obj)
}

// step returns how far a search goes on from i: by at most a 64th of the bytes without a match before it, so that a
// longer one is found. Where that is far it is odd, since an index has every fourth position.
func (p *Packer) step(i int) int { return max(1+p.missed>>7, (i-p.lit-fine)>>6|1) }

// needIndex makes the index of the template.
func (p *Packer) needIndex() {
	if p.from != nil && p.from.slots == nil && len(p.t) >= 64 {
		p.from.index()
	}
}

// copyIndexed copies the bytes at i from where the index finds them, if they are equal up to end at
// least. It returns where the copy ends, or 0. If the bytes before i are also equal, the copy
// replaces the pending one.
func (p *Packer) copyIndexed(i, end int) int {
	if p.from == nil || p.from.slots == nil || i+8 > len(p.obj) {
		return 0
	}
	at := p.from.find(load64(p.obj, i))
	if at < 0 || at >= len(p.t) {
		return 0
	}
	n := equal(p.obj[i:], p.t[at:])
	if i+n < end {
		return 0
	}
	for i > p.lit-p.n && at > 0 && p.obj[i-1] == p.t[at-1] {
		i, at, n = i-1, at-1, n+1
	}
	if more := p.lit - i; more == p.n {
		p.shortenCopy(p.n)
	} else if more > 0 {
		i, at, n = i+more, at+more, n-more
	}
	p.copy(at, i, n)
	return i + n
}

// recall looks for the bytes around i in a dictionary, where alignment means little: those that begin
// a little before i, too, since they say more about what comes.
func (p *Packer) recall(i int) int {
	if p.from == nil || p.from.max == 0 || p.missed > maxMissed {
		return 0
	}
	p.needIndex()
	for j := max(i-stride, p.lit-p.n); j <= i; j++ {
		if end := p.copyIndexed(j, i+minRecall); end > 0 {
			return end
		}
	}
	return 0
}

// nearby looks a few bytes ahead for a match: at the aligned position, at one that has shifted a
// little, and in the object itself. 0 means none.
func (p *Packer) nearby(i int) int {
	f := p.aligned(i)
	if p.missed > maxMissed {
		return 0
	}
	for end := i + near; i < end && i+8 <= len(p.obj); i, f = i+1, f+1 {
		v := load64(p.obj, i)
		if f+8 <= len(p.t) && uint32(v) == load32(p.t, f) {
			return i // copyAligned copies it
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
		if j := p.copyEarlier(i); j > 0 {
			return j
		}
	}
	return 0
}

// copyEarlier looks for the bytes at i earlier in the object, and adds them to the table.
func (p *Packer) copyEarlier(i int) int {
	at := p.own.swap(p.obj, i)
	if at < 0 {
		return 0
	}
	n := equal(p.obj[i:], p.obj[at:]) // it may reach beyond i: an overlapping run
	for i > p.lit && at > 0 && p.obj[i-1] == p.obj[at-1] {
		i, at, n = i-1, at-1, n+1
	}
	if n < minMove-1 && (n < 5 || i-at > 127) {
		return 0
	}
	p.copySelf(i-at, i, n)
	if len(p.t) == 0 { // no index has these bytes
		for k := i + 1; k < i+n; k += 2 + n>>5 {
			p.own.insert(p.obj, k)
		}
	}
	return p.lit
}

// copySelf writes n bytes at i as a copy of those that begin d bytes before.
func (p *Packer) copySelf(d, i, n int) {
	p.flush(i)
	p.countFound(n)
	p.dst = binary.AppendUvarint(appendOp(p.dst, opSelf, bitsSelf, n), uint64(d))
	p.cursor += n
	p.lit = i + n
}

// countFound counts n copied bytes.
func (p *Packer) countFound(n int) { p.missed = max(0, p.missed-4*(n-3)) }

// copy sets the pending copy: n bytes of the template at f, to i. flush writes it.
func (p *Packer) copy(f, i, n int) {
	p.flush(i)
	if p.from.max > 0 {
		p.endPart(i, n)
		if f >= p.from.base {
			p.from.budget += (n - minCopy) / perLearned
		}
	}
	p.at, p.n, p.lit = f, n, i+n
	p.used = true
	p.countFound(n)
	p.setCursor()
}

// setCursor sets the cursor to the start of the pending copy, and p.at to the distance.
func (p *Packer) setCursor() {
	// The distance is written by flush; until then cursor+n is the next aligned position.
	p.at, p.cursor = p.at-p.cursor, p.at
}

// flush writes the pending copy and then the bytes from p.lit to i as literals.
func (p *Packer) flush(i int) {
	if p.n > 0 {
		if p.at == 0 {
			p.dst = appendOp(p.dst, opCopy, bitsCopy, p.n)
		} else {
			p.dst = binary.AppendVarint(appendOp(p.dst, opMoved, bitsCopy, p.n), int64(p.at))
		}
	} else if p.at != 0 {
		p.cursor -= p.at // a copy that cut removed completely
	}
	p.cursor += p.n
	p.n, p.at = 0, 0
	if p.lit < i {
		p.literal(p.lit, i)
		p.cursor += i - p.lit
		p.lit = i
	}
}

// hex writes hex digits. If all are decimal, and few, it writes a decimal number, which is shorter.
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

// run is where literal bytes are in an object.
type run struct{ from, to int }

// literal writes the bytes of the object from i to end, which have no match, with numbers in them packed.
func (p *Packer) literal(i, end int) {
	s, done, long := p.obj[:end], i, end-i >= longLiteral
	for i < end {
		switch {
		case long:
			i = longNumber(s, i)
		case class[s[i]] == notHex:
			i++
			continue
		}
		start := i
		for i < end && class[s[i]] != notHex {
			i++
		}
		n := i - start
		if n >= 8 && end-i >= uuidLen-8 && s[i] == '-' && isUUID(s[i-8:]) {
			p.appendLiteral(done, i-8)
			p.dst = appendUUID(p.dst, s[i-8:])
			i += uuidLen - 8
			done = i
			continue
		}
		cost := 1 + (n+1)/2
		if n <= maxDigits && decimal(s[start:i]) {
			cost = 1 + digitBytes[n]
		}
		done = p.packPart(s, done, start, i, cost)
	}
	p.appendLiteral(done, end)
}

// longNumber returns where the next UUID or number of minHex hex digits begins, or the end of s. It looks at each of them
// once, and at few other bytes.
func longNumber(s []byte, i int) int {
	for at := i + minHex - 1; at < len(s); at += minHex {
		if class[s[at]] == notHex {
			continue
		}
		start, end := at, at+1
		for start > i && class[s[start-1]] != notHex {
			start--
		}
		for end < len(s) && end < start+minHex && class[s[end]] != notHex {
			end++
		}
		if end-start < minHex {
			at = end
			continue
		}
		if uuid := end - uuidLen; uuid >= i && isUUID(s[uuid:]) {
			return uuid
		}
		return start
	}
	return len(s)
}

// packPart writes s[start:end] packed, in cost bytes, if that is shorter than plain. It first writes the bytes from done
// on, which are not written yet, and returns where those that are written end.
func (p *Packer) packPart(s []byte, done, start, end, cost int) int {
	opens, closes := done < start, end < len(s)
	if opens && closes {
		cost++ // one operation becomes three
	}
	plain := end - start
	if !opens && !closes {
		plain++
	}
	if cost >= plain || end-start < minDigits {
		return done
	}
	p.appendLiteral(done, start)
	p.hex(s[start:end])
	return end
}

// appendLiteral writes the bytes of the object from i to end as they are.
func (p *Packer) appendLiteral(i, end int) {
	if n := end - i; n > 0 {
		p.dst = appendOp(p.dst, opLit, bitsCopy, n)
		p.runs, p.literals = append(p.runs, run{i, end}), p.literals+n
	}
}

// appendLiterals appends the literal bytes to the record that begins at start.
func (p *Packer) appendLiterals(dst []byte, start int) []byte {
	if p.literals < maxCoded {
		p.lits = p.lits[:0]
		for _, r := range p.runs {
			p.lits = append(p.lits, p.obj[r.from:r.to]...)
		}
		if size := codedSize(p.lits); size < len(p.lits) {
			dst[start] |= codedLiterals
			return appendCoded(dst, p.lits, size)
		}
	}
	for _, r := range slices.Backward(p.runs) {
		dst = append(dst, p.obj[r.from:r.to]...)
	}
	return dst
}

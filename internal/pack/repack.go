package pack

import "encoding/binary"

// Replaced is the state of an object that a new one replaces.
type Replaced struct {
	Record []byte // packed against the same template, or against none
	Bytes  []byte // its known bytes and then the object
	Known  int    // length of its known bytes
}

const (
	resyncSame  = 256 // bytes after a difference in which the states must be equal again, at the same distance
	resyncMoved = 24  // and at another one
)

// Repack is Append for an object that replaces another state of itself. Where the two states have
// the same bytes, the operations of the old record serve again; only the bytes between are packed.
// The record has about the size that Append gives, and takes a fraction of the time if the states
// differ in few places.
func (p *Packer) Repack(dst []byte, t *Template, known, obj []byte, was Replaced) []byte {
	h, body, err := header(was.Record)
	if err != nil || h.raw || h.flags&usesTemplate != 0 && t == nil || len(obj) == 0 || len(obj) > MaxSize {
		return p.Append(dst, t, known, obj)
	}
	start := p.begin(dst, t, known, obj)
	r := replay{p: p, old: was.Bytes, body: body, op: operation{to: was.Known}}
	r.run(len(known), was.Known)
	return p.finish(start, obj)
}

// replay is one call of Repack. Positions in an object count its known bytes, too.
type replay struct {
	p      *Packer
	old    []byte
	body   []byte    // the operations that are not read yet
	op     operation // the one read last
	cursor int       // behind op
}

// operation is one of the old record: it made old[from:to].
type operation struct {
	code     byte
	from, to int
	at       int    // position of a copy in the template; distance of a copy from the object
	bytes    []byte // the whole operation
}

// run packs the object from i on. j is the same place in the old state.
func (r *replay) run(i, j int) {
	p := r.p
	for whole := p.obj; i < len(whole); {
		n := equal(whole[i:], r.old[j:])
		r.repeat(i, j, n)
		i, j = i+n, j+n
		di, dj := r.resync(i, j)
		p.obj = whole[:i+di]
		p.pack(i)
		p.obj = whole
		i, j = i+di, j+dj
	}
}

// resync returns how many bytes of the object, and of the old state, differ before both are equal
// again. That is the rest of both if they are not equal again nearby.
func (r *replay) resync(i, j int) (di, dj int) {
	a, b := r.p.obj[i:], r.old[j:]
	for k := 1; k < resyncSame && k+8 <= len(a) && k+8 <= len(b); k++ {
		if load64(a, k) == load64(b, k) {
			return k, k
		}
		if k >= resyncMoved {
			continue
		}
		for d := range k + 1 {
			if k+8 <= len(a) && load64(a, k) == load64(b, d) {
				return k, d
			}
			if load64(a, d) == load64(b, k) {
				return d, k
			}
		}
	}
	return len(a), len(b)
}

// repeat packs n bytes at i as the old record has the same n bytes at j.
func (r *replay) repeat(i, j, n int) {
	for end := j + n; j < end; {
		for r.op.to <= j {
			if !r.read() {
				return
			}
		}
		k := min(r.op.to, end) - j
		r.repeatOp(i, j, k)
		i, j = i+k, j+k
	}
}

// repeatOp packs n bytes at i as the current operation made the same n bytes at from. What it leaves
// alone becomes literal bytes.
func (r *replay) repeatOp(i, from, n int) {
	p, op := r.p, r.op
	whole := n == op.to-op.from
	switch {
	case op.code < opLit || op.code >= opMoved && op.code < opSelf:
		at := op.at + from - op.from
		if p.n > 0 && p.lit == i && p.aligned(i) == at {
			p.n, p.lit = p.n+n, i+n // the pending copy goes on
		} else if whole || n >= minCopy {
			p.copy(at, i, n)
		}
	case op.code >= opSelf && op.code < opHex:
		for _, d := range [...]int{op.at, op.at + i - from} { // what it copies moved with it, or did not move
			if n >= minCopy && d > 0 && d <= i && equal(p.obj[i:i+n], p.obj[i-d:]) == n {
				p.copySelf(d, i, n)
				return
			}
		}
	case op.code < opMoved: // literal bytes
		p.flush(i)
		p.appendLiteral(i, i+n)
		p.cursor += n
		p.lit = i + n
	case whole:
		p.flush(i)
		p.dst = append(p.dst, op.bytes...)
		p.cursor += n
		p.lit = i + n
	}
}

// read reads the next operation; false at the end, or if the record is not valid.
func (r *replay) read() bool {
	if len(r.body) == 0 {
		return false
	}
	all, b := r.body, r.body[0]
	rest, n, ok := all[1:], 0, true
	op := operation{from: r.op.to, code: b}
	switch {
	case b < opSelf:
		if n, rest, ok = length(b, 1<<bitsCopy-1, rest); !ok {
			return false
		}
		if b >= opMoved {
			delta, k := binary.Varint(rest)
			if k <= 0 {
				return false
			}
			rest = rest[k:]
			r.cursor += int(delta)
		}
		op.at = r.cursor
	case b < opHex:
		if n, rest, ok = length(b, 1<<bitsSelf-1, rest); !ok {
			return false
		}
		d, k := binary.Uvarint(rest)
		if k <= 0 {
			return false
		}
		op.at, rest = int(d), rest[k:]
	case b < opDigits:
		if n, rest, ok = length(b, 1<<bitsHex-1, rest); !ok || (n+1)/2 > len(rest) {
			return false
		}
		rest = rest[(n+1)/2:]
	case b == opUUID:
		if n = uuidLen; len(rest) < 16 {
			return false
		}
		rest = rest[16:]
	default:
		n = int(b&15) + minDigits
		if len(rest) < digitBytes[n] {
			return false
		}
		rest = rest[digitBytes[n]:]
	}
	op.to = op.from + n
	op.bytes = all[:len(all)-len(rest)]
	r.cursor += n
	r.op, r.body = op, rest
	return true
}

package decode

import (
	"reflect"
	"sync/atomic"
	"unsafe"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// plan says how values of a type are read.
type plan struct {
	t      reflect.Type
	read   readFunc
	null   bool           // read takes a null, too
	bits   int            // of a number
	elem   *plan          // of a pointer, a list, a map
	block  *block         // of the pointed to or listed values
	length atomic.Int32   // length of the last list
	fields []field        // of a struct, in the order of the type
	sorted []int16        // the fields by name
	rank   []int16        // the index of each field in sorted
	names  map[string]int // the index of each field
}

// readFunc reads the value at an offset of the document, and returns the offset after it.
type readFunc func(r *reader, p *plan, i int, into unsafe.Pointer) int

// field is a member of a struct, or of an embedded struct.
type field struct {
	start  string // the usual spelling of the name, with quotes and colon
	offset uintptr
	plan   *plan
}

// value reads any value of a plan.
func (r *reader) value(p *plan, i int, into unsafe.Pointer) int {
	if !p.null && jsonscan.At(r.src, i) == 'n' {
		return jsonscan.Word(r.src, i, "null")
	}
	return p.read(r, p, i, into)
}

func (r *reader) pointer(p *plan, i int, into unsafe.Pointer) int {
	elem := r.take(p.block, 1)
	*(*unsafe.Pointer)(into) = elem
	return r.value(p.elem, i, elem)
}

// begin enters an array or object. more says that it has an element, at the returned offset.
func (r *reader) begin(i int, open byte) (_ int, more bool) {
	if jsonscan.At(r.src, i) != open || r.depth >= jsonscan.MaxDepth {
		return -1, false
	}
	r.depth++
	if i = jsonscan.Space(r.src, i+1); jsonscan.At(r.src, i) == open+2 { // ']' and '}' are two after '[' and '{'
		r.depth--
		return i + 1, false
	}
	return i, true
}

// next follows each element. more says that another one follows, at the returned offset.
func (r *reader) next(i int, end byte) (_ int, more bool) {
	if i < 0 {
		return -1, false
	}
	c := jsonscan.At(r.src, i)
	if c <= ' ' {
		i = jsonscan.Space(r.src, i)
		c = jsonscan.At(r.src, i)
	}
	switch c {
	case ',':
		return jsonscan.Space(r.src, i+1), true
	case end:
		r.depth--
		return i + 1, false
	}
	return -1, false
}

// object reads a struct. Members often come in the order of the fields, or of their names, so the
// next one in that order is tried first.
func (r *reader) object(p *plan, i int, into unsafe.Pointer) int {
	i, more := r.begin(i, '{')
	var small [2]uint64
	seen := small[:]
	if len(p.fields) > 64*len(small) {
		seen = make([]uint64, (len(p.fields)+63)/64)
	}
	last := -1
	for more {
		n := p.after(last, r.sorted)
		if n < len(p.fields) && r.hasPrefix(i, p.fields[n].start) {
			if i += len(p.fields[n].start); jsonscan.At(r.src, i) <= ' ' {
				i = jsonscan.Space(r.src, i)
			}
		} else {
			var name []byte
			if name, i = jsonscan.Name(r.src, i); i < 0 {
				return -1
			}
			var known bool
			if n, known = p.names[string(name)]; !known {
				r.unknown = true
				i, more = r.next(jsonscan.Skip(r.src, i, r.depth), '}')
				continue
			}
			if n == p.after(last, !r.sorted) {
				r.sorted = !r.sorted
			}
		}
		if seen[n/64]&(1<<(n%64)) != 0 {
			return -1 // repeated: the stock decoder merges both
		}
		seen[n/64] |= 1 << (n % 64)
		f := &p.fields[n]
		i, more = r.next(r.value(f.plan, i, unsafe.Add(into, f.offset)), '}')
		last = n
	}
	return i
}

// hasPrefix reports whether s is at offset i.
func (r *reader) hasPrefix(i int, s string) bool {
	end := i + len(s)
	return end <= len(r.src) && string(r.src[i:end]) == s
}

// after returns the field expected after field n, or the first one if n is -1.
func (p *plan) after(n int, sorted bool) int {
	if !sorted {
		return n + 1
	}
	if n >= 0 {
		n = int(p.rank[n])
	}
	if n++; n < len(p.sorted) {
		return int(p.sorted[n])
	}
	return len(p.fields)
}

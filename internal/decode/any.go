package decode

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// member is a member of an untyped object.
type member struct {
	name  string
	value any
}

// any reads a value of any type.
func (r *reader) any(i int) (any, int) {
	switch c := jsonscan.At(r.src, i); c {
	case '{':
		return r.anyMap(i)
	case '[':
		return r.anyList(i)
	case '"':
		s, i := r.text(i)
		p := (*string)(r.take(r.texts, 1))
		*p = s
		return boxed(stringBox, unsafe.Pointer(p)), i
	case 't':
		return true, jsonscan.Word(r.src, i, "true")
	case 'f':
		return false, jsonscan.Word(r.src, i, "false")
	case 'n':
		return nil, jsonscan.Word(r.src, i, "null")
	}
	return r.anyNumber(i)
}

func (r *reader) anyNumber(i int) (any, int) {
	end, whole := jsonscan.Number(r.src, i)
	if end < 0 {
		return nil, -1
	}
	s := unsafe.String(&r.src[i], end-i)
	if whole || !strings.Contains(s, ".") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			if n >= 0 && n < 256 {
				return n, end // no allocation
			}
			p := (*int64)(r.take(r.words, 1))
			*p = n
			return boxed(intBox, unsafe.Pointer(p)), end
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, -1
	}
	p := (*float64)(r.take(r.words, 1))
	*p = f
	return boxed(floatBox, unsafe.Pointer(p)), end
}

// box is the memory layout of an interface value.
type box struct{ t, data unsafe.Pointer }

func boxOf(v any) unsafe.Pointer { return (*box)(unsafe.Pointer(&v)).t }

var stringBox, intBox, floatBox = boxOf(""), boxOf(int64(0)), boxOf(float64(0))

// boxed returns an interface that refers to data without copying it, so that values share memory.
// The value must not change any more.
func boxed(t, data unsafe.Pointer) (v any) {
	*(*box)(unsafe.Pointer(&v)) = box{t, data}
	return v
}

func (r *reader) anyMap(i int) (map[string]any, int) {
	first := len(r.members)
	i, more := r.begin(i, '{')
	for more {
		var name []byte
		if name, i = jsonscan.Name(r.src, i); i < 0 {
			return nil, -1
		}
		m := member{name: r.strings.keep(name)}
		m.value, i = r.any(i)
		r.members = append(r.members, m)
		i, more = r.next(i, '}')
	}
	if i < 0 {
		return nil, -1
	}
	members := r.members[first:]
	m := make(map[string]any, len(members))
	for n := range members {
		m[members[n].name] = members[n].value
	}
	clear(members)
	r.members = r.members[:first]
	return m, i
}

func (r *reader) anyList(i int) ([]any, int) {
	first := len(r.items)
	i, more := r.begin(i, '[')
	for more {
		var v any
		v, i = r.any(i)
		r.items = append(r.items, v)
		i, more = r.next(i, ']')
	}
	if i < 0 {
		return nil, -1
	}
	items := r.items[first:]
	list := make([]any, len(items))
	copy(list, items)
	clear(items)
	r.items = r.items[:first]
	return list, i
}

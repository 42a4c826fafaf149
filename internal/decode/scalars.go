package decode

import (
	"bytes"
	"encoding/base64"
	gojson "encoding/json"
	"math"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// text reads a string into memory of the object.
func (r *reader) text(i int) (string, int) {
	if jsonscan.At(r.src, i) != '"' {
		return "", -1
	}
	end, plain := jsonscan.String(r.src, i+1)
	if end < 0 {
		return "", -1
	}
	s := r.src[i+1 : end]
	if plain {
		return r.strings.keep(s), end + 1
	}
	b := jsonscan.AppendUnquote(make([]byte, 0, len(s)+2), r.src[i:end+1])
	return unsafe.String(unsafe.SliceData(b), len(b)), end + 1
}

func (r *reader) string(_ *plan, i int, into unsafe.Pointer) (next int) {
	*(*string)(into), next = r.text(i)
	return next
}

func (r *reader) bool(_ *plan, i int, into unsafe.Pointer) int {
	if jsonscan.At(r.src, i) == 't' {
		*(*bool)(into) = true
		return jsonscan.Word(r.src, i, "true")
	}
	return jsonscan.Word(r.src, i, "false")
}

// quoted reads a string without escapes, as a part of the document.
func (r *reader) quoted(i int) ([]byte, int) {
	if jsonscan.At(r.src, i) != '"' {
		return nil, -1
	}
	end, plain := jsonscan.String(r.src, i+1)
	if end < 0 || !plain {
		return nil, -1
	}
	return r.src[i+1 : end], end + 1
}

// signed reads an integer of the given size in bits.
func (r *reader) signed(bits, i int) (int64, int) {
	if n := jsonscan.At(r.src, i) - '0'; n-1 < 9 { // fast path for a few digits
		v, end := int64(n), i+1
		for end-i < 9 {
			c := jsonscan.At(r.src, end) - '0'
			if c > 9 {
				break
			}
			v = v*10 + int64(c)
			end++
		}
		if c := jsonscan.At(r.src, end); (c < '0' || c > '9') && c|0x20 != 'e' && c != '.' && (bits >= 32 || v < 1<<(bits-1)) {
			return v, end
		}
	}
	end, whole := jsonscan.Number(r.src, i)
	if end < 0 || !whole {
		return 0, -1
	}
	n, err := strconv.ParseInt(unsafe.String(&r.src[i], end-i), 10, bits)
	if err != nil {
		return 0, -1
	}
	return n, end
}

func (r *reader) int(p *plan, i int, into unsafe.Pointer) int {
	n, i := r.signed(p.bits, i)
	store(p.bits, n, into)
	return i
}

// store stores the lower bits of a number.
func store(bits int, n int64, into unsafe.Pointer) {
	switch bits {
	case 8:
		*(*int8)(into) = int8(n)
	case 16:
		*(*int16)(into) = int16(n)
	case 32:
		*(*int32)(into) = int32(n)
	default:
		*(*int64)(into) = n
	}
}

func (r *reader) uint(p *plan, i int, into unsafe.Pointer) int {
	end, whole := jsonscan.Number(r.src, i)
	if end < 0 || !whole {
		return -1
	}
	n, err := strconv.ParseUint(unsafe.String(&r.src[i], end-i), 10, p.bits)
	if err != nil {
		return -1
	}
	store(p.bits, int64(n), into)
	return end
}

func (r *reader) float(p *plan, i int, into unsafe.Pointer) int {
	end, _ := jsonscan.Number(r.src, i)
	if end < 0 {
		return -1
	}
	f, err := strconv.ParseFloat(unsafe.String(&r.src[i], end-i), p.bits)
	if err != nil || math.IsInf(f, 0) {
		return -1
	}
	if p.bits == 32 {
		*(*float32)(into) = float32(f)
	} else {
		*(*float64)(into) = f
	}
	return end
}

func (r *reader) bytes(_ *plan, i int, into unsafe.Pointer) int {
	s, i := r.quoted(i)
	if i < 0 {
		return -1
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(s)))
	n, err := base64.StdEncoding.Decode(b, s)
	if err != nil {
		return -1
	}
	*(*[]byte)(into) = b[:n]
	return i
}

// custom decodes with the type's own method. By the contract of json.Unmarshaler it copies what it
// keeps.
func (r *reader) custom(p *plan, i int, into unsafe.Pointer) int {
	end := jsonscan.Skip(r.src, i, r.depth)
	if end < 0 || reflect.NewAt(p.t, into).Interface().(gojson.Unmarshaler).UnmarshalJSON(r.src[i:end:end]) != nil {
		return -1
	}
	return end
}

// quantity reads a resource.Quantity from its literal text.
func (r *reader) quantity(_ *plan, i int, into unsafe.Pointer) int {
	s, end := r.quoted(i)
	if end < 0 {
		if end, _ = jsonscan.Number(r.src, i); end < 0 {
			return -1
		}
		s = r.src[i:end]
	}
	q, err := parseQuantity(bytes.TrimSpace(s), &r.missed)
	if err != nil {
		return -1
	}
	*(*resource.Quantity)(into) = q
	return end
}

func (r *reader) intOrString(_ *plan, i int, into unsafe.Pointer) int {
	v := (*intstr.IntOrString)(into)
	if jsonscan.At(r.src, i) == '"' {
		v.Type = intstr.String
		v.StrVal, i = r.text(i)
		return i
	}
	n, i := r.signed(32, i)
	v.IntVal = int32(n)
	return i
}

// time reads a metav1.Time.
func (r *reader) time(_ *plan, i int, into unsafe.Pointer) int {
	s, i := r.quoted(i)
	if i < 0 {
		return -1
	}
	t, err := time.Parse(time.RFC3339, unsafe.String(unsafe.SliceData(s), len(s)))
	if err != nil {
		return -1
	}
	(*metav1.Time)(into).Time = t.Local()
	return i
}

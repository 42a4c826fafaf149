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
)

// text reads a string into memory of the object.
func (r *reader) text(i int) (string, int) {
	if at(r.src, i) != '"' {
		return "", -1
	}
	end, plain := stringEnd(r.src, i+1)
	if end < 0 {
		return "", -1
	}
	s := r.src[i+1 : end]
	if plain {
		if len(s) >= max(r.strings.cut, 1) {
			return unsafe.String(unsafe.SliceData(s), len(s)), end + 1
		}
		return r.strings.keep(s), end + 1
	}
	b, ok := unescape(make([]byte, 0, len(s)), s)
	if !ok {
		return "", -1
	}
	return unsafe.String(unsafe.SliceData(b), len(b)), end + 1
}

// quoted reads a string without escapes, as a part of the document.
func (r *reader) quoted(i int) ([]byte, int) {
	if at(r.src, i) != '"' {
		return nil, -1
	}
	end, plain := stringEnd(r.src, i+1)
	if end < 0 || !plain {
		return nil, -1
	}
	return r.src[i+1 : end], end + 1
}

// signed reads an integer of the given size in bits.
func (r *reader) signed(bits, i int) (int64, int) {
	if n := at(r.src, i) - '0'; n-1 < 9 { // fast path for a few digits
		v, end := int64(n), i+1
		for end-i < 9 {
			c := at(r.src, end) - '0'
			if c > 9 {
				break
			}
			v = v*10 + int64(c)
			end++
		}
		if c := at(r.src, end); (c < '0' || c > '9') && c|0x20 != 'e' && c != '.' && (bits >= 32 || v < 1<<(bits-1)) {
			return v, end
		}
	}
	end, whole := number(r.src, i)
	if end < 0 || !whole {
		return 0, -1
	}
	n, err := strconv.ParseInt(unsafe.String(&r.src[i], end-i), 10, bits)
	if err != nil {
		return 0, -1
	}
	return n, end
}

func (r *reader) int(bits, i int, into unsafe.Pointer) int {
	n, i := r.signed(bits, i)
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
	return i
}

func (r *reader) uint(bits, i int, into unsafe.Pointer) int {
	end, whole := number(r.src, i)
	if end < 0 || !whole {
		return -1
	}
	n, err := strconv.ParseUint(unsafe.String(&r.src[i], end-i), 10, bits)
	if err != nil {
		return -1
	}
	switch bits {
	case 8:
		*(*uint8)(into) = uint8(n)
	case 16:
		*(*uint16)(into) = uint16(n)
	case 32:
		*(*uint32)(into) = uint32(n)
	default:
		*(*uint64)(into) = n
	}
	return end
}

func (r *reader) float(bits, i int, into unsafe.Pointer) int {
	end, _ := number(r.src, i)
	if end < 0 {
		return -1
	}
	f, err := strconv.ParseFloat(unsafe.String(&r.src[i], end-i), bits)
	if err != nil || math.IsInf(f, 0) {
		return -1
	}
	if bits == 32 {
		*(*float32)(into) = float32(f)
	} else {
		*(*float64)(into) = f
	}
	return end
}

func (r *reader) bytes(i int, into unsafe.Pointer) int {
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
	end := skip(r.src, i, r.depth)
	if end < 0 || reflect.NewAt(p.t, into).Interface().(gojson.Unmarshaler).UnmarshalJSON(r.src[i:end:end]) != nil {
		return -1
	}
	return end
}

// quantity reads a resource.Quantity from its literal text.
func (r *reader) quantity(i int, into unsafe.Pointer) int {
	s, end := r.quoted(i)
	if end < 0 {
		if end, _ = number(r.src, i); end < 0 {
			return -1
		}
		s = r.src[i:end]
	}
	q, err := parseQuantity(bytes.TrimSpace(s), false, &r.missed)
	if err != nil {
		return -1
	}
	*(*resource.Quantity)(into) = q
	return end
}

func (r *reader) intOrString(i int, into unsafe.Pointer) int {
	v := (*intstr.IntOrString)(into)
	if at(r.src, i) == '"' {
		v.Type = intstr.String
		v.StrVal, i = r.text(i)
		return i
	}
	n, i := r.signed(32, i)
	v.IntVal = int32(n)
	return i
}

// time reads a metav1.Time.
func (r *reader) time(i int, into unsafe.Pointer) int {
	s, i := r.quoted(i)
	if i < 0 {
		return -1
	}
	t, ok := parseSecond(s)
	if !ok {
		var err error
		if t, err = time.Parse(time.RFC3339, unsafe.String(unsafe.SliceData(s), len(s))); err != nil {
			return -1
		}
	}
	(*metav1.Time)(into).Time = t.Local()
	return i
}

// parseSecond reads a time as the API server writes it: 2006-01-02T15:04:05Z.
func parseSecond(s []byte) (t time.Time, ok bool) {
	if len(s) != 20 || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[19] != 'Z' {
		return t, false
	}
	for _, i := range [...]int{0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18} {
		if s[i]-'0' > 9 {
			return t, false
		}
	}
	two := func(i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }
	year, month, day := two(0)*100+two(2), two(5), two(8)
	hour, minute, sec := two(11), two(14), two(17)
	if year < 1 || month < 1 || month > 12 || day < 1 || day > 28 && day > monthLength(year, month) || hour > 23 || minute > 59 || sec > 59 {
		return t, false
	}
	// The days since 1 March of the year 0, in years that begin in March: then the lengths of the
	// months follow a line, and the leap day comes last.
	y, m := year, month-3
	if m < 0 {
		y, m = y-1, m+12
	}
	days := 365*y + y/4 - y/100 + y/400 + (153*m+2)/5 + day - 1
	const epoch = 719468 // 1 January 1970
	return time.Unix(int64(days-epoch)*86400+int64(hour*3600+minute*60+sec), 0), true
}

func monthLength(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

package memo

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// values are the texts of a question that only occur in its answer, by kind. All values of one kind have one length, so
// one can replace another in any format.
type values [valueKinds]string

// The kinds of values, the longest first: at a place that fits two kinds, the first counts.
const (
	valueUID    = iota
	valueTime   // in RFC 3339
	valueVarint // the time in seconds as a varint of protobuf
	valueSuffix
	valueName
	valueVersion // the version of the state; those after it follow
	valueText    = valueVersion + maxVersions
	valueKinds   = valueText + maxTexts
)

// maxTexts bounds the opaque texts of a body that are values.
const maxTexts = 4

// maxVersions is how many versions are values, from that of the state on.
const maxVersions = 4

const (
	uidLength    = 36
	varintLength = 5
)

// valuesOf returns the values of a question. It reports false outside the years 2000 to 2069, in which seconds take
// five bytes as a varint.
func valuesOf(req *rules.Request) (v values, ok bool) {
	at := time.Unix(0, req.Now).UTC()
	if at.Year() < 2000 || at.Year() > 2069 {
		return v, false
	}
	v = values{valueUID: req.UID, valueSuffix: req.Suffix}
	v.setTime(at)
	v.setVersions(req.Version)
	return v, true
}

func (v *values) setTime(at time.Time) {
	v[valueTime] = at.Format(time.RFC3339)
	v[valueVarint] = string(binary.AppendUvarint(nil, uint64(at.Unix())))
}

// setVersions sets the values of the versions from n on, as long as they have as many digits as n.
func (v *values) setVersions(n uint64) {
	first := strconv.FormatUint(n, 10)
	for i := range uint64(maxVersions) {
		if text := strconv.FormatUint(n+i, 10); len(text) == len(first) {
			v[valueVersion+i] = text
		}
	}
}

func (v *values) digits() int { return len(v[valueVersion]) }

// The sorts of values that turn in ways of their own, and [ofContext]: the uids and versions of other objects. A
// version may have a carry, so that a digit turns one further. What turns one less is a uid, which is longer.
const (
	turnUID = iota
	turnVersion
	turnSuffix
	turnName
	ofContext
	turnText                       // and those after it
	turns    = turnText + maxTexts // at most 9, so that no digit comes back to itself
)

// turn returns by how many places the characters of a kind are moved in probe n. It differs between kinds in one probe,
// and between probes for one kind. So values that are equal by chance differ in the probes.
func turn(sort, n int) byte { return byte(1 + (sort+n)%turns) }

// other returns a question of the same form with other values, in which each character differs that may. n chooses one
// of several. It reports false if there is no such question.
func (f *form) other(req *rules.Request, n int) (*rules.Request, *form, bool) {
	at := time.Unix(0, req.Now).UTC()
	then, ok := otherTime(at, n)
	if !ok {
		return nil, nil, false
	}
	out := *req
	out.UID, out.Now = rotated(req.UID, turn(turnUID, n)), then.UnixNano()+int64(n)
	if f.values[valueSuffix] != "" {
		out.Suffix = rotated(req.Suffix, turn(turnSuffix, n))
	}
	if out.Version, ok = otherVersion(req.Version, n); !ok {
		return nil, nil, false
	}
	out.Body = bytes.Clone(req.Body)
	for _, p := range f.places {
		text := p.of(out.Body)
		if p.kind == valueName {
			copy(text, rotated(string(text), turn(turnName, n)))
		} else {
			copy(text, turnedText(text, turn(turnText+p.kind-valueText, n)))
		}
	}
	if f.create {
		out.Objects = changed(req.Objects, func(text string) string { return rotated(text, turn(ofContext, n)) }, func(text string) string { return turnedTime(text, n+2) })
	}
	g := &form{key: f.key, places: f.places, create: f.create}
	g.values[valueUID] = out.UID
	if f.values[valueSuffix] != "" {
		g.values[valueSuffix] = out.Suffix
	}
	g.values.setTime(then)
	g.values.setVersions(out.Version)
	for _, p := range f.places {
		g.values[p.kind] = string(p.of(out.Body))
	}
	return &out, g, true
}

// apart reports whether no value stands where another one does, in all of the questions.
func apart(forms []*form) bool {
	for a := range valueKinds {
		for b := range a {
			differ := false
			for _, f := range forms {
				x, y := f.values[a], f.values[b]
				least := min(len(x), len(y))
				differ = differ || least == 0 || x[:least] != y[:least]
			}
			if !differ {
				return false
			}
		}
	}
	return true
}

// otherTime returns a time all of whose digits differ, as text and as a varint. n chooses one of several.
func otherTime(at time.Time, n int) (time.Time, bool) {
	digit := func(text byte, of ...int) int { // one of them that is not the digit of a text
		var left []int
		for _, d := range of {
			if d != int(text-'0') {
				left = append(left, d)
			}
		}
		return left[n%len(left)]
	}
	t := at.Format("20060102150405")
	year := 1900 + 10*digit(t[2], 8, 9) + digit(t[3], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	month := digit(t[5], 1, 2, 3, 4, 5, 6, 7, 8, 9)
	if t[4] == '0' {
		month = 10 + digit(t[5], 0, 1, 2)
	}
	day := 10*digit(t[6], 0, 1, 2) + digit(t[7], 1, 2, 3, 4, 5, 6, 7, 8)
	hour := 10*digit(t[8], 0, 1) + digit(t[9], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	first := binary.AppendUvarint(nil, uint64(at.Unix()))
	for try := range 25 {
		minute := 10*digit(t[10], 0, 1, 2, 3, 4, 5) + (int(t[11]-'0')+1+try%5)%10
		second := 10*digit(t[12], 0, 1, 2, 3, 4, 5) + (int(t[13]-'0')+1+try/5)%10
		then := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
		text := binary.AppendUvarint(nil, uint64(then.Unix()))
		differs := len(text) == varintLength && len(first) == varintLength
		for i := 0; differs && i < varintLength; i++ {
			differs = text[i] != first[i]
		}
		if differs {
			return then, true
		}
	}
	return at, false
}

// otherVersion returns a version with as many digits and another first digit. So have the versions after it. n chooses
// one of several. It reports false if there is none.
func otherVersion(version uint64, n int) (uint64, bool) {
	text := []byte(rotated(strconv.FormatUint(version, 10), turn(turnVersion, n)))
	if text[0] == '0' {
		text[0] = '9'
	}
	for range 9 {
		if other, err := strconv.ParseUint(string(text), 10, 64); err == nil && versionsDiffer(version, other) {
			return other, true
		}
		text[0] = '1' + (text[0]-'0')%9
	}
	return 0, false
}

// versionsDiffer reports whether two versions and those after them have as many digits, and other first digits.
func versionsDiffer(version, other uint64) bool {
	digits := len(strconv.FormatUint(version, 10))
	for i := range uint64(maxVersions) {
		a, b := strconv.FormatUint(version+i, 10), strconv.FormatUint(other+i, 10)
		if len(a) == digits && (len(b) != len(a) || a[0] == b[0]) {
			return false
		}
	}
	return true
}

// rotated returns a text of the same shape in which each letter and digit is moved by a number of places.
func rotated(text string, by byte) string {
	out := []byte(text)
	uid := len(text) == uidLength
	for i, c := range out {
		switch {
		case uid && i == 14: // the version of a uuid
		case uid && i == 19 && c >= '8' && c <= 'b': // its variant
			const variants = "89ab"
			out[i] = variants[(bytes.IndexByte([]byte(variants), c)+int(by))%4]
		case uid && c >= 'a' && c <= 'f':
			out[i] = 'a' + (c-'a'+by)%6
		case c >= '0' && c <= '9':
			out[i] = '0' + (c-'0'+by)%10
		case c >= 'a' && c <= 'z':
			out[i] = 'a' + (c-'a'+by)%26
		}
	}
	return string(out)
}

// rotates reports whether a text is a name for [rotated]: lower-case letters, digits, dashes and dots, and no uid.
func rotates(name []byte) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && (i == 0 || c != '-' && c != '.') {
			return false
		}
	}
	return len(name) > 0 && len(name) != uidLength
}

// shape returns the text that stands for all names with its length, its dashes and dots, and a digit or a letter at the
// beginning.
func shape(text string) string {
	out := []byte(text)
	for i, c := range out {
		switch {
		case c >= '0' && c <= '9' && i == 0:
			out[i] = '0'
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z':
			out[i] = 'a'
		}
	}
	return string(out)
}

// marked returns an object in which uid, version, creation time, and the times of managed fields and conditions are
// changed. It relies on the order of stored JSON: the metadata comes first, its managed fields are last in it, and the
// status is last. A label may have the name of any of these fields; so the rest of the metadata is left alone.
func marked(text []byte, change, changeTime func(string) string) []byte {
	out := bytes.Clone(text)
	index := func(in []byte, field string) int { // its end, if it is not there
		if at := bytes.Index(in, []byte(field)); at >= 0 {
			return at
		}
		return len(in)
	}
	metadata := out[:min(index(out, `"spec":`), index(out, `"webhooks":`))]
	status := out[len(out):]
	if at := bytes.LastIndex(out, []byte(`"status":{`)); at >= 0 {
		status = out[at:]
	}
	one := func(in []byte, field string) int {
		begin := bytes.Index(in, []byte(field))
		if begin < 0 {
			return len(in)
		}
		begin += len(field)
		end := begin + bytes.IndexByte(in[begin:], '"')
		if end < begin {
			return len(in)
		}
		if value := string(in[begin:end]); isTime(value) {
			copy(in[begin:], changeTime(value))
		} else {
			copy(in[begin:], change(value))
		}
		return end
	}
	for _, field := range []string{`"uid":"`, `"resourceVersion":"`, `"creationTimestamp":"`} {
		one(metadata, field)
	}
	for part := metadata[index(metadata, `"managedFields":[`):]; len(part) > 0; {
		part = part[one(part, `"time":"`):]
	}
	for part := status; len(part) > 0; {
		part = part[one(part, `"lastTransitionTime":"`):]
	}
	return out
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil && len(text) == len("2006-01-02T15:04:05Z")
}

// turnedTime returns another time, chosen by n; the same one if there is no other.
func turnedTime(text string, n int) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	then, ok := otherTime(at.UTC(), n)
	if !ok {
		return text
	}
	return then.Format(time.RFC3339)
}

package memo

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// opaque has, for some kinds, a field with strings that the API server stores unchanged. When an object is created it
// neither reads them nor compares them with anything. The field is a map, in JSON and in protobuf.
var opaque = map[string]texts{
	"/configmaps": {"data", 2, false},
	"batch/jobs":  {"annotations", 12, true}, // as those who schedule Jobs write the time there
}

// texts is a field of an object, or of its metadata.
type texts struct {
	field      string
	number     int
	inMetadata bool
}

// valuesIn returns the values of a create, and the places of those that its body has, in order: the name of the object,
// and opaque texts. v has the other values. It reports false if the body is neither JSON nor protobuf, or a place is not
// certain, or the body has times that rules compare with that of the question: those of managed fields.
func (m *Memory) valuesIn(req *rules.Request, kind string, v values) (_ values, out []place, ok bool) {
	var b parts
	mediaType, _, _ := strings.Cut(req.ContentType, ";")
	switch mediaType {
	case "", "application/json":
		b, ok = inJSON(req.Body, opaque[kind])
	case "application/vnd.kubernetes.protobuf":
		b, ok = inProtobuf(req.Body, opaque[kind])
	}
	if !ok || b.managed {
		return values{}, nil, false
	}
	for _, at := range b.texts {
		if n := len(out); n < maxTexts && isPlain(at.of(req.Body)) {
			out = append(out, place{at, valueText + n})
		}
	}
	reads := m.readsName(req, kind)
	if b.name.begin == b.name.end { // it is generated, with the suffix
		if reads || !free(req, []byte(req.Suffix), out) {
			v[valueSuffix] = ""
		}
	} else if name := (place{b.name, valueName}); !reads {
		with := append(slices.Clone(out), name)
		slices.SortFunc(with, func(a, b place) int { return cmp.Compare(a.begin, b.begin) })
		if free(req, name.of(req.Body), with) {
			out = with
		}
	}
	for _, p := range out {
		v[p.kind] = string(p.of(req.Body))
	}
	return v, out, true
}

// mask overwrites a value with a placeholder. All values that can replace each other have the same placeholder.
func mask(text []byte, kind int) {
	if kind == valueName {
		copy(text, shape(string(text)))
		return
	}
	for i := range text {
		text[i] = 'x'
	}
}

// plain has the characters that every format writes unchanged.
const plain = ` !#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_` + "`abcdefghijklmnopqrstuvwxyz{|}~"

// isPlain reports whether a text is not empty and has only characters of plain.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return len(text) > 0
}

// turnedText shifts each character of a plain text by a number of positions in plain, from its end to its start again.
func turnedText(text []byte, by byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		out[i] = plain[(bytes.IndexByte([]byte(plain), c)+int(by))%len(plain)]
	}
	return out
}

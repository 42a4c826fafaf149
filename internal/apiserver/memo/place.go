package memo

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// opaque are fields of kinds whose texts the API server stores as they are: nothing is read from them, and they are
// compared with nothing when an object is created. The field of protobuf is a map, as that of JSON is.
var opaque = map[string]struct {
	field  string
	number uint64
}{
	"/configmaps": {"data", 2},
}

// placesIn returns where the values of a body are: the name of the object, and opaque texts. There are none in a body
// of another format than JSON and protobuf.
func placesIn(req *rules.Request, kind string) (out []place) {
	texts := opaque[kind]
	var name span
	var spans []span
	mediaType, _, _ := strings.Cut(req.ContentType, ";")
	switch mediaType {
	case "", "application/json":
		name, spans = inJSON(req.Body, texts.field)
	case "application/vnd.kubernetes.protobuf":
		name, spans = inProtobuf(req.Body, texts.number)
	}
	for _, at := range spans {
		if n := len(out); n < maxTexts && isPlain(at.of(req.Body)) {
			out = append(out, place{at, valueText + n})
		}
	}
	if name == (span{}) {
		return out
	}
	out = append(out, place{name, valueName})
	slices.SortFunc(out, func(a, b place) int { return cmp.Compare(a.begin, b.begin) })
	if !free(req, kind, name.of(req.Body), out) {
		out = slices.DeleteFunc(out, func(p place) bool { return p.kind == valueName })
	}
	return out
}

// mask leaves of a value what all values that can stand for it have in common.
func mask(text []byte, kind int) {
	if kind == valueName {
		copy(text, shape(string(text)))
		return
	}
	for i := range text {
		text[i] = 'x'
	}
}

// plain are the characters that every format shows as they are.
const plain = ` !#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_` + "`abcdefghijklmnopqrstuvwxyz{|}~"

// isPlain reports whether a text has characters of plain only, and one at least.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return len(text) > 0
}

// turnedText returns a plain text in which each character is another one.
func turnedText(text []byte, by byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		out[i] = plain[(bytes.IndexByte([]byte(plain), c)+int(by))%len(plain)]
	}
	return out
}

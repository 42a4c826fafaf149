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
	number     uint64
	inMetadata bool
}

// placesIn returns the places of the values in a body, in order: the name of the object, and opaque texts. A body that
// is neither JSON nor protobuf has none.
func placesIn(req *rules.Request, kind string) (out []place) {
	var name span
	var spans []span
	mediaType, _, _ := strings.Cut(req.ContentType, ";")
	switch mediaType {
	case "", "application/json":
		name, spans = inJSON(req.Body, opaque[kind])
	case "application/vnd.kubernetes.protobuf":
		name, spans = inProtobuf(req.Body, opaque[kind])
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

// mask overwrites a value with a text that is equal for all values that can replace it.
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

// turnedText returns a plain text in which each character is replaced by the one that comes by places later in plain.
func turnedText(text []byte, by byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		out[i] = plain[(bytes.IndexByte([]byte(plain), c)+int(by))%len(plain)]
	}
	return out
}

package state

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// appendYAML appends a JSON object as a document of YAML. Members keep their order. [parse] returns the same JSON, byte
// for byte, if that has no spaces between its tokens.
func appendYAML(dst, object []byte) ([]byte, error) {
	w := yamlWriter{dst, jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if w.json.PeekKind() != '{' {
		return dst, errNoObject
	}
	if _, err := w.json.ReadToken(); err != nil {
		return dst, err
	}
	if err := w.members(0, false); err != nil {
		return dst, err
	}
	return w.out, nil
}

type yamlWriter struct {
	out  []byte
	json *jsontext.Decoder
}

func (w *yamlWriter) indent(n int) {
	for range n {
		w.out = append(w.out, ' ')
	}
}

// members writes the members of an object whose brace was read. If inline is set, the first one continues the line.
func (w *yamlWriter) members(indent int, inline bool) error {
	for w.json.PeekKind() != '}' {
		name, err := w.json.ReadValue()
		if err != nil {
			return err
		}
		if !inline {
			w.indent(indent)
		}
		inline = false
		w.out = append(w.out, inLine(name)...)
		w.out = append(w.out, ':')
		if err := w.value(indent, indent); err != nil {
			return err
		}
	}
	_, err := w.json.ReadToken()
	return err
}

// items writes the items of an array whose bracket was read. If inline is set, the first one continues the line.
func (w *yamlWriter) items(indent int, inline bool) error {
	for w.json.PeekKind() != ']' {
		if !inline {
			w.indent(indent)
		}
		inline = false
		w.out = append(w.out, '-')
		switch w.json.PeekKind() {
		case '{', '[':
			open := w.json.PeekKind()
			if _, err := w.json.ReadToken(); err != nil {
				return err
			}
			if w.empty(open) {
				break
			}
			w.out = append(w.out, ' ')
			write := w.members
			if open == '[' {
				write = w.items
			}
			if err := write(indent+2, true); err != nil {
				return err
			}
			continue
		default:
			if err := w.scalar(indent + 2); err != nil {
				return err
			}
			continue
		}
		if _, err := w.json.ReadToken(); err != nil {
			return err
		}
	}
	_, err := w.json.ReadToken()
	return err
}

// empty writes an empty object or array whose beginning was read, and reports true. The caller reads its end. Otherwise
// it writes nothing.
func (w *yamlWriter) empty(open jsontext.Kind) bool {
	switch {
	case open == '{' && w.json.PeekKind() == '}':
		w.out = append(w.out, " {}\n"...)
		return true
	case open == '[' && w.json.PeekKind() == ']':
		w.out = append(w.out, " []\n"...)
		return true
	}
	return false
}

// value writes the value of a member whose name has an indent. Items of an array have the indent items.
func (w *yamlWriter) value(indent, items int) error {
	open := w.json.PeekKind()
	if open != '{' && open != '[' {
		return w.scalar(indent + 2)
	}
	if _, err := w.json.ReadToken(); err != nil {
		return err
	}
	if w.empty(open) {
		_, err := w.json.ReadToken()
		return err
	}
	w.out = append(w.out, '\n')
	if open == '{' {
		return w.members(indent+2, false)
	}
	return w.items(items, false)
}

// scalar writes a string, a number, a boolean or null. Each line of a string of several lines has the indent.
func (w *yamlWriter) scalar(indent int) error {
	raw, err := w.json.ReadValue()
	if err != nil {
		return err
	}
	w.out = append(w.out, ' ')
	if text, ok := block(raw); ok {
		w.out = append(w.out, '|')
		switch {
		case !strings.HasSuffix(text, "\n"):
			w.out = append(w.out, '-')
		case strings.HasSuffix(text, "\n\n"):
			w.out = append(w.out, '+')
		}
		w.out = append(w.out, '\n')
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			if line != "" {
				w.indent(indent)
			}
			w.out = append(append(w.out, line...), '\n')
		}
		return nil
	}
	w.out = append(append(w.out, inLine(raw)...), '\n')
	return nil
}

// block returns the text of a JSON string of several lines. It reports false if a YAML block cannot hold the text
// unchanged.
func block(raw []byte) (string, bool) {
	if raw[0] != '"' || !bytes.Contains(raw, []byte(`\n`)) {
		return "", false
	}
	var text string
	if json.Unmarshal(raw, &text) != nil || text == "" || strings.ContainsAny(text[:1], " \t\n") || !bytes.Equal(quoted(text), raw) {
		return "", false
	}
	for _, c := range text {
		if c != '\n' && c != '\t' && !printable(c) {
			return "", false
		}
	}
	return text, true
}

func printable(c rune) bool {
	return c != utf8.RuneError && c != '\ufeff' && c != '\u2028' && c != '\u2029' && (c == ' ' || unicode.IsPrint(c))
}

// notYAML matches the escapes of JSON that YAML does not have: of slashes and of surrogates.
var notYAML = regexp.MustCompile(`\\/|\\u[dD][89abAB]`)

// inLine returns a JSON scalar as YAML on one line. Strings for which [isPlain] holds have no quotes.
func inLine(raw []byte) []byte {
	if raw[0] != '"' {
		return raw
	}
	if bare := raw[1 : len(raw)-1]; isPlain(bare) {
		return bare
	}
	clean := !notYAML.Match(raw)
	for _, c := range string(raw) {
		clean = clean && printable(c)
	}
	if clean {
		return raw
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	var out []byte
	for _, c := range string(quoted(text)) {
		if printable(c) {
			out = utf8.AppendRune(out, c)
			continue
		}
		escaped, err := jsontext.AppendQuote(nil, string(c))
		if err == nil && len(escaped) > 2 && escaped[1] == '\\' {
			out = append(out, escaped[1:len(escaped)-1]...)
			continue
		}
		out = append(out, escape(c)...)
	}
	return out
}

// escape returns the escape of a character in YAML, which up to U+FFFF is also that of JSON.
func escape(c rune) string {
	const digits = "0123456789abcdef"
	form, n := `\u`, 4
	if c > 0xffff {
		form, n = `\U`, 8
	}
	out := []byte(form)
	for i := n - 1; i >= 0; i-- {
		out = append(out, digits[c>>(4*i)&15])
	}
	return string(out)
}

// quoted returns a text as the API server writes it to JSON.
func quoted(text string) []byte {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	return out
}

// isPlain reports whether a text needs no quotes in YAML, wherever it stands, and no escapes in JSON. It is false for
// some texts that need none.
func isPlain(text []byte) bool {
	if len(text) == 0 || len(text) > 256 || text[len(text)-1] == ':' {
		return false
	}
	for i, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == '/' || c == ':'):
		default:
			return false
		}
	}
	if len(text) > 5 {
		return true
	}
	switch strings.ToLower(string(text)) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return false
	}
	return true
}

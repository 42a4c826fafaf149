package state

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"
)

var errNoObject = errors.New("it is no object of YAML")

// parse returns a document of YAML as JSON. exact says that the document has the form of [appendYAML]: the JSON is then
// the one that was given to it, byte for byte.
func parse(doc []byte) (object []byte, exact bool, err error) {
	p := parser{in: doc, out: make([]byte, 0, len(doc))}
	if p.document() {
		return p.out, true, nil
	}
	object, err = yaml.YAMLToJSONStrict(doc)
	if err == nil && (len(object) == 0 || object[0] != '{') {
		err = errNoObject
	}
	return object, false, err
}

// parser reads only the form of YAML that [appendYAML] writes. Its methods return false for any other: package yaml then
// reads the document, which takes ten times as long.
type parser struct {
	in  []byte
	out []byte
}

func (p *parser) document() bool {
	if !p.members(0, nil) || len(p.in) > 0 {
		return false
	}
	return jsontext.Value(p.out).IsValid() // no name is there twice
}

// line returns the indent and the text of the next line.
func (p *parser) line() (indent int, text []byte) {
	text, _, ok := bytes.Cut(p.in, []byte("\n"))
	if !ok {
		return -1, nil
	}
	for indent < len(text) && text[indent] == ' ' {
		indent++
	}
	return indent, text[indent:]
}

func (p *parser) next() { p.in = p.in[bytes.IndexByte(p.in, '\n')+1:] }

// members reads the members of an object. text is the first one if it does not begin its line, as in an array.
func (p *parser) members(indent int, text []byte) bool {
	p.out = append(p.out, '{')
	for first := true; ; first = false {
		if text == nil {
			at, t := p.line()
			if at != indent || isItem(t) {
				if at > indent || first {
					return false
				}
				break
			}
			text = t
		}
		n := nameEnd(text)
		if n < 0 {
			return false
		}
		if !first {
			p.out = append(p.out, ',')
		}
		if !p.inLine(text[:n], true) {
			return false
		}
		p.out = append(p.out, ':')
		rest := text[n+1:]
		text = nil
		p.next()
		if len(rest) > 0 {
			if rest[0] != ' ' || !p.scalar(rest[1:], indent) {
				return false
			}
			continue
		}
		switch at, t := p.line(); {
		case at == indent && isItem(t):
			if !p.items(indent, nil) {
				return false
			}
		case at == indent+2 && !isItem(t):
			if !p.members(indent+2, nil) {
				return false
			}
		default:
			return false
		}
	}
	p.out = append(p.out, '}')
	return true
}

// items reads the items of an array.
func (p *parser) items(indent int, text []byte) bool {
	p.out = append(p.out, '[')
	for first := true; ; first = false {
		if text == nil {
			at, t := p.line()
			if at != indent || !isItem(t) {
				if at > indent {
					return false
				}
				break
			}
			text = t
		}
		if !first {
			p.out = append(p.out, ',')
		}
		rest := text[2:]
		text = nil
		ok := false
		switch {
		case isItem(rest):
			ok = p.items(indent+2, rest)
		case nameEnd(rest) >= 0:
			ok = p.members(indent+2, rest)
		default:
			p.next()
			ok = p.scalar(rest, indent)
		}
		if !ok {
			return false
		}
	}
	p.out = append(p.out, ']')
	return true
}

func isItem(text []byte) bool { return len(text) > 2 && text[0] == '-' && text[1] == ' ' }

// nameEnd returns the offset of the colon after the name of a member; negative if there is none.
func nameEnd(text []byte) int {
	n := -1
	if len(text) > 0 && text[0] == '"' {
		n = stringEnd(text)
	} else if n = bytes.Index(text, []byte(": ")); n < 0 {
		n = len(text) - 1
	}
	if n < 1 || n >= len(text) || text[n] != ':' || len(text) > n+1 && text[n+1] != ' ' {
		return -1
	}
	return n
}

// stringEnd returns the offset after a JSON string at the beginning of a text; negative if it does not end.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// scalar reads the scalar after a name or a dash, whose line has the indent. text is the rest of the line.
func (p *parser) scalar(text []byte, indent int) bool {
	switch string(text) {
	case "{}", "[]":
		p.out = append(p.out, text...)
		return true
	case "|", "|-", "|+":
		return p.block(string(text[1:]), indent+2)
	}
	return p.inLine(text, false)
}

// inLine reads a scalar without line ends. A name is always a string.
func (p *parser) inLine(text []byte, name bool) bool {
	switch c := text; {
	case len(c) == 0:
		return false
	case c[0] == '"':
		if stringEnd(c) != len(c) {
			return false
		}
		p.out = append(p.out, c...)
		return true
	case isPlain(c):
		p.out = append(append(append(p.out, '"'), c...), '"')
		return true
	case name:
		return false
	case c[0] == '-' || c[0] >= '0' && c[0] <= '9', string(c) == "true", string(c) == "false", string(c) == "null":
		p.out = append(p.out, c...)
		return json.Valid(c)
	}
	return false
}

// block reads the lines of a text.
func (p *parser) block(ends string, indent int) bool {
	var text []byte
	for {
		at, rest := p.line()
		switch {
		case at >= indent:
			text = append(text, p.in[indent:at+len(rest)]...)
		case at < 0 || len(rest) > 0:
			lines := bytes.TrimRight(text, "\n")
			switch more := len(text) - len(lines); {
			case len(lines) == 0, bytes.IndexByte([]byte(" \t\n"), lines[0]) >= 0, ends == "+" && more < 2, ends != "+" && more != 1:
				return false
			case ends == "-":
				text = lines
			}
			p.out = append(p.out, quoted(string(text))...)
			return true
		case at > 0:
			return false
		}
		text = append(text, '\n')
		p.next()
	}
}

package wire

import "strings"

// access is how a segment selects from a member.
type access uint8

const (
	single access = iota
	each          // every element of a list
	byKey         // one entry of a map
)

// segment is one step of a field path: a name, and the text in brackets.
type segment struct {
	name   string
	bare   bool // brackets only, after other brackets
	access access
	key    string
}

func (s segment) String() string {
	switch s.access {
	case each:
		return s.name + "[*]"
	case byKey:
		return s.name + "['" + s.key + "']"
	}
	return s.name
}

// steps splits a segment into steps of one name each.
func (s segment) steps() (steps []segment) {
	if !s.bare {
		steps = append(steps, segment{name: s.name})
	}
	if s.access == byKey {
		steps = append(steps, segment{name: s.key, access: byKey})
	}
	return steps
}

// parsePath splits a field path into its segments.
func parsePath(path string) ([]segment, error) {
	var segments []segment
	fail := func(at, reason string) ([]segment, error) {
		return nil, &PathError{Path: path, Segment: at, Reason: reason}
	}
	for rest := path; ; {
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		s := segment{name: rest[:end]}
		if s.name == "" {
			return fail(rest, "a name is missing")
		}
		if i := strings.IndexAny(s.name, "]'\"*{}$ \t\r\n"); i >= 0 {
			return fail(s.name, "a name cannot hold "+s.name[i:i+1])
		}
		rest = rest[end:]
		for strings.HasPrefix(rest, "[") {
			inner, after, ok := bracket(rest[1:])
			if !ok {
				return fail(rest, "brackets are not closed, or empty")
			}
			if s.access != single {
				segments = append(segments, s)
				s = segment{bare: true}
			}
			s.access, s.key = byKey, inner
			if inner == "*" && rest[1] == '*' {
				s.access, s.key = each, ""
			}
			rest = after
		}
		segments = append(segments, s)
		if rest == "" {
			return segments, nil
		}
		if rest[0] != '.' {
			return fail(rest, "want a dot after brackets")
		}
		rest = rest[1:]
	}
}

// bracket reads the text in brackets, from after the opening one.
func bracket(s string) (inner, after string, ok bool) {
	if s != "" && (s[0] == '\'' || s[0] == '"') {
		inner, after, ok = strings.Cut(s[1:], s[:1]+"]")
	} else {
		inner, after, ok = strings.Cut(s, "]")
	}
	return inner, after, ok && inner != ""
}

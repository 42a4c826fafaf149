package pack

const (
	minLearned  = 32       // bytes worth an entry in a dictionary
	minKnown    = 24       // bytes of a copy after which the dictionary is taken to know a part
	maxRecent   = 32 << 10 // bytes of the parts that were not found lately
	firstBudget = 4 << 10  // bytes that a dictionary may learn before any of them is used
	perLearned  = 16       // bytes copied from learned parts for each further byte
	maxPart     = 1 << 10  // bytes of a part that are looked at
)

// NewDictionary makes a template of b that grows, up to max bytes. A part of an object that is not in
// it, and was in another object a short time ago, is appended. It goes on growing while appended
// parts are used. Records stay valid: former bytes do not change. Their readers need the bytes as
// they were, or as they are later.
func NewDictionary(b []byte, max int) *Template {
	return &Template{b: b, max: max, base: len(b), budget: firstBudget}
}

// part is where a part of an object is that the dictionary does not know.
type part struct{ from, to int }

// endPart ends the part before a copy of n bytes to i.
func (p *Packer) endPart(i, n int) {
	if n < minKnown && i < len(p.obj) {
		return
	}
	if i-p.unknown >= minLearned {
		p.parts = append(p.parts, part{p.unknown, min(i, p.unknown+maxPart)})
	}
	p.unknown = i + n
}

// learn appends what parts have in common with those of objects before.
func (t *Template) learn(obj []byte, parts []part) {
	if min(t.budget, t.max-len(t.b)) < minLearned {
		return
	}
	if t.recent == nil {
		t.recent = &Template{b: make([]byte, 0, maxRecent), slots: make([]uint16, slotsOf(maxRecent))}
		t.recent.shift = shiftOf(len(t.recent.slots))
	}
	for _, part := range parts {
		t.learnPart(obj[part.from:part.to])
	}
}

func (t *Template) learnPart(s []byte) {
	r, done, missed := t.recent, 0, 0
	for i := 0; i+8 <= len(s); i += 1 + missed>>6 {
		missed++
		at := r.find(load64(s, i))
		if at < 0 {
			continue
		}
		end := i + equal(s[i:], r.b[at:])
		from := i
		for from > done && at > 0 && s[from-1] == r.b[at-1] {
			from, at = from-1, at-1
		}
		n := end - from
		if n < minLearned {
			continue
		}
		if n <= min(t.budget, t.max-len(t.b)) {
			t.budget -= n
			t.append(s[from:end])
		}
		done = end
		i, missed = done-1, 0
	}
	if len(r.b)+len(s) > maxRecent {
		r.b = r.b[:0]
		clear(r.slots)
	}
	r.append(s)
}

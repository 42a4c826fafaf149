package memo

import (
	"net/http"
	"reflect"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// template is an answer with places for values. It never changes.
type template struct {
	answer rules.Answer // the answer to the first question, with its values
	parts  []part       // the parts of the answer that have values
	has    [fields]bool // which fields the parts are in
	bytes  int
	// never marks a form whose answers differ in more than the values.
	never bool
}

// part is a text of an answer, with the slots in it.
type part struct {
	where where
	text  []byte
	slots []slot
}

// slot is the place of a value in a text, and the kind of the value.
type slot struct{ at, kind int }

func (t *template) size() int { return 400 + t.bytes }

// fits reports whether a question has a value for each slot.
func (t *template) fits(f *form) bool {
	if t.never {
		return false
	}
	for _, p := range t.parts {
		for _, s := range p.slots {
			if f.values[s.kind] == "" {
				return false
			}
		}
	}
	return true
}

// fill returns the answer to a question, which must fit. Parts without values are shared with other answers. None may be
// changed.
func (t *template) fill(f *form) *rules.Answer {
	out := t.answer
	own(&out, t.has)
	for _, p := range t.parts {
		if p.where.keeps() {
			p.where.set(&out, p.fill(make([]byte, 0, len(p.text)), f))
		} else {
			p.where.setString(&out, string(p.fill(make([]byte, 0, 256), f)))
		}
	}
	return &out
}

// fill appends the text to an empty b, with the values of a question.
func (p *part) fill(b []byte, f *form) []byte {
	b = append(b, p.text...)
	for _, s := range p.slots {
		copy(b[s.at:], f.values[s.kind])
	}
	return b
}

// kept is a template as it is written to a [File].
type kept struct {
	Answer rules.Answer
	Parts  []keptPart
	Never  bool
}

type keptPart struct {
	Field, N int
	Key      string
	Text     []byte
	Slots    []keptSlot
}

type keptSlot struct{ At, Kind int }

func appendTemplate(b []byte, t *template) ([]byte, error) {
	k := &kept{Answer: t.answer, Never: t.never}
	for _, p := range t.parts {
		part := keptPart{Field: int(p.where.field), N: p.where.n, Key: p.where.key, Text: p.text}
		for _, s := range p.slots {
			part.Slots = append(part.Slots, keptSlot{s.at, s.kind})
		}
		k.Parts = append(k.Parts, part)
	}
	return rules.AppendMessage(b, k)
}

// parseTemplate returns the template of a message, whose memory it shares.
func parseTemplate(message []byte) (*template, error) {
	k := &kept{}
	if err := rules.ParseMessage(message, k); err != nil {
		return nil, err
	}
	t := &template{answer: k.Answer, never: k.Never, bytes: len(message)}
	for _, p := range k.Parts {
		part := part{where: where{field(p.Field), p.N, p.Key}, text: p.Text}
		for _, s := range p.Slots {
			part.slots = append(part.slots, slot{s.At, s.Kind})
		}
		t.parts = append(t.parts, part)
		t.has[part.where.field] = true
	}
	return t, nil
}

// newTemplate returns a template of an answer. It asks the question twice more, with other values, and compares the answers.
// It returns nil if that is not possible: there are no other values, or ask fails. Answers of more than most bytes are
// never remembered.
func newTemplate(f *form, req *rules.Request, answer *rules.Answer, ask Ask, most int) *template {
	never := &template{never: true}
	if answer.Code >= http.StatusInternalServerError {
		return never
	}
	text, err := rules.AppendMessage(nil, answer)
	if err != nil || len(text) > most {
		return never
	}
	out := &template{bytes: 2 * len(text)}
	if err := rules.ParseMessage(text, &out.answer); err != nil { // a copy
		return never
	}
	if f.values == (values{}) {
		return out
	}
	if f.create && answer.Code >= http.StatusBadRequest { // errors are in an order that may depend on the values
		return never
	}
	answers, forms := []*rules.Answer{&out.answer}, []*form{f}
	for n := range 2 {
		other, g, ok := f.other(req, n)
		if !ok {
			return nil
		}
		answer, err := ask(other)
		if err != nil {
			return nil
		}
		answers, forms = append(answers, answer), append(forms, g)
	}
	if !apart(forms) {
		return nil
	}
	parts, ok := compareAnswers(answers, forms)
	if !ok {
		return never
	}
	out.parts = parts
	for _, p := range parts {
		out.has[p.where.field] = true
	}
	return out
}

// compareAnswers returns the parts of answers that have values. It reports false if the answers differ in anything
// else.
func compareAnswers(answers []*rules.Answer, forms []*form) (parts []part, ok bool) {
	places := textsOf(answers[0])
	rest := make([]rules.Answer, len(answers)) // the answers without these texts
	for i, a := range answers {
		if !reflect.DeepEqual(textsOf(a), places) {
			return nil, false
		}
		rest[i] = *a
		own(&rest[i], all)
	}
	for _, w := range places {
		texts := make([][]byte, len(answers))
		for i, a := range answers {
			texts[i] = w.get(a)
			w.set(&rest[i], nil)
		}
		slots, ok := compare(texts, forms)
		if !ok {
			return nil, false
		}
		if len(slots) > 0 {
			parts = append(parts, part{w, texts[0], slots})
		}
	}
	for _, r := range rest {
		if !reflect.DeepEqual(r, rest[0]) {
			return nil, false
		}
	}
	return parts, true
}

// compare returns the slots of the values in texts of questions of one form. It reports false if the texts differ in
// anything else.
func compare(texts [][]byte, forms []*form) (slots []slot, ok bool) {
	first := texts[0]
	for _, text := range texts {
		if len(text) != len(first) {
			return nil, false
		}
	}
next:
	for at := 0; at < len(first); {
		same := true
		for _, text := range texts {
			same = same && text[at] == first[at]
		}
		if same {
			at++
			continue
		}
		for kind, value := range forms[0].values {
			if value != "" && stands(texts, forms, at, kind) {
				slots = append(slots, slot{at, kind})
				at += len(value)
				continue next
			}
		}
		return nil, false
	}
	return slots, true
}

// stands reports whether each text has its own value of a kind at a place.
func stands(texts [][]byte, forms []*form, at, kind int) bool {
	for i, text := range texts {
		value := forms[i].values[kind]
		if value == "" || len(text)-at < len(value) || string(text[at:at+len(value)]) != value {
			return false
		}
	}
	return true
}

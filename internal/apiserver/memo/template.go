package memo

import (
	"net/http"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// template is an answer with places for values. It never changes.
type template struct {
	text  []byte // the answer as a message, with the values of the first question
	slots []slot
	// never marks a form whose answers differ in more than the values.
	never bool
}

// slot is the place of a value: an offset in the text, and the kind of the value.
type slot struct{ at, kind int }

func (t *template) size() int { return 200 + cap(t.text) + 16*cap(t.slots) }

// fits reports whether a question has a value for each slot.
func (t *template) fits(f *form) bool {
	if t.never {
		return false
	}
	for _, s := range t.slots {
		if f.values[s.kind] == "" {
			return false
		}
	}
	return true
}

// answer returns the answer to a question, which must fit.
func (t *template) answer(f *form) (*rules.Answer, error) {
	text := make([]byte, len(t.text))
	copy(text, t.text)
	for _, s := range t.slots {
		copy(text[s.at:], f.values[s.kind])
	}
	out := &rules.Answer{}
	return out, rules.ParseMessage(text, out)
}

// learn returns a template of an answer. It asks the question twice more, with other values, and compares the answers.
// It returns nil if that is not possible: there are no other values, or ask fails.
func learn(f *form, req *rules.Request, answer *rules.Answer, ask Ask) *template {
	never := &template{never: true}
	if answer.Code >= http.StatusInternalServerError {
		return never
	}
	text, err := rules.AppendMessage(nil, answer)
	if err != nil || len(text) > maxAnswer {
		return never
	}
	if f.values == (values{}) {
		return &template{text: text}
	}
	if f.create && answer.Code >= http.StatusBadRequest { // errors are in an order that may depend on the values
		return never
	}
	texts, forms := [][]byte{text}, []*form{f}
	for n := range 2 {
		other, g, ok := f.other(req, n)
		if !ok {
			return nil
		}
		answer, err := ask(other)
		if err != nil {
			return nil
		}
		text, err := rules.AppendMessage(nil, answer)
		if err != nil {
			return never
		}
		texts, forms = append(texts, text), append(forms, g)
	}
	slots, ok := compare(texts, forms)
	if !ok {
		return never
	}
	return &template{text: text, slots: slots}
}

// compare returns the slots of the values in answers to questions of one form. It reports false if the answers differ
// in anything else.
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

// stands reports whether each answer has its own value of a kind at a place.
func stands(texts [][]byte, forms []*form, at, kind int) bool {
	for i, text := range texts {
		value := forms[i].values[kind]
		if value == "" || len(text)-at < len(value) || string(text[at:at+len(value)]) != value {
			return false
		}
	}
	return true
}

package memo

import (
	"net/http"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// template is an answer with places for values. It never changes.
type template struct {
	text  []byte // of the answer, with the values of the question that it was learned from
	slots []slot
	// never marks a form whose answers are more than their values.
	never bool
}

// slot is a place of a value.
type slot struct{ at, kind int }

func (t *template) size() int { return 200 + cap(t.text) + 16*cap(t.slots) }

// fits reports whether a question has all values that the answer has places for.
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

// answer returns the answer to a question that fits.
func (t *template) answer(f *form) (*rules.Answer, error) {
	text := make([]byte, len(t.text))
	copy(text, t.text)
	for _, s := range t.slots {
		copy(text[s.at:], f.values[s.kind])
	}
	out := &rules.Answer{}
	return out, rules.ParseMessage(text, out)
}

// learn makes a template of an answer. It asks the same with other values, twice, and compares. It returns nil if
// nothing can be said: there are no other values, or no answer.
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
	if !apart(forms) {
		return nil
	}
	slots, ok := compare(texts, forms)
	if !ok {
		return never
	}
	return &template{text: text, slots: slots}
}

// compare finds the values in answers to questions of one form. It reports false if the answers differ by more.
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

// stands reports whether each answer has its value of a sort at a place.
func stands(texts [][]byte, forms []*form, at, kind int) bool {
	for i, text := range texts {
		value := forms[i].values[kind]
		if value == "" || len(text)-at < len(value) || string(text[at:at+len(value)]) != value {
			return false
		}
	}
	return true
}

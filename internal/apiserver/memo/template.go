package memo

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// template is an answer with places for values. It never changes.
type template struct {
	kept
	answer *rules.Answer // shared by all questions if there are no slots; nil otherwise
}

// kept is a template as it is written to a [File].
type kept struct {
	Text  []byte // the answer to the first question, as a message
	Slots []slot
	// Never marks a form whose answers differ in more than the values.
	Never bool
}

// slot is the place of a value in a message, and its index.
type slot struct{ At, Value int }

func (t *template) size() int { return 400 + 2*len(t.Text) }

// fill returns the answer to a question of the form. It may be shared, so it may not be changed.
func (t *template) fill(f *form) (*rules.Answer, error) {
	if t.answer != nil {
		return t.answer, nil
	}
	text := bytes.Clone(t.Text)
	for _, s := range t.Slots {
		copy(text[s.At:], f.values[s.Value])
	}
	return parseAnswer(text)
}

// parseAnswer returns the answer of a message. Its objects have memory of their own.
func parseAnswer(text []byte) (*rules.Answer, error) {
	a := &rules.Answer{}
	if err := rules.ParseMessage(text, a); err != nil {
		return nil, err
	}
	a.Part()
	return a, nil
}

// templateOf completes a template.
func templateOf(k kept) (t *template, err error) {
	t = &template{kept: k}
	if len(k.Slots) == 0 && !k.Never {
		t.answer, err = parseAnswer(k.Text)
	}
	return t, err
}

// newTemplate returns a template of an answer. It asks the question twice more, with other values, and compares the answers.
// It returns nil if that is not possible: there are no other values, or ask fails. Answers of more than most bytes are
// never remembered.
func newTemplate(f *form, req *rules.Request, answer *rules.Answer, ask Ask, most int) *template {
	never := &template{kept: kept{Never: true}}
	// The order of errors may depend on the values.
	if answer.Code >= http.StatusInternalServerError || f.values != nil && answer.Code >= http.StatusBadRequest && req.Method != http.MethodGet {
		return never
	}
	text, err := rules.AppendMessage(nil, answer)
	if err != nil || len(text) > most {
		return never
	}
	texts, values := [][]byte{text}, [][]string{f.values}
	if p, ok := read(req, maxVersions); ok && f.values != nil {
		for n := range 2 {
			req, others, ok := probe(req, p, n)
			if !ok {
				return nil
			}
			answer, err := ask(req)
			if err != nil {
				return nil
			}
			text, err := rules.AppendMessage(nil, answer)
			if err != nil {
				return never
			}
			texts, values = append(texts, text), append(values, others)
		}
		if !apart(values) {
			return nil
		}
	}
	slots, ok := compare(texts, values)
	if !ok {
		return never
	}
	t, err := templateOf(kept{Text: text, Slots: slots})
	if err != nil {
		return never
	}
	return t
}

// compare returns the slots of the values in the answers to questions of one form. It reports false if they differ in
// anything else.
func compare(texts [][]byte, values [][]string) (slots []slot, ok bool) {
	first := texts[0]
	for _, text := range texts {
		if len(text) != len(first) {
			return nil, false
		}
	}
	longest := make([]int, len(values[0])) // at a place that fits two values, the longer one counts
	for i := range longest {
		longest[i] = i
	}
	slices.SortStableFunc(longest, func(a, b int) int { return cmp.Compare(len(values[0][b]), len(values[0][a])) })
	for at := 0; at < len(first); {
		if i := slices.IndexFunc(longest, func(v int) bool { return stands(texts, values, at, v) }); i >= 0 {
			slots = append(slots, slot{at, longest[i]})
			at += len(values[0][longest[i]])
			continue
		}
		for _, text := range texts {
			if text[at] != first[at] {
				return nil, false
			}
		}
		at++
	}
	return slots, true
}

// stands reports whether each text has its own value at a place.
func stands(texts [][]byte, values [][]string, at, v int) bool {
	for i, text := range texts {
		if value := values[i][v]; text[at] != value[0] || !bytes.HasPrefix(text[at:], []byte(value)) {
			return false
		}
	}
	return true
}

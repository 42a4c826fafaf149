package weigh

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Kind has the figures of a kind.
type Kind struct {
	Resource   string `json:"resource"` // with its group: "deployments.apps"
	Version    string `json:"version"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
	// Form is what Structs counts: "typed", or "unstructured" for a kind without a Go type.
	Form string `json:"form"`
	Figures
}

// LeftOut is a kind, or a part of one, that was not weighed.
type LeftOut struct {
	Resource string `json:"resource"`
	Reason   string `json:"reason"`
}

// Report is what a weighing found.
type Report struct {
	Program bool      `json:"program,omitempty"` // it is what the roles of a program allow
	Kinds   []Kind    `json:"kinds"`             // those with objects, the largest structs first
	Empty   []string  `json:"withoutObjects,omitempty"`
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	Total   Figures   `json:"total"`
}

// add adds the figures of a kind.
func (r *Report) add(k Kind) {
	if k.Objects == 0 {
		r.Empty = append(r.Empty, k.Resource)
		return
	}
	r.Kinds = append(r.Kinds, k)
	r.Total.add(k.Figures)
}

// sort sorts the kinds by what they take.
func (r *Report) sort() {
	slices.SortStableFunc(r.Kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(b.Structs, a.Structs), cmp.Compare(b.Wire, a.Wire), strings.Compare(a.Resource, b.Resource))
	})
	slices.Sort(r.Empty)
}

// JSON writes the report as JSON.
func (r *Report) JSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// column is a column of the table.
type column struct {
	name string
	of   func(f *Figures) string
}

var columns = []column{
	{"OBJECTS", func(f *Figures) string { return count(f.Objects) }},
	{"WIRE", func(f *Figures) string { return size(f.Wire) }},
	{"MANAGED", func(f *Figures) string { return size(f.ManagedFields) }},
	{"STRUCTS", func(f *Figures) string { return size(f.Structs) }},
	{"PACKED", func(f *Figures) string { return size(f.Packed) }},
}

// Text writes the report for people.
func (r *Report) Text(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(kind string, cell func(column) string) {
		for _, c := range columns {
			fmt.Fprint(t, cell(c), "\t")
		}
		fmt.Fprintln(t, "  "+kind)
	}
	row("KIND", func(c column) string { return c.name })
	for i := range r.Kinds {
		row(r.Kinds[i].Resource, func(c column) string { return c.of(&r.Kinds[i].Figures) })
	}
	row("total", func(c column) string { return c.of(&r.Total) })
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n"+r.closing())
	return err
}

// closing is the text below the table. Its totals compare structs and packed objects of the same content: both with
// managedFields, and both without.
func (r *Report) closing() string {
	f, who := &r.Total, "all of these kinds"
	if r.Program {
		who = "your operator"
	}
	text := who + ":\n" +
		compared("with managedFields", f.Structs, f.PackedWhole) +
		compared("without managedFields", f.StructsCut, f.Packed) +
		fmt.Sprintf(`
from: the Go structs that client-go's caches hold, estimated from %s decoded
      objects. managedFields are in them unless a transform cuts them.
to:   the objects packed in Flyball's cache. It cuts managedFields unless
      KeepManagedFields is set.
`, count(f.Sampled))
	for i, l := range r.LeftOut {
		text += []string{"\nnot weighed: ", ", "}[min(i, 1)] + l.Resource
	}
	switch n := len(r.Empty); {
	case n > maxNamed:
		text += fmt.Sprintf("\n%d more kinds have no objects", n)
	case n > 0:
		text += "\nwithout objects: " + strings.Join(r.Empty, ", ")
	}
	return strings.TrimSuffix(text, "\n") + "\n"
}

// nothing says what became of the kinds of a report without figures.
func (r *Report) nothing() string {
	var text []string
	switch n := len(r.Empty); {
	case n > maxNamed:
		text = append(text, fmt.Sprintf("%d kinds have no objects", n))
	case n > 0:
		text = append(text, "there are no "+strings.Join(r.Empty, ", no "))
	}
	for _, l := range r.LeftOut[:min(maxNamed, len(r.LeftOut))] {
		text = append(text, l.Resource+": "+l.Reason)
	}
	if len(text) == 0 {
		return "no kind is selected that can be listed and watched"
	}
	return strings.Join(text, "; ")
}

// compared is a line of two figures for the same content of the objects.
func compared(content string, from, to int64) string {
	return fmt.Sprintf("  %-21s  %s → %s%s\n", content, size(from), size(to), times(from, to))
}

// maxNamed is how many kinds without figures are named.
const maxNamed = 5

// times says how many times less one figure is than another.
func times(from, to int64) string {
	if to <= 0 || from < 2*to {
		return ""
	}
	return fmt.Sprintf(", %s times less", count(int(float64(from)/float64(to)+0.5)))
}

// size writes a number of bytes in decimal units, with two digits at least.
func size(bytes int64) string {
	if bytes < 1000 {
		return strconv.FormatInt(bytes, 10) + " B"
	}
	v := float64(bytes)
	for _, unit := range []string{"kB", "MB", "GB", "TB"} {
		v /= 1000
		switch {
		case v < 9.95:
			return fmt.Sprintf("%.1f %s", v, unit)
		case v < 999.5:
			return fmt.Sprintf("%.0f %s", v, unit)
		}
	}
	return fmt.Sprintf("%.0f PB", v/1000)
}

// count writes a number with commas.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

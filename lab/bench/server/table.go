package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"text/tabwriter"
)

// table has the figures, by case and contender.
type table struct {
	rows []*row
}

type row struct {
	name, unit string
	values     map[string]float64
}

func (t *table) set(name, contender, unit string, value float64) {
	for _, r := range t.rows {
		if r.name == name {
			r.values[contender] = value
			return
		}
	}
	t.rows = append(t.rows, &row{name, unit, map[string]float64{contender: value}})
}

// goal is a bound for a figure of the server in memory.
type goal struct {
	name string
	// The figure has to be times times as good as that of the contender beside; or, without beside, at most limit.
	beside string
	times  float64
	limit  float64
}

// goals are for the default sizes of the flags.
var goals = []goal{
	{name: caseStart, limit: 5},
	{name: caseCreateMaps, beside: realOne, times: 1},
	{name: caseCreatePods, beside: realOne, times: 1},
	{name: caseWatch, beside: realOne, times: 20},
	{name: caseHistory, beside: realOne, times: 20},
	{name: caseList, beside: realOne, times: 5},
	{name: caseListBytes, beside: realOne, times: 5},
	{name: caseGet, beside: fakes, times: 1},
	{name: caseGetPod, beside: fakes, times: 1},
	{name: caseUpdate, beside: fakes, times: 1},
	{name: caseServer, limit: 15_000},
	{name: casePods, limit: 300},
	{name: caseSnapshot, limit: 1},
	{name: caseRestore, limit: 1},
}

// verdict returns a text with the goal and whether it is met. ok is false if a figure is missing.
func (r *row) verdict(g goal) (text string, ok bool) {
	value, ok := r.values[memory]
	if !ok {
		return "", false
	}
	if g.limit > 0 {
		return fmt.Sprintf("≤ %s %s: %s", number(g.limit), r.unit, met(value <= g.limit)), true
	}
	other, ok := r.values[g.beside]
	if !ok {
		return "", false
	}
	ratio := other / value
	if r.unit == "1/s" {
		ratio = value / other
	}
	return fmt.Sprintf("%s × of %s, want %s: %s", number(ratio), g.beside, number(g.times), met(ratio >= g.times)), true
}

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "missed"
}

// write prints the figures, with the goals.
func (t *table) write(w io.Writer) error {
	columns := []string{memory, tcp, fakes, realOne}
	fmt.Fprintf(w, "%d cores, %s/%s, %s\n\n", runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH, runtime.Version())
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "case\t\t%s\tgoal\n", strings.Join(columns, "\t"))
	for _, r := range t.rows {
		fmt.Fprintf(out, "%s\t%s", r.name, r.unit)
		for _, c := range columns {
			text := "–"
			if v, ok := r.values[c]; ok {
				text = number(v)
			}
			fmt.Fprint(out, "\t", text)
		}
		verdict := ""
		for _, g := range goals {
			if text, ok := r.verdict(g); ok && g.name == r.name {
				verdict = cmp.Or(verdict, text)
			}
		}
		fmt.Fprintf(out, "\t%s\n", verdict)
	}
	return out.Flush()
}

// number formats a figure with three significant digits.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	text := fmt.Sprintf("%.*f", max(0, digits), v)
	if whole, fraction, ok := strings.Cut(text, "."); ok {
		text = strings.TrimSuffix(whole+"."+strings.TrimRight(fraction, "0"), ".")
	}
	for i := len(text) - 3; i > 0 && !strings.Contains(text, "."); i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

package measure

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/flyball-io/flyball/lab/bench/contender"
)

// Table prints the results for people. A ratio is Flyball's figure divided by the peer's. Behind a
// figure are the least and the largest of all runs, if they differ from it.
func (r *Results) Table(out io.Writer) error {
	fmt.Fprintf(out, "%s\n%s\n", r.Machine, r.Run)
	if r.Runs > 1 {
		fmt.Fprintf(out, "medians of %d interleaved runs (least–largest)\n", r.Runs)
	} else {
		fmt.Fprintln(out, "one run")
	}
	if r.Load != "" {
		fmt.Fprintln(out, r.Load)
	}
	fmt.Fprintln(out)
	rows := [][]string{{"case", "", "flyball", "client-go", "controller-runtime", "÷ CG", "÷ CR", "goal", "", "limit"}}
	others := map[string]bool{}
	for _, c := range r.Cases {
		verdict := ""
		if c.Met != nil {
			verdict = map[bool]string{true: "met", false: "missed"}[*c.Met]
		}
		rows = append(rows, []string{c.Name, c.Unit, c.figure(contender.Flyball), c.figure(contender.ClientGo), c.figure(contender.ControllerRuntime), cell(c.RatioClientGo, ratio), cell(c.RatioControllerRuntime, ratio), c.Goal, verdict, c.limit()})
		for name := range c.Others {
			others[name] = true
		}
	}
	if err := columns(out, rows); err != nil || len(others) == 0 {
		return err
	}
	names := slices.Sorted(maps.Keys(others))
	fmt.Fprintf(out, "\nOther views and settings of the peers, and flyball divided by each:\n\n")
	head := []string{"case", "", "flyball"}
	for _, name := range names {
		head = append(head, name, "÷")
	}
	rows = [][]string{head}
	for _, c := range r.Cases {
		if len(c.Others) == 0 {
			continue
		}
		row := []string{c.Name, c.Unit, c.figure(contender.Flyball)}
		for _, name := range names {
			o, ok := c.Others[name]
			if !ok {
				row = append(row, "–", "")
				continue
			}
			row = append(row, c.figure(name), cell(o.Ratio, ratio))
		}
		rows = append(rows, row)
	}
	return columns(out, rows)
}

// figure formats the figure of a contender with its spread.
func (c *Case) figure(name string) string {
	v, spread := c.of(name), c.Spread[name]
	text := cell(v, figure)
	if least, most := figure(spread[0]), figure(spread[1]); v != nil && (least != text || most != text) {
		text += " (" + least + "–" + most + ")"
	}
	return text
}

// limit formats the limit, with what it is of.
func (c *Case) limit() string {
	switch {
	case c.Limit == nil:
		return ""
	case c.LimitOf == contender.Transport:
		return c.figure(contender.Transport) + " transport"
	}
	return figure(*c.Limit) + " " + c.LimitOf
}

func cell(v *float64, format func(float64) string) string {
	if v == nil {
		return "–"
	}
	return format(*v)
}

// columns prints rows, with names to the left and figures to the right.
func columns(out io.Writer, rows [][]string) error {
	width := 0
	for _, r := range rows {
		width = max(width, len([]rune(r[0])))
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		name := r[0] + strings.Repeat(" ", width-len([]rune(r[0])))
		fmt.Fprintln(w, name+"\t"+strings.Join(r[1:], "\t")+"\t")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

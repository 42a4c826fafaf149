package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/measure"
)

// chart is one diagram with two logarithmic axes.
type chart struct {
	title string
	yName string
	yTick func(v float64) string
	lines []line

	left, top, width, height float64 // of the area between the axes
	x, y                     span
}

// line is the figures of one contender.
type line struct {
	class, label string // the class is its colour
	points       []point
}

type point struct{ x, y float64 }

// span is the decades of an axis.
type span struct{ from, to int }

// drawn are the contenders in the diagram.
var drawn = []line{
	{class: "client-go", label: "client-go"},
	{class: "controller-runtime", label: "controller-runtime"},
	{class: "metadata", label: "metadata only"},
	{class: "flyball", label: "Flyball"},
}

// figureOf returns a contender's figure in a case, or nil.
func figureOf(c *measure.Case, class string) *float64 {
	switch {
	case c == nil:
		return nil
	case class == contender.Flyball:
		return c.Flyball
	case class == contender.ClientGo:
		return c.ClientGo
	case class == contender.ControllerRuntime:
		return c.ControllerRuntime
	}
	if o, ok := c.Others["controller-runtime-metadata"]; ok {
		return &o.Value
	}
	return nil
}

// collect returns the lines of a case over the number of objects. Figures per object are
// multiplied.
func collect(all []*measure.Results, name string, perObject bool) []line {
	var lines []line
	for _, l := range drawn {
		for _, r := range all {
			v := figureOf(r.Case(name), l.class)
			if v == nil || *v <= 0 {
				continue
			}
			p := point{float64(r.Objects), *v}
			if perObject {
				p.y *= p.x
			}
			l.points = append(l.points, p)
		}
		slices.SortFunc(l.points, func(a, b point) int { return int(a.x - b.x) })
		if len(l.points) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

// decades returns a span that contains all values.
func decades(lines []line, value func(point) float64) span {
	least, most := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, p := range l.points {
			least, most = min(least, math.Log10(value(p))), max(most, math.Log10(value(p)))
		}
	}
	s := span{int(math.Floor(least + 0.01)), int(math.Ceil(most - 0.01))}
	return span{s.from, max(s.to, s.from+1)}
}

func (s span) part(v float64) float64 {
	return (math.Log10(v) - float64(s.from)) / float64(s.to-s.from)
}

func (c *chart) at(p point) (x, y float64) {
	return c.left + c.width*c.x.part(p.x), c.top + c.height*(1-c.y.part(p.y))
}

// draw writes the diagram: grid, axes, lines, and the names of the lines at their ends.
func (c *chart) draw(b *bytes.Buffer) {
	c.x = decades(c.lines, func(p point) float64 { return p.x })
	c.y = decades(c.lines, func(p point) float64 { return p.y })
	fmt.Fprintf(b, "<text class=\"title\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", c.left-64, c.top-22, c.title)
	for d := c.x.from; d <= c.x.to; d++ {
		x, y := c.at(point{math.Pow10(d), math.Pow10(c.y.from)})
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/><text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x, c.top, y, x, y+18, count(math.Pow10(d)))
	}
	for d := c.y.from; d <= c.y.to; d++ {
		_, y := c.at(point{math.Pow10(c.x.from), math.Pow10(d)})
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", c.left, y, c.left+c.width, c.left-8, y+4, c.yTick(math.Pow10(d)))
	}
	fmt.Fprintf(b, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">number of Pods</text>\n", c.left+c.width/2, c.top+c.height+38)
	fmt.Fprintf(b, "<text class=\"axis\" transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n", c.left-62, c.top+c.height/2, c.yName)
	for _, l := range c.lines {
		var path bytes.Buffer
		for i, p := range l.points {
			x, y := c.at(p)
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x, y)
			fmt.Fprintf(b, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", l.class, x, y)
		}
		fmt.Fprintf(b, "<path class=\"line %s\" d=\"%s\"/>\n", l.class, path.String())
	}
	c.names(b)
}

// names writes the names to the right of the last points, from the highest to the lowest, without
// overlap.
func (c *chart) names(b *bytes.Buffer) {
	type name struct {
		line
		x, y float64
	}
	var all []name
	for _, l := range c.lines {
		x, y := c.at(l.points[len(l.points)-1])
		all = append(all, name{l, x + 9, y + 4})
	}
	slices.SortStableFunc(all, func(a, b name) int { return int(a.y - b.y) })
	const apart = 16
	for i := range all { // names that would touch move apart, as much up as down
		end := i
		for end+1 < len(all) && all[end+1].y-all[end].y < apart {
			end++
		}
		middle := (all[i].y + all[end].y) / 2
		for k := i; end > i && k <= end; k++ {
			all[k].y = middle + apart*(float64(k-i)-float64(end-i)/2)
		}
	}
	for _, n := range all {
		fmt.Fprintf(b, "<text class=\"name %s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", n.class, n.x, n.y, n.label)
	}
}

// count formats a number of objects.
func count(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.0f M", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.0f k", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}

func bytesTick(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if v >= u.size {
			return fmt.Sprintf("%.0f %s", v/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f B", v)
}

func secondsTick(v float64) string {
	if v < 1 {
		return fmt.Sprintf("%.0f ms", v*1e3)
	}
	return fmt.Sprintf("%.0f s", v)
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"

	"github.com/flyball-io/flyball/lab/bench/measure"
)

const (
	pictureWidth  = 1000
	pictureHeight = 440
)

// style has colours for light and dark backgrounds.
const style = `<style>
:root { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --grid: #d9dee3; --flyball: #0969da; --client-go: #bc4c00; --controller-runtime: #8250df; --metadata: #9a6fb0; }
@media (prefers-color-scheme: dark) {
:root { --paper: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --grid: #2d333b; --flyball: #58a6ff; --client-go: #f0883e; --controller-runtime: #bc8cff; --metadata: #a58bb5; }
}
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--ink); }
.paper { fill: var(--paper); }
.title { font-size: 15px; font-weight: 600; }
.tick, .axis, .note { fill: var(--faint); font-size: 12px; }
.name { font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 5; stroke-linejoin: round; }
.grid { stroke: var(--grid); fill: none; }
.line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
.client-go.line { stroke-width: 5; } /* where both peers are alike it is seen below the other */
.metadata.line { stroke-dasharray: 6 4; }
path.flyball { stroke: var(--flyball); } circle.flyball, text.flyball { fill: var(--flyball); }
path.client-go { stroke: var(--client-go); } circle.client-go, text.client-go { fill: var(--client-go); }
path.controller-runtime { stroke: var(--controller-runtime); } circle.controller-runtime, text.controller-runtime { fill: var(--controller-runtime); }
path.metadata { stroke: var(--metadata); } circle.metadata, text.metadata { fill: var(--metadata); }
</style>
`

// draw returns the picture of all results.
func draw(all []*measure.Results) ([]byte, error) {
	bytesOf := collect(all, "retained per object", true)
	cpu := collect(all, "CPU until synced", false)
	if len(bytesOf) == 0 || len(cpu) == 0 {
		return nil, errors.New("there are no figures to draw: no memory and CPU of any contender")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"Memory and CPU over the number of Pods\">\n%s", pictureWidth, pictureHeight, pictureWidth, pictureHeight, style)
	fmt.Fprintf(&b, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", pictureWidth, pictureHeight)
	const width, height, top = 310, 300, 62
	for i, c := range []*chart{
		{title: "Memory that the Pods hold", yName: "retained bytes", yTick: bytesTick, lines: bytesOf},
		{title: "CPU until all Pods are there", yName: "CPU time", yTick: secondsTick, lines: cpu},
	} {
		c.left, c.top, c.width, c.height = 84+float64(i)*pictureWidth/2, top, width, height
		c.draw(&b)
	}
	fmt.Fprintf(&b, "<text class=\"note\" x=\"22\" y=\"%d\">%s</text>\n</svg>\n", pictureHeight-12, html.EscapeString(all[0].Machine+". Both axes are logarithmic. Metadata only: controller-runtime, PartialObjectMetadata."))
	return b.Bytes(), nil
}

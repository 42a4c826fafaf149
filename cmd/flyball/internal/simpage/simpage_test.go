package simpage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/cmd/flyball/internal/simulate"
	"github.com/flyball-io/flyball/internal/simreport"
)

// hostile are texts that would do something if they were not only text.
var hostile = []string{
	`<script>window.broken = 1</script>`,
	`"><img src=http://127.0.0.1:9/x onerror="window.broken = 1">`,
	`'><svg onload=window.broken=1>`,
	`</style></title></pre><script>window.broken = 1</script><b class="injected">`,
	`--><iframe src="javascript:window.broken=1"></iframe>`,
	`{{.Style}} ${window.broken = 1} javascript:window.broken=1`,
	`&lt;b class="injected"&gt; &amp;`,
}

func entryOf(at int, step int, lane, text string) simreport.Entry {
	return simreport.Entry{At: time.Duration(at) * time.Second, Step: step, Lane: lane, Text: text}
}

// result has a check that failed, one that passed and one that did not end. Each text has more in it.
func result(more string) *simulate.Result {
	same := []simreport.Entry{entryOf(0, 0, "program", "the program starts"), entryOf(0, 0, "world", "at rest"),
		entryOf(10, 1, "user", "apply configmaps/default/a → 201"+more), {At: 10e9, Step: 1, Lane: "view", Text: "the program sees ADDED configmaps/default/a" + more, Version: 63}}
	run := slices.Concat(same, []simreport.Entry{
		{At: 10e9, Step: 1, Lane: "program", Text: "create secrets/default/a → 201, then it crashes" + more, Body: 7, Fault: true},
		{At: 10e9, Step: 1, Lane: "fault", Text: "lag ADDED" + more, Fault: true}, entryOf(11, 1, "wrong", "the program deletes secrets/default/b"+more),
		entryOf(11, 1, "program", "watch configmaps → 200"), entryOf(20, 1, "cluster", "DELETE /api/v1/x: 200"+more), entryOf(30, 1, "world", "at rest")})
	reference := slices.Concat(same, []simreport.Entry{
		{At: 10e9, Step: 1, Lane: "program", Text: "create secrets/default/a → 201" + more, Body: 7}, entryOf(20, 1, "world", "at rest"), entryOf(20, 2, "world", "at rest")})
	const plan = "crash-after@1:create:secrets/default/a"
	story := simreport.Story{Plan: plan + more, Problems: []string{"secrets/default/b is missing" + more, "two\nlines"}, Replay: "go test -run '^TestBad$' -sim.replay='" + plan + more + "'",
		Run: simreport.Trace{Entries: run, Before: 12, Cut: 345, CutAt: 9}, Reference: simreport.Trace{Entries: reference, Before: 12}}
	points := []simreport.Point{
		{Kind: "write", Step: 1, Verb: "create", Object: "secrets/default/a" + more, Nth: 1, Tries: []simreport.Try{{Fault: "crash-after", End: simreport.Failed}, {Fault: "409", End: simreport.Passed}, {Fault: "422" + more}}},
		{Kind: "event", Program: "other" + more, Step: 2, Verb: "ADDED", Object: "configmaps/default/a", Nth: 2, Tries: []simreport.Try{{Fault: "late", End: simreport.NotMet}, {Fault: "lag", Until: 2, End: simreport.Passed}, {Fault: "lag", Until: 3, End: simreport.Failed}}},
	}
	return &simulate.Result{
		Reports: []*simreport.Report{
			{Test: "TestBad" + more, Package: "example.com/shop/a" + more, Steps: []string{"apply ConfigMap default/a" + more, "delete it"}, Done: true, Seconds: 12.34, Singles: 6, SinglesTried: 5, Pairs: 3, Seed: 1, Runs: 9, Failed: 7, Kept: 1,
				Until: time.Unix(1e9, 0).UTC(), Problems: []string{"the plans cannot be kept: x" + more}, Points: points, Counts: map[string]int{"write": 1, "event": 1, "read": 3}, Left: 4,
				Stories: []simreport.Story{story, {Plan: "timeout@1:get:x" + more, Problems: []string{"x"}, Replay: "go test x", Run: simreport.Trace{Entries: run}, Reference: simreport.Trace{Entries: reference}}}, StoriesLeft: 2},
			{Test: "TestGood" + more, Package: "example.com/shop/b", Done: true, Singles: 1, SinglesTried: 1, Counts: map[string]int{"step": 1},
				Points: []simreport.Point{{Kind: "step", Step: 1, Verb: "begin", Object: "step", Nth: 1, Tries: []simreport.Try{{Fault: "restart", End: simreport.Passed}}}}},
			{Test: "TestCut" + more, Package: "example.com/shop/c"},
			{Test: "TestAgain" + more, Package: "example.com/shop/c", Done: true, Replayed: plan + more, Runs: 1, Stories: []simreport.Story{{Plan: plan + more, Run: simreport.Trace{Entries: same}, Reference: simreport.Trace{Entries: same}}}},
		},
		Failures: []simulate.Failure{{Package: "example.com/shop/c", What: "TestCut did not end: its process has died" + more, Output: "panic: x" + more + strings.Repeat(" long", 200)}, {Package: "example.com/shop/d", What: "it does not build"}},
	}
}

func write(t *testing.T, r *simulate.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, time.Unix(1e9, 0).UTC()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), Mark+"\n<!doctype html>") {
		t.Errorf("the page begins with %.80q", b.String())
	}
	file := filepath.Join(t.TempDir(), "sim.html")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPage looks at pages in a browser.
func TestPage(t *testing.T) {
	b := startBrowser(t)
	for name, test := range map[string]func(*testing.T, *browser){
		"hostile texts are text": hostileTextsAreText, "it is readable": isReadable, "stories are beside the reference": storiesAreBeside,
		"keys do all": keysDoAll, "without its script": withoutScript,
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			test(t, b)
		})
	}
	b.t = t
}

// A page shows what reports have in them, and does nothing of it.
func hostileTextsAreText(t *testing.T, b *browser) {
	for _, bad := range hostile {
		b.open(write(t, result(bad)))
		if eval[bool](b, `"broken" in window`) {
			t.Errorf("%s: it ran", bad)
		}
		if n := eval[int](b, `document.querySelectorAll("img, svg, iframe, .injected, body style, main script").length`); n > 0 {
			t.Errorf("%s: %d elements come from it", bad, n)
		}
		// The texts that are shown in one place each, whole.
		for selector, want := range map[string]string{
			"#c1-s1 code":           "crash-after@1:create:secrets/default/a" + bad,
			".problems li":          "secrets/default/b is missing" + bad,
			".summary tbody th a":   "TestBad" + bad,
			".check ol li":          "apply ConfigMap default/a" + bad,
			".points tbody th":      "create secrets/default/a" + bad,
			".failure h3":           "example.com/shop/c: TestCut did not end: its process has died" + bad,
			"#c1-s1-first .program": "program: fault create secrets/default/a → 201, then it crashes" + bad + " body 00000007",
			".replay pre":           "go test example.com/shop/a" + bad + " -run '^TestBad$' -sim.replay='crash-after@1:create:secrets/default/a" + bad + "'",
		} {
			if got := eval[string](b, fmt.Sprintf("document.querySelector(%q).textContent", selector)); got != want {
				t.Errorf("%s shows %q, want %q", selector, got, want)
			}
		}
		for _, e := range b.events {
			if e.Method == "Network.requestWillBeSent" && !bytes.Contains(e.Params, []byte(`"type":"Document"`)) {
				t.Errorf("%s: a request: %s", bad, e.Params)
			}
			if e.Method == "Runtime.exceptionThrown" {
				t.Errorf("%s: an error: %s", bad, e.Params)
			}
		}
	}
}

// contrast returns the texts whose contrast to what is behind them is too low.
const contrast = `(() => {
	const rgb = s => s.match(/[\d.]+/g).map(Number);
	const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
	const bad = [];
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (!walk.currentNode.textContent.trim() || e.closest("script") || !e.checkVisibility() || e.closest(".vh")) continue;
		let back = null;
		for (let x = e; x && !back; x = x.parentElement) { const c = rgb(getComputedStyle(x).backgroundColor); if (c.length < 4 || c[3] > 0) back = c.slice(0, 3); }
		const [a, b] = [light(rgb(getComputedStyle(e).color).slice(0, 3)), light(back || [255, 255, 255])];
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5) bad.push(ratio.toFixed(1) + " " + e.className + " " + walk.currentNode.textContent.slice(0, 40));
	}
	return bad;
})()`

// At each width and in each scheme nothing is wider than the window, and all can be read.
func isReadable(t *testing.T, b *browser) {
	for _, page := range []struct{ name, more string }{{"plain", ""}, {"long", "-" + strings.Repeat("0123456789", 25)}} {
		file := write(t, result(page.more))
		for _, width := range []int{1280, 400} {
			for _, scheme := range []string{"light", "dark"} {
				b.look(width, scheme)
				b.open(file)
				eval[any](b, `document.querySelectorAll("details").forEach(d => d.open = true)`)
				name := fmt.Sprintf("%s-%d-%s", page.name, width, scheme)
				if got := eval[int](b, "document.documentElement.scrollWidth"); got > width {
					t.Errorf("%s: the page is %d wide; %v", name, got, eval[[]string](b, `[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll, pre")).slice(0, 5).map(e => e.tagName + "." + e.className)`))
				}
				// A line of an entry has room for some words.
				if got := eval[float64](b, `Math.min(...[...document.querySelectorAll(".entry")].filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().width))`); got < 240 {
					t.Errorf("%s: an entry has a width of %v", name, got)
				}
				if bad := eval[[]string](b, contrast); len(bad) > 0 {
					t.Errorf("%s: contrast is too low: %q", name, bad)
				}
				b.shoot(name)
			}
		}
	}
}

// A story has the run and the reference side by side, equal entries in one row, and what differs marked.
func storiesAreBeside(t *testing.T, b *browser) {
	b.look(1280, "light")
	b.open(write(t, result("")))
	rows := eval[[][]string](b, `[...document.querySelectorAll("#c1-s1 ~ details tbody tr:not(.step, .note)")].map(r => [r.className, ...[...r.querySelectorAll(".entry")].map(e => e.textContent)])`)
	want := [][]string{
		{"same", "program: the program starts", "program: the program starts"},
		{"same", "world: at rest", "world: at rest"},
		{"same", "user: user apply configmaps/default/a → 201", "user: user apply configmaps/default/a → 201"},
		{"same", "view: the program sees ADDED configmaps/default/a version 63", "view: the program sees ADDED configmaps/default/a version 63"},
		{"other first", "program: fault create secrets/default/a → 201, then it crashes body 00000007", "program: create secrets/default/a → 201 body 00000007"},
		{"other", "fault: fault lag ADDED", ""},
		{"other", "wrong: wrong the program deletes secrets/default/b", ""},
		{"other", "program: watch configmaps → 200", ""},
		{"other", "cluster: cluster DELETE /api/v1/x: 200", ""},
		{"other", "cut: … 345 more", ""},
		{"same", "world: at rest", "world: at rest"},
		{"other", "", "world: at rest"},
	}
	for i := range max(len(rows), len(want)) {
		if i >= len(rows) || i >= len(want) || !slices.Equal(rows[i], want[i]) {
			t.Fatalf("row %d of %q, want %q", i, rows, want)
		}
	}
	// Each lane is to the right of the one before, on both sides.
	for _, side := range []string{"2", "4"} {
		x := eval[[]float64](b, `["world", "view", "program"].map(l => document.querySelector("#c1-s1 ~ details tr.same td:nth-child(`+side+`) ." + l).getBoundingClientRect().left)`)
		if !slices.IsSorted(x) || x[0] == x[1] || x[1] == x[2] {
			t.Errorf("the lanes of side %s are at %v", side, x)
		}
	}
	// A failed cell leads to its story.
	if got := eval[string](b, `document.querySelector(".points .f a").hash`); got != "#c1-s1" {
		t.Errorf("the cell of the fault that failed leads to %q", got)
	}
}

// All that can be used is reached by Tab, in the order of the page, and works by keys.
func keysDoAll(t *testing.T, b *browser) {
	b.look(1280, "light")
	b.open(write(t, result("")))
	const usable = `[...document.querySelectorAll("a[href], button, summary, [tabindex='0']")].filter(e => e.checkVisibility())`
	n := eval[int](b, usable+".length")
	var reached []int
	for range n {
		b.press("Tab", 9, "")
		reached = append(reached, eval[int](b, usable+".indexOf(document.activeElement)"))
	}
	for i, at := range reached {
		if i != at {
			t.Fatalf("%d can be used; Tab reaches %v", n, reached)
		}
	}

	b.call("Browser.grantPermissions", map[string]any{"permissions": []string{"clipboardReadWrite", "clipboardSanitizedWrite"}}, nil)
	eval[any](b, `document.querySelector("button.copy").focus()`)
	b.press("Enter", 13, "\r")
	const line = `document.querySelector(".replay pre").textContent`
	b.until(`document.querySelector("button.copy").textContent != "Copy"`)
	if got, want := eval[string](b, `navigator.clipboard.readText()`), eval[string](b, line); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}

	eval[any](b, `document.querySelector("button.only").focus()`)
	b.press("Enter", 13, "\r")
	if seen := eval[[]string](b, `[...document.querySelectorAll("#c1-s1 ~ details tbody tr")].filter(r => r.checkVisibility() && r.matches(".same")).map(r => r.innerText)`); len(seen) > 0 {
		t.Errorf("beside the differences there are %q", seen)
	}

	// A link into a closed part opens it.
	eval[any](b, `location.hash = "#c1-s2-first"`)
	b.until(`document.activeElement.id == "c1-s2-first"`)
	if !eval[bool](b, `document.getElementById("c1-s2-first").checkVisibility()`) {
		t.Error("a link into a story shows nothing")
	}
}

// Without its script the page shows all, and no button that does nothing.
func withoutScript(t *testing.T, b *browser) {
	defer b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.open(write(t, result("")))
	var doc struct{ Root struct{ NodeID int } }
	b.call("DOM.getDocument", nil, &doc)
	var found struct{ NodeIDs []int }
	b.call("DOM.querySelectorAll", map[string]any{"nodeId": doc.Root.NodeID, "selector": "button:not([hidden])"}, &found)
	if len(found.NodeIDs) > 0 {
		t.Errorf("%d buttons", len(found.NodeIDs))
	}
}

package lint

import (
	"encoding/json"
	"flag"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/flyball-io/flyball"
)

var (
	metricDesc = regexp.MustCompile(`fqName: "([^"]+)".* variableLabels: \{([^}]*)\}`)
	metricRow  = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([^|]*) \\| [^|]+ \\|$")
	metricName = regexp.MustCompile("`((?:flyball|controller_runtime|workqueue|rest_client|leader_election|certwatcher)_[a-z_]+)`")
	alertRow   = regexp.MustCompile("(?m)^\\| `(Flyball[A-Za-z]+)` \\|")
	flagRow    = regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\|")
)

// registered returns the metrics of a manager with their labels, without those of the Go runtime and
// the process.
func registered(t *testing.T) map[string][]string {
	t.Helper()
	m, err := flyball.New(flyball.Options{Name: "lint", Config: &rest.Config{Host: "https://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		m.Metrics().(prometheus.Collector).Describe(descs)
	}()
	out := map[string][]string{}
	for d := range descs {
		x := metricDesc.FindStringSubmatch(d.String())
		if x == nil {
			t.Fatalf("cannot read %s", d)
		}
		if strings.HasPrefix(x[1], "go_") || strings.HasPrefix(x[1], "process_") {
			continue
		}
		out[x[1]] = strings.FieldsFunc(x[2], func(r rune) bool { return r == ',' })
	}
	return out
}

// TestMetricsAreDocumented compares the table of metrics with what a manager registers, labels included.
func TestMetricsAreDocumented(t *testing.T) {
	known, names, documented := registered(t), map[string]bool{}, []string(nil)
	for _, row := range metricRow.FindAllStringSubmatch(document(t, "docs/operations/README.md"), -1) {
		documented = append(documented, row[1])
		labels := strings.FieldsFunc(row[2], func(r rune) bool { return !(r >= 'a' && r <= 'z') && r != '_' })
		slices.Sort(labels)
		if want := slices.Sorted(slices.Values(known[row[1]])); !slices.Equal(labels, want) {
			t.Errorf("%s has the labels %q, the document says %q", row[1], want, labels)
		}
	}
	for name := range known {
		names[name] = true
	}
	compare(t, "docs/operations/README.md", documented, names)
}

// TestMetricsInTexts checks that the metrics exist that documents name in code quotes.
func TestMetricsInTexts(t *testing.T) {
	known := registered(t)
	for _, name := range documents(t) {
		if name == "docs/migrating/metrics.md" {
			continue // it names those of other libraries; examples/migrating/guides compares both sides
		}
		for _, m := range metricName.FindAllStringSubmatch(document(t, name), -1) {
			if _, ok := known[m[1]]; !ok {
				t.Errorf("%s: there is no metric %s", name, m[1])
			}
		}
	}
}

// TestFlagsAreDocumented compares the table of flags with those that Options.Bind makes.
func TestFlagsAreDocumented(t *testing.T) {
	flags, known := flag.NewFlagSet("", flag.ContinueOnError), map[string]bool{}
	new(flyball.Options).Bind(flags)
	flags.VisitAll(func(f *flag.Flag) { known[f.Name] = true })
	var documented []string
	for _, row := range flagRow.FindAllStringSubmatch(document(t, "docs/operations/README.md"), -1) {
		documented = append(documented, row[1])
	}
	compare(t, "docs/operations/README.md", documented, known)
}

// TestAlertsUseRealMetrics checks that the rules parse, that their metrics and labels exist, and that the guide has
// each alert.
func TestAlertsUseRealMetrics(t *testing.T) {
	var rules struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := sigsyaml.UnmarshalStrict([]byte(document(t, "docs/operations/alerts.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	known, alerts := registered(t), map[string]bool{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			alerts[r.Alert] = true
			checkQuery(t, "alert "+r.Alert, r.Expr, known)
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("alert %s has no severity, summary or description", r.Alert)
			}
		}
	}
	if len(alerts) < 3 {
		t.Errorf("%d alerts, want at least 3", len(alerts))
	}
	var documented []string
	for _, row := range alertRow.FindAllStringSubmatch(document(t, "docs/operations/README.md"), -1) {
		documented = append(documented, row[1])
	}
	compare(t, "docs/operations/README.md", documented, alerts)
}

// offDashboard are the metrics without a panel, and why.
var offDashboard = map[string]string{
	"flyball_cache_templates": "how the packing works, not whether",
}

// TestDashboardShowsRealMetrics checks that the dashboard is one, that the metrics and labels of each panel exist, and
// that each metric is on a panel or excused.
func TestDashboardShowsRealMetrics(t *testing.T) {
	type panel struct {
		ID      int    `json:"id"`
		Type    string `json:"type"`
		Title   string `json:"title"`
		Targets []struct {
			Expr  string `json:"expr"`
			RefID string `json:"refId"`
		} `json:"targets"`
	}
	var dashboard struct {
		Title  string  `json:"title"`
		Panels []panel `json:"panels"`
	}
	if err := json.Unmarshal([]byte(document(t, "docs/operations/dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	known, shown, ids := registered(t), map[string]bool{}, map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d %q: each has an id of its own and a title", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, m := range checkQuery(t, "panel "+p.Title, target.Expr, known) {
				shown[m] = true
			}
		}
	}
	for name := range known {
		if why := offDashboard[name]; shown[name] == (why != "") {
			t.Errorf("%s: on the dashboard %t, excused %q", name, shown[name], why)
		}
	}
}

var (
	// promNoise are the parts of a query that name no metric: texts, selectors, ranges and groupings.
	promNoise    = regexp.MustCompile(`"[^"]*"|\{[^}]*\}|\[[^\]]*\]`)
	promGroups   = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	promName     = regexp.MustCompile(`\b[a-zA-Z_:][a-zA-Z0-9_:]*\b\s*\(?`)
	promSelector = regexp.MustCompile(`([a-z_]+)\{([^}]*)\}`)
	promLabel    = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"[^"]*"`)
	promSuffix   = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// anyMetric are the labels that Prometheus adds to each series, and le of a histogram.
var anyMetric = []string{"job", "instance", "namespace", "pod", "le"}

// foreign are metrics that others export.
var foreign = []string{"go_memstats_heap_inuse_bytes", "go_gc_gomemlimit_bytes", "go_goroutines", "process_resident_memory_bytes", "process_cpu_seconds_total"}

// checkQuery checks that the metrics of a PromQL expression exist, and the labels that it selects or
// groups by, and that its parentheses match. It returns the metrics of Flyball. It is no parser: an
// expression may pass and be wrong.
func checkQuery(t *testing.T, where, query string, known map[string][]string) (metrics []string) {
	t.Helper()
	base := func(name string) string {
		if _, ok := known[name]; !ok {
			name = promSuffix.ReplaceAllString(name, "")
		}
		return name
	}
	var labels []string
	for _, g := range promGroups.FindAllStringSubmatch(query, -1) {
		for l := range strings.SplitSeq(g[1], ",") {
			labels = append(labels, strings.TrimSpace(l))
		}
	}
	for _, s := range promSelector.FindAllStringSubmatch(query, -1) {
		for _, l := range promLabel.FindAllStringSubmatch(s[2], -1) {
			if !slices.Contains(known[base(s[1])], l[1]) && !slices.Contains(anyMetric, l[1]) {
				t.Errorf("%s: %s has no label %s", where, s[1], l[1])
			}
		}
	}
	bare := promGroups.ReplaceAllString(promNoise.ReplaceAllString(query, ""), "")
	if strings.Count(bare, "(") != strings.Count(bare, ")") || strings.ContainsAny(bare, `"{}[]`) {
		t.Errorf("%s: parentheses do not match: %s", where, query)
	}
	found := 0
	for _, name := range promName.FindAllString(bare, -1) {
		if strings.HasSuffix(name, "(") || slices.Contains([]string{"and", "or", "unless", "bool", "offset"}, strings.TrimSpace(name)) {
			continue
		}
		found++
		name = base(strings.TrimSpace(name))
		if _, ok := known[name]; ok {
			metrics = append(metrics, name)
		} else if !slices.Contains(foreign, name) {
			t.Errorf("%s: there is no metric %s", where, name)
		}
	}
	if found == 0 {
		t.Errorf("%s: no metric in %s", where, query)
	}
	for _, l := range labels {
		if !slices.Contains(anyMetric, l) && !slices.ContainsFunc(metrics, func(m string) bool { return slices.Contains(known[m], l) }) {
			t.Errorf("%s: no metric of it has the label %s", where, l)
		}
	}
	return metrics
}

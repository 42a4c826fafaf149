package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
)

// results of a run, as they are printed.
type results struct {
	Machine string  `json:"machine"`
	Run     string  `json:"run"`
	Cases   []*line `json:"cases"`

	names []string
}

// line is one case: the figures of the contenders, and how Flyball's compares.
type line struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Flyball float64 `json:"flyball"`
	CG      float64 `json:"client-go,omitempty"`
	CR      float64 `json:"controller-runtime,omitempty"`
	CRMeta  float64 `json:"controller-runtime-metadata,omitempty"`
	ByCG    float64 `json:"ratio_client_go,omitempty"`
	ByCR    float64 `json:"ratio_controller_runtime,omitempty"`
}

// order of the cases, and their units.
var order = [][2]string{
	{"retained per object", "B"},
	{"peak memory until synced", "MB"},
	{"CPU until synced", "s"},
	{"time until synced", "s"},
	{"allocations until synced", ""},
	{"collector's CPU until synced", "s"},
	{"forced collection, CPU", "ms"},
	{"CPU per event, flat out", "µs"},
	{"events per second, flat out", "1/s"},
	{"allocations per event, flat out", ""},
	{"event to handler at 2,000/s, p50", "µs"},
	{"event to handler at 2,000/s, p99", "µs"},
	{"read: get", "µs"},
	{"read: get, allocations", ""},
	{"read: list", "µs"},
	{"read: list, allocations", ""},
	{"read: header", "µs"},
	{"read: header, allocations", ""},
}

func newResults(s setup) *results {
	transport := "HTTP/1.1"
	if s.tls {
		transport = "TLS, HTTP/2"
	}
	settings := "defaults"
	if s.best {
		settings = "managedFields dropped"
	}
	r := &results{
		Machine: fmt.Sprintf("%d cores, %s/%s, %s%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), model()),
		Run:     fmt.Sprintf("%d %s, %d owners, managedFields %v, %s, %s, %s", s.spec.Objects, s.spec.Kind, s.spec.Owners, s.spec.ManagedFields, s.form, transport, settings),
	}
	for _, o := range order {
		r.Cases = append(r.Cases, &line{Name: o[0], Unit: o[1]})
	}
	return r
}

// model of the processor, where the system tells.
func model() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for l := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(l, "model name"); ok {
			return ", " + strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return ""
}

func (r *results) add(name string, cases map[string]float64) {
	r.names = append(r.names, name)
	for _, l := range r.Cases {
		v, ok := cases[l.Name]
		if !ok {
			continue
		}
		if l.Unit == "MB" {
			v /= 1e6
		}
		switch name {
		case "flyball":
			l.Flyball = v
		case "client-go":
			l.CG = v
		case "controller-runtime":
			l.CR = v
		case "controller-runtime-metadata":
			l.CRMeta = v
		}
		if l.CG > 0 {
			l.ByCG = l.Flyball / l.CG
		}
		if l.CR > 0 {
			l.ByCR = l.Flyball / l.CR
		}
	}
}

// table prints the results for people. A ratio is Flyball's figure divided by the peer's.
func (r *results) table(out io.Writer) error {
	fmt.Fprintf(out, "%s\n%s\n\n", r.Machine, r.Run)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "case\t\tflyball\tclient-go\tcontroller-runtime\t÷ client-go\t÷ controller-runtime\t\n")
	for _, l := range r.Cases {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", l.Name, l.Unit, figure(l.Flyball), figure(l.CG), figure(l.CR), figure(l.ByCG), figure(l.ByCR))
	}
	return w.Flush()
}

// figure has three digits that count.
func figure(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

package measure

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/lab/bench/contender"
)

// Results are the figures of a run.
type Results struct {
	// Machine describes the machine and Run the setup, for people.
	Machine string `json:"machine"`
	Run     string `json:"run"`
	// Runs is how often each contender ran. Load describes for people how busy the machine was.
	Runs int    `json:"runs"`
	Load string `json:"load"`
	// Objects is the number of objects, WireBytes their bytes on the server.
	Objects   int `json:"objects"`
	WireBytes int `json:"wire_bytes"`
	// Cases are in order.
	Cases []*Case `json:"cases"`
}

// Case is one figure of each contender: the median of its runs. A figure that was not measured is
// nil.
type Case struct {
	Name string `json:"name"`
	Unit string `json:"unit"`

	Flyball           *float64 `json:"flyball"`
	ClientGo          *float64 `json:"client-go"`
	ControllerRuntime *float64 `json:"controller-runtime"`
	// Ratios are Flyball's figure divided by that of the peer.
	RatioClientGo          *float64 `json:"ratio_client_go"`
	RatioControllerRuntime *float64 `json:"ratio_controller_runtime"`

	// Spread has the least and the largest figure of each contender, by its name.
	Spread map[string][2]float64 `json:"spread,omitempty"`

	// Limit is the least that is possible, and LimitOf says for people of what: of the transport,
	// which has a spread, or of a compressor.
	Limit   *float64 `json:"limit,omitempty"`
	LimitOf string   `json:"limit_of,omitempty"`

	// Goal is the target, for people. Met reports whether it is reached; nil means unknown.
	Goal string `json:"goal,omitempty"`
	Met  *bool  `json:"met,omitempty"`
	// OverIdle is the memory of a process above that of an idle one of the same program.
	OverIdle map[string]float64 `json:"over_idle,omitempty"`
	// Others are contenders with a view or settings of their own, by name.
	Others map[string]Other `json:"others,omitempty"`
}

// Other is the figure of another contender, and Flyball's divided by it.
type Other struct {
	Value float64  `json:"value"`
	Ratio *float64 `json:"ratio"`
}

func newResults(s Setup) *Results {
	r := &Results{Machine: machine(), Run: s.String(), Runs: s.Runs, Objects: s.corpus().Len()}
	for _, st := range stages {
		if s.wanted(st.name) {
			for _, c := range st.cases {
				r.Cases = append(r.Cases, &Case{Name: c.name, Unit: c.unit})
			}
		}
	}
	return r
}

// String describes a setup.
func (s Setup) String() string {
	c := s.corpus()
	objects := thousands(float64(c.Len()))
	what := fmt.Sprintf("%s %s, %s owners", objects, s.Spec.Kind, thousands(float64(max(s.Spec.Owners, 1))))
	switch {
	case s.ofCluster() && len(c.Resources()) == 1:
		what = fmt.Sprintf("%s %s of a cluster of %s objects", objects, c.Resources()[0].GVR.Resource, thousands(float64(s.Spec.Objects)))
	case s.ofCluster():
		what = fmt.Sprintf("cluster: %s objects of %d kinds", objects, len(c.Resources()))
	}
	if !s.Spec.ManagedFields {
		what += ", without managedFields"
	}
	transport, settings := "HTTP/1.1", "default settings"
	if s.TLS {
		transport = "TLS, HTTP/2"
	}
	switch {
	case s.Best:
		settings = "managedFields dropped by all"
	case s.Keep:
		settings = "managedFields kept by all"
	}
	view, form := s.View, s.form(noName)
	if view == "" {
		view = "typed where there is a type"
	}
	if len(c.Resources()) == 1 {
		view, form = s.viewOfFirst(), form.Of(c.Resources()[0])
	}
	return fmt.Sprintf("%s, %s, %s, %s lists, %s, %s", what, view, form, s.Lists, transport, settings)
}

func machine() string {
	text := fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	info, _ := os.ReadFile("/proc/cpuinfo")
	for l := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(l, "model name"); ok {
			return text + ", " + strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return text
}

// add adds the figures of a contender's runs.
func (r *Results) add(name string, runs []*figures) {
	for _, c := range r.Cases {
		var all, over []float64
		for _, f := range runs {
			if v, ok := f.values[c.Name]; ok {
				all = append(all, v)
			}
			if v, ok := f.overIdle[c.Name]; ok {
				over = append(over, v)
			}
		}
		if len(over) > 0 {
			put(&c.OverIdle, name, median(over))
		}
		if len(all) == 0 {
			continue
		}
		v := median(all)
		put(&c.Spread, name, [2]float64{slices.Min(all), slices.Max(all)})
		switch name {
		case contender.Flyball:
			c.Flyball = &v
		case contender.ClientGo:
			c.ClientGo = &v
		case contender.ControllerRuntime:
			c.ControllerRuntime = &v
		case contender.Transport:
			c.Limit, c.LimitOf = &v, "transport"
		default:
			put(&c.Others, name, Other{Value: v})
		}
	}
}

// put sets an entry of a map that may be nil.
func put[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}

// median returns the middle of some numbers, or the mean of the two in the middle.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// judge fills in the ratios and goals, once all figures are there.
func (r *Results) judge(s Setup) {
	for _, c := range r.Cases {
		c.RatioClientGo, c.RatioControllerRuntime = c.ratio(c.ClientGo), c.ratio(c.ControllerRuntime)
		for name, o := range c.Others {
			c.Others[name] = Other{o.Value, c.ratio(&o.Value)}
		}
		var texts []string
		for _, g := range goals {
			if g.cases != c.Name || !g.when(s) {
				continue
			}
			texts = append(texts, g.String())
			if met, known := g.met(c); known {
				met = met && (c.Met == nil || *c.Met)
				c.Met = &met
			}
		}
		c.Goal = strings.Join(texts, ", ")
	}
}

func (c *Case) ratio(peer *float64) *float64 {
	if c.Flyball == nil || peer == nil || *peer <= 0 {
		return nil
	}
	v := *c.Flyball / *peer
	return &v
}

// of returns the figure of a contender.
func (c *Case) of(name string) *float64 {
	switch name {
	case contender.Flyball:
		return c.Flyball
	case contender.ClientGo:
		return c.ClientGo
	case contender.ControllerRuntime:
		return c.ControllerRuntime
	case contender.Transport:
		return c.Limit
	}
	if o, ok := c.Others[name]; ok {
		return &o.Value
	}
	return nil
}

// Case returns the case with this name, or nil.
func (r *Results) Case(name string) *Case {
	for _, c := range r.Cases {
		if c.Name == name {
			return c
		}
	}
	return nil
}

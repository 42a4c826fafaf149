package measure

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/flyball-io/flyball/bench/contender"
)

// Results are the figures of a run.
type Results struct {
	// Machine describes the machine and Run the setup, for people.
	Machine string `json:"machine"`
	Run     string `json:"run"`
	// Objects is the number of objects, WireBytes their bytes on the server.
	Objects   int `json:"objects"`
	WireBytes int `json:"wire_bytes"`
	// Cases are in order.
	Cases []*Case `json:"cases"`
}

// Case is one figure of each contender. A figure that was not measured is nil.
type Case struct {
	Name string `json:"name"`
	Unit string `json:"unit"`

	Flyball           *float64 `json:"flyball"`
	ClientGo          *float64 `json:"client-go"`
	ControllerRuntime *float64 `json:"controller-runtime"`
	// Ratios are Flyball's figure divided by that of the peer.
	RatioClientGo          *float64 `json:"ratio_client_go"`
	RatioControllerRuntime *float64 `json:"ratio_controller_runtime"`

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
	r := &Results{Machine: machine(), Run: s.String(), Objects: s.corpus().Len()}
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
	what := fmt.Sprintf("%s %s", thousands(float64(c.Len())), c.Resource().GVR.GroupResource())
	if s.Recorded != nil {
		what += ", recorded"
	} else {
		what += fmt.Sprintf(", %s owners", thousands(float64(max(s.Spec.Owners, 1))))
		if !s.Spec.ManagedFields {
			what += ", without managedFields"
		}
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
	return fmt.Sprintf("%s, %s, %s, %s lists, %s, %s", what, s.View, s.Form, s.Lists, transport, settings)
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

// add adds the figures of a contender.
func (r *Results) add(name string, f *figures) {
	for _, c := range r.Cases {
		if over, ok := f.overIdle[c.Name]; ok {
			if c.OverIdle == nil {
				c.OverIdle = map[string]float64{}
			}
			c.OverIdle[name] = over
		}
		v, ok := f.values[c.Name]
		if !ok {
			continue
		}
		switch name {
		case contender.Flyball:
			c.Flyball = &v
		case contender.ClientGo:
			c.ClientGo = &v
		case contender.ControllerRuntime:
			c.ControllerRuntime = &v
		default:
			if c.Others == nil {
				c.Others = map[string]Other{}
			}
			c.Others[name] = Other{Value: v}
		}
	}
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

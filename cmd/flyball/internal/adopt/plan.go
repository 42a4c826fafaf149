package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Plan says what each part of a project is in Flyball's API.
type Plan struct {
	// Dir is the folder of the project, Module its module, and Layout what made it.
	Dir    string `json:"dir"`
	Module string `json:"module"`
	Layout string `json:"layout"`
	// Read says how the code was read: with types, or by names alone where it does not build.
	Read string `json:"read"`
	// Problems are errors of the code that were met.
	Problems    []string      `json:"problems,omitempty"`
	Manager     *Part         `json:"manager,omitempty"`
	Controllers []*Controller `json:"controllers"`
	Webhooks    []*Webhook    `json:"webhooks,omitempty"`
	Notes       []string      `json:"notes,omitempty"`
}

// Controller is one controller of the project.
type Controller struct {
	// Name is its name in logs and metrics, and Reconciler the Go type.
	Name       string `json:"name"`
	Reconciler string `json:"reconciler,omitempty"`
	// At is the file and line where it is built.
	At    string  `json:"at"`
	Parts []*Part `json:"parts"`
	// Permissions compare the markers with what the code does.
	Permissions Permissions `json:"permissions"`
}

// Webhook is one registration of webhooks.
type Webhook struct {
	Kind  string  `json:"kind,omitempty"`
	At    string  `json:"at"`
	Items []*Item `json:"items"`
	Guide string  `json:"guide"`
}

// Part is one aspect, such as watches or finalizers.
type Part struct {
	Aspect string  `json:"aspect"`
	Guide  string  `json:"guide"`
	Items  []*Item `json:"items"`
}

// Item is a piece of code, and what it is in Flyball's API.
type Item struct {
	// At are the files and lines.
	At []string `json:"at"`
	// Code is the code there, in one line.
	Code string `json:"code"`
	// Flyball is what stands in its place.
	Flyball string `json:"flyball"`
	// Note is what differs.
	Note string `json:"note,omitempty"`
}

// Permissions compare the RBAC markers with the code that was read. Both lists are estimates: what tests
// record is exact (see "flyball rbac").
type Permissions struct {
	// Markers are the permissions of the markers beside the controller.
	Markers []string `json:"markers,omitempty"`
	// Missing are used by the code and granted by no marker of the project.
	Missing []string `json:"missing,omitempty"`
	// Unused are granted here and not used by the code that was read.
	Unused []string `json:"unused,omitempty"`
	// Then are the permissions that Flyball's API needs in place of others.
	Then []string `json:"then,omitempty"`
	// Unknown are Go types whose API group is not known.
	Unknown []string `json:"unknown,omitempty"`
}

// aspects are the parts of a controller in the order of the output, each with its guide.
var aspects = []struct{ name, guide string }{
	{"watches", "docs/concepts/events.md"},
	{"predicates", "docs/concepts/events.md"},
	{"options", "docs/concepts/queue.md"},
	{"reads", "docs/concepts/cache.md"},
	{"writes", "docs/README.md#reading-and-writing"},
	{"children", "docs/README.md#what-every-operator-needs"},
	{"finalizers", "docs/README.md#what-every-operator-needs"},
	{"status", "docs/README.md#what-every-operator-needs"},
	{"conditions", "docs/README.md#what-every-operator-needs"},
	{"events", "docs/README.md#what-every-operator-needs"},
	{"requeues", "docs/concepts/queue.md"},
	{"logs", "docs/concepts/queue.md"},
}

const (
	guideManager  = "docs/operations/README.md"
	guideWebhooks = "docs/concepts/webhooks.md"
	guideRoles    = "docs/operations/README.md#permissions"
)

// add adds an item, or a further place to one that is the same.
func (c *Controller) add(aspect string, it Item) {
	i := slices.IndexFunc(c.Parts, func(p *Part) bool { return p.Aspect == aspect })
	if i < 0 {
		i = len(c.Parts)
		guide := ""
		for _, a := range aspects {
			if a.name == aspect {
				guide = a.guide
			}
		}
		c.Parts = append(c.Parts, &Part{Aspect: aspect, Guide: guide})
	}
	p := c.Parts[i]
	p.Items = addItem(p.Items, it)
}

func addItem(items []*Item, it Item) []*Item {
	for _, old := range items {
		if old.Flyball == it.Flyball && (old.Code == it.Code || it.Flyball != "" && old.Note == it.Note) {
			for _, at := range it.At {
				if !slices.Contains(old.At, at) {
					old.At = append(old.At, at)
				}
			}
			return items
		}
	}
	return append(items, &it)
}

// sort puts parts into the order of aspects.
func (c *Controller) sort() {
	rank := func(p *Part) int {
		for i, a := range aspects {
			if a.name == p.Aspect {
				return i
			}
		}
		return len(aspects)
	}
	slices.SortStableFunc(c.Parts, func(a, b *Part) int { return cmp.Compare(rank(a), rank(b)) })
}

// JSON writes the plan as JSON.
func (p *Plan) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(p)
}

// Text writes the plan for people.
func (p *Plan) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s: %s\n", p.Module, p.Dir, p.Layout)
	fmt.Fprintf(&b, "%s. Nothing is changed.\nThe guides are in the checkout of Flyball; docs/migrating/kubebuilder.md and docs/migrating/controller-runtime.md are the whole move.\n", p.Read)
	for _, problem := range p.Problems {
		fmt.Fprintf(&b, "  problem: %s\n", problem)
	}
	if p.Manager != nil {
		fmt.Fprintf(&b, "\nManager: flyball.New(flyball.Options{...})\n")
		p.Manager.text(&b)
	}
	if len(p.Controllers) == 0 {
		fmt.Fprintf(&b, "\nThere is no controller: nothing calls ctrl.NewControllerManagedBy, builder.ControllerManagedBy or controller.New.\n")
	}
	for _, c := range p.Controllers {
		fmt.Fprintf(&b, "\nController %s", c.Name)
		if c.Reconciler != "" {
			fmt.Fprintf(&b, " of %s", c.Reconciler)
		}
		fmt.Fprintf(&b, ", built at %s\n", c.At)
		for _, part := range c.Parts {
			part.text(&b)
		}
		c.Permissions.text(&b)
	}
	for _, h := range p.Webhooks {
		fmt.Fprintf(&b, "\nWebhooks of %s, registered at %s\n", cmp.Or(h.Kind, "a kind that is not known"), h.At)
		(&Part{Aspect: "webhooks", Guide: h.Guide, Items: h.Items}).text(&b)
	}
	if len(p.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Part) text(b *strings.Builder) {
	fmt.Fprintf(b, "  %s (%s)\n", p.Aspect, p.Guide)
	for _, it := range p.Items {
		fmt.Fprintf(b, "    %s\n      at   %s\n      then %s\n", it.Code, places(it.At), it.Flyball)
		if it.Note != "" {
			fmt.Fprintf(b, "           %s\n", it.Note)
		}
	}
}

// places joins places. The file is named once for several lines.
func places(at []string) string {
	var b strings.Builder
	last := ""
	for i, x := range at {
		file, line, _ := strings.Cut(x, ":")
		if i > 0 {
			b.WriteString(", ")
		}
		if file != last {
			b.WriteString(file)
		}
		b.WriteString(":" + line)
		last = file
	}
	return b.String()
}

func (p *Permissions) text(b *strings.Builder) {
	if len(p.Markers)+len(p.Missing)+len(p.Then)+len(p.Unknown) == 0 {
		return
	}
	fmt.Fprintf(b, "  permissions (%s)\n    markers stay as they are: \"flyball manifests\" reads +kubebuilder:rbac\n", guideRoles)
	for _, x := range []struct {
		label string
		lines []string
	}{
		{"granted", p.Markers}, {"used, and granted by no marker", p.Missing}, {"granted, and not used by the code that was read", p.Unused},
		{"needed by what Flyball's API does", p.Then}, {"types whose API group is not known here", p.Unknown},
	} {
		if len(x.lines) > 0 {
			fmt.Fprintf(b, "    %s: %s\n", x.label, strings.Join(x.lines, ", "))
		}
	}
}

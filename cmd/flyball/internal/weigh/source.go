package weigh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
)

// Progress says how far a weighing is.
type Progress struct {
	Kind string
	// Number of the kind, of all that are weighed. Of is 0 if nobody knows.
	Number, Of int
	// Objects is how many objects of the kind were weighed. Remaining is about how many are not yet,
	// or -1.
	Objects, Remaining int
	// Wait is how long the server asked to wait before the next request; 0: it did not.
	Wait time.Duration
}

func (p Progress) String() string {
	text := "weighing " + p.Kind
	if p.Kind == "" {
		text = "asking which kinds there are"
	}
	if p.Of > 0 {
		text += fmt.Sprintf(", %d of %d kinds", p.Number, p.Of)
	}
	switch {
	case p.Objects > 0 && p.Remaining > 0:
		text += fmt.Sprintf(": %s of about %s objects", count(p.Objects), count(p.Objects+p.Remaining))
	case p.Objects > 0:
		text += fmt.Sprintf(": %s objects", count(p.Objects))
	}
	if p.Wait > 0 {
		text += fmt.Sprintf("; the server is busy and asks to wait %s", p.Wait.Round(time.Second/10))
	}
	return text
}

// Options say what to weigh.
type Options struct {
	Selection
	// Progress is called now and then; nil: it is not called.
	Progress func(Progress)
	// Problem is called for kinds that are left out, for objects that cannot be used, and when a list is
	// interrupted; nil: it is not called. The weighing goes on.
	Problem func(error)
}

// weighing is a weighing in progress.
type weighing struct {
	Options
	scheme *runtime.Scheme
	report Report
	uids   map[string]string // kinds, by the uids of some of their objects
}

func newWeighing(o Options, s *runtime.Scheme, from string) *weighing {
	return &weighing{Options: o, scheme: s, report: Report{From: from, Program: o.Program != nil, Kinds: []Kind{}}, uids: map[string]string{}}
}

func (w *weighing) progress(p Progress) {
	if w.Progress != nil {
		w.Progress(p)
	}
}

func (w *weighing) problem(err error) {
	if w.Problem != nil {
		w.Problem(err)
	}
}

// leaveOut notes that something is not weighed, and why.
func (w *weighing) leaveOut(name string, err error) { w.leaveOutAll([]string{name}, err) }

// leaveOutAll notes that some kinds are not weighed, for one reason.
func (w *weighing) leaveOutAll(names []string, err error) {
	for _, name := range names {
		w.report.leaveOut(name, err.Error())
	}
	are := "is"
	if len(names) > 1 {
		are = "are"
	}
	w.problem(fmt.Errorf("%s %s not weighed: %w", strings.Join(names, ", "), are, err))
}

// absent reports the kinds that the roles name and that are not there. It does not report those of groups
// whose kinds are unknown.
func (w *weighing) absent(there []Served, unknown func(group string) bool, why error) {
	if w.Program == nil {
		return
	}
	for _, named := range w.Program.named() {
		if !slices.ContainsFunc(there, func(k Served) bool { return slices.Contains(named, k.GVR.GroupResource()) }) &&
			!slices.ContainsFunc(named, func(gr schema.GroupResource) bool { return unknown(gr.Group) }) {
			w.leaveOut(named.String(), why)
		}
	}
}

// exclusions are kinds that are excluded, by the reason.
type exclusions struct {
	reasons []error // each text once
	names   map[string][]string
}

func (x *exclusions) add(r Resource, why error) {
	if x.names == nil {
		x.names = map[string][]string{}
	}
	if _, known := x.names[why.Error()]; !known {
		x.reasons = append(x.reasons, why)
	}
	x.names[why.Error()] = append(x.names[why.Error()], r.GVR.GroupResource().String())
}

// report notes the excluded kinds, those of one reason together.
func (x *exclusions) report(w *weighing) {
	for _, why := range x.reasons {
		w.leaveOutAll(x.names[why.Error()], why)
	}
}

// aliasError says that a kind has the objects of another one.
type aliasError struct{ of string }

func (e aliasError) Error() string {
	return "its objects are those of " + e.of + ", under another name"
}

// alias returns an aliasError if some objects of a Scale were weighed as another kind. The server
// shows some kinds in two groups.
func (w *weighing) alias(s *Scale) error {
	for _, uid := range s.uids {
		if of := w.uids[uid]; uid != "" && of != "" {
			return aliasError{of}
		}
	}
	return nil
}

// kindOf returns the kind for the parsers of package wire.
func (w *weighing) kindOf(r Resource) *wire.Kind {
	return &wire.Kind{GVK: r.GVK, Scheme: w.scheme}
}

// end adds the figures of a kind to the report.
func (w *weighing) end(r Resource, s *Scale) {
	name := r.GVR.GroupResource().String()
	for _, uid := range s.uids {
		w.uids[uid] = name
	}
	f, problems := s.End()
	for _, err := range problems {
		w.problem(err)
	}
	k := Kind{Resource: name, Version: r.GVR.Version, Kind: r.GVK.Kind, Namespaced: r.Namespaced, Form: "typed", Figures: f}
	if w.scheme.AllKnownTypes()[r.GVK] == nil {
		k.Form = "unstructured"
	}
	w.report.add(k)
}

// result returns the report, or an error if nothing was weighed.
func (w *weighing) result(ctx context.Context) (*Report, error) {
	r := &w.report
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case len(r.Kinds) > 0:
		r.sort()
		return r, nil
	case len(r.Empty)+len(r.LeftOut) > 0:
		return nil, fmt.Errorf("%s has nothing to weigh: %s", r.From, strings.Join(r.nothing(), "; "))
	}
	return nil, errors.New(w.none())
}

// nothing says what became of the kinds of a report without figures.
func (r *Report) nothing() (text []string) {
	switch n := len(r.Empty); {
	case n > maxNamed:
		text = append(text, fmt.Sprintf("%d kinds have no objects", n))
	case n > 0:
		text = append(text, "there are no "+strings.Join(r.Empty, ", no "))
	}
	switch n := len(r.LeftOut); {
	case n > maxNamed:
		text = append(text, fmt.Sprintf("%d kinds were left out, for instance since %s", n, r.LeftOut[0].Reason))
	default:
		for _, l := range r.LeftOut {
			text = append(text, l.Resource+": "+l.Reason)
		}
	}
	return text
}

// none says why no kind is selected.
func (w *weighing) none() string {
	switch {
	case w.Program != nil && w.Namespace != "":
		return fmt.Sprintf("the roles of --program let it list and watch no kind that %s has, in namespace %s", w.report.From, w.Namespace)
	case w.Program != nil:
		return fmt.Sprintf("the roles of --program let it list and watch no kind that %s has", w.report.From)
	}
	return w.report.From + " has no kind that can be listed and watched"
}

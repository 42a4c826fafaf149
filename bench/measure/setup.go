package measure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/bench/replay"
)

// Setup configures a run. Use Check before Run.
type Setup struct {
	// Spec is the corpus. Recorded replaces it; nil means none.
	Spec     corpus.Spec
	Recorded *corpus.Recording
	// View is the form in which objects are held: Go types, unstructured or metadata only. Empty
	// means Go types, if k8s.io/api has them.
	View contender.View
	// Form is json or protobuf. Empty means protobuf, if the view has it.
	Form replay.Form
	// Lists is the way of listing. Empty means streaming.
	Lists replay.Lists
	// TLS selects TLS with HTTP/2 instead of plain HTTP/1.1.
	TLS bool
	// Best drops managedFields in all contenders, Keep keeps them in all.
	Best, Keep bool
	// Contenders are names; see contender.Parse. Those with a view or settings run only the stages
	// of the first process. Nil means DefaultContenders.
	Contenders []string
	// Cases are names of Stages. Nil means all.
	Cases []string

	// Events is the number of changes at the highest rate, Paced the number at 2,000 a second.
	Events, Paced int
	// Blocked is the number of events while a handler blocks, on BlockedKeys objects.
	Blocked, BlockedKeys int
	// Churn is how many times every object is deleted and made again.
	Churn int
	// Keys is the number of keys for the work queue.
	Keys int
	// Settle is the time for memory to be released after objects were deleted.
	Settle time.Duration
	// Reading is the time to measure each read, three times.
	Reading time.Duration

	// Tapes is the folder of recorded tapes.
	Tapes string
	// Log receives progress. Nil means no output.
	Log func(format string, args ...any)
}

// Defaults returns a setup with the numbers of the goals.
func Defaults() Setup {
	return Setup{
		Spec:   corpus.Spec{Kind: "pods", Objects: 100_000, Owners: 50, ManagedFields: true, Seed: 1},
		Events: 50_000, Paced: 20_000, Blocked: 200_000, BlockedKeys: 10_000, Churn: 10, Keys: 400_000,
		Settle: time.Minute, Reading: 500 * time.Millisecond,
	}
}

// Check fills in the defaults, and reports an invalid field by the name of its flag.
func (s Setup) Check() (Setup, error) {
	if s.Recorded == nil {
		if err := s.Spec.Check(); err != nil {
			return s, err
		}
	}
	c := s.corpus()
	if c.Len() == 0 {
		return s, fmt.Errorf("objects: there are none to measure")
	}
	if s.View == "" {
		s.View = contender.Unstructured
		if s.hasProtobuf() {
			s.View = contender.Typed
		}
	}
	if !slices.Contains([]contender.View{contender.Typed, contender.Unstructured, contender.Metadata}, s.View) {
		return s, fmt.Errorf("view %q: there are typed, unstructured and metadata", s.View)
	}
	if s.View == contender.Typed && !corpus.Scheme.Recognizes(c.Resource().GVK) {
		return s, fmt.Errorf("view typed: there is no Go type for %s", c.Resource().GVK.Kind)
	}
	if s.Form == "" {
		s.Form = replay.JSON
		if s.View == contender.Metadata || s.View == contender.Typed && s.hasProtobuf() {
			s.Form = replay.Protobuf
		}
	}
	switch {
	case s.Form != replay.JSON && s.Form != replay.Protobuf:
		return s, fmt.Errorf("form %q: there are json and protobuf", s.Form)
	case s.Form == replay.Protobuf && s.View != contender.Metadata && !s.hasProtobuf():
		return s, fmt.Errorf("form protobuf: %s have none", c.Resource().GVR.GroupResource())
	case s.Form == replay.Protobuf && s.View == contender.Unstructured:
		return s, fmt.Errorf("form protobuf: nothing makes unstructured objects of it")
	}
	if s.Best && s.Keep {
		return s, fmt.Errorf("best and keep-managed-fields: managedFields are dropped or kept")
	}
	if s.Lists == "" {
		s.Lists = replay.Streaming
	}
	if !slices.Contains([]replay.Lists{replay.Streaming, replay.Whole, replay.Paged}, s.Lists) {
		return s, fmt.Errorf("lists %q: there are streaming, whole and paged", s.Lists)
	}
	for name, n := range map[string]int{"events": s.Events, "paced": s.Paced, "blocked": s.Blocked, "blocked-keys": s.BlockedKeys, "churn": s.Churn, "keys": s.Keys, "settle": int(s.Settle)} {
		if n < 1 {
			return s, fmt.Errorf("%s: %d is not positive", name, n)
		}
	}
	if s.Contenders == nil {
		s.Contenders = DefaultContenders()
	}
	for _, name := range s.Contenders {
		if _, err := contender.Parse(name); err != nil {
			return s, err
		}
	}
	for _, name := range s.Cases {
		if !slices.Contains(Stages(), name) {
			return s, fmt.Errorf("case %q: there are %s", name, strings.Join(Stages(), ", "))
		}
	}
	if s.Log == nil {
		s.Log = func(string, ...any) {}
	}
	return s, nil
}

// DefaultContenders returns the libraries with their defaults, and then those of the peers that
// hold less.
func DefaultContenders() []string {
	return append(contender.Libraries(), "client-go-best", "controller-runtime-best", "controller-runtime-metadata")
}

func (s Setup) corpus() corpus.Corpus {
	if s.Recorded != nil {
		return s.Recorded
	}
	return s.Spec
}

// changes returns the number of changes that the tape needs.
func (s Setup) changes() int {
	for _, st := range []stage{updates, pacing, pathing} {
		if s.wanted(st.name) {
			return s.Events + s.Paced
		}
	}
	return 0
}

// hasProtobuf reports whether the kind has a protobuf form, as those of k8s.io/api do.
func (s Setup) hasProtobuf() bool {
	o, err := corpus.Scheme.New(s.corpus().Resource().GVK)
	if err != nil {
		return false
	}
	_, ok := o.(interface{ Marshal() ([]byte, error) })
	return ok
}

// of returns the view and form of one contender.
func (s Setup) of(n contender.Name) (contender.View, replay.Form) {
	if n.View == "" {
		n.View = s.View
	}
	switch {
	case n.View == contender.Metadata && (s.Form == replay.Protobuf || s.View != contender.Metadata):
		return n.View, replay.MetadataProtobuf
	case n.View == contender.Metadata:
		return n.View, replay.MetadataJSON
	case n.View == contender.Typed && s.View != contender.Typed && s.hasProtobuf():
		return n.View, replay.Protobuf
	case n.View == contender.Unstructured:
		return n.View, replay.JSON
	}
	return n.View, s.Form
}

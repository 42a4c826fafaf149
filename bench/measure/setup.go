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

// Setup is what a run compares. Use Check before Run.
type Setup struct {
	// Spec is the corpus; Recorded is one that takes its place. Nil: none.
	Spec     corpus.Spec
	Recorded *corpus.Recording
	// View is how the objects are held: Go types, unstructured or metadata only. Empty: Go types,
	// where there are any in k8s.io/api.
	View contender.View
	// Form is json or protobuf. Empty: protobuf, where the view has it.
	Form replay.Form
	// Lists is how lists are answered. Empty: streaming.
	Lists replay.Lists
	// TLS says that TLS and HTTP/2 are spoken instead of HTTP/1.1.
	TLS bool
	// Best drops managedFields in all contenders, Keep has all keep them.
	Best, Keep bool
	// Contenders by name; see contender.Parse. Those whose name is more than that of a library are
	// taken through their first process only. Nil: DefaultContenders.
	Contenders []string
	// Cases by the names of Stages. Nil: all.
	Cases []string

	// Events are how many changes are played flat out, Paced how many at 2,000 a second.
	Events, Paced int
	// Blocked is how many events arrive while a handler blocks, on BlockedKeys objects.
	Blocked, BlockedKeys int
	// Churn is how many times every object is deleted and made again.
	Churn int
	// Keys is how many the work queue is given.
	Keys int
	// Settle is how long memory has to go back after objects were deleted.
	Settle time.Duration
	// Reading is how long each read is measured, three times.
	Reading time.Duration

	// Tapes is the folder of recorded tapes.
	Tapes string
	// Log is told what is being done. Nil: nobody is.
	Log func(format string, args ...any)
}

// Defaults is a setup with the numbers that the goals are about.
func Defaults() Setup {
	return Setup{
		Spec:   corpus.Spec{Kind: "pods", Objects: 100_000, Owners: 50, ManagedFields: true, Seed: 1},
		Events: 50_000, Paced: 20_000, Blocked: 200_000, BlockedKeys: 10_000, Churn: 10, Keys: 400_000,
		Settle: time.Minute, Reading: 500 * time.Millisecond,
	}
}

// Check fills in what is empty, and reports what cannot be, by the name of its flag.
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

// DefaultContenders are the libraries as they are by default, then those of the peers that hold
// less.
func DefaultContenders() []string {
	return append(contender.Libraries(), "client-go-best", "controller-runtime-best", "controller-runtime-metadata")
}

func (s Setup) corpus() corpus.Corpus {
	if s.Recorded != nil {
		return s.Recorded
	}
	return s.Spec
}

// changes is how many have to be on the tape.
func (s Setup) changes() int {
	for _, st := range []stage{updates, pacing, pathing} {
		if s.wanted(st.name) {
			return s.Events + s.Paced
		}
	}
	return 0
}

// hasProtobuf reports whether the kind has that form: those of k8s.io/api do.
func (s Setup) hasProtobuf() bool {
	o, err := corpus.Scheme.New(s.corpus().Resource().GVK)
	if err != nil {
		return false
	}
	_, ok := o.(interface{ Marshal() ([]byte, error) })
	return ok
}

// view and form of one contender.
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

package measure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/lab/bench/replay"
)

// Setup configures a run. Use Check before Run.
type Setup struct {
	// Spec is the corpus, of one kind, or of a whole cluster with the kind corpus.ClusterKind, or of
	// one kind of a cluster with that resource behind it, as in cluster/pods. A cluster has no Owners.
	Spec corpus.Spec
	// View is the form in which objects are held: Go types, unstructured or metadata only. Empty
	// means Go types for the kinds of k8s.io/api, and unstructured for others.
	View contender.View
	// Form is json or protobuf. Empty means protobuf, for the kinds and views that have it.
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

	// Runs is how often each contender runs: all of them once, then all of them again. The figures
	// are medians.
	Runs int

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

	made corpus.Corpus // by Check

	// Tapes is the folder of recorded tapes.
	Tapes string
	// Log receives progress. Nil means no output.
	Log func(format string, args ...any)
}

// Defaults returns a setup with the numbers of the goals.
func Defaults() Setup {
	return Setup{
		Spec:   corpus.Spec{Kind: corpus.ClusterKind, Objects: 100_000, Owners: 50, ManagedFields: true, Seed: 1},
		Runs:   3,
		Events: 50_000, Paced: 20_000, Blocked: 200_000, BlockedKeys: 10_000, Churn: 10, Keys: 400_000,
		Settle: time.Minute, Reading: 500 * time.Millisecond,
	}
}

// Check fills in the defaults, and reports an invalid field by the name of its flag.
func (s Setup) Check() (Setup, error) {
	if err := s.make(); err != nil {
		return s, err
	}
	if s.made.Len() == 0 {
		return s, fmt.Errorf("objects: there are none to measure")
	}
	if !slices.Contains([]contender.View{"", contender.Typed, contender.Unstructured, contender.Metadata}, s.View) {
		return s, fmt.Errorf("view %q: there are typed, unstructured and metadata", s.View)
	}
	proto := false
	for _, r := range s.made.Resources() {
		if s.View == contender.Typed && !corpus.Scheme.Recognizes(r.GVK) {
			return s, fmt.Errorf("view typed: there is no Go type for %s", r.GVK.Kind)
		}
		proto = proto || replay.HasProtobuf(r)
	}
	switch {
	case s.Form != "" && s.Form != replay.JSON && s.Form != replay.Protobuf:
		return s, fmt.Errorf("form %q: there are json and protobuf", s.Form)
	case s.Form == replay.Protobuf && s.View != contender.Metadata && !proto:
		return s, fmt.Errorf("form protobuf: %s have none", s.made.Resources()[0].GVR.GroupResource())
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
	for name, n := range map[string]int{"runs": s.Runs, "events": s.Events, "paced": s.Paced, "blocked": s.Blocked, "blocked-keys": s.BlockedKeys, "churn": s.Churn, "keys": s.Keys, "settle": int(s.Settle)} {
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

// DefaultContenders returns the libraries with their defaults, those of the peers that hold less, and
// the transport alone.
func DefaultContenders() []string {
	return append(contender.Libraries(), "client-go-best", "controller-runtime-best", "controller-runtime-metadata", contender.Transport)
}

// make makes the corpus.
func (s *Setup) make() error {
	name, part, _ := strings.Cut(s.Spec.Kind, "/")
	if name != corpus.ClusterKind {
		s.made = s.Spec
		return s.Spec.Check()
	}
	cluster, err := corpus.NewCluster(s.Spec.Objects, s.Spec.ManagedFields, s.Spec.Seed)
	if s.made = cluster; err == nil && part != "" {
		s.made, err = corpus.PartOf(cluster, part)
	}
	return err
}

// ofCluster reports whether the corpus is a cluster, or one kind of it.
func (s Setup) ofCluster() bool { return strings.HasPrefix(s.Spec.Kind, corpus.ClusterKind) }

// corpus returns the corpus that Check has made.
func (s Setup) corpus() corpus.Corpus { return s.made }

// changes returns the number of changes that the tape needs.
func (s Setup) changes() int {
	for _, st := range []stage{updates, pacing, pathing} {
		if s.wanted(st.name) {
			return s.Events + s.Paced
		}
	}
	return 0
}

// noName is the name of a contender with the view of the whole run.
var noName contender.Name

// view returns the view of a kind in one contender.
func (s Setup) view(n contender.Name, r corpus.Resource) contender.View {
	switch {
	case n.View != "":
		return n.View
	case s.View != "":
		return s.View
	case replay.HasProtobuf(r):
		return contender.Typed
	}
	return contender.Unstructured
}

// form returns the form of the tape of one contender. On a tape in protobuf kinds without it are in
// JSON.
func (s Setup) form(n contender.Name) replay.Form {
	view := n.View
	if view == "" {
		view = s.View
	}
	switch {
	case view == contender.Metadata && s.View == contender.Metadata && s.Form == replay.JSON:
		return replay.MetadataJSON
	case view == contender.Metadata:
		return replay.MetadataProtobuf
	case view == contender.Unstructured || s.Form == replay.JSON:
		return replay.JSON
	}
	return replay.Protobuf
}

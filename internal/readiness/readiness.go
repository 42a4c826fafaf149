// Package readiness tells whether the caches and controllers of a program are in order, and which failures do not
// keep it from being ready, and why. It reads what they say of themselves, and holds nothing.
package readiness

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/controller"
)

// Program is what is asked about. The functions are called for each question.
type Program struct {
	// Clusters are the clusters of the program. The first is its own, without a name.
	Clusters func() []Cluster
	// Controllers are the controllers by name.
	Controllers func() map[string]Controller
	// Serves reports whether the webhooks of the program are served.
	Serves func() bool
	// Converts reports whether the program converts a kind between its versions.
	Converts func(schema.GroupKind) bool
}

// Cluster is a cluster that the program has caches of.
type Cluster struct {
	Name    string
	Watches func() []cache.Watch
	// Explain adds to an error what is known of the configuration of the cluster.
	Explain func(error) error
}

// Controller is a controller of the program.
type Controller struct {
	controller.Interface
	// Kinds are those of its sources in the cluster of the program.
	Kinds func() []schema.GroupKind
	// Optional are the kinds that servers need not serve.
	Optional []Kind
}

// Kind is a kind in one of the clusters.
type Kind struct {
	Cluster string
	schema.GroupKind
}

// ClusterError is an error of a watch in a further cluster.
type ClusterError struct {
	Cluster string
	Err     error
}

func (e *ClusterError) Error() string { return "cluster " + e.Cluster + ": " + e.Err.Error() }

func (e *ClusterError) Unwrap() error { return e.Err }

// ErrNotSynced says that a first list has not come in.
var ErrNotSynced = errors.New("not synced yet")

// CheckName replaces the characters that a name of a check may not have, and cuts it to 128 bytes.
func CheckName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:", r) {
			return r
		}
		return '-'
	}, s)
	return s[:min(len(s), 128)]
}

package webhook_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { leaktest.Main(servertest.Wrap(m)) }

// thing is a kind whose encoding has all the oddities that patches must handle: zero fields that
// are written, nulls, structs that are left out, maps, lists of lists.
type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              spec   `json:"spec"`
	Status            status `json:"status"`
}

type spec struct {
	Size   *int32            `json:"size,omitempty"`
	Text   string            `json:"text,omitempty"`
	Zero   int32             `json:"zero"`
	Time   metav1.Time       `json:"time"`
	Labels map[string]string `json:"labels,omitempty"`
	Items  []item            `json:"items,omitempty"`
	Words  []string          `json:"words"`
	Lists  [][]int           `json:"lists,omitempty"`
	Inner  *inner            `json:"inner,omitempty"`
	Plain  inner             `json:"plain"`
	Maybe  inner             `json:"maybe,omitzero"`
}

type item struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	Inner inner  `json:"inner"`
}

type inner struct {
	A string `json:"a,omitempty"`
	B int    `json:"b"`
}

type status struct {
	Phase string `json:"phase,omitempty"`
}

func (t *thing) DeepCopyObject() runtime.Object {
	c := *t
	t.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

var thingKind = schema.GroupVersionKind{Group: "flyball.test", Version: "v1", Kind: "Thing"}

func things() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(thingKind, &thing{})
	return s
}

package convert_test

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/randfill"

	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/test/servertest"
	"github.com/flyball-io/flyball/webhook/convert"
)

func TestMain(m *testing.M) { leaktest.Main(servertest.Wrap(m)) }

// orderV1 is the hub: a price in cents, and a list of items.
type orderV1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              orderSpecV1 `json:"spec"`
}

type orderSpecV1 struct {
	Cents int32    `json:"cents"`
	Items []string `json:"items,omitempty"`
}

// orderV2 has the price as text, and the items in one string.
type orderV2 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              orderSpecV2 `json:"spec"`
}

type orderSpecV2 struct {
	Price string   `json:"price"`
	Items []itemV2 `json:"items,omitempty"`
}

type itemV2 struct {
	Name string `json:"name"`
}

// orderV3 converts itself. It has another name for the price.
type orderV3 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Total             int32    `json:"total"`
	Lines             []string `json:"lines,omitempty"` // an API server takes an object with a field named items for a list
}

func (o *orderV1) DeepCopyObject() runtime.Object {
	c := *o
	o.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func (o *orderV2) DeepCopyObject() runtime.Object {
	c := *o
	o.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func (o *orderV3) DeepCopyObject() runtime.Object {
	c := *o
	o.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func (o *orderV3) ConvertTo(hub *orderV1) error {
	hub.ObjectMeta = o.ObjectMeta // redundant, but common in practice
	hub.Spec.Cents, hub.Spec.Items = o.Total, o.Lines
	return nil
}

func (o *orderV3) ConvertFrom(hub *orderV1) error {
	o.ObjectMeta = hub.ObjectMeta
	o.Total, o.Lines = hub.Spec.Cents, hub.Spec.Items
	return nil
}

func v2ToHub(o *orderV2, hub *orderV1) error {
	cents, err := strconv.ParseInt(strings.Replace(o.Spec.Price, ".", "", 1), 10, 32)
	if err != nil {
		return fmt.Errorf("spec.price: %w", err)
	}
	hub.Spec.Cents = int32(cents)
	for _, i := range o.Spec.Items {
		hub.Spec.Items = append(hub.Spec.Items, i.Name)
	}
	return nil
}

func v2FromHub(hub *orderV1, o *orderV2) error {
	if hub.Name == "renamed" {
		o.Name = "other"
	}
	if hub.Name == "panics" {
		panic("x")
	}
	abs, sign := int64(hub.Spec.Cents), ""
	if abs < 0 {
		abs, sign = -abs, "-"
	}
	o.Spec.Price = fmt.Sprintf("%s%d.%02d", sign, abs/100, abs%100)
	for _, i := range hub.Spec.Items {
		o.Spec.Items = append(o.Spec.Items, itemV2{i})
	}
	return nil
}

var group = schema.GroupVersion{Group: "shop.flyball.test", Version: "v1"}

func orders() *runtime.Scheme {
	s := runtime.NewScheme()
	for version, o := range map[string]runtime.Object{"v1": &orderV1{}, "v2": &orderV2{}, "v3": &orderV3{}} {
		s.AddKnownTypeWithName(schema.GroupVersionKind{Group: group.Group, Version: version, Kind: "Order"}, o)
	}
	return s
}

func parts() []convert.Part {
	return []convert.Part{
		convert.Spoke[orderV2, orderV1](v2ToHub, v2FromHub),
		convert.Hub[orderV1](),
		convert.SpokeByMethods[orderV3, orderV1](),
	}
}

func endpoint(t testing.TB) *convert.Endpoint {
	e, err := convert.New(orders(), convert.Options{Logger: slog.New(slog.DiscardHandler)}, parts()...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// price fills orders with valid prices.
func price(s *orderSpecV2, c randfill.Continue) {
	s.Price = fmt.Sprintf("%d.%02d", c.Intn(1000), c.Intn(100))
	for range c.Intn(3) {
		s.Items = append(s.Items, itemV2{c.String(5)})
	}
}

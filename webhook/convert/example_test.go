package convert_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/webhook/convert"
)

// How do I convert between versions? Write two functions for each version that is not the hub. Here
// orderV1 is the hub: its price is in cents, and orderV2 has it as text.
func ExampleSpoke() {
	spoke := convert.Spoke[orderV2, orderV1](v2ToHub, v2FromHub)

	// New reports every inconsistency of the parts before anything is served.
	_, err := convert.New(orders(), convert.Options{}, spoke)
	fmt.Println(err)
	_, err = convert.New(orders(), convert.Options{}, convert.Hub[orderV1](), spoke)
	fmt.Println(err)

	// ToHub converts one object as the handler does. It copies the metadata first.
	hub := &orderV1{}
	err = spoke.ToHub(&orderV2{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: orderSpecV2{Price: "12.50"}}, hub)
	fmt.Println(hub.Name, hub.Spec.Cents, err)
	// Output:
	// convert: Order.shop.flyball.test has the spoke convert_test.orderV2, but no hub: add Hub[convert_test.orderV1]()
	// <nil>
	// a 1250 <nil>
}

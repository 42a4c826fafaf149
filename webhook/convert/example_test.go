package convert_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/webhook/convert"
)

// How do I convert between versions? With two functions for each version that is no hub; orderV1
// is the hub, and has a price in cents where orderV2 has it as text.
func ExampleSpoke() {
	spoke := convert.Spoke[orderV2, orderV1](v2ToHub, v2FromHub)

	// Before it is served, every fault in the parts is reported.
	_, err := convert.New(orders(), convert.Options{}, spoke)
	fmt.Println(err)
	_, err = convert.New(orders(), convert.Options{}, convert.Hub[orderV1](), spoke)
	fmt.Println(err)

	// What the handler does with one object. The metadata is taken over beforehand.
	hub := &orderV1{}
	err = spoke.ToHub(&orderV2{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: orderSpecV2{Price: "12.50"}}, hub)
	fmt.Println(hub.Name, hub.Spec.Cents, err)
	// Output:
	// convert: Order.shop.flyball.test has the spoke convert_test.orderV2, but no hub: add Hub[convert_test.orderV1]()
	// <nil>
	// a 1250 <nil>
}

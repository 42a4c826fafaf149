package pack_test

import (
	"fmt"

	"github.com/flyball-io/flyball/internal/pack"
)

// How is an object kept as its difference from a sibling?
func Example() {
	sibling := []byte(`{"name":"app-x2vkq","uid":"0b54f3a2-1c2d-4e5f-a678-9abcdef01234","node":"node-0007","image":"registry.example.org/shop/app:v1"}`)
	object := []byte(`{"name":"app-q8zzt","uid":"93e1aa00-17ff-4b5f-a178-9a11de401235","node":"node-0121","image":"registry.example.org/shop/app:v1"}`)

	var p pack.Packer
	record := p.Append(nil, pack.NewTemplate(sibling), nil, object)
	fmt.Println(len(object), "bytes as", len(record))

	back, err := pack.Unpack(nil, sibling, nil, record)
	fmt.Println(string(back) == string(object), err)
	// Output:
	// 127 bytes as 31
	// true <nil>
}

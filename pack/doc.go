// Package pack writes an object as its difference from another one, its template: a sibling that
// is nearly the same, such as another Pod of the same owner. It knows nothing of Kubernetes but
// what its bytes look like, protobuf or JSON.
//
//	            0         1         2
//	template    app-7f9c-x2vkq…uid:0b54…node-0007…registry.example.org/shop/app@sha256:…
//	                     │ cursor
//	object      app-7f9c-q8zzt…uid:93e1…node-0121…registry.example.org/shop/app@sha256:…
//	            └───┬───┘└─┬─┘ └───┬──┘
//	record      copy 9   lit 5   uuid 16 B   copy, digits, copy …
//
// A record is a header and a sequence of operations. Each makes some bytes of the object, and a
// cursor in the template moves by as many: most differences keep the alignment, so "copy from the
// cursor" names no position.
//
//	header    0, then the bytes as they are; or uvarint(2·size + 1 if the template is used)
//	00nnnnnn  copy n bytes of the template from the cursor
//	01nnnnnn  n literal bytes follow
//	10nnnnnn  copy n bytes of the template from the cursor + zigzag varint
//	110nnnnn  copy n bytes of the object from uvarint bytes before its end so far (may overlap)
//	1110nnnn  n lower-case hex digits, two in a byte
//	1111nnnn  n+2 decimal digits as a number of the fewest bytes; 1111 1111: a UUID of 36 characters
//
// A length that does not fit into its bits takes one more byte or a varint.
//
// Unpacking is a few dozen copies: about a tenth of the time that it takes to pack. A record is
// never longer than the object and one byte.
//
// A template may be kept as a record itself, packed against a template of templates: to read an
// object of it takes two times to unpack then.
//
// Memory: records hold no pointers and may lie anywhere. A [Template] holds its bytes; the index
// that finds what moved is made only when something moved further than a few bytes, takes about
// two thirds of the bytes it covers, and is bounded for all templates of a [Packer] together.
package pack

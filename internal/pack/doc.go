// Package pack writes an object as its difference from another one, its template. A template is a
// nearly equal sibling, such as another Pod of the same owner. The package knows nothing of
// Kubernetes except the look of its bytes, protobuf or JSON.
//
// A [Packer] makes records: Append takes a [Template], known bytes and an object, and returns the
// record. [Unpack] takes the bytes of the same template, the same known bytes and the record, and
// returns the object. [Size] and [UsesTemplate] read the header of a record only.
//
//	            0         1         2
//	template    app-7f9c-x2vkq…uid:0b54…node-0007…registry.example.org/shop/app@sha256:…
//	                     │ cursor
//	object      app-7f9c-q8zzt…uid:93e1…node-0121…registry.example.org/shop/app@sha256:…
//	            └───┬───┘└─┬─┘ └───┬──┘
//	record      copy 9   lit 5   uuid 16 B   copy, digits, copy …
//
// A record is a header and a sequence of operations. Each operation makes some bytes of the object,
// and moves a cursor in the template by as many. Most differences keep the alignment, so "copy from
// the cursor" needs no position.
//
//	header    0, then the bytes as they are; or uvarint(4·size + 2 if literals are coded + 1 if the
//	          template is used)
//	00nnnnnn  copy n bytes of the template from the cursor
//	01nnnnnn  n literal bytes, from the end of the record
//	10nnnnnn  copy n bytes of the template from the cursor + zigzag varint
//	110nnnnn  copy n bytes of the object from uvarint bytes before its end so far (may overlap); the
//	          known bytes precede the object
//	1110nnnn  n lower-case hex digits, two in a byte
//	1111nnnn  n+2 decimal digits as a number of the fewest bytes; 1111 1111: a UUID of 36 characters
//
// A length that does not fit into its bits takes one more byte or a varint.
//
// Unpacking is a few dozen copies: it takes about a tenth of the time of packing. Literal bytes that
// are coded take two nanoseconds each. A record is at most one byte longer than the object.
//
// The known bytes are what the reader of a record has beside it, such as the name and the uid of the
// object. They are not stored twice.
//
// A dictionary is a template that grows: see [NewDictionary]. It serves objects that share many parts
// in ever other places, such as the images of a node.
//
// A template may be kept as a record itself, packed against a template of templates. Reading an
// object then unpacks twice.
//
// Records hold no pointers and may lie in any memory. A [Template] holds its bytes. Its index finds
// bytes that moved; it is made when bytes move further than a few positions. An index takes about
// two thirds of the bytes it covers. The indexes of all templates of a [Packer] are bounded
// together.
package pack

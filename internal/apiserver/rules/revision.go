package rules

import (
	"crypto/sha256"
	"fmt"
	"reflect"
)

// abilities are what the program can be asked beside requests of clients. A new one makes another protocol.
const abilities = "restore"

// methodProtocol is the method of the question which protocol the program speaks. The answer's body is that of
// [Protocol].
const methodProtocol = "PROTOCOL"

// Protocol names the protocol of this source: the messages with all their fields, and the abilities.
func Protocol() string {
	h := sha256.New()
	fmt.Fprintln(h, abilities)
	for _, message := range []any{Request{}, Answer{}, Collection{}, Write{}, List{}} {
		t := reflect.TypeOf(message)
		for i := range t.NumField() {
			fmt.Fprintln(h, t.Name(), t.Field(i).Name, t.Field(i).Type.Kind())
		}
	}
	return fmt.Sprintf("flyball-rules %x", h.Sum(nil)[:8])
}

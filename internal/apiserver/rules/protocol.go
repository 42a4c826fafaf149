// Code generated from controlplane/rules/protocol.go by TestProtocolIsThatOfTheProgram. DO NOT EDIT.

package rules

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// A frame is a length of 4 bytes, a request number of 8 bytes, and a message. Both numbers are big-endian. The length
// counts what follows it. [AppendMessage] says what a message is. A frame without a message says that the answer is too
// large for one.
const frameHeader = 4 + 8

// MaxFrame is the most that the length of a frame may be: 1 GiB, or 256 MiB where addresses have 32 bits. The same bytes
// are in memory a few times at once.
const MaxFrame = 1 << 28 << (^uint(0) >> 63 << 1)

// ErrTooLarge says that a request, with the objects that it may see, or an answer is too large for a frame. Nothing else
// is wrong: other requests are answered.
var ErrTooLarge = errors.New("too large: ask for fewer objects at once, by limit, a selector or a namespace")

// Request is one request to the API, and everything else on which its answer depends.
type Request struct {
	Method      string
	URL         string // path and query
	ContentType string
	Accept      string
	UserAgent   string
	User        string
	Groups      []string
	Body        []byte

	// UserUID and Extra are the uid and the extra fields of the user.
	UserUID string
	Extra   map[string][]string
	// Impersonate has the impersonation headers. A request with them is not made: its answer has the user that it
	// is to be made as, or the error.
	Impersonate map[string][]string
	// Bootstrap asks for the writes of the roles and bindings of a new cluster, in place of a request.
	Bootstrap bool
	// Protocol asks for the name of the program's protocol, in place of a request. See [Protocol].
	Protocol bool
	// Restore reads an object of a saved state, in place of a request. The URL is that of the object, and the body the
	// object as it was stored. The one write of the answer has its labels, fields, and shown form. The object is
	// decoded, but neither validated nor admitted. With fieldValidation=Strict in the URL, fields that a built-in kind
	// does not have are an error. A custom resource may have some: its definition can have changed since.
	Restore bool
	// Granted describes what the user of the request was allowed to do, by [Access]. "" means that nobody had to
	// allow it. A request that the real handlers read as another one is refused.
	Granted string
	// RBAC is whether users may do only what their roles allow.
	RBAC bool
	// Seed is the text from which the key that signs tokens is derived.
	Seed string

	// Now is the time of the request in nanoseconds since 1970.
	Now int64
	// UID is the uid of a new object, and Suffix the end of its name if that is generated.
	UID    string
	Suffix string
	// Version is the version of the state. The writes of the answer have the versions after it.
	Version uint64
	// Objects has the objects that the request may see, by key, as stored JSON. A key without an object has null. A key
	// that ends with a slash says that all objects under it are here.
	Objects map[string]json.RawMessage
	// Collection is the content of a list; nil if its options are not known yet. See [Answer.List].
	Collection *Collection
	// Fields asks for the fields of the items of the collection, in the version of the request. See [Answer.Fields].
	Fields bool
	// Bookmark asks for a bookmark of the kind, in place of the object at the path.
	Bookmark *Bookmark
	// Responses has the responses of webhooks that are known. See [Answer.Calls].
	Responses []Response
	// Controllers says that controllers run beside the server. Admission then expects what they create.
	Controllers bool
}

// Access describes the access to a resource, for [Request.Granted].
func Access(verb, group, resource, subresource, namespace, name string) string {
	return fmt.Sprintf("%q %q %q %q %q %q", verb, group, resource, subresource, namespace, name)
}

// PathAccess describes the access to a path that names no resource.
func PathAccess(verb, path string) string { return fmt.Sprintf("%q %q", verb, path) }

// Bookmark is a watch event with a version and no object. The version is that of the request.
type Bookmark struct {
	// Initial says that the bookmark ends the initial events.
	Initial bool
}

// Call is a call of a webhook: an HTTP POST of JSON, or what a redirect makes of it.
type Call struct {
	// Key is a hash of the other fields, and of the number of redirects before the call. Equal calls have equal keys.
	Key    string
	Method string
	URL    string
	// Addresses has the addresses to connect to, ready endpoints first. Empty means the URL's host.
	Addresses []string
	// CABundle has the certificates that may sign the webhook's, as PEM. Empty means those of the system.
	CABundle []byte
	// Timeout is in nanoseconds.
	Timeout int64
	Body    []byte
}

// Response is the response of a webhook to a [Call].
type Response struct {
	Key         string // of the call
	Code        int
	ContentType string
	// Location is the target of a redirect.
	Location string
	Body     []byte
	// Err is the error of the call. With a Code it is an error while the body was read.
	Err string
}

// Collection is the content of a list: stored objects, and the fields of the list's metadata.
type Collection struct {
	Items     []json.RawMessage
	Continue  string
	Remaining *int64
}

// Answer is the answer to a [Request]: a response to the client, and the writes that it makes.
type Answer struct {
	Code        int
	ContentType string
	Warnings    []string
	RetryAfter  string
	// Header has the headers that are no other field and that not every answer has.
	Header map[string]string
	Body   []byte
	// Writes are the changes of the state, in order. Each has a version of its own.
	Writes []Write
	// Missing has the keys that were looked up and are not in Request.Objects. If the state has objects with these
	// keys, the answer is void: make the request again with them.
	Missing []string
	// List has the options of a list or a watch; nil for other requests. The body is void unless the request has a
	// Collection.
	List *List
	// Fields has the fields that field selectors can name, for each item of the collection; nil unless the request
	// asks for them.
	Fields []map[string]string
	// User is the impersonated user; nil if the request has no Impersonate, or may not impersonate.
	User *User
	// Calls has the calls of webhooks whose responses the request lacks. If there are any, the answer is void: make
	// the calls, and then the request again with the responses.
	Calls []Call
}

// User is the user of a request.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Write is one change of the state.
type Write struct {
	Key     string
	Delete  bool
	Version uint64 // of the state after the change
	// Object is the new state as stored JSON. For a delete it is the last state, with the version of the deletion.
	Object json.RawMessage
	// Shown is the state as clients see it; nil if that equals Object. It differs by defaults that are set on reading.
	Shown  json.RawMessage
	Labels map[string]string
	// Fields has the fields that field selectors can ask for.
	Fields map[string]string
}

// List has the options of a list or watch, after validation.
type List struct {
	// Kind and APIVersion are those of an item in the version of the request. ListKind is the kind of the list.
	Kind       string
	ListKind   string
	APIVersion string
	// Whole says that items have their kind and apiVersion in a list, as custom resources do.
	Whole bool

	// Namespaced says that objects of the kind are in namespaces.
	Namespaced bool

	Prefix string // of the keys, or the key itself
	Single bool   // Prefix is a key
	Watch  bool
	Labels string
	Fields string
	// Shards has the ranges of the shard selector; nil if there is none. ShardSelector is its text.
	Shards        []Shard
	ShardSelector string

	Limit     int64
	Continue  string
	Version   string
	Match     string
	Bookmarks bool
	// Initial is the option sendInitialEvents.
	Initial *bool
}

// Shard is a range of hashes. An object is in it if the FNV-1a hash of one of its fields is.
type Shard struct {
	// Field is "uid" or "namespace". All ranges of a selector have the same field.
	Field       string
	First, Last uint64
}

// WriteFrame writes one message with the number of its request, by one call of Write. message is a pointer to a
// struct, or nil. The error is
// [ErrTooLarge] if the length would be more than most; then nothing is written.
func WriteFrame(w io.Writer, id uint64, message any, most int) error {
	frame := make([]byte, frameHeader, 4096)
	binary.BigEndian.PutUint64(frame[4:], id)
	if message != nil {
		var err error
		if frame, err = appendValue(frame, reflect.ValueOf(message).Elem(), most+4); err != nil {
			return err
		}
	}
	if len(frame)-4 > most {
		return ErrTooLarge
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	_, err := w.Write(frame)
	return err
}

// ReadFrame reads one message and the number of its request. The error is io.EOF if the stream ends before the frame,
// io.ErrUnexpectedEOF if it ends within, and [ErrTooLarge] if the frame has no message.
func ReadFrame(r io.Reader, message any, most int) (id uint64, err error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 8 || uint64(n) > uint64(most) {
		return 0, fmt.Errorf("a frame of %d bytes", n)
	}
	id = binary.BigEndian.Uint64(head[4:])
	if n == 8 {
		return id, ErrTooLarge
	}
	text := make([]byte, n-8)
	if _, err := io.ReadFull(r, text); err != nil {
		return 0, io.ErrUnexpectedEOF
	}
	return id, ParseMessage(text, message)
}

package rules

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A frame is its length, the number of the request, and a message. Both numbers are big-endian. A message is the
// fields of its struct, in order: see [AppendMessage].
const (
	frameHeader = 4 + 8
	maxFrame    = 1 << 30
)

// Request is one request and all that its answer may depend on.
type Request struct {
	Method      string
	URL         string // path and query
	ContentType string `json:",omitempty"`
	Accept      string `json:",omitempty"`
	UserAgent   string `json:",omitempty"`
	User        string
	Groups      []string `json:",omitempty"`
	Body        []byte   `json:",omitempty"`

	// UserUID and Extra are what else is known of the user.
	UserUID string              `json:",omitempty"`
	Extra   map[string][]string `json:",omitempty"`
	// Impersonate are the headers of impersonation. A request that has them is not made: its answer says
	// who it is made as, or why not.
	Impersonate map[string][]string `json:",omitempty"`
	// Bootstrap asks for the roles and bindings that every cluster has, in place of a request.
	Bootstrap bool `json:",omitempty"`
	// RBAC is whether users may do only what their roles allow.
	RBAC bool `json:",omitempty"`
	// Seed decides on the key that signs tokens.
	Seed string `json:",omitempty"`

	// Now is the time of the request in nanoseconds since 1970.
	Now int64 `json:",omitempty"`
	// UID is the uid of an object that the request creates, and Suffix what a generated name ends with.
	UID    string `json:",omitempty"`
	Suffix string `json:",omitempty"`
	// Version is the version of the state. The first write has the next one.
	Version uint64 `json:",omitempty"`
	// Objects are those that the request may see, by key, as JSON in the version of their storage.
	// A key that was looked up and has no object is there with null.
	Objects map[string]json.RawMessage `json:",omitempty"`
	// Collection is what a list gives; nil if that is not known yet.
	Collection *Collection `json:",omitempty"`
	// Bookmark asks for a bookmark of the kind, in place of the object that the path names.
	Bookmark *Bookmark `json:",omitempty"`
	// Responses are those of webhooks, as far as they are known.
	Responses []Response `json:",omitempty"`
	// Controllers is whether controllers run beside the server. Admission relies on them.
	Controllers bool `json:",omitempty"`
}

// Bookmark is an event of a watch that tells how far it is. Its version is that of the request.
type Bookmark struct {
	// Initial is whether it ends the initial events.
	Initial bool `json:",omitempty"`
}

// Call is a call of a webhook: an HTTP POST of JSON, or what a redirect makes of it.
type Call struct {
	// Key names the call. It depends on nothing but where the call goes, what it says, and how many redirects led to it.
	Key    string
	Method string
	URL    string
	// Addresses are what the URL's host means, in the order of their use. Empty means the host itself.
	Addresses []string `json:",omitempty"`
	// CABundle has the certificates, in PEM, that the webhook's must come from. Empty means those of the system.
	CABundle []byte `json:",omitempty"`
	// Timeout is in nanoseconds.
	Timeout int64
	Body    []byte
}

// Response is the response of a webhook.
type Response struct {
	Key         string // of the call
	Code        int    `json:",omitempty"`
	ContentType string `json:",omitempty"`
	// Location is where a redirect leads.
	Location string `json:",omitempty"`
	Body     []byte `json:",omitempty"`
	// Err says why there is no response, or why the body ends within itself.
	Err string `json:",omitempty"`
}

// Collection is the result of a list.
type Collection struct {
	Items     []json.RawMessage
	Continue  string `json:",omitempty"`
	Remaining *int64 `json:",omitempty"`
}

// Answer is what comes of a request.
type Answer struct {
	Code        int
	ContentType string   `json:",omitempty"`
	Warnings    []string `json:",omitempty"`
	RetryAfter  string   `json:",omitempty"`
	// Header has the other headers, where they are not those of every answer.
	Header map[string]string `json:",omitempty"`
	Body   []byte            `json:",omitempty"`
	// Writes are the changes, in order. Each has a version of its own.
	Writes []Write `json:",omitempty"`
	// Missing are keys that were looked up and are not in Objects. If there are such objects, the
	// answer is void, and the request is made again with them.
	Missing []string `json:",omitempty"`
	// List is what a list or a watch asks for. The body of such an answer is void unless the request
	// has a Collection.
	List *List `json:",omitempty"`
	// User is who a request with Impersonate is made as; nil if that is not allowed.
	User *User `json:",omitempty"`
	// Calls are those of webhooks whose responses the request lacks. The answer is void: the calls are made,
	// and the request is made again with the responses.
	Calls []Call `json:",omitempty"`
}

// User is who makes a request.
type User struct {
	Name   string
	UID    string              `json:",omitempty"`
	Groups []string            `json:",omitempty"`
	Extra  map[string][]string `json:",omitempty"`
}

// Write is one change of the state.
type Write struct {
	Key     string
	Delete  bool   `json:",omitempty"`
	Version uint64 // of the state after the change
	// Object is the new state. Of a deleted object it is the last one, with the version of its deletion.
	Object json.RawMessage
	// Shown is what clients see in place of Object, if that differs: defaults that are set on reading.
	Shown  json.RawMessage   `json:",omitempty"`
	Labels map[string]string `json:",omitempty"`
	// Fields are what field selectors can ask for.
	Fields map[string]string `json:",omitempty"`
}

// List is what a list or watch asks for, once its options are valid.
type List struct {
	// Kind and APIVersion are those of the items in the version of the request, ListKind that of the list.
	Kind       string
	ListKind   string
	APIVersion string
	// Whole is whether the items of a list have their kind and apiVersion, as those of custom resources do.
	Whole bool `json:",omitempty"`

	// Namespaced is whether objects of the kind are in namespaces.
	Namespaced bool `json:",omitempty"`

	Prefix    string // of the keys, or the key itself
	Single    bool   `json:",omitempty"` // Prefix is a key
	Watch     bool   `json:",omitempty"`
	Labels    string `json:",omitempty"`
	Fields    string `json:",omitempty"`
	Limit     int64  `json:",omitempty"`
	Continue  string `json:",omitempty"`
	Version   string `json:",omitempty"`
	Match     string `json:",omitempty"`
	Bookmarks bool   `json:",omitempty"`
	// Initial is sendInitialEvents.
	Initial *bool `json:",omitempty"`
}

// WriteFrame writes one message.
func WriteFrame(w io.Writer, id uint64, message any) error {
	frame := make([]byte, frameHeader, 4096)
	binary.BigEndian.PutUint64(frame[4:], id)
	frame, err := AppendMessage(frame, message)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	_, err = w.Write(frame)
	return err
}

// ReadFrame reads one message. The error is io.EOF if the stream ends before it.
func ReadFrame(r io.Reader, message any) (id uint64, err error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 8 || n > maxFrame {
		return 0, fmt.Errorf("a frame of %d bytes", n)
	}
	text := make([]byte, n-8)
	if _, err := io.ReadFull(r, text); err != nil {
		return 0, io.ErrUnexpectedEOF
	}
	return binary.BigEndian.Uint64(head[4:]), ParseMessage(text, message)
}

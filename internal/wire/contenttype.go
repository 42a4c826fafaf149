package wire

import (
	"io"
	"mime"
	"strings"
)

// Content types, as the API server writes them.
const (
	ContentTypeJSON          = "application/json"
	ContentTypeProtobuf      = "application/vnd.kubernetes.protobuf"
	ContentTypeJSONWatch     = ContentTypeJSON + ";stream=watch"
	ContentTypeProtobufWatch = ContentTypeProtobuf + ";stream=watch"
)

// Accept headers, for objects, lists and watches. The server takes the first type that it supports; a kind without
// protobuf comes as JSON. The metadata types ask for PartialObjectMetadata; see [Kind].
const (
	AcceptJSON         = ContentTypeJSON
	AcceptProtobuf     = ContentTypeProtobuf + "," + ContentTypeJSON
	AcceptMetadata     = ContentTypeProtobuf + asMetadata + "," + ContentTypeJSON + asMetadata
	AcceptMetadataList = ContentTypeProtobuf + asMetadataList + "," + ContentTypeJSON + asMetadataList

	asMetadata     = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asMetadataList = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// ParseContentType reads the Content-Type header of an answer. It ignores spaces, letter case and parameters; watch
// reports the parameter stream=watch. A missing header, and any type but JSON and Kubernetes protobuf, is a
// *[ContentTypeError].
func ParseContentType(header string) (enc Encoding, watch bool, err error) {
	media, params, err := mime.ParseMediaType(header)
	if err != nil {
		return 0, false, &ContentTypeError{ContentType: header}
	}
	switch media {
	case ContentTypeJSON:
		enc = JSON
	case ContentTypeProtobuf:
		enc = Protobuf
	default:
		return 0, false, &ContentTypeError{ContentType: header}
	}
	return enc, params["stream"] == "watch", nil
}

const excerptBytes = 200

// wrongContent closes the body of an answer that cannot be read. The error has its start.
func wrongContent(header string, body io.ReadCloser) *ContentTypeError {
	defer body.Close()
	var buf [excerptBytes]byte
	n, _ := io.ReadAtLeast(body, buf[:], 1) // one read: further bytes may take long
	return &ContentTypeError{ContentType: header, Excerpt: Excerpt(buf[:n])}
}

// Excerpt returns the start of a body as part of one line.
func Excerpt(b []byte) string {
	b = b[:min(len(b), excerptBytes)]
	text := strings.TrimSuffix(strings.ToValidUTF8(string(b), "\uFFFD"), "\uFFFD") // an incomplete rune at the end
	return strings.Join(strings.Fields(text), " ")
}

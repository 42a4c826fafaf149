package wire

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/protoscan"
)

// magic starts every protobuf body and every object in a protobuf watch; a runtime.Unknown
// follows: typeMeta = 1, raw = 2, contentEncoding = 3, contentType = 4.
var magic = []byte("k8s\x00")

var errNoMagic = errors.New(`no "k8s\0" at the start`)

// envelope is an opened runtime.Unknown. raw is a part of the message it was read from.
type envelope struct {
	apiVersion, kind []byte
	raw              []byte
}

// openEnvelope reads an object with its magic.
func openEnvelope(b []byte) (envelope, error) {
	var e envelope
	if !bytes.HasPrefix(b, magic) {
		return e, errNoMagic
	}
	c := protoscan.Cursor{B: b[len(magic):]}
	for c.Next() {
		switch c.Num {
		case 1:
			if err := e.readType(c.Bytes()); err != nil {
				return e, err
			}
		case 2:
			e.raw = c.Bytes()
		case 3, 4:
			if err := checkContent(c.Num, c.Bytes()); err != nil {
				return e, err
			}
		}
	}
	return e, c.Err
}

// readType reads a runtime.TypeMeta: apiVersion = 1, kind = 2.
func (e *envelope) readType(b []byte) error {
	c := protoscan.Cursor{B: b}
	for c.Next() {
		switch c.Num {
		case 1:
			e.apiVersion = c.Bytes()
		case 2:
			e.kind = c.Bytes()
		}
	}
	return c.Err
}

// checkContent refuses an envelope whose content is not plain protobuf. No API server makes one.
func checkContent(field int, value []byte) error {
	if len(value) == 0 || field == 4 && string(value) == ContentTypeProtobuf {
		return nil
	}
	return fmt.Errorf("envelope with content of %q", value)
}

func (e *envelope) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(string(e.apiVersion), string(e.kind))
}

// envelopeSize and appendEnvelope write an envelope, byte for byte as apimachinery does.
func envelopeSize(apiVersion, kind string, raw int) int {
	meta := sizeString(apiVersion) + sizeString(kind)
	return len(magic) + 1 + protowire.SizeBytes(meta) + 1 + protowire.SizeBytes(raw) + 2*sizeString("")
}

// appendEnvelope appends the part before the content. The caller appends raw bytes of content, then envelopeTail: two
// empty strings.
func appendEnvelope(b []byte, apiVersion, kind string, raw int) []byte {
	b = append(b, magic...)
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(sizeString(apiVersion)+sizeString(kind)))
	b = appendString(b, 1, apiVersion)
	b = appendString(b, 2, kind)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(raw))
}

func envelopeTail(b []byte) []byte { return appendString(appendString(b, 3, ""), 4, "") }

func sizeString(s string) int { return 1 + protowire.SizeBytes(len(s)) }

func appendString(b []byte, num protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
}

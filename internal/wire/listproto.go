package wire

import (
	"bytes"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/decode"
	"github.com/flyball-io/flyball/internal/protoscan"
)

// protoList reads magic, runtime.Unknown{typeMeta = 1, raw = 2, …}, and in raw a list of any kind:
// metadata = 1, items = 2.
type protoList struct {
	s        protoStream
	kind     *Kind
	started  bool
	typed    bool  // the kind of the answer is known, and correct
	isStatus bool  // the answer is a Status
	found    bool  // raw was found: a body without it is truncated
	raw      int64 // end of raw, while inside; 0 outside
	m        listMeta
}

func (l *protoList) meta() ListMeta { return l.m.ListMeta }

func (l *protoList) next() (Raw, error) {
	if !l.started {
		if err := l.start(); err != nil {
			return Raw{}, err
		}
	}
	for {
		if l.raw == 0 {
			if err := l.outer(); err != nil {
				return Raw{}, err
			}
			continue
		}
		if !l.s.inField && l.s.offset() == l.raw {
			l.raw = 0
			continue
		}
		f, err := l.s.field()
		if err != nil {
			return Raw{}, l.s.cut(err)
		}
		if f.end > l.raw {
			return Raw{}, l.s.syntax(protoscan.ErrCut)
		}
		var b []byte
		switch {
		case f.typ != protoscan.Bytes && f.num <= 2:
			err = l.s.syntax(protoscan.ErrTag)
		case f.typ != protoscan.Bytes:
		case f.num > 2:
			err = l.s.leave()
		default:
			b, err = l.s.content()
		}
		switch {
		case err != nil:
			return Raw{}, err
		case f.num == 2:
			return Raw{Kind: l.kind, Encoding: Protobuf, Bytes: b}, nil
		case f.num == 1:
			if err := l.m.read(b, decode.Protobuf); err != nil {
				return Raw{}, l.s.syntax(err)
			}
		}
	}
}

func (l *protoList) start() error {
	b, err := l.s.bytes(int64(len(magic)))
	if err != nil {
		return err
	}
	if !bytes.Equal(b, magic) {
		return l.s.syntax(errNoMagic)
	}
	l.started = true
	return nil
}

// outer reads the envelope up to the start of raw, or to its end.
func (l *protoList) outer() error {
	for {
		f, err := l.s.field()
		switch {
		case err == io.EOF && !l.found:
			return l.s.cut(err)
		case err == io.EOF && !l.typed:
			return &KindError{Want: l.kind.listGVK()}
		case err == io.EOF && l.m.cut():
			return l.s.syntax(errRemaining)
		case err != nil:
			return err
		case l.isStatus:
			return l.readStatus(f)
		case f.typ != protoscan.Bytes:
			if f.num <= 4 {
				return l.s.syntax(protoscan.ErrTag)
			}
			continue
		}
		switch f.num {
		case 1:
			if err := l.readType(); err != nil {
				return err
			}
		case 2:
			if l.found {
				return l.s.syntax(errTwice)
			}
			l.found = true
			l.s.enter()
			if f.size > 0 {
				l.raw = f.end
				return nil
			}
		case 3, 4:
			b, err := l.s.content()
			if err != nil {
				return err
			}
			if err := checkContent(f.num, b); err != nil {
				return l.s.syntax(err)
			}
		default:
			if err := l.s.leave(); err != nil {
				return err
			}
		}
	}
}

// readType reads the kind of the answer.
func (l *protoList) readType() error {
	b, err := l.s.content()
	if err != nil {
		return err
	}
	var e envelope
	if err := e.readType(b); err != nil {
		return l.s.syntax(err)
	}
	apiVersion, kind := string(e.apiVersion), string(e.kind)
	if l.isStatus = isStatus(apiVersion, kind); l.isStatus {
		return nil
	}
	if is, _ := l.kind.isList(apiVersion, kind); !is { // items do not say their kind
		return &KindError{Want: l.kind.listGVK(), Got: schema.FromAPIVersionAndKind(apiVersion, kind)}
	}
	l.typed = true
	return nil
}

// readStatus reads a Status that is the answer: the field after its type.
func (l *protoList) readStatus(f protoHead) error {
	if f.num != 2 || f.typ != protoscan.Bytes {
		return &KindError{Want: l.kind.listGVK(), Got: schema.FromAPIVersionAndKind("v1", "Status")}
	}
	b, err := l.s.content()
	if err != nil {
		return err
	}
	return statusError(b, Protobuf)
}

// Code generated from controlplane/rules/message.go by TestProtocolIsThatOfTheProgram. DO NOT EDIT.

package rules

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// AppendMessage appends the bytes of a message, which is a pointer to a struct of the protocol. Equal messages have
// equal bytes:
//
//	struct            its fields, in order
//	string            its length and its bytes
//	slice, map        its length plus one and its elements, those of a map sorted by key; zero for nil
//	pointer           a byte, zero for nil, and the value it points to
//	number, boolean   a string of its decimal digits
//
// Lengths are encoded by [binary.AppendUvarint]. Numbers are text, so that replacing one by another with as many digits
// changes no length.
func AppendMessage(b []byte, message any) ([]byte, error) {
	return appendValue(b, reflect.ValueOf(message).Elem(), math.MaxInt)
}

// appendValue appends a value. The error is [ErrTooLarge] if a text would make the result longer than most.
func appendValue(b []byte, v reflect.Value, most int) (_ []byte, err error) {
	switch v.Kind() {
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return appendBytes(b, v.String(), most)
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		return appendDigits(b, strconv.AppendUint(nil, n, 10)), nil
	case reflect.Int, reflect.Int64:
		return appendDigits(b, strconv.AppendInt(nil, v.Int(), 10)), nil
	case reflect.Uint64:
		return appendDigits(b, strconv.AppendUint(nil, v.Uint(), 10)), nil
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0), nil
		}
		return appendValue(append(b, 1), v.Elem(), most)
	case reflect.Struct:
		for i := range v.NumField() {
			if b, err = appendValue(b, v.Field(i), most); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", v.Type(), v.Type().Field(i).Name, err)
			}
		}
		return b, nil
	case reflect.Slice, reflect.Map:
		if v.IsNil() {
			return append(b, 0), nil
		}
		b = binary.AppendUvarint(b, uint64(v.Len())+1)
	default:
		return nil, fmt.Errorf("a message cannot have a %s", v.Type())
	}
	switch {
	case v.Kind() == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			if b, err = appendValue(b, k, most); err != nil {
				return nil, err
			}
			if b, err = appendValue(b, v.MapIndex(k), most); err != nil {
				return nil, err
			}
		}
	case v.Type().Elem().Kind() == reflect.Uint8:
		return appendBytes(b, v.Bytes(), most)
	default:
		for i := range v.Len() {
			if b, err = appendValue(b, v.Index(i), most); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// appendBytes appends a text, without copying one that is too large.
func appendBytes[T string | []byte](b []byte, text T, most int) ([]byte, error) {
	if len(text) > most-len(b) {
		return nil, ErrTooLarge
	}
	return append(b, text...), nil
}

func appendDigits(b, digits []byte) []byte { return append(append(b, byte(len(digits))), digits...) }

// ParseMessage reads a message of [AppendMessage] into a pointer to a struct. Byte slices of the message share the
// memory of text.
func ParseMessage(text []byte, message any) error {
	p := parser{text}
	if err := p.value(reflect.ValueOf(message).Elem()); err != nil {
		return err
	}
	if len(p.text) > 0 {
		return fmt.Errorf("a message has %d bytes too many", len(p.text))
	}
	return nil
}

// parser has the unread rest of a message.
type parser struct{ text []byte }

// errCutOff is the error for a message that is shorter than its lengths say.
var errCutOff = errors.New("a message is cut off")

// count reads a length that was written with less added to it. It rejects one beyond the rest of the message.
func (p *parser) count(less uint64) (int, error) {
	n, size := binary.Uvarint(p.text)
	if size <= 0 || n < less || n-less > uint64(len(p.text)-size) {
		return 0, errCutOff
	}
	p.text = p.text[size:]
	return int(n - less), nil
}

// next reads n bytes. Appending to the result does not overwrite the rest.
func (p *parser) next(n int) ([]byte, error) {
	if n > len(p.text) {
		return nil, errCutOff
	}
	out := p.text[:n:n]
	p.text = p.text[n:]
	return out, nil
}

// present reports whether the next value is not nil. It consumes the zero that stands for nil, and nothing else.
func (p *parser) present() (bool, error) {
	if len(p.text) == 0 {
		return false, errCutOff
	}
	if p.text[0] == 0 {
		p.text = p.text[1:]
		return false, nil
	}
	return true, nil
}

func (p *parser) sized() ([]byte, error) {
	n, err := p.count(0)
	if err != nil {
		return nil, err
	}
	return p.next(n)
}

func (p *parser) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if err := p.value(v.Field(i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Pointer, reflect.Slice, reflect.Map:
		v.SetZero()
		if ok, err := p.present(); !ok {
			return err
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		p.text = p.text[1:]
		v.Set(reflect.New(v.Type().Elem()))
		return p.value(v.Elem())
	case reflect.Slice, reflect.Map:
		n, err := p.count(1)
		if err != nil {
			return err
		}
		return p.elements(v, n)
	}
	text, err := p.sized()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(text))
	case reflect.Bool:
		v.SetBool(string(text) == "1")
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(string(text), 10, 64)
		v.SetInt(n)
		return err
	case reflect.Uint64:
		n, err := strconv.ParseUint(string(text), 10, 64)
		v.SetUint(n)
		return err
	default:
		return fmt.Errorf("a message cannot have a %s", v.Type())
	}
	return nil
}

// elements reads the elements of a slice or a map.
func (p *parser) elements(v reflect.Value, n int) error {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		text, err := p.next(n)
		v.SetBytes(text)
		return err
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			if err := p.value(v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), n))
	for range n {
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if err := p.value(key); err != nil {
			return err
		}
		if err := p.value(element); err != nil {
			return err
		}
		v.SetMapIndex(key, element)
	}
	return nil
}

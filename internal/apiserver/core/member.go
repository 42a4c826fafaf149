package core

import (
	"bytes"
	"encoding/json"
)

// member returns the value of a key of an object; nil if it has no such key. The object is JSON as the rules write it:
// valid, without space, its keys without escapes.
func member(object []byte, key string) []byte {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	for rest := object[1:]; len(rest) > 0 && rest[0] == '"'; {
		name := rest[:value(rest)]
		rest = rest[len(name)+1:] // the colon
		text := rest[:value(rest)]
		if string(name[1:len(name)-1]) == key {
			return text
		}
		rest = rest[min(len(text)+1, len(rest)):] // the comma
	}
	return nil
}

// value returns the length of the value with which a text begins.
func value(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 { // a number ends with the object around it
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(text)
}

// unquoted returns the text of a string in JSON; nil if the value is none.
func unquoted(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	var text string
	if json.Unmarshal(value, &text) != nil { // it is valid
		return nil
	}
	return []byte(text)
}

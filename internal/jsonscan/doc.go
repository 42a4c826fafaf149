// Package jsonscan is the one scanner of JSON text. It finds where values begin and end, and what
// their text is. It builds no values.
//
//	[Checker]                   checks text that comes in pieces, and finds the end of its first value
//	[String], [Number], [Skip]  read the value at an offset of a whole document
//	[Reader]                    reads a document that is known to be valid
//
// Text is valid by RFC 8259, as for encoding/json:
//
//   - Numbers have no leading zero, plus sign, or bare fraction point. Their size is not bounded here.
//   - Strings have no control characters, and no escapes but those of the RFC.
//   - White space is space, tab, line feed and carriage return. There is no byte order mark.
//   - Values are nested at most [MaxDepth] deep. Their length is not bounded here.
//
// The caller does what encoding/json does beyond the grammar:
//
//   - Several members may have one name. A [Reader] shows each of them, in order. [Checker.Layout]
//     says whether there may be such members.
//   - Names are compared byte by byte, after their escapes were replaced. No letter case is folded.
//   - Invalid UTF-8 is no error. [String] says that a string is not plain, and [Unquote] replaces
//     invalid bytes, and halves of surrogate pairs, by U+FFFD.
//
// Invalid text never panics. A [Reader] accepts some of it; see there.
package jsonscan

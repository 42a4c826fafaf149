// Package jsonscan is the one scanner of JSON text. It finds where values begin and end, and what
// their text is. It builds no values.
//
//	[Checker]                   checks text that comes in pieces, and finds the end of its first value
//	[String], [Number], [Skip]  read the value at an offset of a whole document
//	[Reader]                    walks over a document that is known to be valid
//
// Text is valid by RFC 8259, as encoding/json has it:
//
//   - Numbers have no leading zero, plus sign, or bare fraction point. Their size has no bound here.
//   - Strings have no control characters, and no escapes but those of the RFC.
//   - White space is space, tab, line feed and carriage return. There is no byte order mark.
//   - Values are nested at most [MaxDepth] deep. Their length has no bound here.
//
// What encoding/json does beyond the grammar is the caller's part:
//
//   - Several members may have one name. A [Reader] shows each of them, in order. [Checker.Repeats]
//     says whether there may be any.
//   - Names are compared byte by byte, after their escapes were replaced. No letter case is folded.
//   - Invalid UTF-8 is no error. [String] says that a string is not plain, and [Unquote] replaces
//     invalid bytes, and halves of surrogate pairs, by U+FFFD.
//
// Text that is not valid is never a panic. A [Reader] may take some of it for valid; see there.
package jsonscan

package apiserver_test

import "strings"

// freedNameCases are about the names of definitions: who waits for a name gets it when it becomes free.
var freedNameCases = []conformanceCase{
	{"names of a definition that is deleted", func(s *session) {
		s.claims("movers", `"singular":"mover","kind":"Mover","shortNames":["mo"],"categories":["all"]`, "NoConflicts")
		s.claims("actors", `"kind":"Mover"`, "ListKindConflict")
		s.claims("bells", `"kind":"Bell","shortNames":["be","mo"]`, "ShortNamesConflict")
		s.claims("mo", `"kind":"Mo","singular":"moo"`, "PluralConflict")
		s.claims("zeros", `"kind":"Zero","singular":"movers"`, "SingularConflict")
		s.get("/apis/NS.example.com/v1")
		s.delete(definitions+"/bells.NS.example.com", "")
		s.delete(definitions+"/movers.NS.example.com", "")
		for _, plural := range []string{"actors", "mo", "zeros"} {
			s.await(definitions+"/"+plural+".NS.example.com", "InitialNamesAccepted")
			s.get(definitions + "/" + plural + ".NS.example.com")
		}
	}},
	{"names that a definition gives back", func(s *session) {
		s.claims("movers", `"kind":"Mover","shortNames":["mo","ve"]`, "NoConflicts")
		s.claims("actors", `"kind":"Actor","shortNames":["mo"]`, "ShortNamesConflict")
		s.claims("zeros", `"kind":"Zero","shortNames":["ve"]`, "ShortNamesConflict")
		s.patch(mergePatch, definitions+"/movers.NS.example.com", `{"spec":{"names":{"shortNames":["m"]}}}`)
		for _, plural := range []string{"actors", "zeros"} {
			s.await(definitions+"/"+plural+".NS.example.com", "InitialNamesAccepted")
			s.get(definitions + "/" + plural + ".NS.example.com")
		}
	}},
}

// claims makes a definition with some names, and writes down which of them it has got when a text is in its status.
func (s *session) claims(plural, names, text string) {
	s.t.Helper()
	d := definition(plural, "KIND", `{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}`)
	begin, end := strings.Index(d, `"names":{`), strings.Index(d, `},"versions"`)
	s.post(definitions, d[:begin]+`"names":{"plural":"`+plural+`",`+names+d[end:])
	s.await(definitions+"/"+plural+".NS.example.com", `"`+text+`"`)
	if text == "NoConflicts" {
		s.await(definitions+"/"+plural+".NS.example.com", "InitialNamesAccepted")
	}
	s.get(definitions + "/" + plural + ".NS.example.com")
}

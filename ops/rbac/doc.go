// Package rbac determines which permissions a program needs, and compares them with those that it
// has. In the tests of a project, call [RecordTest] once for each manager (package operatortest
// does):
//
//	rbac.RecordTest(t, &options.Client)      // flyball.Options
//
// It writes the permissions that the test needed into the folder that FLYBALL_RBAC names, or does
// nothing if FLYBALL_RBAC is empty. Then "flyball rbac --recorded FOLDER --role config/rbac" lists
// missing and excess permissions.
//
//	kinds that controllers declare ── Declared ──► get, list, watch ──┐
//	requests of a test run ────────── Recorder ──► permissions ───────┼──► Rules ──► Missing ─► to be granted
//	features that no test shows ───── Features ──► permissions ───────┘      └─────► Excess ──► to be taken away
//	the roles in config/rbac ──────── Granted ───► what is granted
//
// Needed rules never contain a "*". What roles grant by one is read by [Granted]: it covers what is needed, and is in
// excess itself.
package rbac

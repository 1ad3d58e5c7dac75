// Package scenario runs scripts for certification labs. A script says which fake clients there
// are, what happens to them, to the agent under test and to the headset, and what the clients
// must be told within which time. docs/scenarios.md describes the language.
//
//	sc, problems := scenario.Load("certification.yaml", text)
//	...
//	report, err := sc.Run(ctx, scenario.Options{Progress: os.Stderr})
//	...
//	err = report.JUnit(file)
//
// It uses only the exported part of package fakeserver. The numbered rules in comments are
// those of docs/protocol.md.
package scenario

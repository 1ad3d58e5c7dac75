package main

import "runtime"

// statement says how packages came to be, as in-toto (statement/v1) and SLSA (provenance/v1) have it.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []subject  `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type provenance struct {
	BuildDefinition struct {
		BuildType          string            `json:"buildType"`
		ExternalParameters map[string]string `json:"externalParameters"`
		Resolved           []resource        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

type resource struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest,omitempty"`
}

// provenance is what is known of the build. It names no machine and no time of its own, so that a second build says the same.
func (r Release) provenance(subjects []subject) statement {
	s := statement{Type: "https://in-toto.io/Statement/v1", Subject: subjects, PredicateType: "https://slsa.dev/provenance/v1"}
	d := &s.Predicate.BuildDefinition
	d.BuildType = "make packages"
	d.ExternalParameters = map[string]string{"version": r.Version, "build": r.Build, "sourceDate": r.Time.Format("2006-01-02T15:04:05Z")}
	d.Resolved = []resource{
		{URI: "git", Digest: map[string]string{"gitCommit": r.Commit}}, {URI: "pkg:golang/" + nfpm}, {URI: "pkg:golang/std@" + runtime.Version()},
	}
	s.Predicate.RunDetails.Builder.ID = "Makefile"
	return s
}

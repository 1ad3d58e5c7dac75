package health

import (
	"fmt"
	"maps"
	"slices"

	"sidetone/internal/texts"
)

// Texts puts conditions into words in one language. The messages condition.CODE.text and condition.CODE.remedy are written like errors, as
// parts of sentences without a full stop. {subject} is what the condition is about, {because} what it follows from.
type Texts struct{ texts.Printer }

// English is the language of the log, of errors and of the local API. A program with a brand replaces it by the brand's English before it
// does anything else.
var English = Texts{texts.For(texts.English)}

func textOf(code Code) string   { return "condition." + string(code) + ".text" }
func remedyOf(code Code) string { return "condition." + string(code) + ".remedy" }

// Has reports whether there is a text for the code.
func (t Texts) Has(code Code) bool { return t.Template(textOf(code)) != nil }

// Message returns the condition as one sentence.
func (t Texts) Message(c Condition) string {
	first := t.Begins(textOf(c.Code), t.arguments(c))
	capital := slices.Contains([]string{"", "subject", "because"}, first) // any other argument keeps its first letter
	return t.Sentence(t.Phrase(c), capital)
}

// Phrase returns the condition in the form of an error; "" if its code is unknown.
func (t Texts) Phrase(c Condition) string {
	if !t.Has(c.Code) {
		return ""
	}
	return t.Text(textOf(c.Code), t.arguments(c))
}

// Phrases returns those of several conditions.
func (t Texts) Phrases(list []Condition) (phrases []string) {
	for _, c := range list {
		phrases = append(phrases, t.Phrase(c))
	}
	return phrases
}

// Reason returns the phrase of a condition from which another follows, preceded by what it is about.
func (t Texts) Reason(c Condition) string {
	if c.Subject == "" {
		return t.Phrase(c)
	}
	return t.Text("join.reason", texts.Args{"subject": c.Subject, "phrase": t.Phrase(c)})
}

// Advice returns what to do about the condition, in the form of an error; "": nothing. The advice of what it follows from takes precedence.
func (t Texts) Advice(c Condition) string {
	for _, reason := range c.Because {
		if advice := t.Advice(reason); advice != "" {
			return advice
		}
	}
	if t.Template(remedyOf(c.Code)) == nil {
		return ""
	}
	return t.Text(remedyOf(c.Code), t.arguments(c))
}

// Remedy returns what to do about the condition, as a sentence.
func (t Texts) Remedy(c Condition) string { return t.Sentence(t.Advice(c), true) }

// Check returns what is wrong with a condition: a code without a text, a missing argument, or one that no text uses.
func (t Texts) Check(c Condition) error {
	if !t.Has(c.Code) {
		return fmt.Errorf("the code %q has no text", c.Code)
	}
	args := t.arguments(c)
	known, needed := t.Template(textOf(c.Code)).Arguments()
	more, alsoNeeded := t.Template(remedyOf(c.Code)).Arguments()
	for _, name := range slices.Concat(needed, alsoNeeded) {
		if args[name] == "" {
			return fmt.Errorf("%s: no argument {%s}", c.Code, name)
		}
	}
	for name := range c.Args {
		if !slices.Contains(slices.Concat(known, more, clientArguments), name) {
			return fmt.Errorf("%s: no text has a place for the argument {%s}", c.Code, name)
		}
	}
	for _, reason := range c.Because {
		if err := t.Check(reason); err != nil {
			return err
		}
	}
	return nil
}

// Client returns a description of the client in these arguments: the name of its program and its process, if they are known, and its
// address.
func (t Texts) Client(args Args) string {
	where := texts.Args(maps.Clone(args))
	where["who"] = t.Text("client_name.who", texts.Args(args))
	return t.Text("client_name.at", where)
}

// clientArguments are those that Client uses.
var clientArguments = []string{"name", "pid", "transport", "socket", "port"}

// arguments returns those for the texts of a condition.
func (t Texts) arguments(c Condition) texts.Args {
	args := make(texts.Args, len(c.Args)+2)
	maps.Copy(args, c.Args)
	var reasons []string
	for _, reason := range c.Because {
		reasons = append(reasons, t.Reason(reason))
	}
	args["subject"], args["because"] = c.Subject, t.Join("join.phrases", reasons)
	if len(reasons) > 0 && args["reason"] != "" {
		args["reason"] = args["because"] // the same in this language
	}
	if c.Subject != "" && (args["socket"] != "" || args["port"] != "") {
		args["subject"] = t.Client(c.Args)
	}
	return args
}

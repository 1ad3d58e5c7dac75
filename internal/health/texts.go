package health

import (
	"fmt"
	"maps"
	"slices"

	"sidetone/internal/texts"
)

// Texts says conditions in one language: its messages condition.CODE.text and condition.CODE.remedy, which are parts of sentences,
// written as errors are, without a full stop. {subject} is what the condition is about, {because} what it follows from.
type Texts struct{ texts.Printer }

// English is the language of the log, of errors and of the local API. A program with a brand replaces it by the brand's, before it does
// anything else.
var English = Texts{texts.For(texts.English)}

func textOf(code Code) string   { return "condition." + string(code) + ".text" }
func remedyOf(code Code) string { return "condition." + string(code) + ".remedy" }

// Has reports whether there is a text for the code.
func (t Texts) Has(code Code) bool { return t.Template(textOf(code)) != nil }

// Message is the condition as one sentence.
func (t Texts) Message(c Condition) string {
	first := t.Begins(textOf(c.Code), t.arguments(c))
	capital := slices.Contains([]string{"", "subject", "because"}, first) // any other argument begins as it is
	return t.Sentence(t.Phrase(c), capital)
}

// Phrase is the condition as an error reads; "" without a code that there is.
func (t Texts) Phrase(c Condition) string {
	if !t.Has(c.Code) {
		return ""
	}
	return t.Text(textOf(c.Code), t.arguments(c))
}

// Phrases are those of several conditions.
func (t Texts) Phrases(list []Condition) (phrases []string) {
	for _, c := range list {
		phrases = append(phrases, t.Phrase(c))
	}
	return phrases
}

// Reason is the phrase of a condition from which another follows, after what it is about.
func (t Texts) Reason(c Condition) string {
	if c.Subject == "" {
		return t.Phrase(c)
	}
	return t.Text("join.reason", texts.Args{"subject": c.Subject, "phrase": t.Phrase(c)})
}

// Advice is what to do about the condition, as an error reads; "" if there is nothing to do. That of what it follows from comes first.
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

// Remedy is what to do about the condition, as a sentence.
func (t Texts) Remedy(c Condition) string { return t.Sentence(t.Advice(c), true) }

// Check says what is wrong with a condition: a code without a text, an argument that is missing, one that no text has.
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

// Client is which client it is that these arguments describe: by the name of its program and its process, where they are known, and
// by where it is found.
func (t Texts) Client(args Args) string {
	where := texts.Args(maps.Clone(args))
	where["who"] = t.Text("client_name.who", texts.Args(args))
	return t.Text("client_name.at", where)
}

// clientArguments are those that Client takes.
var clientArguments = []string{"name", "pid", "transport", "socket", "port"}

// arguments are those of the texts of a condition.
func (t Texts) arguments(c Condition) texts.Args {
	args := make(texts.Args, len(c.Args)+2)
	for name, value := range c.Args {
		args[name] = value
	}
	var reasons []string
	for _, reason := range c.Because {
		reasons = append(reasons, t.Reason(reason))
	}
	args["subject"], args["because"] = c.Subject, t.Join("join.phrases", reasons)
	if len(reasons) > 0 && args["reason"] != "" {
		args["reason"] = args["because"] // the same, in this language
	}
	if c.Subject != "" && (args["socket"] != "" || args["port"] != "") {
		args["subject"] = t.Client(c.Args)
	}
	return args
}

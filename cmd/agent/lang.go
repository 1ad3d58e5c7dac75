package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/brand"
	"sidetone/internal/health"
	"sidetone/internal/texts"
)

// langFlag adds --lang to every verb, and refuses an unknown language before anything else happens.
func langFlag(root *cobra.Command) {
	shipped := append([]string{brand.DesktopLanguage}, texts.Shipped.Languages()...)
	root.PersistentFlags().String("lang", "", "language of what a person reads: "+strings.Join(shipped, ", ")+
		" or one of the brand; auto is the desktop's (default: English; report and tray: auto)")
	_ = root.RegisterFlagCompletionFunc("lang", completeWords(shipped)) // fails only for an unknown flag
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		say, err := printerFor(cmd, texts.English)
		cmd.SetContext(context.WithValue(cmd.Context(), wordsKey{}, health.Texts{Printer: say}))
		return err
	}
}

type wordsKey struct{}

// wordsFor returns words in the requested language, or English.
func wordsFor(cmd *cobra.Command) health.Texts { return cmd.Context().Value(wordsKey{}).(health.Texts) }

// useBrandEnglish replaces English, which the agent and all verbs speak unless told otherwise, by the brand's. A mistake in the brand file
// is reported by whatever needs its content.
func useBrandEnglish() {
	if say, err := app.Printer(texts.English, host); err == nil {
		health.English = health.Texts{Printer: say}
	}
}

// printerFor returns a printer for the language of --lang, or else for another one.
func printerFor(cmd *cobra.Command, otherwise string) (texts.Printer, error) {
	lang := otherwise
	if asked := cmd.Flag("lang"); asked != nil && asked.Changed {
		lang = asked.Value.String()
	} else if otherwise == texts.English {
		return health.English.Printer, nil
	}
	say, err := app.Printer(lang, host)
	if err != nil {
		err = badInput(err)
	}
	return say, err
}

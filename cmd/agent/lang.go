package main

import (
	"strings"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/brand"
	"sidetone/internal/health"
	"sidetone/internal/texts"
)

// langFlag gives every verb --lang, and refuses a language that there is not before anything is done.
func langFlag(root *cobra.Command) {
	shipped := append([]string{brand.DesktopLanguage}, texts.Shipped.Languages()...)
	root.PersistentFlags().String("lang", "", "language of what a person reads: "+strings.Join(shipped, ", ")+
		" or one of the brand; auto is the desktop's (default: English; report and tray: auto)")
	_ = root.RegisterFlagCompletionFunc("lang", completeWords(shipped)) // it fails for a flag that is not there
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		_, err := printerFor(cmd, texts.English)
		return err
	}
}

// wordsFor speaks the language that is asked for, or English.
func wordsFor(cmd *cobra.Command) (health.Texts, error) {
	say, err := printerFor(cmd, texts.English)
	return health.Texts{Printer: say}, err
}

// printerFor speaks the language that is asked for, or another.
func printerFor(cmd *cobra.Command, otherwise string) (texts.Printer, error) {
	lang := otherwise
	if asked := cmd.Flag("lang"); asked != nil && asked.Changed {
		lang = asked.Value.String()
	} else if otherwise == texts.English {
		return texts.For(otherwise), nil
	}
	say, err := app.Printer(lang, host)
	if err != nil {
		err = badInput(err)
	}
	return say, err
}

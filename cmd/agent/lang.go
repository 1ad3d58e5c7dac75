package main

import (
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
		_, err := printerFor(cmd, texts.English)
		return err
	}
}

// speakAsBrand makes the English of this program, which the agent and all verbs speak unless told otherwise, that of its brand. A mistake
// in the brand's file is told by who needs what is in it.
func speakAsBrand() {
	if say, err := app.Printer(texts.English, host); err == nil {
		health.English = health.Texts{Printer: say}
	}
}

// wordsFor returns words in the requested language, or English.
func wordsFor(cmd *cobra.Command) (health.Texts, error) {
	say, err := printerFor(cmd, texts.English)
	return health.Texts{Printer: say}, err
}

// printerFor returns a printer for the requested language, or the best one available.
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

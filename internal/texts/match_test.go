package texts

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	languages := make(map[string]Messages)
	for _, lang := range []string{"en", "de", "fr", "es", "pt", "pl", "tr", "ja", "ko", "zh-Hans"} {
		languages[lang] = Messages{}
	}
	s := &Set{Shipped.shipped, languages}
	for want, preferences := range map[string][][]string{
		"en":      {nil, {"en-GB"}, {"xx"}, {"zh-TW"}, {"zh-Hant-HK"}, {"not a tag"}, {"zh-TW", "en", "de"}, {"sv"}, {"und"}},
		"de":      {{"de"}, {"de-AT"}, {"gsw", "de-CH"}, {"zh-TW", "de"}, {"DE_de"}},
		"pt":      {{"pt-BR"}, {"pt-PT"}},
		"zh-Hans": {{"zh"}, {"zh-CN"}, {"zh-SG"}, {"zh-Hans-HK"}},
		"es":      {{"es-419"}, {"es-MX"}},
		"fr":      {{"fr-CA"}},
		"ja":      {{"ja-JP"}},
	} {
		for _, p := range preferences {
			require.Equal(t, want, s.Match(p...), "%v", p)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want []string
	}{
		{nil, nil},
		{map[string]string{"LANG": "de_DE.UTF-8"}, []string{"de-DE"}},
		{map[string]string{"LANG": "de_DE.UTF-8", "LC_MESSAGES": "fr_FR@euro"}, []string{"fr-FR"}},
		{map[string]string{"LANG": "de_DE.UTF-8", "LC_MESSAGES": "fr_FR", "LC_ALL": "ja_JP.eucJP"}, []string{"ja-JP"}},
		{map[string]string{"LANG": "de_DE.UTF-8", "LC_ALL": "C.UTF-8"}, nil},
		{map[string]string{"LANG": "POSIX", "LANGUAGE": "de"}, nil},
		{map[string]string{"LANG": "en_US.UTF-8", "LANGUAGE": "zh_TW:zh:"}, []string{"zh-TW", "zh", "en-US"}},
		{map[string]string{"LANG": "sr_RS.UTF-8@latin"}, []string{"sr-Latn-RS"}},
		{map[string]string{"LANG": "/nonsense"}, nil},
	} {
		require.Equal(t, c.want, FromEnvironment(func(name string) string { return c.env[name] }), "%v", c.env)
	}
}

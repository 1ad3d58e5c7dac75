package main

import "slices"

// words are what a package for Windows Installer says itself, in one language; the rest is Windows'.
type words struct {
	id    int    // Windows' number of the language
	newer string // {product} has been installed in a newer version
	start string // START was none of its values
}

// installerWords are those of each language that ships.
var installerWords = map[string]words{
	"de":      {1031, "Eine neuere Version von {product} ist bereits installiert.", "START muss run, task, service oder none sein."},
	"en":      {1033, "A newer version of {product} is already installed.", "START must be run, task, service or none."},
	"es":      {3082, "Ya está instalada una versión más reciente de {product}.", "START debe ser run, task, service o none."},
	"fr":      {1036, "Une version plus récente de {product} est déjà installée.", "START doit être run, task, service ou none."},
	"ja":      {1041, "{product} の新しいバージョンが既にインストールされています。", "START には run、task、service、none のいずれかを指定してください。"},
	"ko":      {1042, "{product}의 최신 버전이 이미 설치되어 있습니다.", "START는 run, task, service, none 중 하나여야 합니다."},
	"pl":      {1045, "Nowsza wersja programu {product} jest już zainstalowana.", "START musi mieć wartość run, task, service lub none."},
	"pt":      {1046, "Uma versão mais recente de {product} já está instalada.", "START deve ser run, task, service ou none."},
	"tr":      {1055, "{product} için daha yeni bir sürüm zaten yüklü.", "START şunlardan biri olmalıdır: run, task, service, none."},
	"zh-Hans": {2052, "已安装较新版本的 {product}。", "START 必须是 run、task、service 或 none。"},
}

// installerLanguages are those of the brand for which there are words; English is always one.
func (b *Brand) installerLanguages() (list []string) {
	for lang := range installerWords {
		if lang == "en" || len(b.Languages) == 0 || slices.Contains(b.Languages, lang) {
			list = append(list, lang)
		}
	}
	slices.Sort(list)
	return list
}

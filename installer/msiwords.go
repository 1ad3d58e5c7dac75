package main

import "slices"

// messages are what a package for Windows Installer says itself, in one language; the rest is Windows'.
type messages struct {
	id        int    // Windows' number of the language
	newer     string // {product} has been installed in a newer version
	start     string // START was none of its values
	all       string // ALLUSERS is not as the package has it
	old       string // Windows is too old
	catalogue string // CATALOGUE is a relative path
}

// installerMessages are the messages by language.
var installerMessages = map[string]messages{
	"de": {
		1031, "Eine neuere Version von {product} ist bereits installiert.", "START muss run, task, service oder none sein.",
		"ALLUSERS muss 1 sein: Dieses Paket wird für alle Benutzer installiert.", "Windows 10, Version 1809, oder neuer ist erforderlich.",
		`CATALOGUE muss ein vollständiger Pfad wie C:\acme.yaml oder none sein.`,
	},
	"en": {
		1033, "A newer version of {product} is already installed.", "START must be run, task, service or none.",
		"ALLUSERS must be 1: this package is for all users.", "Windows 10 version 1809 or later is required.",
		`CATALOGUE must be a whole path, such as C:\acme.yaml, or none.`,
	},
	"es": {
		3082, "Ya está instalada una versión más reciente de {product}.", "START debe ser run, task, service o none.",
		"ALLUSERS debe ser 1: este paquete se instala para todos los usuarios.", "Se requiere Windows 10, versión 1809 o posterior.",
		`CATALOGUE debe ser una ruta completa, como C:\acme.yaml, o none.`,
	},
	"fr": {
		1036, "Une version plus récente de {product} est déjà installée.", "START doit être run, task, service ou none.",
		"ALLUSERS doit être 1 : ce paquet s’installe pour tous les utilisateurs.", "Windows 10, version 1809 ou ultérieure, est requis.",
		`CATALOGUE doit être un chemin complet, tel que C:\acme.yaml, ou none.`,
	},
	"ja": {
		1041, "{product} の新しいバージョンが既にインストールされています。", "START には run、task、service、none のいずれかを指定してください。",
		"ALLUSERS には 1 を指定してください。このパッケージはすべてのユーザー用にインストールされます。", "Windows 10 バージョン 1809 以降が必要です。",
		`CATALOGUE には C:\acme.yaml のような完全なパス、または none を指定してください。`,
	},
	"ko": {
		1042, "{product}의 최신 버전이 이미 설치되어 있습니다.", "START는 run, task, service, none 중 하나여야 합니다.",
		"ALLUSERS는 1이어야 합니다. 이 패키지는 모든 사용자용으로 설치됩니다.", "Windows 10 버전 1809 이상이 필요합니다.",
		`CATALOGUE는 C:\acme.yaml과 같은 전체 경로이거나 none이어야 합니다.`,
	},
	"pl": {
		1045, "Nowsza wersja programu {product} jest już zainstalowana.", "START musi mieć wartość run, task, service lub none.",
		"ALLUSERS musi mieć wartość 1: ten pakiet jest instalowany dla wszystkich użytkowników.",
		"Wymagany jest system Windows 10 w wersji 1809 lub nowszej.",
		`CATALOGUE musi być pełną ścieżką, np. C:\acme.yaml, lub mieć wartość none.`,
	},
	"pt": {
		1046, "Uma versão mais recente de {product} já está instalada.", "START deve ser run, task, service ou none.",
		"ALLUSERS deve ser 1: este pacote é instalado para todos os usuários.", "É necessário o Windows 10, versão 1809 ou posterior.",
		`CATALOGUE deve ser um caminho completo, como C:\acme.yaml, ou none.`,
	},
	"tr": {
		1055, "{product} için daha yeni bir sürüm zaten yüklü.", "START şunlardan biri olmalıdır: run, task, service, none.",
		"ALLUSERS 1 olmalıdır: bu paket tüm kullanıcılar için yüklenir.", "Windows 10 sürüm 1809 veya üzeri gereklidir.",
		`CATALOGUE, C:\acme.yaml gibi tam bir yol veya none olmalıdır.`,
	},
	"zh-Hans": {
		2052, "已安装较新版本的 {product}。", "START 必须是 run、task、service 或 none。",
		"ALLUSERS 必须为 1:此软件包为所有用户安装。", "需要 Windows 10 版本 1809 或更高版本。",
		`CATALOGUE 必须是完整路径(例如 C:\acme.yaml)或 none。`,
	},
}

// installerLanguages are the brand's languages that have messages; English is always one.
func (b *Brand) installerLanguages() (list []string) {
	for lang := range installerMessages {
		if lang == "en" || len(b.Languages) == 0 || slices.Contains(b.Languages, lang) {
			list = append(list, lang)
		}
	}
	slices.Sort(list)
	return list
}

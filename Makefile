# Sidetone. On a Debian machine with only Go, git, make and apt, 'make demo' and 'make test' set up
# everything they need.

GO       ?= go
BIN      := bin
VERSION  ?= $(shell git describe --tags --always --abbrev=12 --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
PACKAGES := ./...
FUZZCOUNT ?= 50000x

# miniaudio only lists what ALSA has, on Linux. Leaving out the rest makes its compilation twice as fast;
# without optimization beyond -O1 and without debug information, which is stripped, it takes a quarter of the time that is left.
export CGO_ENABLED := 1
export CGO_CFLAGS  := -O1 -g0 -DMA_NO_DECODING -DMA_NO_ENCODING -DMA_NO_GENERATION -DMA_NO_ENGINE \
  -DMA_NO_NODE_GRAPH -DMA_NO_RESOURCE_MANAGER -DMA_ENABLE_ONLY_SPECIFIC_BACKENDS -DMA_ENABLE_ALSA

GOLANGCI      := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK   := $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.3.0

.PHONY: help
help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# The build and the demo need much less than the tests.
DEMO_NEEDS := gcc:gcc stdio.h:libc6-dev pulseaudio:pulseaudio

.PHONY: deps-demo
deps-demo: ## install by apt what the build and the demo need; does nothing if everything is there
	@sh tools/deps.sh $(DEMO_NEEDS)

.PHONY: deps
deps: ## install by apt what the build, the tests and the demo need; does nothing if everything is there
	@sh tools/deps.sh $(DEMO_NEEDS) libasound.so.2:libasound2 pactl:pulseaudio-utils pipewire:pipewire pipewire-pulse:pipewire-pulse \
	  wireplumber:wireplumber pw-cli:pipewire-bin dbus-daemon:dbus setpriv:util-linux chromium-headless-shell:chromium-headless-shell \
	  g++:g++ python3:python3 mcs:mono-mcs mono:mono-runtime rustc:rustc zsh:zsh fish:fish \
	  desktop-file-validate:desktop-file-utils appstreamcli:appstream shellcheck:shellcheck msibuild:msitools \
	  Xvfb:xvfb xfce4-panel:xfce4-panel lxqt-panel:lxqt-panel xdotool:xdotool systemctl:systemd runuser:util-linux useradd:passwd gpg:gnupg

.PHONY: build
build: ## build bin/sidetone, bin/sidetone-tray and bin/fakeserver
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/sidetone ./cmd/agent
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/sidetone-tray ./cmd/tray
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/fakeserver ./fakeserver/cmd/fakeserver

.PHONY: run
run: build ## run the agent with the example catalogue
	$(BIN)/sidetone run --catalogue examples/acme.yaml

.PHONY: demo
demo: deps-demo ## plug, mute, unmute and unplug a virtual headset and watch it arrive at a fake client
	$(GO) build -o $(BIN)/demo ./tools/demo
	$(BIN)/demo

# The target vet has already vetted everything. At the end of each process the race detector would wait a second for reports of
# goroutines that still run; tests leave none. They use little memory, so that it need not be collected often, and wait a part of their
# time: on two processors, a third package runs beside two.
.PHONY: test
test: deps vet ## all tests, with the race detector
	GORACE=atexit_sleep_ms=0 GOGC=400 $(GO) test -race -p 3 -vet=off -timeout 15m $(PACKAGES)

# Each run draws other seeds, and prints the first: SEED=n plays the same ones again.
SEEDS ?= 10000
SEED  ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
.PHONY: world
world: SEED := $(SEED)
world: ## simulate SEEDS (10,000) random desks, and as many random sets of clients, in virtual time, from SEED on (docs/world.md)
	@echo "make world SEED=$(SEED) SEEDS=$(SEEDS)"
	$(GO) test ./internal/world -count 1 -timeout 1h -run '^TestWorld(OfClients)?$$' -excuse -seed $(SEED) -seeds $(SEEDS)

.PHONY: mutants
mutants: ## put known mistakes back one at a time; fails if the world no longer finds one (docs/world.md)
	$(GO) test ./internal/world -count 1 -timeout 1h -run '^TestMutants' -mutants

.PHONY: vet
vet: ## go vet for every operating system
	$(GO) vet $(PACKAGES)
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) vet $(PACKAGES)
	CGO_ENABLED=0 GOOS=windows GOARCH=arm64 $(GO) vet $(PACKAGES)
	CGO_ENABLED=0 GOOS=darwin $(GO) vet $(PACKAGES)

.PHONY: generate
generate: ## regenerate the JSON Schemas from the Go types
	$(GO) generate $(PACKAGES)

.PHONY: icons
icons: ## redraw the tray's icons from internal/tray/icon/icon.svg
	$(GO) run ./tools/icons

.PHONY: pictures
pictures: deps deps-windows ## retake the pictures of tray and report in docs/images
	$(GO) test ./internal/tray ./internal/report -count 1 -run '^TestPictures?$$' -update
	$(GO) test ./tools/windows/endtoend -count 1 -run '^TestPictures?$$' -update -programs $(CURDIR)/$(BIN)/windows/amd64

.PHONY: bench
bench: deps build ## measure, and write bench/RESULTS.md
	$(GO) run ./bench

.PHONY: fuzz
fuzz: ## run every fuzz target with FUZZCOUNT inputs (50000x)
	GO=$(GO) tools/fuzz/fuzz.sh $(FUZZCOUNT) $(PACKAGES)

.PHONY: lint
lint: ## golangci-lint with gofumpt's formatting, on the files for Linux and for Windows
	$(GO) run $(GOLANGCI) run $(PACKAGES)
	$(GO) run -exec 'env GOOS=windows CGO_ENABLED=0' $(GOLANGCI) run ./cmd/... ./fakeserver/... ./installer/... ./internal/... ./tools/...

.PHONY: vuln
vuln: ## look for known vulnerabilities (needs the internet)
	$(GOVULNCHECK) $(PACKAGES)

.PHONY: deps-vm
deps-vm: ## install by apt what vmtest needs
	tools/vm/vm.sh deps

.PHONY: vmtest
vmtest: deps-vm ## test the agent on a real kernel with emulated USB devices, in a virtual machine
	tools/vm/vmtest.sh

.PHONY: deps-windows
deps-windows: ## install by apt what the tests for Windows need, and set up Wine below the cache folder
	tools/windows/wine.sh deps
	tools/windows/wine.sh build

# $(1): architecture, $(2): folder. The VCS stamp is left out because the version already names the commit.
define windows-programs
	GOOS=windows GOARCH=$(1) CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(2)/sidetone.exe ./cmd/agent
	GOOS=windows GOARCH=$(1) CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS) -H=windowsgui' -o $(2)/sidetonew.exe ./cmd/tray
	GOOS=windows GOARCH=$(1) CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS) -H=windowsgui' -o $(2)/sidetone-service.exe ./cmd/service
	GOOS=windows GOARCH=$(1) CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS) -H=windowsgui' -o $(2)/sidetone-setup.exe ./cmd/setup

endef

.PHONY: build-windows
build-windows: ## build sidetone.exe, sidetonew.exe (the tray), sidetone-service.exe, sidetone-setup.exe (what packages run) and fakeserver.exe below bin/windows
	GO=$(GO) VERSION=$(VERSION) tools/windows/resources.sh
	$(call windows-programs,amd64,$(BIN)/windows/amd64)
	$(call windows-programs,arm64,$(BIN)/windows/arm64)
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/windows/amd64/fakeserver.exe ./fakeserver/cmd/fakeserver

.PHONY: test-windows
test-windows: deps deps-windows build-windows ## all tests not specific to another system, as Windows programs under Wine (RACE=1: with the race detector), and the whole agent with clients
	GORACE=atexit_sleep_ms=0 GO=$(GO) tools/windows/test.sh $(if $(RACE),-race) -p 2 -timeout 10m $(PACKAGES)
	$(GO) test ./tools/windows/endtoend -count 1 -timeout 20m -programs $(CURDIR)/$(BIN)/windows/amd64

.PHONY: bench-windows
bench-windows: deps-windows build-windows ## measure the agent for Windows under Wine, and write bench/RESULTS-windows.md
	GO=$(GO) tools/windows/bench.sh

# Packages must be the same wherever and whenever they are built, so all files have the time of the commit.
PACKAGES_AT  := $(BIN)/packages
BRAND        ?= installer/brand.yaml
EPOCH        = $(shell git log -1 --format=%ct 2>/dev/null)
COMMIT       = $(shell git rev-parse HEAD 2>/dev/null)
PACKAGE_VERSION ?= $(shell sh installer/version.sh)

.PHONY: deps-packages
deps-packages: ## install by apt what packages and their tests need
	@sh tools/deps.sh gcc:gcc stdio.h:libc6-dev xz:xz-utils aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu /usr/aarch64-linux-gnu/include/stdio.h:libc6-dev-arm64-cross \
	  lintian:lintian rpm:rpm rpmlint:rpmlint pacman:pacman-package-manager zstd:zstd cpio:cpio appstreamcli:appstream desktop-file-validate:desktop-file-utils man:man-db osslsigncode:osslsigncode \
	  shellcheck:shellcheck wixl:wixl msibuild:msitools openssl:openssl

# $(1): architecture, $(2): C compiler.
define build-linux
	GOARCH=$(1) CC=$(2) $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(PACKAGES_AT)/linux-$(1)/sidetone ./cmd/agent
	GOARCH=$(1) CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(PACKAGES_AT)/linux-$(1)/sidetone-tray ./cmd/tray
	GOARCH=$(1) CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(PACKAGES_AT)/linux-$(1)/fakeserver ./fakeserver/cmd/fakeserver

endef

define build-tools
	CGO_ENABLED=0 $(GO) build -trimpath -o $(PACKAGES_AT)/tools/sidetone ./cmd/agent
	CGO_ENABLED=0 $(GO) build -trimpath -tags=man -ldflags '$(LDFLAGS)' -o $(PACKAGES_AT)/tools/sidetone-man ./cmd/agent
	CGO_ENABLED=0 $(GO) build -trimpath -tags=man -o $(PACKAGES_AT)/tools/fakeserver-man ./fakeserver/cmd/fakeserver
	mkdir $(PACKAGES_AT)/tools/fakeserver-pages
	SOURCE_DATE_EPOCH=$(EPOCH) $(PACKAGES_AT)/tools/fakeserver-man $(PACKAGES_AT)/tools/fakeserver-pages
	CGO_ENABLED=0 GOBIN=$(CURDIR)/$(PACKAGES_AT)/tools $(GO) install $$(sed -n 's/^const nfpm = "\(.*\)"/\1/p' installer/nfpm.go)

endef

# Fails before anything is installed or built if a source archive without a repository lacks what git would say.
.PHONY: known-sources
known-sources:
	@test -n '$(PACKAGE_VERSION)' # or it was just said why not
	@test -n '$(COMMIT)' && test -n '$(EPOCH)' || { echo 'commit and time of the sources are not known: this is no git repository with a commit;' \
	  'say them, as in: make packages COMMIT=1f0c… EPOCH=1795402247 (seconds since 1970)' >&2; exit 1; }

.PHONY: packages
packages: known-sources deps-packages ## build a vendor's packages below bin/packages/dist: BRAND=installer/brand.yaml, SIGN= a signing command (docs/packaging.md)
	$(GO) run ./installer -brand '$(BRAND)' -check -version '$(PACKAGE_VERSION)' -epoch '$(EPOCH)'
	rm -rf $(PACKAGES_AT)
	$(call build-linux,amd64,gcc)
	$(call build-linux,arm64,aarch64-linux-gnu-gcc)
	rm -f cmd/*/resources_windows_*.syso
	$(call windows-programs,amd64,$(PACKAGES_AT)/windows-amd64)
	$(call windows-programs,arm64,$(PACKAGES_AT)/windows-arm64)
	$(call build-tools)
	$(GO) run ./installer -brand '$(BRAND)' -programs $(PACKAGES_AT) -out $(PACKAGES_AT)/dist -sign '$(SIGN)' \
	  -version '$(PACKAGE_VERSION)' -build '$(VERSION)' -commit '$(COMMIT)' -epoch '$(EPOCH)'

.PHONY: packages-vm
packages-vm: PACKAGES_AT := $(BIN)/packages-vm
packages-vm: ## build two versions of a deb, which vmtest installs
	rm -rf $(PACKAGES_AT)
	$(call build-linux,amd64,gcc)
	$(call build-tools)
	for version in 1.0.0 1.0.1; do $(GO) run ./installer -fast -programs $(PACKAGES_AT) -out $(PACKAGES_AT)/$$version -only deb/amd64 \
	  -version $$version -build $$version -commit none -epoch $(EPOCH) || exit 1; done

.PHONY: test-packages
test-packages: deps deps-windows packages ## install, upgrade, interrupt and remove the packages under a real systemd, and build them a second time
	$(GO) test ./installer -count 1 -complete
	$(GO) test ./installer/packagetest -count 1 -timeout 30m -packages $(CURDIR)/$(PACKAGES_AT)

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN) cmd/*/resources_windows_*.syso

# make run    opens the window on the example flows
# make test   runs every test
# make bench  measures the release build, in one table
# make soak   runs the storms of the tests ten times as long, and makes up inputs for ten minutes a target
# make dist   makes packages (deb, rpm, an extension of VS Code) and an archive to hand out, in target/dist
# make screenshots  takes pictures of every screen of the real window, into target/screenshots
# make audit  asks cargo-deny about licences, bans, sources and known weaknesses; it needs the Internet
# make format lays out Rust, TypeScript and Svelte as the checks want them
#
# Each target installs what it lacks and says so; needed beforehand are Rust 1.95 (rustup) and Node.js 20.
# Stamps lie beside the build, so that the second time is quick.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: help run test bench soak dist screenshots setup clean format notices audit check-ui check-flows test-ui test-rust app

TARGET := $(or $(CARGO_TARGET_DIR),target)
STAMPS := $(TARGET)/stamps
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
DIST := $(TARGET)/dist
NOTICES := gen/THIRD-PARTY.txt
TAURI_DRIVER := 2.1.0
TAURI_CLI := 2.12
CARGO_DENY := 0.20.2
# Tests wait for processes, clocks and windows most of the time: two at once leave half of two processors idle.
TEST_THREADS := $(shell echo $$((3 * $$(nproc 2> /dev/null || echo 2) / 2)))
# Runs a command, and says how long it took.
timed = began=$$SECONDS; ( $(1) ); echo "--- $$((SECONDS - began)) s"
# What `make bench` holds steps against.
PEER := $(TARGET)/peer
PEER_PACKAGES := langgraph==1.2.22 langgraph-checkpoint-sqlite==3.1.2

# The window is WebKitGTK; SQLite, QuickJS and zstd are compiled from their sources.
APT_BUILD := build-essential pkg-config libwebkit2gtk-4.1-dev libgtk-3-dev librsvg2-dev libssl-dev
# A display without a screen, the driver that clicks in it, letters to draw, and a bus on which it is heard what the
# desktop is told.
APT_TEST := xvfb webkit2gtk-driver fonts-dejavu-core x11-utils dbus-daemon dbus-bin

# The window's pages, and the page that `export --html` writes a request into: both are in the program.
PAGES := ui/dist/index.html ui/page/dist/page.html
UI_SOURCES := $(shell find ui/src ui/index.html ui/page.html ui/package.json ui/tsconfig.json ui/vite.config.ts \
	ui/vite.page.config.ts ui/svelte.config.js -type f)
FLOW_SOURCES := $(shell find flows -name node_modules -prune -o -name .flowglass -prune -o -type f \( -name '*.ts' -o -name '*.json' \) -print)

BEHAVIOUR_FLOWS := $(wildcard tests/flows/*.ts) $(wildcard tests/flows/agent-fields/*.ts tests/flows/planted/*.ts tests/flows/lines/*.ts) \
	tests/tsconfig.json

SDK_SOURCES := $(wildcard src-tauri/crates/script/sdk/src/*.ts src-tauri/crates/script/sdk/src/*/*.ts) src-tauri/crates/script/sdk/tsconfig.json

# What prettier lays out, and what oxlint reads. The flows of the tests are tables with a case in each line, and some
# tests name those lines, so prettier leaves them alone.
STYLED := ui flows src-tauri/crates/script/sdk src-tauri/notices.mjs src-tauri/vscode
LINTED := $(STYLED) tests/flows tests/places
STYLE_SOURCES := .prettierrc.yaml .prettierignore .oxlintrc.json \
	$(shell find $(LINTED) \( -name node_modules -o -name dist -o -name .flowglass \) -prune -o -type f \
	  \( -name '*.ts' -o -name '*.js' -o -name '*.mjs' -o -name '*.svelte' -o -name '*.css' -o -name '*.html' \) -print)

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

# --- the three targets ------------------------------------------------------------------------

# The development profile: it compiles in about half the time of the release profile, its artifacts are those of
# `make test`, and it stays fluid, because Cargo.toml optimises our crates a little and the JavaScript engine, the
# database and the hashing fully. The window's pages are the production build either way.
run: app
	@if [ -n "$${DISPLAY:-}$${WAYLAND_DISPLAY:-}" ]; then \
	  echo "Opening the window on the example flows"; $(TARGET)/debug/flowglass open flows; \
	else \
	  echo "There is no display, so this is the demo of the command line"; $(TARGET)/debug/flowglass demo; \
	fi

# The window is tested on a display of its own, whatever this machine has.
test: check-ui test-ui check-flows test-rust

dist: $(STAMPS)/apt-build $(PAGES) $(NOTICES)
	@echo "Compiling for release"
	cargo build --release --locked -p flowglass
	@echo "Packing $(DIST)"
	@rm -rf $(DIST) && mkdir -p $(DIST)/flowglass
	@cp $(TARGET)/release/flowglass $(TARGET)/release/flowglass-window LICENSE-MIT LICENSE-APACHE $(NOTICES) $(DIST)/flowglass/
	@tar --exclude=node_modules --exclude=.flowglass -cf - flows | tar -C $(DIST)/flowglass -xf -
	@tar -C $(DIST) -czf $(DIST)/flowglass-linux-$$(uname -m).tar.gz flowglass && rm -r $(DIST)/flowglass
	@npm exec --yes --package=@tauri-apps/cli@$(TAURI_CLI) -- tauri bundle --bundles deb,rpm
	@node src-tauri/vscode/pack.mjs $(DIST)/flowglass-vscode.vsix
	@cp $(TARGET)/release/bundle/deb/*.deb $(TARGET)/release/bundle/rpm/*.rpm $(DIST)/
	@ls -l $(DIST)

# Every screen and sheet of the real window in light and dark; four of the examples, with fewer colours, go to the README.
PICTURES := timeline compare home failed
screenshots: $(STAMPS)/apt-build $(STAMPS)/apt-test $(STAMPS)/apt-pictures $(STAMPS)/tauri-driver $(PAGES)
	cargo build --workspace --all-targets
	env -u DISPLAY -u WAYLAND_DISPLAY cargo test -p tests --test it -- --include-ignored pictures_of
	@for name in $(PICTURES); do \
	  pngquant --force --strip --quality 60-90 --output ui/screenshot-$$name.png 64 target/screenshots/examples-$$name.png; \
	done
	@ls -l target/screenshots ui/screenshot-*.png

# Lays out the licences of everything that is built into the program; tauri.conf.json puts them into the package.
notices: $(NOTICES)

$(NOTICES): src-tauri/notices.mjs Cargo.lock LICENSE-MIT LICENSE-APACHE \
            ui/node_modules/.package-lock.json src-tauri/crates/script/sdk/node_modules/.package-lock.json
	@echo "Collecting the licences of what the program is made of"
	@cargo fetch --locked --quiet
	@mkdir -p $(@D) && node src-tauri/notices.mjs $@

# Known weaknesses are looked up in a database that cargo-deny fetches.
audit:
	@command -v cargo-deny > /dev/null || { echo "Installing cargo-deny $(CARGO_DENY) (some minutes)"; \
	  cargo install --quiet cargo-deny --version $(CARGO_DENY) --locked; }
	cargo deny --locked check

# --- what they are made of --------------------------------------------------------------------

# Everything that a machine must have for all targets.
setup: $(STAMPS)/apt-build $(STAMPS)/apt-test $(STAMPS)/tauri-driver \
       ui/node_modules/.package-lock.json flows/node_modules/.package-lock.json \
       src-tauri/crates/script/sdk/node_modules/.package-lock.json tests/clients/node_modules/.package-lock.json

app: $(STAMPS)/apt-build $(PAGES) src-tauri/crates/script/sdk/node_modules/.package-lock.json
	@echo "Compiling the app (about ten minutes the first time)"
	cargo build -p flowglass

check-ui: $(STAMPS)/check-style $(STAMPS)/check-ui
check-flows: $(STAMPS)/check-flows

test-ui: ui/node_modules/.package-lock.json
	@echo "Testing the window's pages"
	@$(call timed,cd ui && npm run --silent test)

# The tests drive the program, so all targets are built at once: program and tests then share every artifact.
test-rust: $(STAMPS)/apt-build $(STAMPS)/apt-test $(STAMPS)/tauri-driver $(PAGES) \
           src-tauri/crates/script/sdk/node_modules/.package-lock.json tests/clients/node_modules/.package-lock.json
	@echo "Compiling the app and its tests (about ten minutes the first time)"
	@$(call timed,cargo build --workspace --all-targets)
	@echo "Testing the crates, the command line and the window"
	@$(call timed,env -u DISPLAY -u WAYLAND_DISPLAY RUST_TEST_THREADS=$(TEST_THREADS) cargo test --workspace --no-fail-fast)

# Whole processes held against a bare commit or a target, in one table; then parts by themselves. BENCH="steps --json file"
# measures one section, and writes it. FLOWGLASS_BEFORE=PATH names an older release build of the program: `inside` then
# holds live runs by this build against its, by turns.
bench: $(STAMPS)/apt-build $(STAMPS)/apt-test $(STAMPS)/tauri-driver $(PAGES)
	@echo "Compiling for release"
	cargo build --release --workspace --bins --example line --example function
	@[ -x $(PEER)/bin/python ] || python3 -m venv $(PEER) || true
	@$(PEER)/bin/python -m pip install --quiet $(PEER_PACKAGES) || \
	  { echo "LangGraph cannot be installed here; nothing is held against it"; rm -rf $(PEER); }
	env -u DISPLAY -u WAYLAND_DISPLAY $$([ -x $(PEER)/bin/python ] && echo FLOWGLASS_PYTHON=$(abspath $(PEER))/bin/python) \
	  cargo bench --quiet --workspace --bench table -- $(BENCH)
ifeq ($(BENCH),)
	cargo bench --quiet --package store --bench parts -- --noplot
endif

# Several processes on one database, killed, stopped and kept waiting: each storm ten times as long as in `make test`.
# Requests that the window opens are as large as they get: a million events.
# Then what a flow, a model, a file or a folder may hold: ten minutes of fresh inputs for each target of tests/fuzz.
soak: $(STAMPS)/apt-build $(STAMPS)/apt-test $(STAMPS)/tauri-driver $(PAGES)
	cargo build --workspace --all-targets
	env -u DISPLAY -u WAYLAND_DISPLAY FLOWGLASS_SOAK=1 cargo test -p tests --test it -- storms crash seen team_storm window_large journey_sizes
	env -u DISPLAY -u WAYLAND_DISPLAY FLOWGLASS_SOAK=1 cargo test -p tests --test it -- --ignored soak_
	env -u DISPLAY -u WAYLAND_DISPLAY FLOWGLASS_SOAK=1 cargo test -p tests --test fuzz

clean:
	cargo clean
	rm -rf gen ui/dist ui/page ui/node_modules flows/node_modules src-tauri/crates/script/sdk/node_modules tests/clients/node_modules

$(STAMPS)/check-ui: $(UI_SOURCES) ui/node_modules/.package-lock.json
	@echo "Checking the types of the window's pages"
	@cd ui && npm run --silent check
	@mkdir -p $(@D) && touch $@

format: ui/node_modules/.package-lock.json
	cargo fmt --all
	@ui/node_modules/.bin/prettier --log-level warn --write $(STYLED)

$(STAMPS)/check-style: $(STYLE_SOURCES) ui/node_modules/.package-lock.json
	@echo "Checking the layout of TypeScript and Svelte, and reading them with oxlint"
	@ui/node_modules/.bin/prettier --log-level warn --check $(STYLED)
	@ui/node_modules/.bin/oxlint --quiet $(LINTED)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/check-flows: $(FLOW_SOURCES) $(BEHAVIOUR_FLOWS) $(SDK_SOURCES) flows/node_modules/.package-lock.json
	@echo "Checking the types of the example flows, of those of the tests, and of what they import"
	@cd flows && npm run --silent check
	@flows/node_modules/.bin/tsc -p tests
	@flows/node_modules/.bin/tsc -p src-tauri/crates/script/sdk
	@mkdir -p $(@D) && touch $@

$(PAGES) &: $(UI_SOURCES) ui/node_modules/.package-lock.json
	@echo "Building the window's pages, and the page that a request is exported into"
	@cd ui && npm run --silent build -- --logLevel warn && npm run --silent build:page -- --logLevel warn

# npm writes this file last, so it tells a whole installation from half of one.
%/node_modules/.package-lock.json: %/package-lock.json
	@command -v npm > /dev/null || { echo "Node.js 20 or newer is missing: https://nodejs.org"; exit 1; }
	@echo "Installing the npm packages of $*"
	@cd $* && $(NPM_CI)
	@touch $@

$(STAMPS)/apt-build: Makefile
	@$(call install,$(APT_BUILD))

$(STAMPS)/apt-test: Makefile
	@$(call install,$(APT_TEST))

$(STAMPS)/apt-pictures: Makefile
	@$(call install,pngquant)

$(STAMPS)/tauri-driver: Makefile
	@if ! command -v tauri-driver > /dev/null && ! [ -x "$${CARGO_HOME:-$$HOME/.cargo}/bin/tauri-driver" ]; then \
	  echo "Installing tauri-driver $(TAURI_DRIVER), which drives the window in tests"; \
	  cargo install --quiet tauri-driver --version $(TAURI_DRIVER) --locked; \
	fi
	@mkdir -p $(@D) && touch $@

# Debian's packages; on other systems their names are said, and the build goes on.
define install
if command -v apt-get > /dev/null; then \
  missing=$$(for name in $(1); do \
    dpkg-query --show --showformat='$${Status}' $$name 2> /dev/null | grep -q 'ok installed' || echo $$name; \
  done); \
  if [ -n "$$missing" ]; then \
    echo "Installing Debian packages:" $$missing; \
    $(SUDO) apt-get update -qq; \
    $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing > /dev/null; \
  fi; \
else \
  echo "This system has no apt-get; needed are what Debian calls: $(1)"; \
fi; \
mkdir -p $(@D) && touch $@
endef

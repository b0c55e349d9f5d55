# heed for people: a thin cover over CMake. `make help` lists what there is.
# Settings, on the command line or in the environment: CC, PREFIX, DESTDIR, HEED_DEPS (a folder of unpacked libraries),
# HEED_SHARED (test material), FUZZ_RUNS.
PREFIX ?= /usr/local
FUZZ_RUNS ?= 200000
JOBS := $(shell nproc 2>/dev/null || echo 2)

set := -DCMAKE_TARGET_MESSAGES=OFF
set += $(if $(HEED_DEPS),-DHEED_DEPS='$(HEED_DEPS)') $(if $(HEED_SHARED),-DHEED_SHARED='$(HEED_SHARED)')
cc := $(if $(filter-out default,$(origin CC)),-DCMAKE_C_COMPILER='$(CC)')
# A new build folder has no tests until `make test` asks for them: they need a library more.
plain = $(cc) -DHEED_TESTS=$(or $(shell sed -n 's/^HEED_TESTS:BOOL=//p' build/CMakeCache.txt 2>/dev/null),OFF)
# Another compiler than last time: CMake would drop all other settings by itself, so the folder starts afresh with them.
fresh = $(if $(cc),$(shell grep -qsx 'CMAKE_C_COMPILER:.*=$(shell command -v '$(CC)')' $(1)/CMakeCache.txt || echo --fresh))

# A compiler that is not there must not cost the folder its settings; one that heed refuses is forgotten again.
check-tools = $(if $(shell command -v cmake),,$(error cmake was not found: `make deps` installs it))
check-compiler = $(if $(cc),$(if $(shell command -v '$(CC)'),,$(error CC=$(CC): there is no such compiler)))

# $(call configure,FOLDER,FLAGS), $(call compile,FOLDER,TARGETS), $(call check,FOLDER). Warnings and errors still come
# through; the inner make must not take over the flags of this one.
configure = $(check-tools)$(check-compiler)@cmake -S . -B $(1) $(fresh) $(set) $(2) >/dev/null || { $(if $(fresh),rm -f $(1)/CMakeCache.txt;) exit 1; }
compile = @MAKEFLAGS=--no-print-directory cmake --build $(1) -j$(JOBS) $(if $(2),--target $(2))
check = @cd $(1) && ctest --output-on-failure -j$(JOBS)

.PHONY: all demo demo-serve demo-vision test bench asan tsan emulated fuzz install uninstall deps format clean help

all: ## build build/heed and build/libheed.so (the default)
	$(call configure,build,$(plain))
	$(call compile,build,heed_program heed)

demo: ## install what the build needs, build, train a small translator and look at it
	@scripts/deps build
	@$(MAKE) --no-print-directory all
	@scripts/demo

demo-serve: ## the demo's translator behind the page of `heed serve`; says what to open
	@scripts/deps build
	@$(MAKE) --no-print-directory all
	@scripts/demo-serve

demo-vision: ## the same with pictures that heed draws itself, and that it classifies, detects and describes
	@scripts/deps build
	@$(MAKE) --no-print-directory all
	@scripts/demo-vision

test: ## install what the tests need, build, run all tests
	@scripts/deps build test
	$(call configure,build,$(cc) -DHEED_TESTS=ON)
	$(call compile,build)
	$(call check,build)

bench: all ## measure speed
	$(call compile,build,bench)

asan: ## run the tests with the address and undefined-behavior sanitizers
	@scripts/deps build test
	$(call configure,build-asan,$(cc) -DHEED_TESTS=ON -DHEED_SANITIZE=address,undefined)
	$(call compile,build-asan)
	$(call check,build-asan)

tsan: ## run the tests with the thread sanitizer
	@scripts/deps build test
	$(call configure,build-tsan,$(cc) -DHEED_TESTS=ON -DHEED_SANITIZE=thread)
	$(call compile,build-tsan)
	$(call check,build-tsan)

emulated: ## run the tests of products for another kind of processor under qemu (needs a cross compiler and qemu-user)
	@tests/emulated/run build-emulated

fuzz: ## feed every reader of files FUZZ_RUNS broken ones
	@scripts/deps build fuzz
	$(call configure,build-fuzz,-DCMAKE_C_COMPILER=clang -DHEED_TESTS=OFF -DHEED_FUZZ=ON)
	$(call compile,build-fuzz,heed_fuzz_safetensors heed_fuzz_int8 heed_fuzz_gguf heed_fuzz_torch heed_fuzz_files heed_fuzz_tokenizer heed_fuzz_published heed_fuzz_wav heed_fuzz_image heed_fuzz_pictures heed_fuzz_midi heed_fuzz_strokes heed_fuzz_template heed_fuzz_requests heed_fuzz_html)
	@mkdir -p build-fuzz/corpus build-fuzz/corpus-int8 build-fuzz/corpus-gguf build-fuzz/corpus-torch build-fuzz/corpus-files build-fuzz/corpus-tokenizer build-fuzz/corpus-published build-fuzz/corpus-wav build-fuzz/corpus-image build-fuzz/corpus-pictures build-fuzz/corpus-midi build-fuzz/corpus-strokes build-fuzz/corpus-template build-fuzz/corpus-requests build-fuzz/corpus-html
	@build-fuzz/fuzz_safetensors -runs=$(FUZZ_RUNS) -dict=tests/fuzz/safetensors.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus
	@build-fuzz/fuzz_int8 -runs=$(FUZZ_RUNS) -max_len=4096 -dict=tests/fuzz/safetensors.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-int8 tests/fuzz/int8
	@build-fuzz/fuzz_gguf -runs=$(FUZZ_RUNS) -max_len=4096 -dict=tests/fuzz/gguf.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-gguf tests/fuzz/gguf
	@build-fuzz/fuzz_torch -runs=$(FUZZ_RUNS) -dict=tests/fuzz/torch.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-torch tests/tensor/torch
	@build-fuzz/fuzz_files -runs=$(FUZZ_RUNS) -dict=tests/fuzz/files.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-files tests/fuzz/files
	@build-fuzz/fuzz_tokenizer -runs=$(FUZZ_RUNS) -dict=tests/fuzz/tokenizer.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-tokenizer tests/fuzz/tokenizer
	@build-fuzz/fuzz_published -runs=$(FUZZ_RUNS) -dict=tests/fuzz/published.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-published tests/fuzz/published
	@build-fuzz/fuzz_wav -runs=$(FUZZ_RUNS) -max_len=400 -dict=tests/fuzz/wav.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-wav
	@build-fuzz/fuzz_image -runs=$(FUZZ_RUNS) -max_len=1200 -dict=tests/fuzz/image.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-image
	@build-fuzz/fuzz_pictures -runs=$(FUZZ_RUNS) -max_len=600 -dict=tests/fuzz/pictures.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-pictures
	@build-fuzz/fuzz_midi -runs=$(FUZZ_RUNS) -max_len=400 -dict=tests/fuzz/midi.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-midi
	@build-fuzz/fuzz_strokes -runs=$(FUZZ_RUNS) -max_len=4096 -dict=tests/fuzz/strokes.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-strokes
	@build-fuzz/fuzz_template -runs=$(FUZZ_RUNS) -max_len=4096 -dict=tests/fuzz/template.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-template tests/fuzz/template
	@build-fuzz/fuzz_requests -runs=$(FUZZ_RUNS) -max_len=4096 -dict=tests/fuzz/requests.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-requests tests/fuzz/requests
	@build-fuzz/fuzz_html -runs=$(FUZZ_RUNS) -max_len=600 -dict=tests/fuzz/html.dict -artifact_prefix=build-fuzz/ build-fuzz/corpus-html tests/fuzz/html

install: ## install under PREFIX (default /usr/local), below DESTDIR if set
	$(call configure,build,$(plain) -DCMAKE_INSTALL_PREFIX='$(PREFIX)')
	$(call compile,build,heed_program heed heed_pages)
	@DESTDIR='$(DESTDIR)' cmake --install build
	@cd build && cmake -DPREFIX='$(PREFIX)' -P ../cmake/installed.cmake

uninstall: ## remove what was installed under PREFIX, below DESTDIR if set
	@mkdir -p build && cd build && DESTDIR='$(DESTDIR)' cmake -DPREFIX='$(PREFIX)' -P ../cmake/uninstall.cmake

deps: ## install what build and tests need
	@scripts/deps build test

format: ## lay out the sources by .clang-format
	@find src include tests bench examples -name '*.[ch]' 2>/dev/null | xargs clang-format -i

clean: ## remove everything built
	rm -rf build build-asan build-tsan build-fuzz

help: ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1: /p' Makefile | awk -F ': ' '{printf "make %-12s %s\n", $$1, $$2}'

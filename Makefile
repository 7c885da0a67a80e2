# imghist. `make help` lists the targets; README.md says how to begin.
#
#   CONFIG=release|debug|sanitize|tsan|coverage|fuzz   objects in build/$(CONFIG)/
#   CC=gcc|clang                                       another compiler wants its own BUILD
#   CUDA=0                                             leave the GPU out
#   CUDA_ARCH=all|90|...                               which GPUs the kernels are compiled for
#   WERROR=1                                           warnings are errors, as in CI
#   DEPS=DIR                                           headers and libraries under DIR, looked at first

CONFIG    ?= release
BUILD     ?= build/$(CONFIG)
CUDA_ARCH ?= all
WERROR    ?= 0
DEPS      ?=
VERSION   := 0.1.0

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

# ---- what the machine has ---------------------------------------------------------------------

PKG_CONFIG ?= pkg-config
PACKAGES   := libpng libjpeg
NVCC       := $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc 2>/dev/null) \
                          $(wildcard /usr/local/cuda/bin/nvcc))
CUDA       ?= $(if $(NVCC),1,0)
FONT       ?= $(firstword $(wildcard $(addsuffix /DejaVuSans.ttf,$(DEPS)/share \
                /usr/share/fonts/truetype/dejavu /usr/share/fonts/dejavu-sans-fonts \
                /usr/share/fonts/dejavu /usr/share/fonts/TTF)))
STB_DIR    := $(firstword $(wildcard $(addsuffix /stb/stb_image.h,$(DEPS)/include /usr/include \
                /usr/local/include)))
STB_DIR    := $(patsubst %/stb_image.h,%,$(STB_DIR))

# ---- flags ------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2 \
            $(if $(filter 1,$(WERROR)),-Werror)

FLAGS_release  := -O2 -g -fstack-protector-strong -D_FORTIFY_SOURCE=2
FLAGS_debug    := -O0 -g3
FLAGS_sanitize := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
                  -fno-omit-frame-pointer
FLAGS_tsan     := -O1 -g -fsanitize=thread
FLAGS_coverage := -O0 -g --coverage
FLAGS_fuzz     := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
ifeq ($(FLAGS_$(CONFIG)),)
  $(error CONFIG=$(CONFIG) is none of release debug sanitize tsan coverage fuzz)
endif
ifeq ($(CONFIG),fuzz)
  CC   := clang
  CUDA := 0
endif

CPPFLAGS += -Isrc -I. $(if $(DEPS),-I$(DEPS)/include) -DIH_VERSION='"$(VERSION)"'
CFLAGS   += -std=c11 -ffp-contract=off $(FLAGS_$(CONFIG)) $(WARNINGS) -fPIE -pthread
LDFLAGS  += $(filter -fsanitize% --coverage,$(FLAGS_$(CONFIG))) -pie -pthread -Wl,-z,relro,-z,now \
            $(if $(DEPS),-L$(DEPS)/lib -Wl$(comma)-rpath$(comma)$(abspath $(DEPS))/lib)
CPPFLAGS += $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
LDLIBS   := $(or $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null),-lpng -ljpeg) -lm
comma    := ,

ifeq ($(CUDA),1)
  CUDA_DIR     := $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
  CUDA_BUILD   := build/cuda-$(CUDA_ARCH)
  CUDA_GENCODE := $(if $(filter all all-major native,$(CUDA_ARCH)),-arch=$(CUDA_ARCH),\
                    -gencode arch=compute_$(CUDA_ARCH)$(comma)code=[sm_$(CUDA_ARCH)$(comma)compute_$(CUDA_ARCH)])
  NVCCFLAGS    := -O3 -std=c++17 -lineinfo --threads 2 $(CUDA_GENCODE) \
                  -Xcompiler -Wall,-Wextra,-fPIE,-fno-exceptions \
                  $(if $(filter 1,$(WERROR)),-Werror all-warnings)
  CPPFLAGS     += -DIH_WITH_CUDA -isystem $(CUDA_DIR)/include
  LDLIBS       += -L$(CUDA_DIR)/lib64 -lcudart_static -lsupc++ -ldl -lrt
  KERNEL_OBJS  := $(patsubst kernels/%.cu,$(CUDA_BUILD)/%.o,$(wildcard kernels/*.cu))
endif

# ---- what is built ----------------------------------------------------------------------------

LIB_SRCS  := $(wildcard src/base/*.c src/decode/*.c src/backend/*.c src/output/*.c src/pipeline/*.c)
ifneq ($(CUDA),1)
  LIB_SRCS := $(filter-out src/backend/backend_cuda.c,$(LIB_SRCS))
endif
CLI_SRCS  := $(wildcard src/cli/*.c src/cli/bench/*.c)
SHIM_SRCS := $(wildcard third_party/*.c)
LIB_OBJS  := $(LIB_SRCS:%.c=$(BUILD)/%.o) $(SHIM_SRCS:%.c=$(BUILD)/%.o) $(BUILD)/font.o $(KERNEL_OBJS)
CLI_OBJS  := $(CLI_SRCS:%.c=$(BUILD)/%.o)
PROGRAM   := $(BUILD)/imghist

UNIT_SRCS := $(wildcard tests/unit/test_*.c)
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(BUILD)/tests/%)
FUZZ_SRCS := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BINS := $(FUZZ_SRCS:tests/fuzz/%.c=$(BUILD)/%)

.PHONY: all
all: needs $(PROGRAM) ## build the program (default); installs nothing
ifeq ($(CONFIG),release)
	@cp -f $(PROGRAM) imghist
endif

.PHONY: needs
needs:
	@$(PKG_CONFIG) --exists $(PACKAGES) 2>/dev/null || test -n "$(DEPS)" || \
	  { echo "imghist: libpng or libjpeg-turbo headers are missing: run third_party/install.sh" >&2; exit 1; }
	@test -n "$(STB_DIR)" || { echo "imghist: stb headers are missing: run third_party/install.sh" >&2; exit 1; }
	@test -n "$(FONT)" || { echo "imghist: DejaVuSans.ttf is missing: run third_party/install.sh" >&2; exit 1; }
ifeq ($(NVCC),)
	@echo "imghist: no nvcc on PATH or in CUDA_HOME: building for the CPU only"
endif

$(PROGRAM): $(CLI_OBJS) $(LIB_OBJS) $(BUILD)/flags
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LDLIBS)

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# stb's code does not hold our warnings; only the shims may include it for its implementation.
$(BUILD)/third_party/%.o: third_party/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -w -MMD -MP -c -o $@ $<

$(CUDA_BUILD)/%.o: kernels/%.cu $(CUDA_BUILD)/flags
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -MMD -MP -c -o $@ $<

# The font, as an array of bytes that is compiled in.
$(BUILD)/font.c: third_party/embed.sh $(FONT) | needs
	@mkdir -p $(@D)
	third_party/embed.sh ih_font $(FONT) >$@
$(BUILD)/font.o: $(BUILD)/font.c
	$(CC) $(CFLAGS) -c -o $@ $<

# Objects are made anew when the compiler or its flags change, programs also when the GPUs do.
export FLAGS = $(CC) $(CPPFLAGS) $(CFLAGS) $(CUDA) $(CUDA_ARCH)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo "$$FLAGS" | cmp -s - $@ || echo "$$FLAGS" >$@
ifeq ($(CUDA),1)
export CUDA_FLAGS = $(NVCC) $(NVCCFLAGS)
$(CUDA_BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo "$$CUDA_FLAGS" | cmp -s - $@ || echo "$$CUDA_FLAGS" >$@
endif
.PHONY: FORCE
FORCE:

# ---- trying and testing -----------------------------------------------------------------------

.PHONY: demo
demo: ## install what is missing, build, and run imghist on samples/
	third_party/install.sh build
	$(MAKE) all
	@echo; echo '$$ ./imghist samples/'; ./imghist samples/
	@echo; echo '$$ ./imghist samples/ --csv=stats'; ./imghist samples/ --csv=stats
	@echo; echo '$$ ./imghist samples/ --chart=build/charts'; ./imghist samples/ --chart=build/charts
	@echo; echo 'charts are in build/charts:'; find build/charts -name '*.png' | sort

.PHONY: test
test: ## install the test tools, build, and run every test that needs no GPU
	third_party/install.sh build test
	$(MAKE) all unit
	tests/layers.sh .
	tests/run.sh $(BUILD)

.PHONY: unit
unit: needs $(UNIT_BINS)

$(BUILD)/tests/test_bench: $(addprefix $(BUILD)/src/cli/bench/,data.o exact.o job.o measure.o report.o)
$(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(LIB_OBJS) $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LDLIBS) -lcmocka

.PHONY: test-gpu
test-gpu: ## on a GPU machine: parity, compute-sanitizer, CUDA against CPU; records the evidence
	tests/gpu/run.sh

.PHONY: fuzz
fuzz: ## run every fuzzer for FUZZ_SECONDS (10) each; needs clang
	third_party/install.sh build fuzz
	$(MAKE) CONFIG=fuzz fuzzers
	tests/fuzz/run.sh build/fuzz $(or $(FUZZ_SECONDS),10)

.PHONY: fuzzers
fuzzers: needs $(FUZZ_BINS)

$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(LIB_OBJS) $(BUILD)/src/cli/options.o \
                   $(BUILD)/src/cli/option_table.o
	$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

.PHONY: samples
samples: ## make the sample images anew, with the program in samples/
	@mkdir -p build/samples
	$(CC) $(CPPFLAGS) $(CFLAGS) -ffp-contract=off -o build/samples/make_samples $(wildcard samples/*.c) $(LDLIBS)
	build/samples/make_samples samples

# ---- keeping house ----------------------------------------------------------------------------

FORMATTED = $(shell find src kernels tests samples third_party -name '*.[ch]' -o -name '*.cu' \
              -o -name '*.cuh')
.PHONY: format
format: ## format the sources
	clang-format -i $(FORMATTED)

.PHONY: format-check
format-check: ## fail where a source is not formatted
	clang-format --dry-run --Werror $(FORMATTED)

.PHONY: clean
clean: ## remove what was built
	rm -rf build imghist

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | \
	  awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

-include $(shell find $(BUILD) $(CUDA_BUILD) -name '*.d' 2>/dev/null)

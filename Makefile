# imghist. `make help` lists targets and variables; README.md describes the installation.
#
#   CONFIG=release|debug|sanitize|tsan|coverage|fuzz   objects in build/$(CONFIG)/
#   CC=gcc|clang                                       use a BUILD of its own for each compiler
#   CUDA=0|1                                           GPU code; default: 1 with nvcc and a GPU on this machine
#   CUDA_ARCH=native|all|90|...                        GPU architectures; default: this machine's, in packages all
#   V=1                                                print the commands
#   WERROR=1                                           warnings are errors, as in CI
#   FORMATS="webp gif ..."                             optional formats to build if their libraries are found; default: all
#   LIBDEFLATE=0                                       PNG through libpng alone
#   PROGRESSIVE=0                                      decode progressive JPEG scan by scan: more memory, half the speed
#   DEPS=DIR                                           search DIR/include, DIR/lib and DIR/share first
#   STATIC=1                                           link with the libraries of packaging/wheel/codecs.sh in DEPS
#   STB_DIR= GIF_DIR= FONT=                            folders of stb/*.h and gif_lib.h, and DejaVuSans.ttf
#   CPPFLAGS= CFLAGS= LDFLAGS= LDLIBS=                 added to the required flags; -O3 replaces -O2

CONFIG    ?= release
STATIC    ?= 0
BUILD     ?= build/$(CONFIG)$(if $(filter 1,$(STATIC)),-$(notdir $(DEPS)))
WERROR    ?= 0
DEPS      ?= $(if $(filter 1,$(STATIC)),build/codecs/$(shell uname -m))
VERSION   := $(shell sed -n 's/^.define IH_VERSION "\(.*\)".*/\1/p' src/imghist.h)
ABI       := 0

# The source folder may contain a blank in its name, but make splits lists of built files at blanks.
ifneq ($(words $(BUILD)),1)
  $(error BUILD must be one folder without a blank in its name)
endif

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

# Parallel, unless the command line or the environment has a -j. One line for each file, V=1: the command, -s: nothing.
SHOW := $(if $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS)))),,$(if $(filter 1,$(V)),,1))
say   = $(if $(SHOW),printf '%-4s %s\n' '$(1)' "$(2)";)
Q    := $(if $(filter 1,$(V)),,@)
JOBS := $(if $(filter 0,$(MAKELEVEL)),$(shell echo " $$MAKEFLAGS" | grep -q -e ' -j' || echo "-j$$(nproc || echo 1)"))
MAKEFLAGS += --no-builtin-rules $(JOBS)

# ---- the machine ------------------------------------------------------------------------------

PKG_CONFIG ?= pkg-config
LINK       ?= $(CC)
ifeq ($(STATIC),1)
  CC         := $(DEPS)/bin/cc
  LINK       := $(DEPS)/bin/c++
  AR         := $(DEPS)/bin/ar
  PKG_CONFIG := env PKG_CONFIG_LIBDIR=$(abspath $(DEPS))/lib/pkgconfig pkg-config --static
endif
PACKAGES   := libpng libjpeg zlib
# Optional formats. If the library is missing, the format is left out and --list says so. Many systems have no
# pkg-config file for giflib, so its header is searched for, as are those of stb.
FORMATS_ALL   := webp tiff gif heif jxl jp2 fits exr archive preview sensor
FORMATS       ?= $(FORMATS_ALL)
PACKAGES_webp := libwebp libwebpdemux
PACKAGES_tiff := libtiff-4 >= 4.5
PACKAGES_heif := libheif >= 1.15
PACKAGES_jxl  := libjxl >= 0.7
PACKAGES_jp2  := libopenjp2 >= 2.5
PACKAGES_fits := cfitsio >= 4.0
PACKAGES_exr  := OpenEXR >= 3.1
PACKAGES_archive := libarchive >= 3.5
PACKAGES_preview := libraw_r >= 0.20
PACKAGES_sensor := $(PACKAGES_preview)
# 1: inflate PNG with libdeflate. Under DEPS it needs no pkg-config.
LIBDEFLATE    ?= $(if $(or $(shell $(PKG_CONFIG) --exists libdeflate 2>/dev/null && echo 1),\
                   $(wildcard $(addsuffix /libdeflate.h,$(DEPS)/include))),1,0)
# The first folder with header $(1), which package $(2) may know.
folder_of      = $(patsubst %/$(1),%,$(firstword $(wildcard $(addsuffix /$(1),$(DEPS)/include $(if $(filter 1,$(STATIC)),,\
                   $(foreach f,$(shell $(PKG_CONFIG) --variable=includedir $(2) 2>/dev/null),$(f) $(patsubst %/,%,$(dir $(f)))) \
                   /usr/include /usr/local/include)))))
GIF_DIR       ?= $(call folder_of,gif_lib.h,giflib)
has_format     = $(if $(PACKAGES_$(1)),$(shell $(PKG_CONFIG) --exists '$(PACKAGES_$(1))' 2>/dev/null && echo $(1)),\
                   $(if $(GIF_DIR),$(1)))
FORMATS_HERE  := $(foreach f,$(FORMATS),$(call has_format,$(f)))
FORMATS_GONE  := $(filter-out $(FORMATS_HERE),$(FORMATS_ALL))
# The nvcc of the last build is tried too, because `sudo make install` may have a different PATH.
NVCC       := $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc 2>/dev/null) \
                          $(wildcard $(firstword $(shell cat build/cuda-*/flags 2>/dev/null))) \
                          $(wildcard /usr/local/cuda/bin/nvcc))
# GPU code for all architectures takes minutes to compile: a build has code for the GPU of this machine only, and without a GPU none.
GPU_HERE   := $(wildcard /dev/nvidia[0-9] /dev/dxg)
# Packages have what the user asked for, else all that can be built.
CUDA_ASKED := $(CUDA)
CUDA_ARCH_ASKED := $(CUDA_ARCH)
CUDA_PACKAGE := CUDA=$(or $(CUDA),$(if $(NVCC),1,0)) CUDA_ARCH=$(or $(CUDA_ARCH),all)
CUDA       ?= $(if $(NVCC),$(if $(GPU_HERE),1,0),0)
CUDA_ARCH  ?= $(if $(GPU_HERE),native,all)
FONT       ?= $(firstword $(wildcard $(addsuffix /DejaVuSans.ttf,$(DEPS)/share \
                /usr/share/fonts/truetype/dejavu /usr/share/fonts/dejavu-sans-fonts \
                /usr/share/fonts/dejavu /usr/share/fonts/TTF)))
STB_DIR    ?= $(call folder_of,stb/stb_truetype.h,stb)

comma := ,

# ---- flags ------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2 \
            $(if $(filter 1,$(WERROR)),-Werror)

# The flags of $(1) that the compiler supports; zig, the one of STATIC=1, does not read standard input.
known = $(if $(filter 1,$(STATIC)),$(filter %-clash-protection $(if $(filter %x86_64,$(DEPS)),%),$(1)),$(known_here))
known_here = $(foreach flag,$(1),$(shell echo 'int x;' | $(CC) -Werror $(flag) -xc -S -o /dev/null - 2>/dev/null && echo '$(flag)'))
# Reproducible: the build contains no path of the source folder.
FLAGS_release  := -O2 -g -fstack-protector-strong $(call known,-fstack-clash-protection -fcf-protection) \
                  '-ffile-prefix-map=$(CURDIR)=.' \
                  $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
FLAGS_debug    := -O0 -g3
FLAGS_sanitize := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
                  -ftrivial-auto-var-init=pattern -fno-omit-frame-pointer
FLAGS_tsan     := -O1 -g -fsanitize=thread
FLAGS_coverage := -O0 -g --coverage
FLAGS_fuzz     := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
                  -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
ifeq ($(FLAGS_$(CONFIG)),)
  $(error CONFIG=$(CONFIG) must be release, debug, sanitize, tsan, coverage or fuzz)
endif
ifeq ($(CONFIG),fuzz)
  CC   := clang
  CUDA := 0
endif

# User flags, from the environment or the command line, come after our defaults and before the flags that the sources
# need. -flto is dropped: symbols of the archive can be hidden in machine code only. 32-bit systems: files may exceed
# 2 GiB and the year 2038, and x86 computes doubles with SSE2, because the x87 unit rounds differently. The sources may
# use all of POSIX 2008; a file that needs more defines that itself.
X86 := $(filter x86_64 i386 i486 i586 i686,$(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null))))
override CPPFLAGS := -Isrc -I. -D_XOPEN_SOURCE=700 -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 \
                     $(if $(DEPS),-isystem $(DEPS)/include) $(addprefix -I,$(filter-out $(DEPS)/include /usr/include,\
                       $(STB_DIR) $(if $(filter gif,$(FORMATS)),$(GIF_DIR)))) $(CPPFLAGS)
override CFLAGS   := $(FLAGS_$(CONFIG)) $(WARNINGS) $(filter-out -flto%,$(CFLAGS)) \
                     $(if $(filter i%,$(X86)),-msse2 -mfpmath=sse) \
                     -std=c11 -ffp-contract=off -fPIC -fvisibility=hidden -pthread
override LDFLAGS  := $(filter -fsanitize% --coverage,$(FLAGS_$(CONFIG))) -pie -pthread -Wl,-z,relro,-z,now \
                     $(if $(DEPS),-L$(DEPS)/lib $(if $(filter 1,$(STATIC)),-Wl$(comma)--gc-sections -s,\
                       -Wl$(comma)-rpath$(comma)$(abspath $(DEPS))/lib)) $(LDFLAGS)
override CPPFLAGS += $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
ask = $(if $(PACKAGES_$(2)),$(shell $(PKG_CONFIG) $(1) '$(PACKAGES_$(2))'))
override CPPFLAGS += $(foreach f,$(FORMATS_HERE),-DIH_WITH_$(f)=1 $(call ask,--cflags,$(f)) \
                       -DIH_LIBRARY_$(f)='"$(firstword $(call ask,--modversion,$(f)))"')
override LDLIBS   := $(LDLIBS) $(or $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null),-lpng -ljpeg -lz) -lm
# Libraries that are loaded when an image needs them: see src/base/dynlib.h.
FORMATS_LATE := $(if $(filter 1,$(STATIC)),,$(filter tiff heif jxl jp2 fits exr archive preview sensor,$(FORMATS_HERE)))
LIBRARY_OF_jp2 := openjp2
LIBRARY_OF_fits := cfitsio
LIBRARY_OF_exr := OpenEXRCore
LIBRARY_OF_preview := raw_r
LIBRARY_OF_sensor := raw_r
library_of    = $(or $(LIBRARY_OF_$(1)),$(1))
soname_of     = $(or $(shell objdump -p $(shell $(PKG_CONFIG) --variable=libdir $(firstword $(PACKAGES_$(1))))/lib$(library_of).so 2>/dev/null | \
                  sed -n 's/^ *SONAME *//p'),lib$(library_of).so)
override CPPFLAGS += $(foreach f,$(FORMATS_LATE),-DIH_SONAME_$(f)='"$(call soname_of,$(f))"')
override LDLIBS   += $(foreach f,$(filter-out $(FORMATS_LATE),$(FORMATS_HERE)),$(or $(call ask,--libs,$(f)),-lgif))
override LDLIBS   += $(if $(FORMATS_LATE),-ldl)
ifeq ($(STATIC),1)
  override CPPFLAGS += -DIH_STATIC='"$(shell cd $(DEPS)/built 2>/dev/null && ls | sed 's/-\([0-9.]*\)$$/ \1/' | paste -sd, | sed 's/,/, /g')"'
  override CFLAGS   += -ffunction-sections -fdata-sections
  override LDLIBS   += $(wildcard $(DEPS)/lib/libcpuinfo.a)
endif
ifeq ($(LIBDEFLATE),1)
  override CPPFLAGS += -DIH_WITH_LIBDEFLATE $(shell $(PKG_CONFIG) --cflags libdeflate 2>/dev/null)
  override LDLIBS   += $(or $(shell $(PKG_CONFIG) --libs libdeflate 2>/dev/null),-ldeflate)
endif
# 1: progressive JPEG files are decoded with all scans at once (src/decode/progressive).
PROGRESSIVE   ?= 1
ifeq ($(PROGRESSIVE),1)
  override CPPFLAGS += -DIH_WITH_PROGRESSIVE
endif
# The sandbox of decoder processes. Without libseccomp they have resource limits only.
SECCOMP       ?= $(if $(shell $(PKG_CONFIG) --exists libseccomp 2>/dev/null && echo 1),1,0)
ifeq ($(SECCOMP),1)
  override CPPFLAGS += -DIH_WITH_SECCOMP $(shell $(PKG_CONFIG) --cflags libseccomp)
  override LDLIBS   += $(shell $(PKG_CONFIG) --libs libseccomp)
endif

ifeq ($(CUDA),1)
  $(if $(NVCC),,$(error CUDA=1: no nvcc on PATH or in CUDA_HOME))
  CUDA_DIR     := $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
  CUDA_BUILD   := build/cuda-$(CUDA_ARCH)
  CUDA_GENCODE := $(if $(filter all all-major native,$(CUDA_ARCH)),-arch=$(CUDA_ARCH),\
                    -gencode arch=compute_$(CUDA_ARCH)$(comma)code=[sm_$(CUDA_ARCH)$(comma)compute_$(CUDA_ARCH)])
  NVCCFLAGS    := -O3 -std=c++17 --threads 2 $(CUDA_GENCODE) \
                  -Xcompiler -Wall,-Wextra,-fPIC,-fvisibility=hidden,-fno-exceptions \
                  -Xcompiler '"-ffile-prefix-map=$(CURDIR)=."' \
                  $(if $(filter 1,$(WERROR)),-Werror all-warnings)
  override CPPFLAGS += -DIH_WITH_CUDA -isystem $(CUDA_DIR)/include
  override LDLIBS   += -L$(CUDA_DIR)/lib64 -lcudart_static -lsupc++ -ldl -lrt
  KERNEL_OBJS  := $(patsubst kernels/%.cu,$(CUDA_BUILD)/%.o,$(wildcard kernels/*.cu kernels/jpeg/*.cu))
endif

# ---- build rules ------------------------------------------------------------------------------

LIB_SRCS  := $(wildcard $(foreach d,base histogram decode decode/jpeg decode/progressive decode/png decode/tiff \
               isolate count device jpeg_gpu output chart scan records library,src/$(d)/*.c))
LIB_SRCS  := $(filter-out $(foreach f,$(FORMATS_GONE),src/decode/dec_$(f).c src/decode/$(f)/%.c),$(LIB_SRCS))
ifneq ($(CUDA),1)
  LIB_SRCS := $(filter-out src/device/backend_cuda.c src/device/cuda_unit.c src/jpeg_gpu/session_cuda.c,$(LIB_SRCS))
endif
ifneq ($(PROGRESSIVE),1)
  LIB_SRCS := $(filter-out src/decode/progressive/%,$(LIB_SRCS))
endif
CLI_SRCS  := $(wildcard src/stages/*.c src/cli/*.c)
SHIM_SRCS := $(wildcard third_party/*.c)
LIB_OBJS  := $(LIB_SRCS:%.c=$(BUILD)/%.o) $(SHIM_SRCS:%.c=$(BUILD)/%.o) $(BUILD)/font.o $(BUILD)/report.o $(KERNEL_OBJS)
CLI_OBJS  := $(CLI_SRCS:%.c=$(BUILD)/%.o)
PROGRAM   := $(BUILD)/imghist

UNIT_SRCS := $(filter-out $(wildcard $(FORMATS_GONE:%=tests/unit/test_%*.c)),$(wildcard tests/unit/test_*.c))
ifneq ($(PROGRESSIVE),1)
  UNIT_SRCS := $(filter-out tests/unit/test_progressive%.c,$(UNIT_SRCS))
endif
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(BUILD)/tests/%)
FUZZ_SRCS := $(filter-out $(FORMATS_GONE:%=tests/fuzz/fuzz_%.c),$(wildcard tests/fuzz/fuzz_*.c))
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
ifneq ($(CUDA),1)
	@$(if $(SHOW),echo "imghist: building for the CPU only: $(if $(NVCC),$(if $(GPU_HERE),CUDA=$(CUDA),no GPU on this machine; CUDA=1 builds GPU code),no nvcc on PATH or in CUDA_HOME)")
endif

$(PROGRAM): $(CLI_OBJS) $(LIB_OBJS) $(BUILD)/flags
	$(Q)$(call say,LD,$@)$(LINK) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LDLIBS)

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$<)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The SIMD loops are built for AVX2 as well; count_vectors.c checks the CPU before it uses them.
ifneq ($(X86),)
$(BUILD)/src/count/count_vectors_avx2.o: private override CFLAGS += -mavx2
endif

# stb does not compile without warnings. Only these files include its implementation.
$(BUILD)/third_party/%.o: third_party/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$<)$(CC) $(CPPFLAGS) $(CFLAGS) -w -MMD -MP -c -o $@ $<

$(CUDA_BUILD)/%.o: kernels/%.cu $(CUDA_BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(call say,NVCC,$< (for $(CUDA_ARCH); $$(ls $(CUDA_BUILD) | grep -c '\.o$$') of $(words $(KERNEL_OBJS)) done))$(NVCC) $(NVCCFLAGS) -MMD -MP -c -o $@ $<

# The font, compiled in as an array of bytes.
$(BUILD)/font.c: third_party/embed.sh $(FONT) | needs
	@mkdir -p $(@D)
	$(Q)$(call say,GEN,$@)third_party/embed.sh ih_font $(FONT) >$@
# The page of --html, likewise.
$(BUILD)/report.c: third_party/embed.sh src/output/report.html | needs
	@mkdir -p $(@D)
	$(Q)$(call say,GEN,$@)third_party/embed.sh ih_report src/output/report.html >$@
$(BUILD)/font.o $(BUILD)/report.o: %.o: %.c
	$(Q)$(call say,CC,$<)$(CC) $(CFLAGS) -c -o $@ $<

# Objects are rebuilt when the compiler or its flags change, programs also when CUDA settings change: only then are
# these files rewritten.
export FLAGS = $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(CUDA) $(CUDA_ARCH)
ifneq ($(strip $(shell cat $(BUILD)/flags 2>/dev/null)),$(strip $(FLAGS)))
$(BUILD)/flags: FORCE
endif
$(BUILD)/flags:
	@mkdir -p $(@D)
	@rm -f $@; echo "$$FLAGS" >$@
ifeq ($(CUDA),1)
export CUDA_FLAGS = $(NVCC) $(NVCCFLAGS)
ifneq ($(strip $(shell cat $(CUDA_BUILD)/flags 2>/dev/null)),$(strip $(CUDA_FLAGS)))
$(CUDA_BUILD)/flags: FORCE
endif
$(CUDA_BUILD)/flags:
	@mkdir -p $(@D)
	@rm -f $@; echo "$$CUDA_FLAGS" >$@
endif
.PHONY: FORCE
FORCE:

include packaging/install.mk
include packaging/python.mk

# ---- demo and tests ---------------------------------------------------------------------------

.PHONY: demo
demo: ## install missing packages, build, and run imghist on samples/
	@mkdir -p build
	@third_party/install.sh build 'formats?' >build/install.log 2>&1 || { cat build/install.log; exit 1; }
	@grep '^install.sh: [^fm]' build/install.log || :
	@echo 'Building imghist, which takes about half a minute.'
	@$(MAKE) -s all
	@echo; echo '$$ ./imghist samples/scene.png --chart=build/scene.png'
	@./imghist samples/scene.png --chart=build/scene.png
	@./imghist samples/scene.png
	@echo; echo '$$ ./imghist samples/'; ./imghist samples/
	@echo; echo "The chart is $(CURDIR)/build/scene.png"
	@echo 'Next: ./imghist samples/ --csv=stats'

.PHONY: bench
bench: ## verify and time the code that counts on this machine, on the CPU and on a GPU
	@CUDA=$(CUDA) CC="$(CC)" NVCC="$(NVCC)" tests/bench/bench.sh

.PHONY: ladder
ladder: build/ladder/histogram build/ladder/sum ## the textbook's kernels, each step verified and timed; needs nvcc and a GPU
	build/ladder/histogram
	@echo
	build/ladder/sum

build/ladder/%: kernels/ladder/%.cu kernels/ladder/ladder.cuh
	@$(if $(NVCC),,echo "make ladder: no nvcc on PATH or in CUDA_HOME" >&2; exit 1)
	@mkdir -p $(@D)
	$(NVCC) -O3 $(if $(filter 1,$(CUDA)),$(CUDA_GENCODE)) -o $@ $<

.PHONY: test
test: ## install the test tools, build, and run the unit and command line tests
	third_party/install.sh build test 'formats?'
	$(MAKE) all unit
	tests/layers.sh . $(BUILD)
	tests/run.sh $(BUILD)

.PHONY: unit
unit: needs $(UNIT_BINS) ## build the unit tests; tests/run.sh runs them
	@echo $(notdir $(UNIT_BINS)) >$(BUILD)/units

$(BUILD)/tests/test_progress: $(BUILD)/src/cli/progress.o
# Tests link with an archive, so that each takes only the objects it needs and not all kernels.
$(BUILD)/tested.a: $(LIB_OBJS)
	@rm -f $@
	$(Q)$(call say,AR,$@)$(AR) qcs $@ $^ # q, not r: objects in different folders have the same name
$(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(BUILD)/tested.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS) -lcmocka

# cmocka 2 renames macros and deprecates the old names.
$(BUILD)/tests/unit/%.o: private override CFLAGS += -Wno-deprecated-declarations

# Tests also need the encoders of these libraries.
$(BUILD)/tests/test_webp: override LDLIBS += -lwebpmux
$(BUILD)/tests/test_tiff: override LDLIBS += $(call ask,--libs,tiff)
$(BUILD)/tests/test_heif: override LDLIBS += $(call ask,--libs,heif)
$(BUILD)/tests/test_jxl: override LDLIBS += $(call ask,--libs,jxl)
$(BUILD)/tests/test_jp2: override LDLIBS += $(call ask,--libs,jp2)

.PHONY: test-i686 test-aarch64 test-s390x
test-i686: ## build for 32 bits and run the tests; needs root, a cross compiler, mmdebstrap
test-aarch64: ## the same for aarch64 under qemu-user
test-s390x: ## the same for s390x, a big endian machine
test-i686 test-aarch64 test-s390x: test-%:
	tests/other_machines.sh $*

.PHONY: test-gpu
test-gpu: ## on a GPU machine: parity, compute-sanitizer, CUDA against CPU; records the evidence
	tests/gpu/run.sh

.PHONY: fuzz
fuzz: ## run every fuzzer for FUZZ_SECONDS (10) each; needs clang
	third_party/install.sh build fuzz
	$(MAKE) CONFIG=fuzz fuzzers
	tests/fuzz/run.sh build/fuzz $(or $(FUZZ_SECONDS),10)

.PHONY: perturb
perturb: all ## decode damaged files under two fills of new memory: the records must not differ
	tests/perturb.sh $(PROGRAM)

.PHONY: fuzzers
fuzzers: needs $(FUZZ_BINS)

$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(LIB_OBJS) \
                   $(addprefix $(BUILD)/src/cli/,options.o option_rules.o option_table.o \
                     destinations.o)
	$(Q)$(call say,LD,$@)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

.PHONY: samples
samples: ## make test card and scene.jpg again in build/samples and compare them with samples/
	@mkdir -p build/samples
	$(CC) $(CPPFLAGS) $(CFLAGS) -o build/samples/make_samples samples/make_samples.c $(LDLIBS)
	build/samples/make_samples samples/scene.png build/samples
	cmp build/samples/testcard.png samples/testcard.png
	cmp build/samples/scene.jpg samples/scene.jpg

PHOTOS ?= /usr/share/backgrounds

.PHONY: example
example: all ## build a page of samples/ and 30 photos in PHOTOS (/usr/share/backgrounds)
	@find samples -name '*.[jp]*g' | sort >build/example.list
	@find -L $(PHOTOS) -iname '*.jpg' -o -iname '*.jpeg' 2>/dev/null | sort | head -30 >>build/example.list
	@$(PROGRAM) -q --files-from=build/example.list --html=build/example.html --thumbnails --title='imghist: an example'
	@echo "The page is $(CURDIR)/build/example.html, of $$(wc -l <build/example.list) images"

.PHONY: gallery
gallery: all ## draw the pictures of README.md, and a page with all kinds of charts in build/gallery
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $(BUILD)/make_images tests/gallery/make_images.c $(LDLIBS)
	tests/gallery/gallery.sh $(PROGRAM) $(BUILD)/make_images build/gallery
	tests/gallery/terminal.sh $(PROGRAM) tests/gallery/terminal.svg

# ---- maintenance ------------------------------------------------------------------------------

FORMATTED = $(shell find src kernels tests samples third_party -name '*.[ch]' -o -name '*.cu' \
              -o -name '*.cuh')
.PHONY: format
format: ## format the sources
	clang-format -i $(FORMATTED)

.PHONY: format-check
format-check: ## fail if a source file is not formatted
	clang-format --dry-run --Werror $(FORMATTED)

.PHONY: analyze
analyze: ## static analysis by clang-tidy, cppcheck and gcc -fanalyzer
	tests/analyze.sh

.PHONY: print-late
print-late:
	@echo $(foreach f,$(FORMATS_LATE),$(call soname_of,$(f)))

.PHONY: print-parts
print-parts:
	@echo $(STB_DIR) $(FONT)

.PHONY: print-sources
print-sources:
	@echo $(LIB_SRCS) $(CLI_SRCS)

.PHONY: print-flags
print-flags:
	@echo $(CPPFLAGS) -std=c11

.PHONY: clean
clean: ## remove all built files
	rm -rf build imghist

.PHONY: help
help: ## list the targets and the variables
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1|\2/' | \
	  awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'
	@echo; sed -n 's/^#   \([A-Z_]*=\)/  \1/p' $(firstword $(MAKEFILE_LIST)) packaging/install.mk packaging/python.mk

-include $(shell find $(BUILD) $(CUDA_BUILD) -name '*.d' 2>/dev/null)

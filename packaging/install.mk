# The library, and everything as it is installed and handed on. Included by the Makefile.
#
#   PREFIX=/usr/local   where it is installed; BINDIR, LIBDIR, INCLUDEDIR, DATADIR below it
#   DESTDIR=            put in front of all that is written, for packagers

PREFIX       ?= /usr/local
BINDIR       ?= $(PREFIX)/bin
LIBDIR       ?= $(PREFIX)/lib
INCLUDEDIR   ?= $(PREFIX)/include
DATADIR      ?= $(PREFIX)/share
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig

# What is installed is a list of words, and so are the flags that pkg-config gives to compilers.
INSTALL_DIRS := PREFIX BINDIR LIBDIR INCLUDEDIR DATADIR PKGCONFIGDIR
ifneq ($(strip $(foreach dir,$(INSTALL_DIRS),$(word 2,$($(dir))))),)
  $(error $(INSTALL_DIRS): where it is installed may have no blank in it, DESTDIR may)
endif

# ---- the library ------------------------------------------------------------------------------

SONAME       := libimghist.so.$(ABI)
SHARED       := $(BUILD)/libimghist.so.$(VERSION)
STATIC       := $(BUILD)/libimghist.a
# Without what only the program has: charts, and decoder processes, which print and exit.
LIBRARY_OBJS := $(filter-out $(BUILD)/src/output/% $(BUILD)/font.o %/stb_truetype.o %/stb_image_write.o \
                  $(BUILD)/src/isolate/%,$(LIB_OBJS))
LIBRARY_LIBS  = $(filter-out -lseccomp,$(LDLIBS))

.PHONY: library
library: needs $(STATIC) $(SHARED) $(BUILD)/libimghist.pc ## build libimghist, static and shared

$(SHARED): $(LIBRARY_OBJS) packaging/libimghist.map packaging/install.mk $(BUILD)/flags
	$(CC) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-soname,$(SONAME) \
	  $(if $(filter -fsanitize%,$(LDFLAGS)),,-Wl,--no-undefined) -Wl,--as-needed \
	  -Wl,--version-script=packaging/libimghist.map -o $@ $(filter %.o,$^) $(LIBRARY_LIBS)

# All objects as one, whose inner names nobody else can see or meet: no name but those of the map. The CUDA
# runtime is among them, as it is in the shared library, for who links with the archive may have no toolkit.
CUDA_RUNTIME := $(if $(filter 1,$(CUDA)),-L$(CUDA_DIR)/lib64 -lcudart_static)
$(BUILD)/libimghist.o: $(LIBRARY_OBJS) packaging/libimghist.map packaging/install.mk $(BUILD)/flags
	$(CC) -r -nostdlib -Wl,--force-group-allocation -o $@ $(filter %.o,$^) $(CUDA_RUNTIME)
	rm -f $(BUILD)/libimghist.names
	sed -n 's/^ *\(ih_[a-z_]*\);$$/\1/p' packaging/libimghist.map >$(BUILD)/libimghist.names
	$(OBJCOPY) --keep-global-symbols=$(BUILD)/libimghist.names $@
$(STATIC): $(BUILD)/libimghist.o
	rm -f $@
	$(AR) rcsD $@ $^
OBJCOPY ?= objcopy

# What a program linked with the archive needs beside it: the same as the shared library. Not
# Requires.private: that asks for all that the packages need themselves to be static.
PC_LIBS       = $(if $(DEPS),-L$(abspath $(DEPS))/lib) $(filter-out $(CUDA_RUNTIME),$(LIBRARY_LIBS)) -pthread

# Made anew each time: it holds where things are installed. What `sudo make install` makes is root's, in
# a folder that is not: so it is removed before, here and below, and nobody is kept from making it again.
$(BUILD)/libimghist.pc: packaging/libimghist.pc.in FORCE
	@mkdir -p $(@D)
	rm -f $@
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
	  -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' \
	  -e 's|@INCLUDEDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(INCLUDEDIR))|' \
	  -e 's|@LIBS@|$(strip $(PC_LIBS))|' $< >$@

# ---- installing -------------------------------------------------------------------------------

# The program writes its completions itself.
COMPLETION := $(BUILD)/completion
$(COMPLETION).%: $(PROGRAM)
	rm -f $@
	$(PROGRAM) --completion=$* >$@

# FILE=WHERE of everything that is installed.
INSTALLED = $(PROGRAM)=$(BINDIR)/imghist \
            $(STATIC)=$(LIBDIR)/libimghist.a \
            $(SHARED)=$(LIBDIR)/libimghist.so.$(VERSION) \
            $(BUILD)/libimghist.pc=$(PKGCONFIGDIR)/libimghist.pc \
            src/imghist.h=$(INCLUDEDIR)/imghist.h \
            src/cli/imghist.1=$(DATADIR)/man/man1/imghist.1 \
            src/library/libimghist.3=$(DATADIR)/man/man3/libimghist.3 \
            $(COMPLETION).bash=$(DATADIR)/bash-completion/completions/imghist \
            $(COMPLETION).zsh=$(DATADIR)/zsh/site-functions/_imghist \
            $(COMPLETION).fish=$(DATADIR)/fish/vendor_completions.d/imghist.fish

.PHONY: install
install: all library $(addprefix $(COMPLETION).,bash zsh fish) ## install program, library and man pages below PREFIX (/usr/local); DESTDIR is put in front
	@set -e; umask 022; for pair in $(INSTALLED); do \
	  from=$${pair%%=*} to='$(DESTDIR)'$${pair#*=}; \
	  case $$from in $(PROGRAM) | $(SHARED)) mode=755 ;; *) mode=644 ;; esac; \
	  mkdir -p "$${to%/*}"; \
	  echo "install -m $$mode $$from $$to"; \
	  install -m $$mode "$$from" "$$to"; \
	done
	ln -sf $(notdir $(SHARED)) '$(DESTDIR)$(LIBDIR)/$(SONAME)'
	ln -sf $(SONAME) '$(DESTDIR)$(LIBDIR)/libimghist.so'
	@[ -n '$(DESTDIR)' ] || ldconfig 2>/dev/null || : # only root may, and only it needs to

.PHONY: uninstall
uninstall: ## remove what install put there, given the same PREFIX and DESTDIR
	rm -f $(foreach pair,$(INSTALLED),'$(DESTDIR)$(lastword $(subst =, ,$(pair)))') \
	  '$(DESTDIR)$(LIBDIR)/$(SONAME)' '$(DESTDIR)$(LIBDIR)/libimghist.so'

# ---- handing on -------------------------------------------------------------------------------

DIST := imghist-$(VERSION)
left_out = git diff --quiet HEAD 2>/dev/null || echo "imghist: changes that are not committed are left out" >&2

.PHONY: dist
dist: ## the sources of the last commit as build/imghist-VERSION.tar.gz; the same bytes every time
	@git rev-parse -q --verify HEAD >/dev/null || { echo "imghist: make dist wants a git checkout" >&2; exit 1; }
	@$(left_out)
	@mkdir -p build
	git archive --format=tar --prefix=$(DIST)/ HEAD | gzip -9n >build/$(DIST).tar.gz
	@echo "build/$(DIST).tar.gz"

# In a folder of its own, from what dist would hand on; where there is no git, from what is here.
# The package is made without the options of this make, but for CUDA's.
.PHONY: deb
deb: ## Debian packages of the last commit in build/deb/; needs debhelper
	@command -v dh >/dev/null || { echo "imghist: debhelper is missing: run third_party/install.sh package" >&2; exit 1; }
	rm -rf build/deb
	mkdir -p build/deb/$(DIST)
	if git rev-parse -q --verify HEAD >/dev/null 2>&1; then git archive HEAD; $(left_out); \
	  else tar -c --exclude=./build --exclude=./imghist .; fi | tar -x -C build/deb/$(DIST)
	cp -R build/deb/$(DIST)/packaging/debian build/deb/$(DIST)/debian
	cd build/deb/$(DIST) && env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS -u BUILD -u CONFIG \
	  -u CPPFLAGS -u CFLAGS -u LDFLAGS -u LDLIBS \
	  CUDA=$(CUDA) CUDA_ARCH=$(CUDA_ARCH) dpkg-buildpackage -b -us -uc
	@ls build/deb/*.deb

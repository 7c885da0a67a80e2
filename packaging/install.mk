# Rules for the library, installation and packages. Included by the Makefile.
#
#   PREFIX=/usr/local   installation prefix; BINDIR, LIBDIR, INCLUDEDIR, DATADIR are below it
#   DESTDIR=            staging directory for packagers, put in front of every installed path

PREFIX       ?= /usr/local
BINDIR       ?= $(PREFIX)/bin
LIBDIR       ?= $(PREFIX)/lib
INCLUDEDIR   ?= $(PREFIX)/include
DATADIR      ?= $(PREFIX)/share
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig

# Lists of files and pkg-config flags are split at blanks, so these paths must not contain any.
INSTALL_DIRS := PREFIX BINDIR LIBDIR INCLUDEDIR DATADIR PKGCONFIGDIR
ifneq ($(strip $(foreach dir,$(INSTALL_DIRS),$(word 2,$($(dir))))),)
  $(error $(INSTALL_DIRS): must not contain blanks; DESTDIR may)
endif

# ---- the library ------------------------------------------------------------------------------

SONAME       := libimghist.so.$(ABI)
SHARED       := $(BUILD)/libimghist.so.$(VERSION)
ARCHIVE      := $(BUILD)/libimghist.a
# Without what only the program has: most outputs, and decoder processes, which print and exit. Records are read and
# written.
PROGRAM_OUTPUTS := $(patsubst %,$(BUILD)/src/output/%.o,out_text out_csv out_html out_names output text_parts file)
LIBRARY_OBJS := $(filter-out $(PROGRAM_OUTPUTS) $(BUILD)/report.o $(BUILD)/src/isolate/%,$(LIB_OBJS))
LIBRARY_LIBS  = $(filter-out -lseccomp,$(LDLIBS))

.PHONY: library
library: needs $(ARCHIVE) $(SHARED) $(BUILD)/libimghist.pc ## build libimghist, static and shared

$(SHARED): $(LIBRARY_OBJS) packaging/libimghist.map packaging/install.mk $(BUILD)/flags
	$(Q)$(call say,LD,$@)$(CC) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-soname,$(SONAME) \
	  $(if $(filter -fsanitize%,$(LDFLAGS)),,-Wl,--no-undefined) -Wl,--as-needed \
	  -Wl,--version-script=packaging/libimghist.map -o $@ $(filter %.o,$^) $(LIBRARY_LIBS)

# All objects are linked into one that exports only the names of the map, so that internal names cannot clash. The
# CUDA runtime is included, as in the shared library: programs that link with the archive need no toolkit.
CUDA_RUNTIME := $(if $(filter 1,$(CUDA)),-L$(CUDA_DIR)/lib64 -lcudart_static)
$(BUILD)/libimghist.o: $(LIBRARY_OBJS) packaging/libimghist.map packaging/install.mk $(BUILD)/flags
	$(Q)$(call say,LD,$@)$(CC) -r -nostdlib -Wl,--force-group-allocation -o $@ $(filter %.o,$^) $(CUDA_RUNTIME)
	$(Q)rm -f $(BUILD)/libimghist.names
	$(Q)sed -n 's/^ *\(ih_[a-z_]*\);$$/\1/p' packaging/libimghist.map >$(BUILD)/libimghist.names
	$(Q)$(OBJCOPY) --keep-global-symbols=$(BUILD)/libimghist.names $@
$(ARCHIVE): $(BUILD)/libimghist.o
	$(Q)rm -f $@
	$(Q)$(AR) rcsD $@ $^
OBJCOPY ?= objcopy

# Libraries for programs that link with the archive: those of the shared library, and what these need in a static
# program, such as libz. Requires.private would demand static versions of everything for any program.
PC_LIBS       = $(if $(DEPS),-L$(abspath $(DEPS))/lib) $(filter-out $(CUDA_RUNTIME),$(LIBRARY_LIBS)) \
                $(filter-out $(LIBRARY_LIBS),$(shell $(PKG_CONFIG) --static --libs $(PACKAGES) \
                  $(foreach f,$(filter-out $(FORMATS_LATE),$(FORMATS_HERE)),$(PACKAGES_$(f))) 2>/dev/null)) -pthread

# Always rebuilt, because it contains the installation paths. `sudo make install` creates files owned by root; each is
# removed first, here and below, so that a later make as another user can replace it.
$(BUILD)/libimghist.pc: packaging/libimghist.pc.in FORCE
	@mkdir -p $(@D)
	$(Q)rm -f $@
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
	  -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' \
	  -e 's|@INCLUDEDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(INCLUDEDIR))|' \
	  -e 's|@LIBS@|$(strip $(PC_LIBS))|' $< >$@

# ---- installing -------------------------------------------------------------------------------

# The program prints its own completions.
COMPLETION := $(BUILD)/completion
NATIVE     ?= $(PROGRAM)
$(COMPLETION).%: $(PROGRAM)
	$(Q)rm -f $@
	$(Q)$(NATIVE) --completion=$* >$@

# FILE=DESTINATION of every installed file.
INSTALLED = $(PROGRAM)=$(BINDIR)/imghist \
            $(ARCHIVE)=$(LIBDIR)/libimghist.a \
            $(SHARED)=$(LIBDIR)/libimghist.so.$(VERSION) \
            $(BUILD)/libimghist.pc=$(PKGCONFIGDIR)/libimghist.pc \
            src/imghist.h=$(INCLUDEDIR)/imghist.h \
            src/cli/imghist.1=$(DATADIR)/man/man1/imghist.1 \
            src/cli/imghist-formats.5=$(DATADIR)/man/man5/imghist-formats.5 \
            docs/imghist.schema.json=$(DATADIR)/imghist/imghist.schema.json \
            src/library/libimghist.3=$(DATADIR)/man/man3/libimghist.3 \
            $(COMPLETION).bash=$(DATADIR)/bash-completion/completions/imghist \
            $(COMPLETION).zsh=$(DATADIR)/zsh/site-functions/_imghist \
            $(COMPLETION).fish=$(DATADIR)/fish/vendor_completions.d/imghist.fish

.PHONY: install
install: all library $(addprefix $(COMPLETION).,bash zsh fish) ## install program, library and man pages below PREFIX (/usr/local) (under DESTDIR)
	@set -e; umask 022; for pair in $(INSTALLED); do \
	  from=$${pair%%=*} to='$(DESTDIR)'$${pair#*=}; \
	  case $$from in $(PROGRAM) | $(SHARED)) mode=755 ;; *) mode=644 ;; esac; \
	  mkdir -p "$${to%/*}"; \
	  echo "install -m $$mode $$from $$to"; \
	  install -m $$mode "$$from" "$$to"; \
	done
	ln -sf $(notdir $(SHARED)) '$(DESTDIR)$(LIBDIR)/$(SONAME)'
	ln -sf $(SONAME) '$(DESTDIR)$(LIBDIR)/libimghist.so'
	@[ -n '$(DESTDIR)' ] || ldconfig 2>/dev/null || : # only root can run it

.PHONY: uninstall
uninstall: ## remove the installed files, with the same PREFIX and DESTDIR
	rm -f $(foreach pair,$(INSTALLED),'$(DESTDIR)$(lastword $(subst =, ,$(pair)))') \
	  '$(DESTDIR)$(LIBDIR)/$(SONAME)' '$(DESTDIR)$(LIBDIR)/libimghist.so'

# ---- packages ---------------------------------------------------------------------------------

DIST := imghist-$(VERSION)
left_out = git diff --quiet HEAD 2>/dev/null || echo "imghist: uncommitted changes are left out" >&2

.PHONY: dist
dist: ## the sources of the last commit as build/imghist-VERSION.tar.gz; the same bytes every time
	@git rev-parse -q --verify HEAD >/dev/null || { echo "imghist: make dist needs a git checkout" >&2; exit 1; }
	@$(left_out)
	@mkdir -p build
	git archive --format=tar --prefix=$(DIST)/ HEAD | gzip -9n >build/$(DIST).tar.gz
	@echo "build/$(DIST).tar.gz"

# Built in a separate folder from the files of the last commit, or without git from the current files. The options
# of this make are not passed on, except those for CUDA.
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
	  $(CUDA_PACKAGE) dpkg-buildpackage -b -us -uc
	@ls build/deb/*.deb

.PHONY: release
release: dist deb ## what a release publishes, in build/assets/: sources, Debian packages, the wheels of build/wheel, their programs, SHA256SUMS
	packaging/release.sh $(VERSION)

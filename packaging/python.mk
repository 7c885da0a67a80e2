# Rules for the Python package. Included by the Makefile.
#
#   PYTHON=python3      the Python that builds and tests the package, 3.11 or later

PYTHON         ?= python3
PYTHON_INCLUDE ?= $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')
PYTHON_OBJS    := $(patsubst %.c,$(BUILD)/%.o,$(wildcard src/python/*.c))
PYTHON_EXTENSION := $(BUILD)/_imghist.abi3.so

# The slots of a type are function pointers in void *, and names of keywords are char *.
$(PYTHON_OBJS): private override CFLAGS += -Wno-pedantic -Wno-write-strings -isystem $(PYTHON_INCLUDE)

# Only the objects that it needs are linked, and only Python's entry point is visible.
$(PYTHON_EXTENSION): $(PYTHON_OBJS) $(BUILD)/tested.a src/python/python.map $(BUILD)/flags
	$(Q)$(call say,LD,$@)$(LINK) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,--as-needed -Wl,--version-script=src/python/python.map \
	  -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBRARY_LIBS)

.PHONY: python-extension python-package
python-extension: needs $(PYTHON_EXTENSION)
python-package: python-extension $(PROGRAM) $(addprefix $(COMPLETION).,bash zsh fish)

# `pip install .` makes a package for this system, with its libraries.
.PHONY: wheel
wheel: ## one wheel with module, program and all libraries in build/wheel/, for any Linux with glibc 2.28; MACHINE=aarch64 for ARM
	CUDA=$(or $(CUDA_ASKED),0) CUDA_ARCH=$(or $(CUDA_ARCH_ASKED),all-major) packaging/wheel/wheel.sh $(MACHINE)

.PHONY: test-python
test-python: all ## build the Python package and run its tests in a virtual environment
	tests/python.sh $(PROGRAM)

.PHONY: test-engines
test-engines: all ## test Ray, Spark and Dask with the Python package, in a virtual environment
	tests/engines.sh $(PROGRAM)

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
	$(CC) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,--as-needed -Wl,--version-script=src/python/python.map \
	  -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBRARY_LIBS)

.PHONY: python-extension print-python-extension
python-extension: needs $(PYTHON_EXTENSION)
print-python-extension:
	@echo $(PYTHON_EXTENSION)

.PHONY: wheel
wheel: ## the Python package as build/wheel/*.whl, with auditwheel for other systems too; needs Python 3.11, pip and the package index
	rm -rf build/wheel
	$(PYTHON) -m pip wheel --no-deps -w build/wheel ./src/python
	@if $(PYTHON) -m auditwheel --version >/dev/null 2>&1; then \
	  PATH="$$(dirname "$$(command -v $(PYTHON))"):$$PATH" $(PYTHON) -m auditwheel repair -w build/wheel/repaired build/wheel/*.whl; \
	else echo "imghist: without auditwheel, the wheel is for this system only"; fi
	@find build/wheel -name '*.whl'

.PHONY: test-python
test-python: all ## build the Python package and run its tests in a virtual environment
	tests/python.sh $(PROGRAM)

.PHONY: test-engines
test-engines: all ## test Ray, Spark and Dask with the Python package, in a virtual environment
	tests/engines.sh $(PROGRAM)

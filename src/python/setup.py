"""Builds the package: the Makefile compiles the extension, with the flags of the rest of imghist."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
build = os.path.join(root, "build", "python")  # nothing is written into the sources
os.makedirs(build, exist_ok=True)


class Make(build_ext):
    def build_extension(self, ext):
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            sys.exit("imghist: free-threaded Python has no stable ABI yet: use a Python with the GIL")
        include = sysconfig.get_path("include")
        subprocess.check_call(
            ["make", "-C", root, f"-j{os.cpu_count()}", f"PYTHON_INCLUDE={include}", "python-extension"]
        )
        built = subprocess.check_output(["make", "-s", "-C", root, "print-python-extension"], text=True)
        target = self.get_ext_fullpath(ext.name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.join(root, built.strip()), target)


def version():
    with open(os.path.join(root, "src", "imghist.h"), encoding="utf-8") as header:
        return re.search(r'define IH_VERSION "(.*?)"', header.read())[1]


setup(
    version=version(),
    ext_modules=[Extension("imghist._imghist", ["module.c"], py_limited_api=True)],
    cmdclass={"build_ext": Make},
    options={
        "bdist_wheel": {"py_limited_api": "cp311"},
        "build": {"build_base": build},
        "egg_info": {"egg_base": build},
    },
)

"""Builds the package: the Makefile compiles the extension, the program and its completions.

IMGHIST_STATIC=x86_64 or aarch64 makes the wheel for any Linux with glibc 2.28: see packaging/wheel/wheel.sh.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from distutils.command.build_scripts import build_scripts  # of setuptools

machine = os.environ.get("IMGHIST_STATIC")
built = f"build/release-{machine}" if machine else "build/release"
ours = "build/python"  # nothing is written into the sources
completions = {"completion.bash": "imghist", "completion.zsh": "_imghist", "completion.fish": "imghist.fish"}
os.chdir(os.path.dirname(os.path.abspath(__file__)))
os.makedirs(ours, exist_ok=True)


class Make(build_ext):
    def build_extension(self, ext):
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            sys.exit("imghist: free-threaded Python has no stable ABI yet: use a Python with the GIL")
        flags = [f"PYTHON_INCLUDE={sysconfig.get_path('include')}"]
        if machine:
            flags = ["STATIC=1", f"DEPS=build/codecs/{machine}", f"PYTHON_INCLUDE=build/codecs/{machine}/include/python"]
        jobs = f"-j{len(os.sched_getaffinity(0))}"  # pip passes no jobserver on
        made = subprocess.run(["make", jobs, f"BUILD={built}", *flags, "python-package"], stderr=subprocess.PIPE, text=True)
        sys.stderr.write(made.stderr)
        if made.returncode:  # pip shows all output: what matters is repeated at its end
            lines = re.findall(r"^.*(?:error|undefined|not found|cannot|imghist|[*]{3}).*$", made.stderr, re.MULTILINE)
            sys.exit("imghist: make failed:\n" + "\n".join(lines[:8] or made.stderr.splitlines()[-8:]))
        target = self.get_ext_fullpath(ext.name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(f"{built}/_imghist.abi3.so", target)
        for name, installed in completions.items():
            shutil.copy(f"{built}/{name}", f"{ours}/{installed}")


class Program(build_scripts):
    """setuptools' own command takes a script for text."""

    def get_source_files(self):
        return []  # made by Make, and no part of an sdist

    def run(self):
        os.makedirs(self.build_dir, exist_ok=True)
        shutil.copy(f"{built}/imghist", self.build_dir)


def version():
    with open("src/imghist.h", encoding="utf-8") as header:
        return re.search(r'define IH_VERSION "(.*?)"', header.read())[1]


inside = ["packaging/wheel/codecs.txt", *sorted(glob.glob(f"build/codecs/{machine}/licenses/*"))] if machine else []
setup(
    version=version(),
    ext_modules=[Extension("imghist._imghist", ["src/python/module.c"], py_limited_api=True)],
    scripts=[f"{built}/imghist"],
    data_files=[
        ("share/man/man1", ["src/cli/imghist.1"]),
        ("share/man/man5", ["src/cli/imghist-formats.5"]),
        ("share/imghist", ["docs/imghist.schema.json"]),
        ("share/bash-completion/completions", [f"{ours}/imghist"]),
        ("share/zsh/site-functions", [f"{ours}/_imghist"]),
        ("share/doc/imghist", inside),
        ("share/fish/vendor_completions.d", [f"{ours}/imghist.fish"]),
    ],
    cmdclass={"build_ext": Make, "build_scripts": Program},
    options={
        "bdist_wheel": {"py_limited_api": "cp311", **({"plat_name": f"manylinux_2_28_{machine}"} if machine else {})},
        "build": {"build_base": ours},
        "egg_info": {"egg_base": ours},
    },
)

"""python -m imghist: runs the program, which the package installs beside the interpreter's other scripts.

With --reader=MODULE:FUNCTION it counts arrays (_reader_program.py).
"""

import os
import sys
import sysconfig


def program():
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")),
        os.path.join(os.path.dirname(here), "bin"),  # pip install --target
    ]
    for folder in folders:
        path = os.path.join(folder, "imghist")
        if os.access(path, os.X_OK):
            return path
    sys.exit(f"imghist: the program is in none of: {', '.join(folders)}")


if __name__ == "__main__":
    path = program()
    if any(word.split("=")[0] in ("--reader", "--pattern", "--workers") for word in sys.argv[1:]):
        from ._reader_program import main

        main(path, sys.argv[1:])
    os.execv(path, [path, *sys.argv[1:]])

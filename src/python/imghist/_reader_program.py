"""python -m imghist --reader=MODULE:FUNCTION: Python counts, and the program writes all that it writes of images.

The program reads the records from a pipe as a run's shard: its last line says how many there are, so a run that ends
early is an error and leaves no outputs. With --shard it is that shard, else the only one. The process ends when the
program ends, with its exit status or signal, whatever the reader is doing; signals are passed on to the program.
"""

import contextlib
import hashlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import threading

from . import _imghist, _many, _reader, _table

OWN = {
    "reader": "count the arrays that this function gives for each path",
    "pattern": "names in directories, as in '*.dcm,*.ima' (*)",
    "workers": "threads or processes that read (threads); -j says how many",
}
_LISTS = {"files-from": "\n", "files0-from": "\0"}
_ARRAYS = ("axes", "bands")  # of the program too, which counts no arrays here
_REFUSED = {name: "a reader gives the images" for name in ("frames", "raw", "raw-depth", "raw-preview", "raw-sensor", "size")}
_REFUSED |= {name: "the reader gives arrays: let it cut or select" for name in ("region", "mask")}
_REFUSED |= {
    "records": "merge result files without a reader",
    "name": "there is no standard input",
    "resume": "its records say nothing of the files that a reader reads",
    "diff": "write a result file of each side with --ndjson, and compare these",
}
_USAGE = 2


def _exit(text):
    print(f"imghist: {text}", file=sys.stderr)
    sys.exit(_USAGE)


def _options(program):
    """The options of the program: {name: whether a value follows}, and {letter: name}."""
    text = subprocess.run([program, "--help=all"], stdout=subprocess.PIPE, check=True, text=True).stdout
    rows = re.findall(r"^  (?:-(\w), )?--([a-z0-9-]+)(=?)", text, re.MULTILINE)
    return {name: bool(equals) for _, name, equals in rows}, {letter: name for letter, name, _ in rows if letter}


def parse(arguments, takes_value, letters):
    """The paths, the values of all options, and the arguments that are left for the program."""
    paths, given, rest, words = [], {}, [], iter(arguments)
    for word in words:
        name, equals, value = word[2:].partition("=")
        if word == "--":
            paths += words
        elif not word.startswith("-") or word == "-":
            paths.append(word)
        elif not word.startswith("--"):
            rest.append(word)
            for i, name in enumerate((letters.get(letter, "") for letter in word[1:]), 2):
                given[name] = word[i:]
                if takes_value.get(name) and not word[i:]:
                    given[name] = next(words, "")
                    rest.append(given[name])
                if takes_value.get(name):
                    break
        else:
            is_own, following = name in OWN or name in _LISTS or name in _ARRAYS, []
            if not equals and (is_own or takes_value.get(name)):
                following = [value := next(words, "")]
            if is_own and not value:
                _exit(f"--{name}: needs a value")
            if is_own and given.get(name, value) != value:
                _exit(f"--{name}: is given twice; choose one of the values")
            given[name] = value
            rest += [] if is_own else [word, *following]
    return paths, given, rest


def _pair(given, name, separator):
    """Two numbers; None: another text, which the program refuses."""
    found = re.fullmatch(rf"(\d{{1,5}}){separator}(\d{{1,5}})", given.get(name, ""))
    return (int(found[1]), int(found[2])) if found else None


def _function(text):
    module, colon, name = text.partition(":")
    if not module or not colon or not name:
        _exit(f"--reader: '{text}' is not MODULE:FUNCTION")
    if sys.path[0] != os.getcwd():
        sys.path.insert(0, os.getcwd())
    try:
        function = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
    except Exception as error:
        _exit(f"--reader={text}: {type(error).__name__}: {error}")
    if not callable(function):
        _exit(f"--reader={text}: is no function")
    return function


def _paths(paths, given):
    yield from paths
    for option, separator in _LISTS.items():
        if option in given:
            is_stdin = given[option] == "-"
            with open(0 if is_stdin else given[option], "rb", closefd=not is_stdin) as file:
                yield from _lines(file, separator.encode())


def _lines(file, separator):
    if separator == b"\n":
        yield from (line for line in map(lambda line: line.rstrip(b"\r\n"), file) if line)
    else:
        yield from (path for path in file.read().split(separator) if path)


def _results(paths, given, function):
    settings = {"luma": given.get("luma", "bt709"), "alpha": given.get("alpha", "count")}
    settings["bins"] = "native" if given.get("bins") == "native" else 256
    clip, bits = _pair(given, "clip", ","), given.get("depth", "")
    settings |= {"clip": clip} if clip else {}
    with contextlib.suppress(ValueError):  # the program refuses it
        settings["nodata"] = given.get("nodata") if given.get("nodata", "none") == "none" else float(given["nodata"])
    settings |= {"bands": given["bands"]} if "bands" in given else {}
    options = {"range": _pair(given, "range", ",") or ((0, (1 << int(bits)) - 1) if bits.isdecimal() else None)}
    axes = given.get("axes", "auto")
    if axes not in ("auto", "HWC", "CHW"):
        raise ValueError(f"axes: '{axes}' is not auto, HWC or CHW: a reader gives images, one after the other")
    options |= {"layout": axes} if axes != "auto" else {}
    threads = given.get("threads", "")
    pattern = given["pattern"].split(",") if "pattern" in given else None
    return _reader.Results(
        _paths(paths, given), function, pattern, given.get("workers", "threads"),
        _many.n_threads(int(threads) if threads.isdecimal() else None), settings, options,
        _pair(given, "shard", "/"), False,
    )  # fmt: skip


def write(results, shard, run, to):
    """Writes records with their places in the run, and the shard's end. run: a hash, to which the paths are added."""
    start, n, key = b'"shard":"%d/%d",' % shard, 0, b'"status":'
    results.see = lambda path: run.update(os.fsencode(path) + b"\0")
    while True:
        try:
            index, k, result = results.next_place()
        except StopIteration:
            break
        (line,) = _table.ndjson([result], "")
        place = b'"position":[%d,0%s],' % (index, b",%d" % k if k else b"")
        to.write(line.replace(key, start + place + key, 1))  # in a text, quotes have backslashes
        to.flush()
        n += 1
    schema = json.loads(_imghist.failures(0).to_bytes())["schema"]
    to.write(b'{"schema":"%s",%s"run":"%s","status":"end","records":%d}\n'
             % (schema.encode(), start, run.hexdigest().encode(), n))  # fmt: skip
    to.flush()


def _feed(pipe, results, shard, run, name):
    """The thread that writes all records. An exception leaves out the end, which the program reports."""
    try:
        write(results, shard, run, pipe)
    except BrokenPipeError:
        pass  # the program has ended, or is about to
    except Exception as error:
        print(f"imghist: --reader={name}: {type(error).__name__}: {error}", file=sys.stderr)
    try:
        pipe.close()
    except BrokenPipeError:
        pass


def _end_with(program, results):
    """Ends this process as the program ends. Worker threads may still be within the reader."""
    code = None
    while code is None:  # a signal just before a wait is seen when the wait ends
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = program.wait(1)
    results.close()
    sys.stderr.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def main(program, arguments):
    takes_value, letters = _options(program)
    paths, given, rest = parse(arguments, takes_value, letters)
    if "help" in given:
        print("With a function that reads (docs/python.md):")
        print("".join(f"  --{name}={name.upper():<20} {text}\n" for name, text in OWN.items()), flush=True)
    if given.keys() & {"help", "version", "list", "completion"}:
        os.execv(program, [program, *rest])
    for name in ("reader", *_REFUSED):
        if name == "reader" and name not in given:
            _exit("--pattern, --workers: need --reader=MODULE:FUNCTION")
        if name in given and name in _REFUSED:
            _exit(f"--{name}: cannot be used with --reader: {_REFUSED[name]}")
    if not paths and not given.keys() & _LISTS.keys():
        _exit("no inputs")
    out = os.dup(1)
    os.dup2(2, 1)  # what a reader prints is no output of the program
    function = _function(given["reader"])
    try:
        results = _results(paths, given, function)
    except Exception as error:
        _exit(f"--reader={given['reader']}: {error}")
    command = [program, *rest, "--records=-", f"--name={given['reader']}"]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out)
    os.close(out)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: started.send_signal(number))
    hashed = [given.get(name, "") for name in ("reader", "pattern", "luma", "alpha", "bins", "clip", "range", "depth")]
    hashed += [f"{name}={given[name]}" for name in ("nodata", *_ARRAYS) if name in given]
    run = hashlib.blake2b("\0".join(hashed).encode("utf-8", "surrogateescape"), digest_size=8)
    shard = _pair(given, "shard", "/") or (1, 1)
    threading.Thread(target=_feed, args=(started.stdin, results, shard, run, given["reader"]), daemon=True).start()
    _end_with(started, results)

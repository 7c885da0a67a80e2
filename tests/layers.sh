#!/bin/sh
# layers.sh [ROOT [BUILD]]: fails on an #include that crosses the layers of the program, and on a function or table that a
# folder uses though it may not include the folder that defines it. src/library defines all that imghist.h declares.
#
# BUILD, in ROOT, has the objects whose symbols are read: build/release if it exists.
#
# Each folder may include its own headers and those of the folders it builds on; folders on the same
# level know nothing of each other, and neither do the members of a folder that are registered in its
# .def file: dec_png.c has no use for dec_jpeg.h. An include goes by its folder's name.
set -eu
cd "${1:-.}"
build=${2:-build/release}
[ $# -lt 2 ] || [ -d "$build/src" ] || { echo "layers.sh: no objects in $build" >&2; exit 1; }

# Each global symbol of an object whose source exists: "src/base/text.o:0000 T ih_x", or "U" if it is used.
symbols() {
  [ -d "$build/src" ] || return 0
  find src -name '*.c' | sed 's/c$/o/' | (cd "$build" && xargs ls 2>/dev/null | xargs nm -gA)
}

{ symbols; grep -Hn '^IH_PUBLIC .*(' src/imghist.h; grep -rn '^[[:space:]]*#[[:space:]]*include' src kernels \
  --include='*.[ch]' --include='*.def' --include='*.cu' --include='*.cuh' | LC_ALL=C sort; } | awk '
  BEGIN { # a folder may include only folders above its line, so there are no cycles
    may["public"]   = ""                # imghist.h includes the C library alone
    may["base"]     = "base public"     # statuses have the same meaning in every layer
    may["kernels"]  = "kernels"
    may["histogram"] = "histogram base public"
    may["decode"]   = "decode histogram base third_party stb"
    may["isolate"]  = "isolate decode histogram base"
    may["count"]    = "count histogram base kernels"
    may["device"]   = "device count histogram base kernels"
    may["jpeg_gpu"] = "jpeg_gpu device decode histogram base kernels"
    may["chart"]    = "chart histogram base third_party stb"
    may["output"]   = "output histogram base public third_party stb"
    may["scan"]     = "scan jpeg_gpu device count decode histogram base public"
    may["records"]  = "records scan output histogram base public"
    may["stages"]   = "stages output histogram base"
    may["library"]  = "library chart records scan output device decode histogram base public"   # what implements imghist.h
    may["python"]   = "python public"
    may["cli"]      = "cli stages output chart records scan jpeg_gpu isolate device count decode histogram base kernels public third_party stb"
    calls["cli"]    = "library"         # through imghist.h
    calls["python"] = "library"         # the same
    known = " library records base histogram kernels decode isolate count device jpeg_gpu output stages chart scan cli python third_party stb src tests samples "
  }

  function violation(why) {
    print file ":" line ": " why
    n_violations++
  }

  function stem(path) {
    sub(/.*\//, "", path)
    sub(/\..*/, "", path)
    return path
  }

  # The folder that an include is of: "" for the system or a file beside the including one.
  function folder_of(name,   first) {
    if (name == "imghist.h")
      return "public"
    first = substr(name, 1, index(name, "/") - 1)
    return index(known, " " first " ") ? first : ""
  }

  /^src\/[^:]*\.o:/ {
    split($0, field, ":"); split(field[1], part, "/")
    if ($NF !~ /^ih_/)
      next
    if ($(NF - 1) == "U")
      uses[field[1] " " $NF] = part[2]
    else
      defined_in[$NF] = part[2]
    next
  }

  /^src\/imghist\.h:[0-9]*:IH_PUBLIC/ {
    match($0, /ih_[a-z0-9_]+\(/)
    declared_at[substr($0, RSTART, RLENGTH - 1)] = $0
    next
  }

  {
    n_includes++
    split($0, field, ":")
    file = field[1]; line = field[2]
    text = substr($0, length(file) + length(line) + 3)

    n_parts = split(file, part, "/")
    layer = part[1] == "kernels" ? "kernels" : n_parts > 2 ? part[2] : "public"
    if (!(layer in may)) {
      violation("src/" layer " is no layer that tests/layers.sh knows")
      next
    }
    if (!match(text, /["<][^">]*[">]/)) {
      violation("an include must name its file")
      next
    }
    name = substr(text, RSTART + 1, RLENGTH - 2)
    if (name == "jpeglib.h")
      jpeglib[file] = line
    if (name == "jerror.h" && (!(file in jerror) || line + 0 < jerror[file] + 0))
      jerror[file] = line
    if (name ~ /(^|\/)\.\.?\//) {
      violation(name " goes by a relative path: name the folder")
      next
    }
    target = folder_of(name)
    if (target == "")
      target = substr(text, RSTART, 1) == "\"" ? layer : "system"
    if (target != "system" && !index(" " may[layer] " ", " " target " "))
      violation(layer " must not include " name ": it may include " may[layer])
    else if (target == layer && stem(name) ~ /^(dec|backend|out)_/ && \
             index(stem(file), stem(name)) != 1)
      violation(stem(file) " must not include its sibling " stem(name))
  }

  END {
    for (use in uses) {
      split(use, part, " ")
      target = defined_in[part[2]]
      layer = uses[use]
      if (target != "" && !index(" " layer " " may[layer] " " calls[layer] " ", " " target " ")) {
        file = part[1]; line = 0
        violation(layer " must not use " part[2] " of " target ": it may use " may[layer])
      }
    }
    for (name in declared_at)
      if (name in defined_in && defined_in[name] != "library") {
        split(declared_at[name], field, ":")
        file = field[1]; line = field[2]
        violation(name " is defined in " defined_in[name] ", not in library")
      }
    # Its message numbers depend on JPEG_LIB_VERSION, and are wrong without a word where that is not known.
    for (file in jerror) {
      line = jerror[file]
      if (!(file in jpeglib) || jpeglib[file] + 0 > line + 0)
        violation("jerror.h must come after jpeglib.h")
    }
    if (!n_includes)
      print "layers.sh: no includes found: not the root of the sources?"
    exit n_violations > 0 || !n_includes
  }
'

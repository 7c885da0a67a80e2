#!/usr/bin/env bats
# Icons that Pillow writes have the counts of the pixels that Pillow reads from them.

load helpers

@test "ico: the counts of Pillow" {
  /usr/bin/python3 -c 'import PIL' 2>/dev/null || skip "no Pillow"
  /usr/bin/python3 -c '
from PIL import Image
image = Image.open("'"$SAMPLES"'/scene.png").convert("RGB")
alpha = image.copy()
alpha.putalpha(image.convert("L"))
for name, picture in (("rgb", image), ("rgba", alpha), ("gray", image.convert("L")),
                      ("bits", image.convert("1")), ("palette", image.convert("P"))):
    for kind in ("bmp", "png"):
        picture.save(f"{name}-{kind}.ico", sizes=[(16, 16), (64, 64), (48, 48)], bitmap_format=kind)
        Image.open(f"{name}-{kind}.ico").convert("RGBA").save(f"{name}-{kind}.png")'
  n=0
  for file in *.ico; do
    "$IMGHIST" "$file" --csv=long --device=cpu | cut -d, -f2- >actual
    "$IMGHIST" "${file%.ico}.png" --csv=long --device=cpu | cut -d, -f2- >expected
    grep -q '^alpha,' actual || sed -i '/^alpha,/d' expected # Pillow made all pixels opaque
    if [ "$(sed -n '2s/,.*//p' actual)" = gray ]; then # Pillow made it RGB
      sed -i '/^red,\|^green,\|^blue,/d' expected
      sed -i '/^gray,/d' actual
    fi
    diff expected actual || fail "$file"
    n=$((n + 1))
  done
  [ "$n" -eq 10 ]
}

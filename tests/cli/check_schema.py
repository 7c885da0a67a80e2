"""check_schema.py SCHEMA FILE...: each line of the files is as the JSON Schema says, and has no other keys.

Prints the kinds of the lines. Exit status 77: jsonschema is not installed.
"""

import json
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit(77)

schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
definitions = schema["$defs"]


def closed(node):
    """The schema without room for keys that it does not know."""
    if isinstance(node, list):
        return [closed(x) for x in node]
    if not isinstance(node, dict):
        return node
    node = {key: closed(value) for key, value in node.items()}
    if node.get("type") == "object" and "additionalProperties" not in node:
        node["unevaluatedProperties"] = False
    return node


strict = dict(schema, **{"$defs": {name: closed(x) for name, x in definitions.items()}})
for part in ("measured", "statistics"):  # what others include, and only others close
    strict["$defs"][part].pop("unevaluatedProperties", None)
validators = {
    name: Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": strict["$defs"]})
    for name in (x["$ref"].rsplit("/", 1)[1] for x in schema["oneOf"])
}
whole = Draft202012Validator(schema)


def kind_of(record):
    if record["schema"] == "imghist-diff/1":
        return "comparison"
    if "images" in record:
        return "document"
    if record["status"] != "ok":
        return {"error": "failure", "end": "end"}[record["status"]]
    return "total" if record.get("total") else "image"


def wrong(record):
    """Copies of the record that the schema must refuse."""
    yield dict(record, schema="imghist/3")
    for key in ("status", "pixels", "channels", "error", "records", "a"):
        if key in record:
            yield {k: v for k, v in record.items() if k != key}
    for channel in record.get("channels", []):
        if "histogram" in channel:
            channels = [dict(channel, histogram=channel["histogram"][1:])]
            yield dict(record, channels=channels)
        if "mean" in channel:
            yield dict(record, channels=[dict(channel, mean="1")])


kinds = set()
for path in sys.argv[2:]:
    text = open(path).read()
    records = [json.loads(text)] if path.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    for record in records:
        kind = kind_of(record)
        is_first = kind not in kinds
        kinds.add(kind)
        whole.validate(record)
        validators[kind].validate(record)
        if kind == "image":
            kinds |= {k for k in ("bins", "region", "mask_hash", "warnings", "not_counted", "kernel", "resume", "ks")
                      if k in record}
        if "group" in record:
            kinds.add("group")
        for bad in wrong(record) if is_first else []:
            if whole.is_valid(bad):
                sys.exit(f"{path}: a wrong {kind} is valid")
print(*sorted(kinds))

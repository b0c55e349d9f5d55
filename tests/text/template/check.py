"""By hand: render templates with heed and with jinja2 as transformers sets it up, and say where they differ.

    cc -std=gnu17 -D_GNU_SOURCE -Isrc -o render tests/text/template/render.c build/libheed_static.a ... -ljansson -lutf8proc
    python tests/text/template/check.py ./render 20000 [FILE.jinja ...]

Generated templates are made of the statements, filters, tests and methods that published ones use. A difference is a
text that is not the same, or a template that heed alone refuses. FILEs are rendered for several conversations."""
import functools, json, random, re, subprocess, sys
from jinja2.sandbox import ImmutableSandboxedEnvironment
import jinja2.ext


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_pass", []), [], [], body).set_lineno(line)

    def _pass(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
env.filters["tojson"] = tojson
env.globals["raise_exception"] = raise_exception


@functools.lru_cache(200)
def compiled(template):
    return env.from_string(template)


def jinja(template, variables):
    try:
        return compiled(template).render(**variables), None
    except Exception as e:
        return None, f"{type(e).__name__}: {e}"


def ours(program, jobs):
    text = "\n".join(json.dumps({"template": t, "variables": v}) for t, v in jobs) + "\n"
    out = subprocess.run([program], input=text.encode(), stdout=subprocess.PIPE)
    lines = out.stdout.decode().split("\n")[:-1]
    if out.returncode or len(lines) != len(jobs):
        print("the program failed: status", out.returncode, "after", len(lines), "of", len(jobs), json.dumps(jobs[min(len(lines), len(jobs) - 1)][0]))
        sys.exit(1)
    return [json.loads(x) for x in lines]


VARIABLES = {
    "messages": [
        {"role": "system", "content": " Be brief. "},
        {"role": "user", "content": "Hällo\n \"you\" <b>"},
        {"role": "assistant", "content": "Hi\t'there'", "tool_calls": [{"name": "f", "arguments": {"x": 1, "y": [1.5, None, True]}}]},
        {"role": "user", "content": [{"type": "text", "text": "part"}, {"type": "image"}]},
    ],
    "tools": None, "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>",
    "n": 7, "m": -3, "x": 2.5, "s": "a-b-c", "e": "", "items": [3, 1, 2], "d": {"b": 1, "A": "two", "c": None},
}


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.depth = 0

    def one(self, *choices):
        return self.r.choice(choices)

    def text(self):
        return self.one("'a'", "'b c'", "' x '", "'\\n'", "'-'", "\"it's\"", "'äß'", "''", "'user'", "'1'", "'{'", "s", "e", "bos_token", "messages[0].content", "messages[1]['content']", "messages[2].role")

    def number(self):
        return self.one("0", "1", "2", "-1", "n", "m", "3", "10", "n % 3", "n // 2", "items|length", "1.5", "x", "2 ** 3")

    def list(self):
        return self.one("messages", "items", "[1, 2, 3]", "['x', 'y']", "[]", "s.split('-')", "'a b  c'.split()", "d.items()", "d|dictsort", "range(3)", "range(1, 6, 2)", "messages[1:]", "messages[::-1]", "items[:2]", "s", "d", "messages|selectattr('role', 'equalto', 'user')|list", "messages|map(attribute='role')|list", "(1, 'a')", "items|sort", "items + [4]", "items|reject('equalto', 1)|list", "[none, true, 1.0]", "items|reverse|list", "[3, 1]|map('string')|list", "messages|rejectattr('tool_calls')|list", "messages|selectattr('tool_calls', 'defined')|list", "d.keys()|list", "d.values()|list", "['b', 'a', 'B']|unique|list", "messages[2].tool_calls")

    PARTS = {"T": "text", "N": "number", "L": "list", "V": "value", "C": "condition", "E": "test", "A": "any"}

    def fill(self, *choices):
        """One of the choices, with $T, $N, ... replaced by what those make."""
        return re.sub(r"\$([TNLVCEA])", lambda m: getattr(self, self.PARTS[m[1]])(), self.r.choice(choices))

    def any(self):
        return self.fill("$T", "$N", "$L", "nothing", "tools", "d", "d.q", "messages[0].tool_calls", "true", "items[9]")

    def test(self):
        return self.fill("$A is defined", "$A is string", "$A is none", "$A is mapping", "$A is iterable", "$A is sequence", "$A is not defined", "$A is number", "$A is boolean", "$A is true", "$A is false", "$A", "not $A", "$T in $T", "$T not in $L", "$N == $N", "$N < $N <= $N", "$T == $T", "$T != $A", "$N is odd", "$N is divisibleby 2", "$T.startswith($T)", "$T.endswith($T)", "$L == $L", "$N in $L", "$A is integer", "$A is float", "$T is upper", "$T is lower", "$T < $T", "$N is eq $N", "loop.first", "loop.last")

    def condition(self):
        return self.fill("$E", "$E", "$E and $E", "$E or $E", "not ($E)", "($E) == ($E)")

    def value(self):
        self.depth += 1
        v = self._value() if self.depth < 4 else self.text()
        self.depth -= 1
        return v

    def _value(self):
        return self.fill(
            "$T", "$N", "$L", "$T + $T", "$T ~ $N ~ $V", "$N + $N * $N", "$N / $N", "$N - $N", "$N % $N", "$T|trim", "$T|upper", "$T|lower", "$T|length", "$L|length", "$L|join($T)", "$L|first", "$L|last", "$V|tojson",
            "$V|string", "nothing|default($T)", "$T|default($T, true)", "$T|replace($T, $T)", "$T.strip()", "$T.strip($T)", "$T.lstrip()", "$T.rstrip($T)", "$T.replace($T, $T)", "$T.split($T)", "$T.split($T)[-1]", "$T.split($T, 1)",
            "$T[$N]", "$T[$N:]", "$T[:$N]", "$T[::-1]", "$T[$N:$N:$N]", "$L[$N]", "$L[$N:$N]", "$V if $C else $V", "$T if $C", "d[$T]", "d.get($T, $V)", "d.A", "d.items", "messages[$N].content", "messages[$N]['role']", "($V, $V)", "[$V, $V]",
            "{'k': $V, $T: $N}", "$C", "$T * $N", "$L + $L", "$V|tojson(indent=2)", "$V|tojson(indent=4)", "$L|map('upper')|join(',')", "$L|sort|join", "$L|list", "$T|capitalize", "$T.title()", "$T|int", "$N|int", "$N|float", "$N|abs", "$T|indent",
            "$T.upper()", "$C and $V", "$V or $V", "d|items|list", "($V)|safe", "$T.find($T)", "$L|tojson(separators=(',', ':'))", "d|tojson(sort_keys=true)", "$L|select('string')|list", "-$N", "$T.join($L)", "$T.splitlines()", "dict(a=$V)", "namespace(a=1).a", "'a' 'b'")

    def space(self):
        return self.one("", "", "", " ", "\n", "  ", "\n\n", "\t", " \n  ", "x", "x\n", " y ", "\n  z", "<|im|>")

    def tag(self, inner):
        return self.one("{%", "{%-", "{%-", "{%", "{%+") + " " + inner + " " + self.one("%}", "-%}", "%}", "-%}", "+%}" if self.r.random() < .2 else "%}")

    def print(self):
        return self.one("{{", "{{-", "{{") + " " + self.value() + " " + self.one("}}", "-}}", "}}")

    def body(self, depth):
        return "".join(self.space() + self.statement(depth) for _ in range(self.r.randint(1, 3))) + self.space()

    def statement(self, depth):
        kind = self.r.random()
        if depth <= 0 or kind < .45:
            return self.print()
        b = lambda: self.body(depth - 1)
        if kind < .6:
            out = self.tag(f"if {self.condition()}") + b()
            if self.r.random() < .3: out += self.tag(f"elif {self.condition()}") + b()
            if self.r.random() < .5: out += self.tag("else") + b()
            return out + self.tag("endif")
        if kind < .75:
            target, what = self.one(("it", self.list()), ("it", self.list()), ("k, v", self.one("d.items()", "d|dictsort", "[(1, 2)]", "d|items")))
            cond = f" if {self.condition()}" if self.r.random() < .2 else ""
            inner = b()
            inner = inner.replace("'b c'", self.one("loop.index", "loop.index0", "loop.last", "loop.length", "loop.revindex", "loop.previtem", "loop.nextitem", "it", "it", "it.role", "k"), self.r.randint(0, 2))
            if self.r.random() < .2: inner += self.tag(f"if {self.condition()}") + self.tag(self.one("break", "continue")) + self.tag("endif") + b()
            if self.r.random() < .2: inner += self.tag("else") + b()
            return self.tag(f"for {target} in {what}{cond}") + inner + self.tag("endfor")
        if kind < .83:
            return self.tag(f"set {self.one('a1', 's', 'n')} = {self.value()}") + self.one("", "{{ a1 }}", "{{ s }}")
        if kind < .87:
            return self.tag("set ns = namespace(a=0, b='')") + self.tag(f"for it in {self.list()}") + self.tag(f"set ns.a = {self.value()}") + b() + self.tag("endfor") + "{{ ns.a }}"
        if kind < .9:
            return self.tag(f"set a2{self.one('', ' | trim', ' | upper')}") + b() + self.tag("endset") + "{{ a2 }}"
        if kind < .94:
            return self.tag(f"macro f(p, q={self.value()})") + "{{ p }}" + b() + "{{ q }}" + self.tag("endmacro") + self.one("{{ f(1) }}", "{{ f('u', q=2) }}", "{{ f() }}", "{{ f(q=1, p=n) }}", "{{ f(*items) }}", "{{ f(*[1, 2]) }}", "{{ f(3, **{'q': 4}) }}", "{{ f(q=n, *[5]) }}", "{{ f(1, p=2) }}", "{{ f(**d) }}", "{{ f(*s) }}", "{{ f(*nothing) }}")
        if kind < .96:
            return "{#" + self.one("", "-") + " note " + self.one("", "-") + "#}"
        if kind < .98:
            return self.tag("raw").replace("+", "") + " {{ x }} {% if %}" + self.tag("endraw")
        return self.tag("generation") + b() + self.tag("endgeneration")


def main():
    program, count = sys.argv[1], int(sys.argv[2])
    agreed = both = lenient = shown = 0
    different = []
    for first in range(0, count, 2000):
        jobs = [(Maker(i).body(3), VARIABLES) for i in range(first, min(first + 2000, count))]
        for i, ((template, v), got) in enumerate(zip(jobs, ours(program, jobs))):
            want, error = jinja(template, v)
            if "<generator" in (want or "") or "dict_items(" in (want or "") or "range(" in (want or "") or "<built-in" in (want or "") or "<bound" in (want or "") or "dict_" in (want or "") or " at 0x" in (want or "").lower() or "Markup(" in (want or ""):
                shown += 1  # how Python shows its own objects is no part of templates
            elif error and "error" in got: both += 1
            elif want is not None and want == got.get("text"): agreed += 1
            elif error: lenient += 1  # a range is a list here, for example
            else: different.append((len(template), template, want, error, got))
    different.sort(key=lambda x: x[0])
    for _, template, want, error, got in different[:8]:
        print("----", json.dumps(template), "\njinja:", json.dumps(want), error, "\nheed: ", json.dumps(got.get("text")), got.get("error"))
    print(f"{count - shown} generated templates: {agreed} equal texts, {both} refused by both, {lenient} refused by jinja2 alone, {len(different)} differ")
    files(program, sys.argv[3:])


TOOL = {"type": "function", "function": {"name": "add", "description": "Adds two numbers.", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer", "description": "one"}, "b": {"type": "number"}}, "required": ["a", "b"]}}}
U, A = lambda x: {"role": "user", "content": x}, lambda x: {"role": "assistant", "content": x}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": "abcdefghi", "function": {"name": "add", "arguments": {"a": 1, "b": 2.5}}}]}
TALKS = [
    [U("U1"), A("A1 "), U(" U2")],
    [U("U1"), A("<think>\nwhy\n</think>\n\nA1"), U("U2\n"), A("A2")],
    [U("U1"), CALL, {"role": "tool", "name": "add", "tool_call_id": "abcdefghi", "content": "3.5"}, A("3.5"), U("U2")],
    [U("U1"), U("U2")],
    [U([{"type": "text", "text": "U1"}])],
]


def files(program, paths):
    same = refused = 0
    if not paths: return
    jobs = []
    bad = {}
    env.globals["strftime_now"] = lambda form: __import__("datetime").datetime.now().strftime(form)
    for path in paths:
        template = open(path).read()
        for system in ([], [{"role": "system", "content": "S"}]):
            for talk in TALKS:
                for more in ({}, {"add_generation_prompt": True}, {"add_generation_prompt": True, "tools": [TOOL]}, {"add_generation_prompt": True, "enable_thinking": False}):
                    v = {"bos_token": "<s>", "eos_token": "</s>", "tools": None, "documents": None, "add_generation_prompt": False,
                         "messages": system + talk, **more}
                    jobs.append((path, template, v))
    for (path, template, v), got in zip(jobs, ours(program, [j[1:] for j in jobs])):
        want, error = jinja(template, v)
        if want is None and "error" in got: refused += 1
        elif want is not None and want == got.get("text"): same += 1
        else: bad.setdefault(path, []).append((error, got.get("error"), want, got.get("text")))
    for path, cases in bad.items():
        print(len(cases), "DIFFER", path, *cases[0][:2])
        if cases[0][2] and cases[0][3]: print(json.dumps(cases[0][2:], ensure_ascii=False))
    if paths: print(f"{len(paths)} files: {same} equal texts, {refused} refused by both; {len(bad)} files with differences")


main()

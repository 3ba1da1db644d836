#!/usr/bin/python3
"""Write golden.jsonl: what cliff prints for the cases below.

It needs python3-cliff, python3-osc-lib, python3-prettytable and python3-yaml as
Debian 12 has them (the packages of python3-openstackclient 6.0). Each line of the
output is one case with the text that cliff printed for it:

    golden.py [number of random cases] [seed] > golden.jsonl
"""
import argparse
import io
import json
import logging
import random
import sys

from cliff import lister, show
from cliff.formatters import commaseparated, json_format, shell, table, value, yaml_format
from osc_lib import utils
from osc_lib.cli import format_columns as fc
from cliff import columns as cliff_columns


class Size(cliff_columns.FormattableColumn):
    def human_readable(self):
        return utils.format_size(self._value)


class UpDown(cliff_columns.FormattableColumn):
    def human_readable(self):
        return 'UP' if self._value else 'DOWN'


KINDS = {
    'list': fc.ListColumn, 'dict': fc.DictColumn, 'dictlist': fc.DictListColumn,
    'listdict': fc.ListDictColumn, 'size': Size, 'updown': UpDown,
}
FORMATTERS = {
    'table': table.TableFormatter(), 'csv': commaseparated.CSVLister(),
    'json': json_format.JSONFormatter(), 'yaml': yaml_format.YAMLFormatter(),
    'value': value.ValueFormatter(), 'shell': shell.ShellFormatter(),
}


def cell(v):
    """A cell of a case: {"cell": kind, "of": value} is a formattable column."""
    if isinstance(v, dict) and set(v) == {'cell', 'of'}:
        return KINDS[v['cell']](v['of'])
    return v


def lines(case):
    """Run a case through cliff's own produce_output."""
    out = io.StringIO()

    class App:
        stdout = out

    args = argparse.Namespace(
        columns=case.get('columns', []), sort_columns=case.get('sort', []),
        sort_direction='desc' if case.get('descending') else None,
        max_width=case.get('max_width', 0), fit_width=False,
        print_empty=case.get('print_empty', False), noindent=case.get('noindent', False),
        quote_mode=case.get('quote', 'nonnumeric'), variables=case.get('variables', []),
        prefix=case.get('prefix', ''))
    base = show.ShowOne if case.get('show') else lister.Lister
    command = base.__new__(type('Command', (base,), {
        'take_action': lambda *a: None, 'log': logging.getLogger('x')}))
    command.app = App()
    command.formatter = FORMATTERS[case['format']]
    titles = tuple(case['titles'])
    try:
        if case.get('show'):
            command.produce_output(args, titles, tuple(cell(v) for v in case['rows'][0]))
        else:
            command.produce_output(args, titles, [tuple(cell(v) for v in r) for r in case['rows']])
    except IndexError:
        return None  # cliff fails to say that it cannot sort
    except Exception as e:
        return {'error': str(e)}
    return {'want': out.getvalue()}


WORDS = '''web db node-14 ACTIVE Error yes No on NULL ~ 1.0 1e3 0x1f 0o17 012 1_000 12:30:45 1:2 2026-03-04
2026-03-04T06:27:59Z 2026-3-4 1:02:03 - -- --- ... a:b a: :b # #x x#y a,b [x] {y} &a *b !c |d >e 'f "g %h @i `j
it's say"hi" both'" back\\slash back\\ $x C:\\dir tab\there nul\\0 key=value k='v', k2='v2' .5 +.inf .nan -1 +12 = <<
7c0f6ab2-5bd1-4c69-9d0c-8d8b4b9c1f0e 10.0.0.5 fd00::1 fd00:: http://10.0.0.5:8774/v2.1 long-hyphenated-word-for-wrap
snapshot_2026 a--b x---y foo--bar, well-known-thing e-mail -b --flag x-1-y- ? ?x ?_ !important'''.split()
BLANKS = [' ', '  ', '\n', '\n\n', ' \n', '\n ', '-', ', ', '', ' ', ' ', '\r\n', '\r']
WIDE = ['日本語', 'зона', 'é', 'e\u0301', '\u200b', '😀', 'ﾊﾝ', '한국어', '\u00a0', '\x85', '\u2028', '\ufeff', '\x7f', '\t', '\x1b[31mred\x1b[0m', '\U0001f1e9', 'ñ', '\ud7ff', '\ue000', '\x00', '\x08', '\x1f', '\xad']


class Case:
    def __init__(self, rng):
        self.rng = rng

    def text(self, exotic=0.08):
        r = self.rng
        n = r.choice([0, 1, 1, 1, 1, 2, 3, 6, 15])
        parts = []
        for i in range(n):
            if i:
                parts.append(r.choice(BLANKS if r.random() < .4 else [' ']))
            parts.append(r.choice(WIDE) if r.random() < exotic else r.choice(WORDS))
        if r.random() < .04:
            parts.append(r.choice(BLANKS))
        if r.random() < .03:
            parts.insert(0, r.choice(BLANKS))
        return ''.join(parts)

    def number(self):
        r = self.rng
        return r.choice([0, 1, -1, 20, 10**6, 2**63, 10**20, 0.5, 1.0, -0.0, 1e16, 1e15, 1.5e-5, 0.0001, 123456789.125, 1e100, 3.0e-10,
                         round(r.random(), r.randint(0, 9)), r.randint(-10**6, 10**6)])

    def scalar(self):
        r = self.rng
        return r.choice([self.text, self.text, self.text, self.number, lambda: r.random() < .5, lambda: None])()

    def key(self):
        return self.rng.choice(['a', 'b', 'ip_address', 'subnet_id', 'hw:cpu', 'é', 'no', '1', 'A', 'x y', '', 'k' * 130, self.text(.02)])

    def native(self, depth=0):
        r = self.rng
        k = r.random()
        if depth > 2 or k < .5:
            return self.scalar()
        if k < .75:
            return [self.native(depth + 1) for _ in range(r.randint(0, 3))]
        return {self.key(): self.native(depth + 1) for _ in range(r.randint(0, 3))}

    def formattable(self, kind):
        r = self.rng
        nothing = r.random() < .1
        of = {
            'list': lambda: None if nothing else [self.text() for _ in range(r.randint(0, 3))],
            'dict': lambda: None if nothing else {self.key(): r.choice([self.scalar(), self.scalar(), {self.key(): self.scalar()}, {}, {'z': {'y': 1, 'x': {}}}, [1, 'a']]) for _ in range(r.randint(0, 3))},
            'dictlist': lambda: None if nothing else {self.key(): r.choice([None, [self.text()], [self.text(), self.text()]]) for _ in range(r.randint(0, 3))},
            'listdict': lambda: None if nothing else [{self.key(): self.scalar()} for _ in range(r.randint(0, 3))],
            'size': lambda: None if nothing else r.choice([0, 999, 1000, 1234567, 10**12, 5, 999950, 1024.0]),
            'updown': lambda: r.random() < .5,
        }[kind]()
        return {'cell': kind, 'of': of}

    def column(self, rows):
        r = self.rng
        kind = r.choice(sorted(KINDS))
        make = r.choice([self.text, self.text, lambda: self.text(.5), self.number, self.scalar, self.native,
                         lambda: self.formattable(kind), lambda: self.formattable(kind),
                         lambda: r.randint(0, 20), lambda: r.choice([None, r.randint(0, 9)]), lambda: r.choice(['a', 'B', 'b', None])])
        return [make() for _ in range(rows)]

    def case(self):
        r = self.rng
        c = {'format': r.choice(['table', 'table', 'table', 'csv', 'json', 'yaml', 'yaml', 'value', 'shell'])}
        c['show'] = c['format'] == 'shell' or c['format'] != 'csv' and r.random() < .35
        rows = 1 if c['show'] else r.choice([0, 1, 2, 3, 5])
        titles = r.sample(['ID', 'Name', 'Status', 'Size', 'Project ID', 'is_public', 'OS-EXT:x', 'no', 'Имя', '名前', 'Long-hyphenated title here', 'x'],
                          r.randint(1, 6))
        c['titles'] = titles
        cols = [self.column(rows) for _ in titles]
        c['rows'] = [list(row) for row in zip(*cols)]
        if r.random() < .3:
            c['columns'] = r.sample(titles + ['Nope', 'id'], r.randint(1, 3))
        if not c['show'] and r.random() < .4:
            c['sort'] = r.sample(titles + ['Nope'], r.randint(1, 2))
            c['descending'] = r.random() < .5
        if c['format'] == 'table' and r.random() < .6:
            c['max_width'] = r.choice([1, 20, 40, 60, 80, 120])
            c['print_empty'] = r.random() < .5
        if c['format'] == 'csv':
            c['quote'] = r.choice(['all', 'minimal', 'none', 'nonnumeric'])
        if c['format'] == 'json':
            c['noindent'] = r.random() < .3
        if c['format'] == 'shell':
            c['prefix'] = r.choice(['', 'os_'])
            if r.random() < .3:
                c['variables'] = r.choice([['id'], ['project_id', 'name'], ['Name']])
        return c


def main():
    logging.disable(logging.CRITICAL)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    while count:
        case = Case(rng).case()
        got = lines(case)
        if got is None:
            continue
        case.update(got)
        print(json.dumps(case))
        count -= 1


main()

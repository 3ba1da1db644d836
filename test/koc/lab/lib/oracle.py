"""Runs commands of the openstack client cheaply: its code is imported once, each command is a fork.

  oracle.py serve N    requests on stdin, replies on stdout, both one JSON object a line; N at once
  (seed imports this module)

A request is {"id": 1, "argv": [...], "expand": true}. The reply lists the variants that ran: with expand,
every output format of the command ("few": table and json), and once more with --long where its parser has
it. Within one request the answers to GET are remembered, so the variants show the same moment of the cloud.
"""
import importlib
import json
import os
import pkgutil
import re
import select
import signal
import sys
import time
import traceback
import warnings

for _v in [v for v in os.environ if v.startswith('CLIFF_')]:
    del os.environ[_v]
os.environ.pop('COLUMNS', None)
os.environ['LC_ALL'] = 'C.UTF-8'
os.environ['TZ'] = 'UTC'
warnings.simplefilter('ignore')

import requests                                              # noqa: E402
from keystoneauth1.identity.generic import base as generic   # noqa: E402
from openstackclient import shell                            # noqa: E402

TOKENS = {}
GETS = None


def _cache_tokens():
    plain = generic.BaseGenericPlugin.get_auth_ref

    def get_auth_ref(self, session, **kw):
        key = repr(sorted((k, repr(v)) for k, v in vars(self).items() if k not in ('_plugin', '_lock', 'auth_ref', '_discovery_cache')))
        if key not in TOKENS:
            TOKENS[key] = (plain(self, session, **kw), self._plugin)
        ref, self._plugin = TOKENS[key]
        return ref
    generic.BaseGenericPlugin.get_auth_ref = get_auth_ref


def _cache_gets():
    plain = requests.Session.send

    def send(self, request, **kw):
        if GETS is None or request.method != 'GET' or kw.get('stream'):
            return plain(self, request, **kw)
        key = (request.url, tuple(sorted((k, v) for k, v in request.headers.items())))
        if key not in GETS:
            GETS[key] = plain(self, request, **kw)
        return GETS[key]
    requests.Session.send = send


def warm():
    """Import what commands import late, and authenticate."""
    _cache_tokens()
    _cache_gets()
    for p in ('openstackclient.common', 'openstackclient.compute.v2', 'openstackclient.identity.v3',
              'openstackclient.image.v2', 'openstackclient.network.v2', 'openstackclient.volume.v2',
              'openstackclient.volume.v3'):
        for m in pkgutil.iter_modules(importlib.import_module(p).__path__):
            importlib.import_module(p + '.' + m.name)
    for c in ('token issue', 'keypair list', 'flavor list', 'volume qos list', 'image list --limit 1',
              'availability zone list --network', 'extension list --network'):
        # the first of these reads the configuration and fetches the token that the forks inherit
        run(c.split())


def forget():
    """Undo what the client keeps in its modules for the life of a process that runs one command."""
    from openstackclient.common import clientmanager
    from openstackclient.compute import client as compute
    from openstackclient.volume import client as volume
    for c in clientmanager.ClientManager.__mro__:
        for v in vars(c).values():
            if type(v).__name__ == 'ClientCache':
                v._handle = None        # the client of a service
    compute._compute_api_version = None
    volume._volume_api_version = None
    volume.API_VERSIONS = {v: 'cinderclient.v%s.client.Client' % v for v in '123'}


def run(argv):
    """One command in this process: exit code, standard output and standard error (bytes)."""
    import logging
    forget()
    sys.argv = ['openstack']
    saved = os.dup(1), os.dup(2)
    fds = os.memfd_create('out'), os.memfd_create('err')
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.dup2(fds[0], 1)
        os.dup2(fds[1], 2)
        try:
            rc = shell.OpenStackShell().run(argv)
        except SystemExit as e:
            rc = e.code
        except Exception:
            traceback.print_exc()
            rc = 1
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        for h in list(logging.getLogger('').handlers):
            logging.getLogger('').removeHandler(h)
    out = []
    for f in fds:
        os.lseek(f, 0, 0)
        b = b''
        while True:
            x = os.read(f, 1 << 20)
            if not x:
                break
            b += x
        out.append(b)
    for f in fds + saved:
        os.close(f)
    return int(rc) if isinstance(rc, int) else 0 if rc is None else 1, out[0], out[1]


def variants(argv, few):
    """The kind of a command, and its command lines: formats, and --long."""
    from cliff import lister, show
    class Found(BaseException):
        pass

    def found(app, cmd):
        raise Found(cmd)
    plain, shell.OpenStackShell.prepare_to_run_command = shell.OpenStackShell.prepare_to_run_command, found
    try:
        shell.OpenStackShell().run(argv)
        return 'command', [(argv, None)]
    except Found as e:
        cmd = e.args[0]
    except SystemExit:
        return 'command', [(argv, None)]
    finally:
        shell.OpenStackShell.prepare_to_run_command = plain
    parser = cmd.get_parser('x')
    kind, formats = 'command', [None]
    if isinstance(cmd, lister.Lister):
        kind, formats = 'list', ['table', 'json', 'yaml', 'value', 'csv']
    elif isinstance(cmd, show.ShowOne):
        kind, formats = 'show', ['table', 'json', 'yaml', 'value', 'shell']
    if few:
        formats = formats[:2]
    lines = [argv]
    if '--long' in parser._option_string_actions and '--long' not in argv:
        lines.append(argv + ['--long'])
    return kind, [(a, f) for a in lines for f in formats]


def handle(req):
    global GETS
    GETS = {} if req.get('expand') else None     # else a command may wait for a change
    kind, todo = 'command', [(req['argv'], None)]
    if req.get('expand'):
        try:
            kind, todo = variants(req['argv'], req['expand'] == 'few')
        except BaseException:
            traceback.print_exc()
    res = []
    for argv, fmt in todo:
        t = time.time()
        rc, out, err = run(argv + (['-f', fmt] if fmt else []))
        res.append({'argv': argv, 'format': fmt or '', 'rc': rc, 'out': out.decode('utf-8', 'replace'),
                    'err': err.decode('utf-8', 'replace'), 'seconds': round(time.time() - t, 3)})
        if rc == 2 and fmt == 'table':
            break
    return {'id': req['id'], 'kind': kind, 'runs': res}


def fork(fn, *a):
    """Run fn in a child; the file holds its JSON result."""
    r, w = os.pipe()
    pid = os.fork()
    if pid:
        os.close(w)
        return pid, r
    rc = 1
    try:
        signal.alarm(300)       # nothing lasts so long
        os.close(r)
        os.dup2(os.open('/dev/null', os.O_RDONLY), 0)
        b = json.dumps(fn(*a)).encode()
        while b:
            b = b[os.write(w, b):]
        rc = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(rc)


def collect(pid, r):
    b = b''
    while True:
        x = os.read(r, 1 << 20)
        if not x:
            break
        b += x
    os.close(r)
    os.waitpid(pid, 0)
    return json.loads(b) if b else None


def call(argv):
    """One command in a fork: (rc, out, err) as text."""
    r = collect(*fork(lambda: [x if isinstance(x, int) else x.decode('utf-8', 'replace') for x in run(argv)]))
    return tuple(r) if r else (1, '', 'the command died')


def serve(n):
    warm()
    out = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    queue, running, buf, eof = [], {}, b'', False
    while queue or running or not eof:
        while queue and len(running) < n:
            req = queue.pop(0)
            pid, r = fork(handle, req)
            running[r] = (pid, req, [])
        fds = list(running) + ([] if eof else [0])
        for fd in select.select(fds, [], [])[0]:
            x = os.read(fd, 1 << 16)
            if fd == 0:
                eof = not x
                buf += x
                *lines, buf = buf.split(b'\n')
                queue += [json.loads(x) for x in lines if x.strip()]
            elif x:
                running[fd][2].append(x)
            else:
                pid, req, parts = running.pop(fd)
                os.close(fd)
                os.waitpid(pid, 0)
                b = b''.join(parts)
                res = json.loads(b) if b else {'id': req['id'], 'error': 'the command died'}
                out.write(json.dumps(res) + '\n')
                out.flush()


if __name__ == '__main__':
    if sys.argv[1:2] == ['serve']:
        serve(int(sys.argv[2]))
    else:
        sys.exit(__doc__)

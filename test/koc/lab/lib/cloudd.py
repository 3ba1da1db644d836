#!/usr/bin/python3
"""Start OpenStack services cheaply: import once, fork once per service.

  cloudd.py start [NAME...]   fork the named services (default: all) off a
                              warm "zygote" process and return
  cloudd.py run NAME          run one service in the foreground, no zygote
  cloudd.py dbsync            run all database migrations, in parallel
"""
import gc
import importlib
import os
import random
import sys
import time
import traceback

D = os.environ['CLOUD_DIR']
E = os.path.join(D, 'etc')
WITH = os.environ.get('CLOUD_WITH', '').split()
COMPUTES = os.environ.get('CLOUD_COMPUTES', 'cmp1 cmp2 cmp3').split()


def conf(p, *extra):
    out = ['--config-file', '%s/%s.conf' % (E, p)]
    for x in extra:
        out += ['--config-file', '%s/%s' % (E, x)]
    return out


# project -> (modules to import before forking, {service: spec})
# spec: call=module:function, argv=[...], or wsgi=module:function, port=N
P = {
    'keystone': (['keystone.server.wsgi', 'keystone.server.flask.application',
                  'keystone.server.flask.core'], {
        'keystone': dict(wsgi='keystone.server.wsgi:initialize_public_application',
                         port=5000, env={'OS_KEYSTONE_CONFIG_FILES': E + '/keystone.conf'})}),
    'placement': (['placement.wsgi', 'placement.deploy'], {
        'placement': dict(wsgi='placement.wsgi:init_application', port=8778,
                          env={'OS_PLACEMENT_CONFIG_DIR': E + '/placement'})}),
    'glance': (['glance.cmd.api', 'glance.api.v2.router'], {
        'glance-api': dict(call='glance.cmd.api:main', argv=conf('glance'))}),
    'neutron': (['neutron.cmd.eventlet.server', 'neutron.server.wsgi_eventlet',
                 'neutron.plugins.ml2.plugin', 'neutron.services.l3_router.l3_router_plugin',
                 'neutron.services.qos.qos_plugin', 'neutron.services.trunk.plugin'], {
        'neutron-server': dict(call='neutron.cmd.eventlet.server:main',
                               argv=conf('neutron', 'ml2.ini'))}),
    'nova': (['nova.cmd.api', 'nova.api.openstack.compute', 'nova.cmd.conductor',
              'nova.conductor.manager', 'nova.cmd.scheduler', 'nova.scheduler.host_manager',
              'nova.cmd.compute', 'nova.compute.resource_tracker', 'nova.virt.fake'],
             dict([('nova-api', dict(call='nova.cmd.api:main', argv=conf('nova'))),
                   ('nova-conductor', dict(call='nova.cmd.conductor:main', argv=conf('nova'))),
                   ('nova-scheduler', dict(call='nova.cmd.scheduler:main', argv=conf('nova')))] +
                  [('nova-compute-' + c, dict(call='nova.cmd.compute:main',
                                              argv=conf('nova', 'nova-%s.conf' % c)))
                   for c in COMPUTES])),
    'cinder': (['cinder.cmd.api', 'cinder.cmd.scheduler', 'cinder.cmd.volume',
                'cinder.api.v3.router', 'cinder.volume.manager', 'cinder.scheduler.manager'], {
        'cinder-api': dict(call='cinder.cmd.api:main', argv=conf('cinder')),
        'cinder-scheduler': dict(call='cinder.cmd.scheduler:main', argv=conf('cinder')),
        'cinder-volume': dict(call='cinder.cmd.volume:main', argv=conf('cinder')),
        'cinder-backup': dict(call='cinder.cmd.backup:main', argv=conf('cinder'))}),
    'ironic': (['ironic.cmd.singleprocess', 'ironic.api.app'], {
        'ironic': dict(call='ironic.cmd.singleprocess:main', argv=conf('ironic'))}),
    'designate': (['designate.cmd.central', 'designate.cmd.api', 'designate.cmd.worker',
                   'designate.cmd.producer', 'designate.cmd.mdns'], {
        'designate-' + s: dict(call='designate.cmd.%s:main' % s, argv=conf('designate'))
        for s in ('central', 'api', 'worker', 'producer', 'mdns')}),
    'barbican': ([], {
        'barbican': dict(wsgi='__main__:barbican_app', port=9311, fresh=True,
                         # barbican reads ~/barbican.conf while it is imported
                         env={'HOME': E})}),
    'agents': ([], {'fake-agents': dict(call='fake_agents:main', argv=[])}),
    'octavia': (['octavia.api.app', 'octavia.api.v2.controllers'], {
        'octavia-api': dict(wsgi='__main__:octavia_app', port=9876, argv=conf('octavia')),
        # the worker is not an eventlet program: give it a clean interpreter
        'octavia-worker': dict(call='octavia.cmd.octavia_worker:main',
                               argv=conf('octavia', 'octavia-worker.conf'), plain=True)}),
}
ORDER = ['keystone', 'neutron', 'nova', 'placement', 'glance', 'cinder', 'agents'] + [
    p for p in ('ironic', 'octavia', 'designate', 'barbican') if p in WITH]

COMMON = '''eventlet.green.subprocess eventlet.wsgi sqlalchemy.orm oslo_db.sqlalchemy.enginefacade alembic
oslo_messaging.rpc oslo_messaging._drivers.impl_rabbit oslo_policy.policy oslo_log.log oslo_service.service
oslo_service.wsgi oslo_middleware keystonemiddleware.auth_token keystoneauth1.loading
keystoneauth1.identity.v3 webob routes.middleware paste.deploy paste.urlmap stevedore.driver jsonschema
requests cryptography.fernet cryptography.x509 oslo_cache.core oslo_versionedobjects.base
oslo_concurrency.lockutils oslo_concurrency.processutils kombu.connection amqp pymysql jinja2 netaddr
lxml.etree oslo_reports.guru_meditation_report oslo_upgradecheck.upgradecheck castellan.key_manager
osprofiler.web oslo_privsep.priv_context oslo_rootwrap.client tooz.coordination futurist pecan
taskflow.engines glanceclient.v2.client openstack.connection neutronclient.v2_0.client
novaclient.v2.client cinderclient.v3.client os_brick.initiator.connector os_vif psutil tenacity
swiftclient prettytable dns.resolver'''.split()


def octavia_app():
    from octavia.api import app
    return app.setup_app(argv=sys.argv)


def barbican_app():
    from paste import deploy
    from barbican.common import config as bc
    return deploy.loadapp('config:%s/barbican-api-paste.ini' % E)


def load(spec):
    mod, fn = spec.split(':')
    return getattr(sys.modules['__main__'] if mod == '__main__' else importlib.import_module(mod), fn)


def run_service(name, spec, green):
    sys.argv = [name] + spec.get('argv', [])
    if '--config-file' in sys.argv:
        sys.argv += ['--log-file', name + '.log']
    os.environ.update(spec.get('env', {}))
    try:
        import setproctitle
        setproctitle.setproctitle('cloud: ' + name)
    except ImportError:
        pass
    if 'wsgi' in spec:
        import eventlet
        import eventlet.wsgi
        import logging
        app = load(spec['wsgi'])()
        sock = eventlet.listen(('127.0.0.1', spec['port']), backlog=512)
        eventlet.wsgi.server(sock, app, log=logging.getLogger('eventlet.wsgi'),
                             keepalive=True, socket_timeout=60, debug=False,
                             custom_pool=eventlet.GreenPool(64))
    else:
        sys.exit(load(spec['call'])())


def patch():
    import eventlet
    eventlet.monkey_patch()


def detach(name, plain=False):
    os.setsid()
    fd = os.open('%s/log/%s.out' % (D, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nul = os.open('/dev/null', os.O_RDONLY)
    os.dup2(nul, 0)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    with open('%s/run/%s.pid' % (D, name), 'w') as f:
        f.write('%d %s\n' % (os.getpid(), starttime(os.getpid())))


def child(fn, *a):
    """fork; run fn in the child and never return there."""
    pid = os.fork()
    if pid:
        return pid
    rc = 1
    try:
        random.seed()
        if 'eventlet' in sys.modules:
            sys.modules['eventlet'].hubs.use_hub()      # never share the parent's
        fn(*a)
        rc = 0
    except SystemExit as e:
        rc = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(rc)


def service_child(name, spec):
    detach(name)
    if spec.get('plain') or spec.get('fresh'):
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), 'run', name])
    run_service(name, spec, True)


def project_child(proj, names):
    mods, services = P[proj]
    t = time.time()
    todo = [n for n in services if n in names]
    if proj == 'cinder':
        import cinder.objects
        cinder.objects.register_all()
    if proj != 'keystone':
        os.nice(10)
    for m in mods:
        if m == 'nova.cmd.compute' and not any('compute' in n for n in todo):
            continue
        importlib.import_module(m)
    if 'nova.virt.fake' in sys.modules:
        import cloud_nova
        cloud_nova.patch()
    # these read CONF while they are imported (spacing of periodic tasks): too early here
    for m in ('nova.compute.manager', 'nova.scheduler.manager', 'ironic.conductor.manager'):
        assert m not in sys.modules, m
    gc.collect()
    gc.freeze()
    if proj != 'keystone':
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    wait_for('db' if proj == 'keystone' else 'identity')
    for n in todo:
        child(service_child, n, services[n])
    print('%s: imports %.1fs' % (proj, time.time() - t))


def wait_for(what, timeout=600):
    """cloud-up touches run/db.ready, run/identity.ready"""
    import eventlet.patcher
    end = time.time() + timeout
    while not os.path.exists('%s/run/%s.ready' % (D, what)):
        if time.time() > end:
            raise SystemExit('gave up waiting for ' + what)
        # the unpatched sleep: the patched one would make an eventlet hub here, and
        # every service would then inherit one and the same epoll descriptor
        eventlet.patcher.original('time').sleep(0.05)


def starttime(pid):
    """The start time tells a live process from a later one with the same pid."""
    with open('/proc/%d/stat' % pid) as f:
        return f.read().rsplit(')', 1)[1].split()[19]


def alive(name):
    try:
        pid, start = open('%s/run/%s.pid' % (D, name)).read().split()
        return starttime(int(pid)) == start
    except (OSError, ValueError):
        return False


def warm():
    t = time.time()
    patch()
    for m in COMMON:
        try:
            importlib.import_module(m)
        except Exception as e:
            print('zygote: %s: %s' % (m, e))
    gc.collect()
    gc.freeze()
    print('zygote: common imports %.1fs' % (time.time() - t))


def start(names):
    allnames = [n for p in ORDER for n in P[p][1]]
    names = [n for n in (names or allnames) if n in allnames and not alive(n)]
    if not names:
        return
    warm()
    pids = [child(project_child, p, names) for p in ORDER if any(n in names for n in P[p][1])]
    for p in pids:
        os.waitpid(p, 0)


# ---- database migrations -------------------------------------------------
def quiet_argv(*a):
    sys.argv = list(a)


def sync_keystone():
    from keystone.cmd import cli
    argv = ['keystone-manage', '--config-file', E + '/keystone.conf']
    p = child(cli.main, argv + ['db_sync'])
    assert os.waitpid(p, 0)[1] == 0, 'keystone db_sync'
    keystone_bootstrap(cli)


def keystone_bootstrap(cli):
    argv = ['keystone-manage', '--config-file', E + '/keystone.conf']
    pw = os.environ['ADMIN_PASSWORD']
    url = 'http://127.0.0.1:5000/v3'
    cli.main(argv + ['bootstrap', '--bootstrap-password', pw, '--bootstrap-username', 'admin',
                     '--bootstrap-project-name', 'admin', '--bootstrap-role-name', 'admin',
                     '--bootstrap-service-name', 'keystone', '--bootstrap-region-id', 'RegionOne',
                     '--bootstrap-admin-url', url, '--bootstrap-public-url', url,
                     '--bootstrap-internal-url', url])


def sync_argv(call, *argv):
    sys.argv = list(argv)
    r = load(call)()
    if r:
        raise SystemExit(r)


def sync_nova():
    import nova.cmd.manage  # noqa
    c = ['nova-manage', '--config-file', E + '/nova.conf']
    call = 'nova.cmd.manage:main'

    def step(*a):
        assert os.waitpid(child(sync_argv, call, *(c + list(a))), 0)[1] == 0, a
    main = child(sync_argv, call, *(c + ['db', 'sync', '--local_cell']))
    step('api_db', 'sync')
    db = os.environ['DB_URL'] % 'nova'
    step('cell_v2', 'map_cell0', '--database_connection', os.environ['DB_URL'] % 'nova_cell0')
    cell0 = child(sync_argv, call, *(c + ['db', 'sync']))
    step('cell_v2', 'create_cell', '--name', 'cell1', '--database_connection', db,
         '--transport-url', os.environ['MQ_URL'])
    assert os.waitpid(main, 0)[1] == 0, 'nova db sync (cell1)'
    # "db sync" also walks cell0; a second pass is a no-op on cell1
    assert os.waitpid(cell0, 0)[1] == 0, 'nova db sync (cell0)'


def sync_designate():
    c = ['designate-manage', '--config-file', E + '/designate.conf']
    sync_argv('designate.cmd.manage:main', *(c + ['database', 'sync']))


def sync_barbican():
    os.environ['HOME'] = E
    sync_argv('barbican.cmd.db_manage:main', 'barbican-db-manage', 'upgrade')


def dbsync(projects):
    warm()
    jobs = {
        'neutron': (sync_argv, 'neutron.db.migration.cli:main', 'neutron-db-manage',
                    '--config-file', E + '/neutron.conf', '--config-file', E + '/ml2.ini',
                    'upgrade', 'heads'),
        'nova': (sync_nova,),
        'keystone': (sync_keystone,),
        'cinder': (sync_argv, 'cinder.cmd.manage:main', 'cinder-manage', '--config-file',
                   E + '/cinder.conf', 'db', 'sync'),
        'glance': (sync_argv, 'glance.cmd.manage:main', 'glance-manage', '--config-file',
                   E + '/glance.conf', 'db_sync'),
        'placement': (sync_argv, 'placement.cmd.manage:main', 'placement-manage', '--config-file',
                      E + '/placement/placement.conf', 'db', 'sync'),
        'ironic': (sync_argv, 'ironic.cmd.dbsync:main', 'ironic-dbsync', '--config-file',
                   E + '/ironic.conf', 'create_schema'),
        'designate': (sync_designate,),
        'octavia': (sync_argv, 'octavia.db.migration.cli:main', 'octavia-db-manage', '--config-file',
                    E + '/octavia.conf', 'upgrade', 'head'),
        'barbican': (sync_barbican,),
    }
    t = time.time()
    pids = {}
    for j, a in [(j, a) for j, a in jobs.items() if j in projects]:
        def go(j=j, a=a):
            fd = os.open('%s/log/dbsync-%s.out' % (D, j), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(fd, 1)
            os.dup2(fd, 2)
            a[0](*a[1:])
        pids[child(go)] = j
    bad = []
    while pids:
        pid, st = os.wait()
        j = pids.pop(pid, None)
        if j is None:
            continue
        print('dbsync %s: %.1fs%s' % (j, time.time() - t, '' if st == 0 else ' FAILED'))
        if st:
            bad.append(j)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    cmd = sys.argv[1]
    if cmd == 'start':
        start(sys.argv[2:])
    elif cmd == 'run':
        name = sys.argv[2]
        spec = [P[p][1][name] for p in P if name in P[p][1]][0]
        if not spec.get('plain'):
            patch()
        run_service(name, spec, not spec.get('plain'))
    elif cmd == 'dbsync1':
        globals()['sync_' + sys.argv[2]]()
    elif cmd == 'dbsync':
        sys.exit(dbsync(sys.argv[2:]))
    elif cmd == 'bootstrap':
        from keystone.cmd import cli
        keystone_bootstrap(cli)
    elif cmd == 'pool':
        patch()
        sync_argv('designate.cmd.manage:main', 'designate-manage', '--config-file',
                  E + '/designate.conf', 'pool', 'update', '--file', E + '/pools.yaml')
    elif cmd == 'names':
        print(' '.join(n for p in ORDER for n in P[p][1]))

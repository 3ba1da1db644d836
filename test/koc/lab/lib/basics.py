"""Catalog, service users and the first resources, in one process (idempotent)."""
import concurrent.futures as cf
import os
import subprocess
import sys
import time

from keystoneauth1 import session
from keystoneauth1.identity import v3

PW = os.environ['ADMIN_PASSWORD']
SPW = os.environ['SERVICE_PASSWORD']
URL = 'http://127.0.0.1:5000/v3'
SERVICES = [  # name, type, url, description
    ('glance', 'image', 'http://127.0.0.1:9292', 'OpenStack Image'),
    ('placement', 'placement', 'http://127.0.0.1:8778', 'OpenStack Placement'),
    ('nova', 'compute', 'http://127.0.0.1:8774/v2.1', 'OpenStack Compute'),
    ('neutron', 'network', 'http://127.0.0.1:9696', 'OpenStack Networking'),
    ('cinderv3', 'volumev3', 'http://127.0.0.1:8776/v3/%(project_id)s', 'OpenStack Block Storage'),
    ('ironic', 'baremetal', 'http://127.0.0.1:6385', 'OpenStack Bare Metal'),
    ('designate', 'dns', 'http://127.0.0.1:9001', 'OpenStack DNS'),
    ('octavia', 'load-balancer', 'http://127.0.0.1:9876', 'OpenStack Load Balancer'),
    ('barbican', 'key-manager', 'http://127.0.0.1:9311', 'OpenStack Key Manager'),
]
auth = v3.Password(auth_url=URL, username='admin', password=PW, project_name='admin',
                   user_domain_id='default', project_domain_id='default')
s = session.Session(auth=auth)
WITH = os.environ.get('CLOUD_WITH', '').split()
SERVICES = [x for x in SERVICES if x[0] not in ('ironic', 'designate', 'octavia', 'barbican') or x[0] in WITH]
UP = set(os.environ.get('CLOUD_SERVICES', '').split())


def ep(t):
    return dict((x[1], x[2].replace('/v3/%(project_id)s', '/v3/' + s.get_project_id()))
                for x in SERVICES)[t]


def k(method, path, **kw):
    return s.request(URL + path, method, **kw)


def one(path, key, name, body=None, **filt):
    q = '&'.join(['name=' + name] + ['%s=%s' % i for i in filt.items()])
    plural = path.strip('/').split('/')[-1]
    r = k('GET', '%s?%s' % (path, q)).json()[plural]
    if r:
        return r[0]
    return k('POST', path, json={key: dict(body or {}, name=name)}).json()[key]


def identity():
    proj = one('/projects', 'project', 'service', {'domain_id': 'default'})
    roles = {r['name']: r['id'] for r in k('GET', '/roles').json()['roles']}
    for name in ('service', 'load-balancer_admin', 'load-balancer_member', 'creator'):
        if name not in roles:
            roles[name] = k('POST', '/roles', json={'role': {'name': name}}).json()['role']['id']
    have = {x['name']: x['id'] for x in k('GET', '/services').json()['services']}
    eps = {(e['service_id'], e['interface']) for e in k('GET', '/endpoints').json()['endpoints']}
    users = {u['name']: u['id'] for u in k('GET', '/users?domain_id=default').json()['users']}

    def svc(x):
        name, typ, url, desc = x
        sid = have.get(name) or k('POST', '/services', json={'service': {
            'name': name, 'type': typ, 'description': desc}}).json()['service']['id']
        for i in ('public', 'internal', 'admin'):
            if (sid, i) not in eps:
                k('POST', '/endpoints', json={'endpoint': {
                    'service_id': sid, 'interface': i, 'region_id': 'RegionOne', 'url': url}})
        user = name.replace('v3', '')
        uid = users.get(user) or k('POST', '/users', json={'user': {
            'name': user, 'domain_id': 'default', 'password': SPW}}).json()['user']['id']
        for r in ('admin', 'service'):
            k('PUT', '/projects/%s/users/%s/roles/%s' % (proj['id'], uid, roles[r]))
    for x in SERVICES:
        svc(x)
    print('identity done')


def wait_url(url, timeout=180):
    import requests
    end = time.time() + timeout
    while True:
        try:
            if requests.get(url, timeout=5).status_code < 500:
                return
        except requests.RequestException:
            pass
        if time.time() > end:
            raise SystemExit('no answer from ' + url)
        time.sleep(0.2)


def image():
    base = ep('image') + '/v2/images'
    for name in ('cirros', 'tiny-raw'):
        if s.get(base + '?name=' + name).json()['images']:
            continue
        i = s.post(base, json={'name': name, 'disk_format': 'qcow2' if name == 'cirros' else 'raw',
                               'container_format': 'bare', 'visibility': 'public',
                               'min_disk': 0, 'min_ram': 0}).json()
        if name == 'cirros':
            f = os.environ['CLOUD_DIR'] + '/tiny.qcow2'
            if not os.path.exists(f):
                subprocess.check_call(['qemu-img', 'create', '-q', '-f', 'qcow2', f, '1M'])
            data = open(f, 'rb').read()
        else:
            data = b'\0' * 4096
        s.put(base + '/%s/file' % i['id'], data=data,
              headers={'Content-Type': 'application/octet-stream'})


def network():
    b = ep('network') + '/v2.0'

    def get(kind, name):
        r = s.get('%s/%s?name=%s' % (b, kind, name)).json()[kind.replace('-', '_')]
        return r[0] if r else None

    def mk(kind, key, name, **body):
        return get(kind, name) or s.post('%s/%s' % (b, kind), json={
            key: dict(body, name=name)}).json()[key]
    ext = mk('networks', 'network', 'public', **{
        'router:external': True, 'provider:network_type': 'flat',
        'provider:physical_network': 'physnet1', 'is_default': True})
    mk('subnets', 'subnet', 'public-subnet', network_id=ext['id'], ip_version=4,
       cidr='172.24.4.0/24', gateway_ip='172.24.4.1', enable_dhcp=False)
    pri = mk('networks', 'network', 'private')
    sub = mk('subnets', 'subnet', 'private-subnet', network_id=pri['id'], ip_version=4,
             cidr='10.0.0.0/24', dns_nameservers=['9.9.9.9'])
    if not get('routers', 'router1'):
        r = mk('routers', 'router', 'router1', external_gateway_info={'network_id': ext['id']})
        s.put('%s/routers/%s/add_router_interface' % (b, r['id']), json={'subnet_id': sub['id']})
    if not get('security-groups', 'web'):
        g = mk('security-groups', 'security_group', 'web', description='ssh, http and ping')
        for proto, port in (('tcp', 22), ('tcp', 80), ('icmp', None)):
            rule = {'security_group_id': g['id'], 'direction': 'ingress', 'ethertype': 'IPv4',
                    'protocol': proto, 'remote_ip_prefix': '0.0.0.0/0'}
            if port:
                rule.update(port_range_min=port, port_range_max=port)
            s.post(b + '/security-group-rules', json={'security_group_rule': rule})


def compute():
    b = ep('compute')
    have = {f['name'] for f in s.get(b + '/flavors?is_public=None').json()['flavors']}
    for i, (n, ram, disk, cpu) in enumerate((('m1.nano', 64, 1, 1), ('m1.tiny', 512, 1, 1),
                                             ('m1.small', 2048, 20, 1), ('m1.medium', 4096, 40, 2))):
        if n not in have:
            s.post(b + '/flavors', json={'flavor': {
                'name': n, 'ram': ram, 'disk': disk, 'vcpus': cpu, 'id': str(i + 1)}})
    if not s.get(b + '/os-keypairs').json()['keypairs']:
        f = os.environ['CLOUD_DIR'] + '/id_test'
        if not os.path.exists(f):
            subprocess.check_call(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', f])
        s.post(b + '/os-keypairs', json={'keypair': {
            'name': 'test', 'public_key': open(f + '.pub').read().strip(), 'type': 'ssh'}},
            headers={'OpenStack-API-Version': 'compute 2.92'})


def hosts():
    """Wait for the compute hosts and map them; two availability zones."""
    b = ep('compute')
    want = os.environ['CLOUD_COMPUTES'].split()
    end = time.time() + 120
    while True:
        hv = s.get(b + '/os-hypervisors').json()['hypervisors']
        if len(hv) >= len(want):
            break
        if time.time() > end:
            raise SystemExit('hypervisors: %s' % hv)
        time.sleep(0.3)
    aggs = {a['name']: a for a in s.get(b + '/os-aggregates').json()['aggregates']}
    for i, h in enumerate(want):        # az2: the last host; az1: the others
        n = 'az2' if i == len(want) - 1 and i else 'az1'
        a = aggs[n] = aggs.get(n) or s.post(b + '/os-aggregates', json={'aggregate': {
            'name': n, 'availability_zone': n}}).json()['aggregate']
        if h not in a.get('hosts', []):
            s.post(b + '/os-aggregates/%s/action' % a['id'], json={'add_host': {'host': h}})


def volume():
    b = ep('volumev3')
    if not [t for t in s.get(b + '/types').json()['volume_types'] if t['name'] == 'fake']:
        s.post(b + '/types', json={'volume_type': {
            'name': 'fake', 'extra_specs': {'volume_backend_name': 'fake'}}})


STEPS = {'image': (image, 'http://127.0.0.1:9292/'), 'network': (network, 'http://127.0.0.1:9696/'),
         'compute': (compute, 'http://127.0.0.1:8774/'), 'hosts': (hosts, 'http://127.0.0.1:8774/'),
         'volume': (volume, 'http://127.0.0.1:8776/')}
WAITS = {'ironic': 'http://127.0.0.1:6385/', 'designate-api': 'http://127.0.0.1:9001/',
         'octavia-api': 'http://127.0.0.1:9876/', 'barbican': 'http://127.0.0.1:9311/',
         'placement': 'http://127.0.0.1:8778/'}


def step(n):
    fn, url = STEPS[n]
    wait_url(url)
    t = time.time()
    fn()
    print('%s: %.1fs' % (n, time.time() - t))


if __name__ == '__main__':
    t0 = time.time()
    wait_url('http://127.0.0.1:5000/v3')
    if 'identity' in sys.argv[1:]:
        identity()
    if 'resources' in sys.argv[1:]:
        with cf.ThreadPoolExecutor(12) as ex:
            fs = [ex.submit(step, n) for n in STEPS]
            fs += [ex.submit(wait_url, u) for n, u in WAITS.items() if n in UP]
            for f in fs:
                f.result()
    print('seed %s: %.1fs' % (' '.join(sys.argv[1:]), time.time() - t0))

/** What `bench/hit` measures: the cases, and the servers for each. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { startGateway } from './gateway.mjs';
import { end, firstLine, freePort, isInstalled, SERVER_CORE, start, startNode } from './processes.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;
const REPORTS = 256;
const TEAMS = 8;
const LAST_DAY_MS = Date.parse('2026-06-30');

/** Half of the callers take gzip. */
const CALLERS = [{}, { 'accept-encoding': 'gzip' }];

export const HIT_CASES = [
  { title: 'Hit, 8 kB', days: 9, headers: CALLERS },
  { title: 'Hit, 200 kB', days: 225, headers: CALLERS },
  { title: 'Not modified (304), of 8 kB', days: 9, headers: [{ 'if-none-match': '*' }] },
];

/** A report of so many days for each of many advertisers; apps write the parameters in any order. */
export function targetsOf(days, reports = REPORTS) {
  const day = (at) => new Date(at).toISOString().slice(0, 10);
  const from = day(LAST_DAY_MS - (days - 1) * 86_400_000);
  const rest = ['byDate=1', 'byCampaign=1', `dateFrom=${from}`, `dateTo=${day(LAST_DAY_MS)}`];
  return Array.from({ length: reports }, (_, n) => {
    const parameters = [`advertiserId=${n + 1}`, ...rest];
    const turned = n % parameters.length;
    return `/api/v1/report/campaigns/get?${[...parameters.slice(turned), ...parameters.slice(0, turned)].join('&')}`;
  });
}

/** The advertisers of one of the teams, which ask for the reports of {@link targetsOf} in turn. */
export function advertisersOf(team, teams = TEAMS, reports = REPORTS) {
  return Array.from({ length: reports }, (_, n) => n + 1).filter((id) => (id - 1) % teams === team);
}

const NODE_PEERS = {
  'node:http': 'node-http',
  Fastify: 'fastify',
  '@fastify/http-proxy, no cache': 'http-proxy',
  'undici cache interceptor': 'undici-cache',
};

/** @returns servers with their caches warm, and why others are not among them */
export async function startPeers({ folder, days, headers, only, logless = false, profile = null }) {
  const platform = startNode([here('platform.mjs')]);
  const address = await firstLine(platform);
  const targets = targetsOf(days);
  const context = {
    profile,
    folder,
    platform: address,
    targets,
    notModified: headers.some((one) => 'if-none-match' in one),
  };
  const makers = {
    'dsp-gateway': () => gateway(context, {}),
    ...(logless ? { 'dsp-gateway (no log line)': () => gateway(context, {}, true) } : {}),
    'dsp-gateway (fast path off)': () => gateway(context, { GATEWAY_CONFIG: routedOnly(folder) }),
    ...Object.fromEntries(
      Object.entries(NODE_PEERS).map(([name, kind]) => [name, () => nodePeer(context, kind)]),
    ),
    nginx: () => nginx(context),
    varnish: () => varnish(context),
  };
  const [peers, missing] = [[], []];
  for (const [name, make] of Object.entries(makers)) {
    if (only !== undefined && !only.includes(name)) continue;
    const peer = await make();
    if (typeof peer === 'string') missing.push(peer);
    else peers.push({ name, targets, keys: ['none'], headers: {}, ...peer });
  }
  for (const peer of peers) await warm(peer, headers);
  return {
    peers,
    missing,
    async stop() {
      for (const peer of peers) await end(peer);
      await end(platform);
    },
  };
}

function routedOnly(folder) {
  const path = join(folder, 'routed.yaml');
  writeFileSync(path, 'server:\n  fastPath: false\n');
  return path;
}

async function gateway({ folder, platform, profile }, env, silent = false) {
  return startGateway({
    folder: join(folder, `gateway-${Object.keys(env).length}-${Math.random()}`),
    ...{ profile, platform, env, core: SERVER_CORE, teams: TEAMS, silent },
    advertisers: advertisersOf,
  });
}

async function nodePeer({ platform, targets, notModified }, kind) {
  const running = startNode([here('peers.mjs'), kind, platform, targets[0]], {
    core: SERVER_CORE,
    env: { NOT_MODIFIED: notModified ? '1' : '0' },
  });
  return { ...running, url: await firstLine(running), pid: running.child.pid };
}

async function nginx({ folder, platform }) {
  if (!isInstalled('nginx')) return 'nginx (apt-get install nginx-light)';
  const port = await freePort();
  const config = join(folder, `nginx-${port}.conf`);
  writeFileSync(
    config,
    `${process.getuid() === 0 ? 'user root; ' : ''}daemon off; worker_processes 1; pid ${folder}/nginx-${port}.pid; error_log stderr;
events { worker_connections 1024; }
http {
  access_log ${folder}/nginx-${port}.log; keepalive_requests 100000000;
  client_body_temp_path ${folder}/nginx-body; proxy_temp_path ${folder}/nginx-proxy;
  fastcgi_temp_path ${folder}/nginx-1; uwsgi_temp_path ${folder}/nginx-2; scgi_temp_path ${folder}/nginx-3;
  proxy_cache_path ${folder}/nginx-cache-${port} keys_zone=one:16m;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${platform}; proxy_cache one; proxy_cache_valid 200 1h; proxy_cache_key $request_uri;
      proxy_http_version 1.1; proxy_set_header connection ""; add_header etag '"one"';
    }
  }
}`,
  );
  const running = start('nginx', ['-c', config], { core: SERVER_CORE });
  return { ...running, url: await answering(port), pid: running.child.pid };
}

async function varnish({ folder, platform }) {
  if (!isInstalled('varnishd')) return 'varnish (apt-get install varnish)';
  const port = await freePort();
  const rules = join(folder, `varnish-${port}.vcl`);
  const { hostname, port: backend } = new URL(platform);
  writeFileSync(
    rules,
    `vcl 4.1;
import std;
backend default { .host = "${hostname}"; .port = "${backend}"; }
sub vcl_recv { set req.url = std.querysort(req.url); return (hash); }
sub vcl_backend_response { set beresp.ttl = 1h; set beresp.http.etag = {""one""}; }`,
  );
  const running = start(
    'varnishd',
    [
      '-F',
      '-a',
      `127.0.0.1:${port}`,
      '-f',
      rules,
      '-n',
      join(folder, `varnish-${port}`),
      '-s',
      'malloc,256m',
    ],
    { core: SERVER_CORE },
  );
  return { ...running, url: await answering(port), pid: running.child.pid };
}

export async function answering(port) {
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 200; tries++) {
    try {
      await (await request(`${url}/none`)).body.dump();
      return url;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error(`nothing answers at ${url}`);
}

/** Twice: what was learned from the first answers is there for the second. */
export async function warm({ name, url, targets, keys }, lists = [{}]) {
  for (const list of [...lists, ...lists]) {
    for (const [n, target] of targets.entries()) {
      const headers = { 'x-api-key': keys[n % keys.length], ...list };
      const { statusCode, body } = await request(url + target, { headers });
      await body.dump();
      if (statusCode !== 200 && statusCode !== 304) throw new Error(`${name} answered ${statusCode}`);
    }
  }
}

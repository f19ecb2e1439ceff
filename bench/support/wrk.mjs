/** Load by wrk, on cores of its own. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CLIENT_CORE, cpuUs } from './processes.mjs';

const run = promisify(execFile);

/**
 * Asks in turn for every target, with every key.
 * @param targets paths with their queries
 * @param headers of each request, or a list of them: request n has the n-th, in turn
 * @returns requests a second, the server's CPU microseconds a request, and the answers that were no 2xx or 3xx
 */
export async function load(options) {
  const {
    url,
    pid,
    targets,
    keys,
    headers = {},
    folder,
    seconds,
    connections = 64,
    core = CLIENT_CORE,
  } = options;
  const script = join(folder, `load-${pid}.lua`);
  writeFileSync(script, scriptOf(targets, keys, headers));
  const before = cpuUs(pid);
  const { stdout } = await run('taskset', [
    ...['-c', core, 'wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--latency'],
    ...['-s', script, url],
  ]);
  const used = cpuUs(pid) - before;
  const [, requests, spanUs, failed] = /^result (\d+) (\d+) (\d+)$/m.exec(stdout);
  return {
    rps: (Number(requests) * 1e6) / Number(spanUs),
    cpuUs: used / Number(requests),
    p99Ms: Number(/^p99 ([\d.]+)$/m.exec(stdout)[1]),
    failed: Number(failed),
  };
}

/** wrk's own non-2xx count has 304 in it. */
function scriptOf(targets, keys, headers) {
  const lists = [headers].flat();
  const requests = targets.flatMap((target, n) =>
    lists.map((list) => ({ target, headers: { 'x-api-key': keys[n % keys.length], ...list } })),
  );
  const table = (list) => Object.entries(list).map(([name, value]) => `["${name}"]=${JSON.stringify(value)}`);
  return `
local requests, at, failed = {}, 0, 0
function init()
${requests.map((one, n) => `  requests[${n + 1}] = wrk.format("GET", ${JSON.stringify(one.target)}, {${table(one.headers)}})`).join('\n')}
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary, latency)
  io.write(string.format("p99 %.3f\\n", latency:percentile(99) / 1000))
  local e = summary.errors
  io.write(string.format("result %d %d %d\\n", summary.requests, summary.duration, e.connect + e.read + e.write + e.timeout + e.status))
end
`;
}

/** Processes of a benchmark: started on a core of their own, watched by their CPU time, ended by their pid. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** What is measured runs here, what asks it there. */
export const [SERVER_CORE, CLIENT_CORE] = ['0', '1'];
const USER_HZ = 100;

const started = new Set();
process.on('exit', () => {
  for (const child of started) child.kill('SIGTERM');
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/**
 * @param output file that takes what it prints; without one its lines are read here
 * @param input whether lines are written to it; what it prints is then read by whoever does
 * @returns a process
 */
export function start(command, args, { env = {}, core = null, output = null, input = false } = {}) {
  const [program, ...all] = core === null ? [command, ...args] : ['taskset', '-c', core, command, ...args];
  const child = spawn(program, all, {
    env: { ...process.env, ...env },
    stdio: [input ? 'pipe' : 'ignore', output === null ? 'pipe' : openSync(output, 'a'), 'inherit'],
  });
  started.add(child);
  child.once('exit', () => started.delete(child));
  if (input) return { child };
  return output === null ? { child, lines: createInterface({ input: child.stdout }) } : { child };
}

export const startNode = (script, options) => start(process.execPath, [script].flat(), options);

/** The first line that is one; what comes later is read and thrown away. */
export const firstLine = ({ child, lines }, test = () => true) =>
  new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`ended with ${code} before it was ready`)));
    lines.on('line', (line) => test(line) && resolve(line));
  });

/** The same of a process that prints to a file. */
export async function lineIn(path, test) {
  for (let tries = 0; tries < 600; tries++) {
    const line = existsSync(path) && readFileSync(path, 'utf8').split('\n').find(test);
    if (line) return line;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no such line in ${path}`);
}

export async function end({ child }) {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('exit', resolve));
}

/** CPU time that a process and those it started have used, microseconds. */
export function cpuUs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const own = (Number(fields[11]) + Number(fields[12])) * (1e6 / USER_HZ);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? own : children.split(' ').reduce((sum, child) => sum + cpuUs(child), own);
}

export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** How long a process's first thread, which has its event loop, has run and has waited for a core, milliseconds. */
export function threadMs(pid) {
  const [ran, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return { ran: Number(ran) / 1e6, waited: Number(waited) / 1e6 };
}

/** Private memory of a process, bytes. */
export function privateBytes(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/RssAnon:\s+(\d+) kB/.exec(status)[1]) * 1024;
}

export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'dsp-gateway-bench-'));
  // Varnish goes on as a user of its own.
  chmodSync(folder, 0o777);
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Whether a program is there to be measured beside. */
export function isInstalled(program) {
  return (process.env.PATH ?? '').split(':').some((folder) => {
    try {
      return readdirSync(folder).includes(program);
    } catch {
      return false;
    }
  });
}

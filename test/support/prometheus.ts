/** The real Prometheus: by PROMETHEUS, then the PATH, then from Debian's package, laid out in a temporary folder. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { launch, type Process, tempFolder } from './processes.js';
import { freePort } from './redis.js';
import { waitFor } from './wait-for.js';

const CACHE = join(tmpdir(), 'dsp-gateway-prometheus');

export interface PrometheusTools {
  readonly prometheus: string;
  readonly promtool: string;
}

let found: Promise<PrometheusTools> | null = null;

/** @throws an error with the command to type when there is none: tests are never skipped */
export function findPrometheus(): Promise<PrometheusTools> {
  found ??= findAnew();
  return found;
}

async function findAnew(): Promise<PrometheusTools> {
  const named = process.env.PROMETHEUS;
  if (named !== undefined && named !== '') {
    const tools = toolsIn(dirname(named));
    if (await work(tools)) return tools;
    throw new Error(
      `PROMETHEUS is ${named}, which does not run as prometheus with promtool beside it; correct or unset it`,
    );
  }
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of [...folders, join(CACHE, 'usr', 'bin')]) {
    if (await work(toolsIn(folder))) return toolsIn(folder);
  }
  await unpack();
  return toolsIn(join(CACHE, 'usr', 'bin'));
}

function toolsIn(folder: string): PrometheusTools {
  return { prometheus: join(folder, 'prometheus'), promtool: join(folder, 'promtool') };
}

async function work({ prometheus, promtool }: PrometheusTools): Promise<boolean> {
  for (const tool of [promtool, prometheus]) {
    const { code, output } = await runTool(tool, ['--version']);
    if (code !== 0 || !output.includes('version')) return false;
  }
  return true;
}

/** Downloaded and laid out, not installed: no service starts, and no root is needed. */
async function unpack(): Promise<void> {
  const draft = await mkdtemp(`${CACHE}-`);
  try {
    const download = ['download', '--quiet', 'prometheus'];
    let fetched = await runTool('apt-get', download, draft);
    if (fetched.code !== 0) {
      await runTool('apt-get', ['update', '--quiet']);
      fetched = await runTool('apt-get', download, draft);
    }
    const file = (await readdir(draft)).find((name) => name.endsWith('.deb'));
    if (file === undefined) throw new Error(fetched.output);
    const laidOut = await runTool('dpkg', ['-x', join(draft, file), join(draft, 'tree')]);
    if (!(await work(toolsIn(join(draft, 'tree', 'usr', 'bin'))))) throw new Error(laidOut.output);
    await mkdir(dirname(CACHE), { recursive: true });
    // Renamed, not laid out in place: another run may be about to start it, or may have been first.
    await rename(join(draft, 'tree'), CACHE).catch(async (error: unknown) => {
      if (!(await stat(CACHE).catch(() => null))?.isDirectory()) throw error;
    });
  } catch (cause) {
    throw new Error(
      'The tests of alerts and dashboard need prometheus and promtool, and Debian’s package could not be fetched. Install them (Debian and Ubuntu: sudo apt-get update && sudo apt-get install --yes prometheus; macOS: brew install prometheus), or name one with promtool beside it: PROMETHEUS=/path/to/prometheus npm test',
      { cause },
    );
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

export interface ToolOutput {
  readonly code: number;
  /** Of both streams. */
  readonly output: string;
}

/** @returns how it ended; 127 when it could not be started */
export async function runTool(command: string, args: readonly string[], cwd?: string): Promise<ToolOutput> {
  try {
    const { stdout, stderr } = await promisify(execFile)(command, [...args], { cwd });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    return {
      code: typeof code === 'number' ? code : 127,
      output: stdout + (stderr === '' ? String(error) : stderr),
    };
  }
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export interface Prometheus extends Process {
  readonly url: string;
  /** An instant query. @throws with Prometheus' own words where it cannot be read */
  query(expression: string): Promise<readonly Sample[]>;
}

/**
 * Starts one on a free port; it is ended, and its folder removed, when the test file is through.
 * @param config its configuration. Paths in it are absolute
 */
export async function startPrometheus(config: object): Promise<Prometheus> {
  const { prometheus } = await findPrometheus();
  const folder = await tempFolder();
  const file = join(folder, 'prometheus.yaml');
  await writeFile(file, stringify(config));
  const port = await freePort();
  const started = launch(prometheus, [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const url = `http://127.0.0.1:${port}`;
  const isReady = async () => (await fetch(`${url}/-/ready`).catch(() => null))?.status === 200;
  await waitFor('Prometheus', isReady, started);
  return Object.assign(started, {
    url,
    async query(expression: string) {
      const response = await fetch(`${url}/api/v1/query`, {
        method: 'POST',
        body: new URLSearchParams({ query: expression }),
      });
      const { status, data, error } = (await response.json()) as {
        status: string;
        data?: { result: readonly Sample[] };
        error?: string;
      };
      if (status !== 'success' || data === undefined) throw new Error(`${error}: ${expression}`);
      return data.result;
    },
  });
}

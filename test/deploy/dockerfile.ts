/** The image's recipe, read and carried out without a container engine: enough to run what the image would run. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, stat, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/processes.js';

export interface Instruction {
  /** In capitals, e.g. `COPY`. */
  readonly name: string;
  /** Everything after the name, continued lines joined. */
  readonly text: string;
}

export interface Stage {
  /** Given by `AS`, else `final`. */
  readonly name: string;
  readonly from: string;
  readonly instructions: readonly Instruction[];
}

export interface Copy {
  /** Another stage, or null for the build context. */
  readonly from: string | null;
  readonly sources: readonly string[];
  readonly target: string;
}

/** @returns the stages in order, `ARG`s before the first `FROM` filled in */
export async function readDockerfile(): Promise<Stage[]> {
  const text = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const args = new Map<string, string>();
  const stages: { name: string; from: string; instructions: Instruction[] }[] = [];
  for (const { name, text: rest } of instructionsOf(text)) {
    const filled = rest.replaceAll(/\$\{(\w+)\}/g, (whole, arg: string) => args.get(arg) ?? whole);
    if (name === 'FROM') {
      const [from = '', , stage = 'final'] = filled.split(/\s+/);
      stages.push({ name: stage, from, instructions: [] });
    } else if (stages.length === 0) {
      const [arg = '', value = ''] = filled.split('=', 2);
      args.set(arg, value);
    } else {
      stages.at(-1)?.instructions.push({ name, text: rest });
    }
  }
  return stages;
}

function instructionsOf(text: string): Instruction[] {
  const lines = text.split('\n').filter((line) => !/^\s*#/.test(line) && line.trim() !== '');
  return lines
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => {
      const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
      return { name: name.toUpperCase(), text: rest };
    });
}

/** The one instruction of a name in a stage. @throws when there is none, or more than one */
export function only(stage: Stage, name: string): string {
  const found = stage.instructions.filter((instruction) => instruction.name === name);
  if (found.length !== 1) throw new Error(`${stage.name} has ${found.length} of ${name}`);
  return (found[0] as Instruction).text;
}

export function copiesOf(stage: Stage): Copy[] {
  return stage.instructions
    .filter(({ name }) => name === 'COPY')
    .map(({ text }) => {
      const words = text.split(/\s+/);
      const from = words[0]?.startsWith('--from=') ? (words.shift() as string).slice('--from='.length) : null;
      return { from, sources: words.slice(0, -1), target: words.at(-1) as string };
    });
}

/** What of the repository the build may see: the names after `!` in `.dockerignore`, all else being shut out. */
export async function buildContext(): Promise<string[]> {
  const lines = (await readFile(join(ROOT, '.dockerignore'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const [first, ...open] = lines;
  if (first !== '*' || open.some((line) => !/^![\w.-]+$/.test(line))) {
    throw new Error('.dockerignore must shut out everything (*) and then name what is let in (!name)');
  }
  return open.map((line) => line.slice(1));
}

/**
 * Carries out every COPY, and every RUN of npm but an install of what is installed here, below `folder`, where each stage
 * has a root of its own.
 * @returns the working directory of the last stage
 */
export async function replay(stages: readonly Stage[], folder: string): Promise<string> {
  let workdir = folder;
  for (const stage of stages) {
    const root = join(folder, stage.name);
    for (const { name, text } of stage.instructions) {
      if (name === 'WORKDIR') {
        workdir = join(root, text);
        await mkdir(workdir, { recursive: true });
      } else if (name === 'RUN' && /^npm ci (?!.*--omit)/.test(text)) {
        // The same lock was installed here, for this test to run at all.
        await symlink(join(ROOT, 'node_modules'), join(workdir, 'node_modules'));
      } else if (name === 'RUN' && text.startsWith('npm ')) {
        await runNpm(text, workdir);
      }
      if (name !== 'COPY') continue;
      const [copy] = copiesOf({ ...stage, instructions: [{ name, text }] });
      await carryOut(copy as Copy, workdir, folder);
    }
  }
  return workdir;
}

/** What a test's own run sets must not reach the build, and what npm has fetched before need not be fetched again. */
const NPM_ENV = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'NODE_ENV')),
  npm_config_prefer_offline: 'true',
};

/** @throws with all that was said: compilers complain on standard output */
async function runNpm(command: string, cwd: string): Promise<void> {
  try {
    await promisify(execFile)('sh', ['-c', command], { cwd, env: NPM_ENV });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`the image cannot be built: ${command}\n${stdout}${stderr}`, { cause: error });
  }
}

async function carryOut({ from, sources, target }: Copy, workdir: string, folder: string): Promise<void> {
  for (const source of sources) {
    const path = from === null ? join(ROOT, source) : join(folder, from, source);
    const into = join(workdir, target);
    // As docker does: of a folder its content is copied, a file goes into a folder named with a final slash.
    const isFolder = (await stat(path)).isDirectory();
    await cp(path, isFolder ? into : join(into, basename(path)), { recursive: true });
  }
}

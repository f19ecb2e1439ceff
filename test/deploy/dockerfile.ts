/** The image's recipe, as far as it is read here. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../support/processes.js';

export interface Stage {
  /** Given by `AS`, else `final`. */
  readonly name: string;
  readonly from: string;
  /** `[name, everything after it]`, continued lines joined. */
  readonly instructions: (readonly [name: string, text: string])[];
}

/** @returns the stages in order, `ARG`s before the first `FROM` filled in */
export async function readDockerfile(): Promise<readonly Stage[]> {
  const text = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const args = new Map<string, string>();
  const stages: Stage[] = [];
  const lines = text.replaceAll(/^\s*#.*\n/gm, '').replaceAll(/\\\n\s*/g, '');
  for (const [, name = '', rest = ''] of lines.matchAll(/^(\w+)\s+(.*)$/gm)) {
    if (name === 'FROM') {
      const filled = rest.replaceAll(/\$\{(\w+)\}/g, (whole, arg: string) => args.get(arg) ?? whole);
      const [from = '', , stage = 'final'] = filled.split(/\s+/);
      stages.push({ name: stage, from, instructions: [] });
    } else if (stages.length === 0) args.set(...(rest.split('=', 2) as [string, string]));
    else stages.at(-1)?.instructions.push([name, rest]);
  }
  return stages;
}

/** The one instruction of a name in a stage. @throws when there is none, or more than one */
export function only(stage: Stage, name: string): string {
  const found = stage.instructions.filter(([one]) => one === name);
  if (found.length !== 1) throw new Error(`${stage.name} has ${found.length} of ${name}`);
  return found[0]?.[1] as string;
}

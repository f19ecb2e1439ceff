/** The teams that a file declares, at a start. */
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { ConfigError } from '../config/load.js';
import { decodeUtf8, NotUtf8 } from '../config/utf8.js';
import { type ApplyOptions, applyTeams } from '../declared/apply-teams.js';
import { type ParsedTeams, parseTeams } from '../declared/parse-teams.js';
import { GATEWAY_ACTOR } from '../telemetry/audit.js';

/** @throws ConfigError with a line per fault */
export function readTeamsFile(path: string): ParsedTeams['teams'] {
  let text: string;
  try {
    text = decodeUtf8(readFileSync(path));
  } catch (error) {
    if (error instanceof NotUtf8)
      throw new ConfigError([`${path}:${error.line}: is no UTF-8; allowed is text in UTF-8`]);
    throw new ConfigError([
      `GATEWAY_TEAMS_FILE: was ${path}; allowed is a readable YAML file of teams (${(error as Error).message})`,
    ]);
  }
  const { teams, faults } = parseTeams(text, path);
  if (faults.length > 0) throw new ConfigError(faults);
  return teams;
}

/** Teams that left the file are kept: a start with the wrong file must not take anybody's access. */
export async function declareTeams(
  options: ApplyOptions & { readonly logger: Logger },
  teams: ParsedTeams['teams'],
): Promise<void> {
  const changes = await applyTeams(options, { teams, removed: 'keep', dryRun: false }, GATEWAY_ACTOR);
  const those = (action: string) => changes.filter((one) => one.action === action).map(({ id }) => id);
  options.logger.info(
    { created: those('create'), changed: those('update') },
    'teams are as the file declares',
  );
  const kept = those('keep');
  if (kept.length > 0) {
    options.logger.warn(
      { teams: kept },
      'teams that were declared are no longer in the file; they are kept until dsp-gateway apply --prune or --release',
    );
  }
}

/** `docs/cli.md`, made from the commands themselves. */
import { PassThrough } from 'node:stream';
import type { Argument, Command, Option } from 'commander';
import { ADMIN_PLANE, DATA_PLANE } from '../../src/cli/client.js';
import { EXIT_CODES } from '../../src/cli/command-error.js';
import { examplesOf } from '../../src/cli/define.js';
import { createProgram } from '../../src/cli/program.js';

export function program(): Command {
  const quiet = () => {};
  return createProgram({
    env: {},
    input: new PassThrough(),
    print: quiet,
    say: quiet,
    deliver: async () => {},
    ready: async () => {},
    nowMs: () => 0,
  });
}

/** Every command that does something, in the order of the help. */
export function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

/** E.g. `dsp-gateway teams show`. */
export function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

export function isAdminCommand(command: Command): boolean {
  return command.options.some(({ helpGroupHeading }) => helpGroupHeading === ADMIN_PLANE.group);
}

export function isTeamCommand(command: Command): boolean {
  return command.options.some(({ helpGroupHeading }) => helpGroupHeading === DATA_PLANE.group);
}

export function cliPage(): string {
  const all = leaves(program());
  const example = all.find(isAdminCommand) as Command;
  const shared = optionsOf(example).filter(({ helpGroupHeading }) => helpGroupHeading === ADMIN_PLANE.group);
  const team = optionsOf(all.find(isTeamCommand) as Command);
  const asTeam = team.filter(({ helpGroupHeading }) => helpGroupHeading === DATA_PLANE.group);
  return `# Command line

**In short:** each command with its options. \`dsp-gateway\` is \`node dist/cli.js\` in a checkout, and the entry point of the image. This page is generated from
\`--help\`: \`npx vitest run test/cli/docs.test.ts --update\`.

## Options

Commands for the admin API take:

${optionList(shared)}

Operators usually set:

\`\`\`
export GATEWAY_ADMIN_URL=http://127.0.0.1:8081
export ADMIN_TOKEN_FILE=~/.config/dsp-gateway/admin.token
dsp-gateway status
\`\`\`

\`report\`, \`changes\`, \`watch\` and \`learn\` use the data plane and a team key:

${optionList(asTeam)}

Results go to standard output, messages to standard error. Control characters in names and texts are replaced, or escaped
in JSON. A key is shown once: \`keys issue\` and \`keys roll\` do nothing if standard output cannot be written (they test a
file or pipe with a blank line), and revoke a key that could not be shown.

**Secrets are never arguments**: other users can read those (\`ps\`), and the shell stores them. A platform token comes from
\`--from-file\`, standard input or a prompt without echo. A secret on the command line is refused and not repeated.

## Exit codes

| Code | Meaning |
|---|---|
${EXIT_CODES.map(([code, meaning]) => `| ${code} | ${cell(meaning)} |`).join('\n')}

## Teams as a file

\`\`\`
dsp-gateway apply -f teams.yaml --dry-run
dsp-gateway apply -f teams.yaml
\`\`\`

The file lists teams in the format of the admin API; start from \`config/teams.example.yaml\`. Omitted members have their
defaults. Keys are never in the file. With \`GATEWAY_TEAMS_FILE\` the file is also applied at startup; an invalid file
prevents the start.

- All changes are applied in one step. Applying the same file again changes nothing.
- Teams in the file are marked \`"managedBy":"file"\` and refuse other edits (409 \`conflict\`); their keys are managed as
  usual. An existing team in the file is taken over. Other teams are unchanged.
- A team **removed** from the file is kept and stays marked, so that a wrong file revokes no access. \`--prune\` deletes
  such teams and their keys permanently; \`--release\` makes them editable again. At startup they are kept and logged.

\`\`\`
~ growth
    advertisers          +7 -2
    limits.maxRangeDays  400 → 92
= finance
? sales is no longer in the file: kept unchanged (--release: manage it by hand; --prune: delete it)
1 changed, 1 unchanged, 1 kept (not in the file)
\`\`\`

The console has the same: *Teams*, *Apply a file*. Faults name the line, the path and the allowed values:

\`\`\`
teams.yaml:8: teams.1.limits.maxRangeDays: was 0; allowed is a whole number from 1 to 10000
\`\`\`

## Commands

${all.map(section).join('\n\n')}
`;
}

function section(command: Command): string {
  const own = optionsOf(command).filter(
    ({ helpGroupHeading }) => ![ADMIN_PLANE.group, DATA_PLANE.group].includes(helpGroupHeading ?? ''),
  );
  const given = [...command.registeredArguments.map(argumentRow), ...own.map(optionRow)];
  const parts = [
    `### ${[nameOf(command).replace(/^dsp-gateway /, ''), ...command.registeredArguments.map(written)].join(' ')}`,
    command.description(),
    ...(given.length === 0 ? [] : [given.join('\n')]),
    `\`\`\`\n${examplesOf(command).join('\n')}\n\`\`\``,
  ];
  return parts.join('\n\n');
}

function optionsOf(command: Command): Option[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .filter(({ long }) => long !== '--help');
}

function optionList(options: readonly Option[]): string {
  return options.map(optionRow).join('\n');
}

function optionRow(option: Option): string {
  const { defaultValue } = option;
  const shown = ['string', 'number'].includes(typeof defaultValue) ? ` (default: ${defaultValue})` : '';
  return `- \`${option.flags}\`: ${option.description}${shown}`;
}

function argumentRow(argument: Argument): string {
  return [`- \`${written(argument)}\``, argument.description].filter(Boolean).join(': ');
}

function written(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

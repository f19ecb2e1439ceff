/** `dsp-gateway doctor`: checks of everything the gateway needs, with remedies. */
import { runDoctor } from '../api/operations/overview.js';
import { momentIn } from '../lib/words.js';
import { notWell, skipped, warning } from '../telemetry/checks.js';
import { ADMIN_PLANE, type Admin, type ClientOptions, openAdmin } from './client.js';
import { CommandError, EXIT, Unanswered, Unreachable } from './command-error.js';
import { command, show } from './define.js';
import { plainLine } from './plain-text.js';
import type { Terminal } from './terminal.js';
import { describeNotes, endWith, type ShownFinding, START, saysOf, withColours } from './verdict.js';

interface Check extends ShownFinding {
  readonly name: string;
}

const PROGRESS =
  'Asking the gateway, which makes one platform call (a few, if the platform refuses a report); if the platform does not answer, that takes up to its timeout.\n';
const REMOTE = 'not checked: the gateway runs on another machine; run doctor there, too';

export const addDoctorCommand = command<ClientOptions>({
  plane: ADMIN_PLANE,
  name: 'doctor',
  description: `Check this machine and the running gateway, with remedies; makes one platform call, a few if the platform refuses a report. Exit code 0: well or starting, ${EXIT.warning}: warning, ${EXIT.notWell}: not well.`,
  examples: ['doctor', 'doctor --json | jq \'.checks[] | select(.level != "well")\''],
  async run({ options, terminal }) {
    const { env } = terminal;
    if (terminal.input.isTTY === true) terminal.say(PROGRESS);
    const asked = await askGateway(() => openAdmin(options, env));
    const here = isElsewhere(options, env)
      ? [{ name: 'this machine', ...skipped(REMOTE) }]
      : await (await import('./doctor/here.js')).checkHere(env, asked.reached);
    const checks = [...here, ...asked.checks];
    const level = worstOf(checks.map((check) => check.level));
    show(withColours(terminal), options, { level, checks, notes: asked.notes }, (all) =>
      describe(all, terminal.nowMs()),
    );
    // The gateway was not checked.
    if (asked.denied && level !== 'not well') throw new CommandError('', EXIT.denied);
    endWith(level);
  },
});

/** Checks of the running gateway. A failure to reach it is a check, too. `denied`: no admin token with permission. */
async function askGateway(open: () => Admin) {
  try {
    const { version, checks, notes = [] } = await open().ask(runDoctor);
    const { VERSION } = await import('../lib/package-root.js');
    const gateway =
      version === VERSION
        ? { level: 'well', says: `runs, version ${version}`, do: null }
        : warning(
            `This command has version ${VERSION}, the gateway ${version}.`,
            "Use the command of the gateway's release.",
          );
    return { reached: true, denied: false, checks: [{ name: 'gateway', ...gateway }, ...checks], notes };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const denied = error.exitCode === EXIT.denied;
    const gateway = (denied ? warning : notWell)(saysOf(error), adviceOn(error));
    const rest = skipped('not checked: requires a running gateway');
    const checks: Check[] = [
      { name: 'gateway', ...gateway },
      { name: 'platform, token, teams', ...rest },
    ];
    return { reached: !(error instanceof Unreachable), denied, checks, notes: [] };
  }
}

function adviceOn(error: CommandError): string {
  if (error instanceof Unreachable) return START;
  if (error instanceof Unanswered)
    return 'Look at its state with dsp-gateway status and at its log, and repeat later.';
  if (error.exitCode === EXIT.denied)
    return 'Set an admin token with the role operator or owner, with ADMIN_TOKEN or --admin-token-file.';
  return 'Check which server answers there, and set the address of the admin plane with --url.';
}

function isElsewhere({ url }: ClientOptions, env: Terminal['env']): boolean {
  const address = url ?? env.GATEWAY_ADMIN_URL;
  if (!address || !URL.canParse(address)) return false;
  return !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(address).hostname);
}

/** The worst last; unknown levels are worst. */
const KNOWN = ['skipped', 'well', 'starting', 'warning', 'not well'];
const rank = (level: string) => (KNOWN.includes(level) ? KNOWN.indexOf(level) : KNOWN.length);

function worstOf(levels: readonly string[]): string {
  return levels.reduce((worst, level) => (rank(level) > rank(worst) ? level : worst), 'well');
}

const MARKS: Readonly<Record<string, string>> = { well: 'ok', warning: 'WARNING', skipped: '–' };

interface Checked {
  readonly checks: readonly Check[];
  readonly level: string;
  readonly notes: readonly string[];
}

/** The verdict, what is wrong, the notes, and then what is well. */
function describe({ checks, level, notes }: Checked, nowMs: number): string {
  const marks = checks.map((check) => MARKS[check.level] ?? check.level.toUpperCase());
  const width = Math.max(...marks.map((mark) => mark.length));
  const isFine = ({ level }: Check) => level === 'well' || level === 'skipped';
  const lineOf = (check: Check) => {
    const mark = MARKS[check.level] ?? check.level.toUpperCase();
    const { name, says, do: advice, since, details } = check;
    const more = [
      ...(since === undefined || says.includes(' since ')
        ? []
        : [`since: ${momentIn(Date.parse(since), nowMs)}`]),
      ...(details === undefined ? [] : [details]),
      ...(advice === null ? [] : [`do: ${advice}`]),
    ];
    const below = more.map((one) => `${' '.repeat(width + 2)}${plainLine(one)}\n`).join('');
    return `${mark.padEnd(width)}  ${name}: ${plainLine(says)}\n${below}`;
  };
  const faults = checks.filter((check) => !isFine(check)).sort((a, b) => rank(b.level) - rank(a.level));
  const count = (wanted: string) => checks.filter((check) => check.level === wanted).length;
  const summary = `${level.toUpperCase()}: ${count('well')} well, ${count('warning')} with a warning, ${count('not well')} not well, ${count('skipped')} not checked\n`;
  const fine = checks.filter(isFine).map(lineOf).join('');
  return `${summary}${faults.map(lineOf).join('')}${describeNotes(notes)}\n${fine}`;
}

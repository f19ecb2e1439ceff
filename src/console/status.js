import { fields, h, span, table, when } from './dom.js';

/** The verdict and what to do, then whatever the gateway says of itself. */
export async function statusView({ api, refresh }) {
  const status = await api('GET', 'status');
  const { ready, version, uptimeSeconds, verdict, processes, ...parts } = status;
  return [
    h('h2', {}, 'Status'),
    h(
      'p',
      {},
      h('span', { class: ready ? 'good' : 'bad' }, ready ? 'Ready' : 'Not ready'),
      `, version ${version}, up for ${span(uptimeSeconds)}`,
    ),
    ...verdictLines(verdict),
    h('div', { class: 'row' }, h('button', { type: 'button', onclick: refresh }, 'Refresh')),
    ...Object.entries(parts).flatMap(([name, part]) =>
      typeof part === 'object' && part !== null
        ? [h('h3', {}, title(name)), fields(Object.entries(part).map(shownField))]
        : [fields([shownField([name, part])])],
    ),
    h('h3', {}, 'Processes'),
    table(
      'Processes',
      PROCESS,
      processes.map((one) => PROCESS.map((name) => String(one[name.toLowerCase()] ?? ''))),
    ),
  ];
}

const PROCESS = ['Host', 'PID', 'Version', 'Store', 'Credential', 'Platform'];

const STYLE = { well: 'good', warning: 'warn' };

/** As `dsp-gateway status` has it: what is wrong and what it means, and below it what to do. */
function verdictLines({ level, findings }) {
  const styleOf = (one) => STYLE[one] ?? 'bad';
  if (findings.length === 0) return [h('p', {}, h('span', { class: styleOf(level) }, level))];
  return findings.flatMap((finding) => [
    h('p', {}, h('span', { class: styleOf(finding.level) }, finding.level), `: ${finding.says}`),
    h('p', {}, `To do: ${finding.do}`),
  ]);
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T/;

function shownField([name, value]) {
  if (name.endsWith('Bytes') && typeof value === 'number')
    return [`${title(name.slice(0, -5))} size`, bytes(value)];
  if (name.endsWith('Seconds') && typeof value === 'number') return [title(name.slice(0, -7)), span(value)];
  if (typeof value === 'object' && value !== null) return [title(name), h('code', {}, JSON.stringify(value))];
  if (typeof value === 'string' && ISO_TIME.test(value)) return [title(name), when(value)];
  if (typeof value === 'boolean') return [title(name), value ? 'yes' : 'no'];
  return [title(name), value];
}

/** `callsQueued` as `Calls queued`. */
function title(name) {
  const words = name.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function bytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  const step = Math.min(units.length - 1, count < 1 ? 0 : Math.floor(Math.log2(count) / 10));
  return `${(count / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}

import { confirmed, field, fields, h, showOnce, table, when } from './dom.js';
import { bytes } from './status.js';

const number = (head) => ({ head, number: true });
const words = (head) => ({ head, words: true });

/** All teams: what they may do, and what they did in the last 30 days. */
export async function teamsView({ api }) {
  const [{ teams }, { usage, from, to }] = await Promise.all([api('GET', 'teams'), api('GET', 'usage')]);
  const used = sumByTeam(usage);
  return [
    h('h2', {}, 'Teams'),
    h('p', { class: 'quiet' }, `Requests, hits and platform calls are those from ${from} to ${to}.`),
    table(
      'Teams',
      [
        'Team',
        words('Name'),
        words('Advertisers'),
        'State',
        number('Requests'),
        number('Hits'),
        number('Calls'),
        number('Saved'),
        number('Errors'),
        number('Limit a minute'),
        number('Limit of calls a day'),
      ],
      teams.map((team) => {
        const sums = used.get(team.id);
        return [
          h('a', { href: `#/team/${encodeURIComponent(team.id)}` }, team.id),
          team.name,
          advertisers(team),
          state(team),
          sums?.requests ?? 0,
          sums === undefined || sums.requests === 0
            ? null
            : `${Math.round((100 * sums.hits) / sums.requests)} %`,
          sums?.upstreamCalls ?? 0,
          sums?.upstreamCallsSaved ?? 0,
          sums?.errors ?? 0,
          team.limits.requestsPerMinute,
          team.limits.upstreamCallsPerDay,
        ];
      }),
    ),
    teams.length === 0 && h('p', {}, 'There is no team yet: dsp-gateway teams create <team>'),
  ].filter(Boolean);
}

/** One team: limits, keys, usage by day. */
export async function teamView(context, id) {
  const { api } = context;
  const path = `teams/${encodeURIComponent(id)}`;
  const [team, { keys }, { usage }] = await Promise.all([
    api('GET', path),
    api('GET', `${path}/keys`),
    api('GET', `usage?team=${encodeURIComponent(id)}`),
  ]);
  return [
    h('h2', {}, `Team ${team.id}`),
    fields([
      ['Name', team.name],
      ['State', state(team)],
      ['Managed by', team.managedBy === 'file' ? 'a file; change it there' : 'hand'],
      ['Scopes', team.scopes.join(', ') || 'none'],
      ['Advertisers', team.advertisers === '*' ? 'all' : team.advertisers.join(', ') || 'none'],
      ['Addresses', team.ipAllow.join(', ') || 'any'],
      ['Default format', team.defaultFormat],
      ['Requests a minute', team.limits.requestsPerMinute],
      ['Requests at once', team.limits.maxConcurrent],
      ['Platform calls a day', team.limits.upstreamCallsPerDay],
      ['Longest range', `${team.limits.maxRangeDays} d`],
    ]),
    h('h3', {}, 'Keys'),
    keysTable(context, keys),
    issueForm(context, path),
    h('h3', {}, 'Usage of the last 30 days'),
    usageTable(usage),
  ];
}

function keysTable(context, keys) {
  if (keys.length === 0) return h('p', {}, 'There is no key yet.');
  return table(
    'Keys',
    ['Key', words('Label'), 'Begins', 'State', 'Expires', 'Last used', 'Old secret', 'Change'],
    keys.map((key) => {
      const expired = key.expiresAt !== null && Date.parse(key.expiresAt) <= Date.now();
      const word = key.revokedAt !== null ? 'revoked' : expired ? 'expired' : 'valid';
      const old = key.previous !== null && Date.parse(key.previous.validUntil) > Date.now();
      return [
        h('code', {}, key.id),
        key.label,
        h('code', {}, key.prefix),
        h('span', { class: word === 'valid' ? 'good' : 'bad' }, word),
        when(key.expiresAt) ?? 'never',
        when(key.lastUsedAt) ?? 'never',
        old ? h('span', {}, 'valid until ', when(key.previous.validUntil)) : null,
        key.revokedAt === null ? keyButtons(context, key) : null,
      ];
    }),
  );
}

function keyButtons({ api, act }, key) {
  const name = key.label === '' ? key.id : key.label;
  const roll = async () => {
    const question = `Give ${name} a new secret? The old one stays valid for a day.`;
    if (!(await confirmed(question, 'Roll'))) return;
    await act(async () => {
      const rolled = await api('POST', `keys/${key.id}/roll`, { overlapSeconds: 86_400 });
      showOnce(`New secret of ${name}`, rolled.key);
    }, `${name} has a new secret.`);
  };
  const revoke = async () => {
    if (!(await confirmed(`Revoke ${name}? Its apps are refused at once, for good.`, 'Revoke'))) return;
    await act(() => api('DELETE', `keys/${key.id}`), `${name} is revoked.`);
  };
  return h(
    'span',
    {},
    h('button', { type: 'button', onclick: roll, 'aria-label': `Roll ${name}` }, 'Roll'),
    h(
      'button',
      { type: 'button', class: 'grave', onclick: revoke, 'aria-label': `Revoke ${name}` },
      'Revoke',
    ),
  );
}

function issueForm({ api, act }, path) {
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const expiresAt = form.get('expires');
    const body = { label: form.get('label'), ...(expiresAt === '' ? {} : { expiresAt }) };
    await act(async () => {
      const { key } = await api('POST', `${path}/keys`, body);
      showOnce('New key', key);
    }, 'A key is issued.');
  };
  return h(
    'form',
    { onsubmit: submit, 'aria-label': 'Issue a key' },
    field('Label', h('input', { name: 'label', maxlength: 200, autocomplete: 'off' })),
    field('Expires (empty: never)', h('input', { name: 'expires', type: 'date' })),
    h('button', { type: 'submit' }, 'Issue a key'),
  );
}

function usageTable(usage) {
  if (usage.length === 0) return h('p', {}, 'Nothing was asked for.');
  return table(
    'Usage by day',
    [
      'Day',
      ...['Requests', 'Hits', 'Stale', 'Misses', 'Calls', 'Saved', 'Rows', 'Sent', 'Errors', 'Limited'].map(
        number,
      ),
    ],
    [...usage]
      .reverse()
      .map((day) => [
        day.day,
        day.requests,
        day.hits,
        day.stale,
        day.misses,
        day.upstreamCalls,
        day.upstreamCallsSaved,
        day.rows,
        bytes(day.bytesOut),
        day.errors,
        day.rateLimited,
      ]),
  );
}

function sumByTeam(usage) {
  const sums = new Map();
  for (const { team, day: _, ...counts } of usage) {
    const sum = sums.get(team) ?? {};
    for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
    sums.set(team, sum);
  }
  return sums;
}

/** A list that would fill the line is told by its length. */
function advertisers({ advertisers: list }) {
  if (list === '*') return 'all';
  if (list.length === 0) return 'none';
  return list.length <= 6 ? list.join(', ') : `${list.slice(0, 3).join(', ')} and ${list.length - 3} more`;
}

function state({ disabled }) {
  return h('span', { class: disabled ? 'bad' : 'good' }, disabled ? 'disabled' : 'active');
}

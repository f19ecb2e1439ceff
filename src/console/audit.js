import { h, table, when } from './dom.js';

const PAGE = 50;

/** Who changed what, newest first. */
export async function auditView({ api, act }) {
  const list = h('div', {});
  const older = h('button', { type: 'button' }, 'Older');
  const load = async (before) => {
    const search = new URLSearchParams({ limit: PAGE, ...(before === undefined ? {} : { before }) });
    const { entries } = await api('GET', `audit?${search}`);
    list.append(entriesTable(entries));
    older.hidden = entries.length < PAGE;
    older.onclick = () => act.quietly(() => load(entries.at(-1).id));
  };
  await load();
  return [h('h2', {}, 'Audit'), list, h('div', { class: 'row' }, older)];
}

function entriesTable(entries) {
  if (entries.length === 0) return h('p', {}, 'There is nothing older.');
  return table(
    'Changes',
    ['When', 'Who', 'From', 'Did', { head: 'To', words: true }, { head: 'Before and after', words: true }],
    entries.map(({ at, actor, address, action, subject, before, after }) => [
      when(at),
      actor,
      address,
      action,
      subject,
      before === undefined && after === undefined
        ? null
        : h(
            'details',
            {},
            h('summary', {}, 'Show'),
            h('pre', {}, JSON.stringify({ before, after }, null, 2)),
          ),
    ]),
  );
}

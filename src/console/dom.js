/** Elements. Text is always text: nothing that a server or a person said is ever read as HTML. */

/**
 * @param {string} name
 * @param {Record<string, unknown>} [props] attributes; `on…` are listeners; false and undefined leave one out
 * @param {...(Node | string | number | null | undefined | false)} children
 */
export function h(name, props = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === false || value === null) continue;
    if (typeof value === 'function') element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/**
 * A table that stands as cards on a narrow page.
 * @param {string} caption for those who do not see it
 * @param {(string | {head: string, number?: boolean, words?: boolean})[]} columns
 * @param {unknown[][]} rows
 */
export function table(caption, columns, rows) {
  const heads = columns.map((column) => (typeof column === 'string' ? { head: column } : column));
  const style = ({ number, words }) => (number ? 'number' : words ? 'words' : undefined);
  // Roles are said, for `display: block` would take them away.
  return h(
    'div',
    { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: 0 },
    h(
      'table',
      { role: 'table', 'aria-label': caption },
      h(
        'thead',
        { role: 'rowgroup' },
        h(
          'tr',
          { role: 'row' },
          heads.map((column) =>
            h('th', { role: 'columnheader', scope: 'col', class: style(column) }, column.head),
          ),
        ),
      ),
      h(
        'tbody',
        { role: 'rowgroup' },
        rows.map((row) =>
          h(
            'tr',
            { role: 'row' },
            row.map((cell, index) =>
              h(
                'td',
                { role: 'cell', class: style(heads[index]), 'data-label': heads[index].head },
                h('span', {}, shown(cell)),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

function shown(cell) {
  if (cell === null || cell === undefined || cell === '') return '–';
  return typeof cell === 'number' ? cell.toLocaleString('en') : cell;
}

/** @param {[string, unknown][]} fields */
export function fields(fields) {
  return h(
    'dl',
    {},
    fields.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, shown(value))]),
  );
}

/** A labelled control. */
export function field(label, control, wide = false) {
  return h('label', { class: wide ? 'field wide' : 'field' }, h('span', {}, label), control);
}

export function checkbox(label, name) {
  return h('label', { class: 'check' }, h('input', { type: 'checkbox', name }), h('span', {}, label));
}

/**
 * Asks whether it is meant.
 * @returns {Promise<boolean>}
 */
export function confirmed(question, verb) {
  return new Promise((resolve) => {
    const yes = h('button', { type: 'button', class: 'grave', onclick: () => dialog.close('yes') }, verb);
    const no = h('button', { type: 'button', autofocus: true, onclick: () => dialog.close('') }, 'Cancel');
    const dialog = open(question, h('div', { class: 'row' }, no, yes));
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'));
  });
}

/** Shows a secret this once; it is gone from the page when the dialog closes. */
export function showOnce(title, secret) {
  const text = h('input', {
    class: 'secret',
    readonly: true,
    value: secret,
    'aria-label': title,
    autofocus: true,
  });
  const copy = h(
    'button',
    {
      type: 'button',
      onclick: async () => {
        await navigator.clipboard.writeText(secret);
        copy.textContent = 'Copied';
      },
    },
    'Copy',
  );
  // Browsers give the clipboard to secure pages only: localhost and https.
  const buttons = [
    navigator.clipboard === undefined ? null : copy,
    h('button', { type: 'button', onclick: () => dialog.close() }, 'Done'),
  ];
  const dialog = open(
    title,
    h('p', {}, 'It is shown this once. Keep it as a secret; it cannot be shown again.'),
    text,
    h('div', { class: 'row' }, buttons),
  );
  text.select();
}

/** A modal dialog that takes itself away. */
function open(title, ...content) {
  const id = `dialog-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  const dialog = h('dialog', { 'aria-labelledby': id }, h('h2', { id }, title), ...content);
  document.body.append(dialog);
  dialog.addEventListener('close', () => dialog.remove());
  dialog.showModal();
  return dialog;
}

const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** The two greatest units, e.g. `2 h 5 min`. @param {number | null} seconds */
export function span(seconds) {
  if (seconds === null) return null;
  let rest = Math.abs(Math.trunc(seconds));
  const parts = UNITS.flatMap(([size, name]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [`${count} ${name}`];
  });
  return parts.length === 0 ? '0 s' : `${seconds < 0 ? '−' : ''}${parts.slice(0, 2).join(' ')}`;
}

/** A time and how far it is, e.g. `2026-11-21 01:02 (5 min ago)`. @param {string | null | undefined} iso */
export function when(iso) {
  if (!iso) return null;
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  const distance = seconds < 0 ? `${span(-seconds)} ago` : `in ${span(seconds)}`;
  return h('time', { datetime: iso, title: iso }, `${iso.slice(0, 16).replace('T', ' ')} (${distance})`);
}

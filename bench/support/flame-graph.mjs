/** A CPU profile of V8 as a tree of frames, a table, and a flame graph. */

const IDLE = new Set(['(idle)', '(program)', '(root)']);
const [WIDTH, ROW, LEAST] = [1600, 17, 0.4];

/**
 * @param profile as `node --cpu-prof` writes it
 * @param fromUs what was before it is left out; microseconds of `process.hrtime`
 * @returns frames that ran, with milliseconds of their own and in all
 */
export function readProfile(profile, fromUs) {
  const own = new Map();
  let atUs = profile.startTime;
  for (const [at, id] of profile.samples.entries()) {
    const tookUs = profile.timeDeltas[at];
    atUs += tookUs;
    if (atUs >= fromUs) own.set(id, (own.get(id) ?? 0) + tookUs / 1000);
  }
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const read = (id) => {
    const { callFrame, children = [] } = nodes.get(id);
    const calls = children.map(read).filter(({ totalMs }) => totalMs > 0);
    const ownMs = IDLE.has(callFrame.functionName) ? 0 : (own.get(id) ?? 0);
    return {
      name: nameOf(callFrame),
      ownMs,
      totalMs: calls.reduce((sum, one) => sum + one.totalMs, ownMs),
      calls,
    };
  };
  return read(profile.nodes[0].id);
}

function nameOf({ functionName, url, lineNumber }) {
  const place = url.replace(/^.*\/(dist|node_modules)\//, '').replace(/^file:\/\//, '');
  return `${functionName || '(anonymous)'}${place === '' ? '' : ` ${place}:${lineNumber + 1}`}`;
}

/** @returns the functions with most milliseconds of their own, as lines of a table */
export function tableOf(root, most) {
  const own = new Map();
  const add = ({ name, ownMs, calls }) => {
    own.set(name, (own.get(name) ?? 0) + ownMs);
    calls.forEach(add);
  };
  add(root);
  return [...own]
    .sort(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([name, ms]) => `| ${((100 * ms) / root.totalMs).toFixed(1)} | ${name} |`);
}

/** @returns an SVG: a row for each depth of the stack, as wide as the time that was spent in it */
export function flameGraph(root, title) {
  const boxes = [];
  let deepest = 0;
  const draw = (frame, left, depth) => {
    const width = (WIDTH * frame.totalMs) / root.totalMs;
    if (width < LEAST) return;
    deepest = Math.max(deepest, depth);
    boxes.push(box(frame, left, depth, width, root.totalMs));
    let at = left;
    for (const call of frame.calls) {
      draw(call, at, depth + 1);
      at += (WIDTH * call.totalMs) / root.totalMs;
    }
  };
  draw(root, 0, 1);
  const height = (deepest + 2) * ROW;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="monospace" font-size="11">
<text x="4" y="13">${escaped(title)}</text>
${boxes.join('\n')}
</svg>
`;
}

function box({ name, totalMs }, left, depth, width, allMs) {
  const text = escaped(name.slice(0, Math.floor(width / 7)));
  const told = escaped(`${name}: ${totalMs.toFixed(0)} ms, ${((100 * totalMs) / allMs).toFixed(1)} %`);
  // Colours tell neighbours apart, and frames of the gateway from those of Node and of libraries.
  const hue = /^\S+ [a-z-]+\/.*\.js/.test(name) ? 30 : 210;
  const light = 65 + ((name.length * 7) % 20);
  return `<g><title>${told}</title><rect x="${left.toFixed(1)}" y="${depth * ROW}" width="${width.toFixed(1)}" height="${ROW - 1}" fill="hsl(${hue},60%,${light}%)"/><text x="${(left + 2).toFixed(1)}" y="${depth * ROW + 12}">${text}</text></g>`;
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The rows of a pin as a table. */
import { useState } from 'preact/hooks';
import { useLoad } from '../ui/load.js';
import { Empty, Wait } from '../ui/parts.js';
import { View } from '../ui/shell.js';
import { endpointTitle } from './endpoints.js';
import { allColumnsOf } from './measures.js';
import { breathe, parseReport } from './parse.js';
import { type Pin, pinPath, questionOf } from './pinned.js';
import { FIRST_QUESTION, readView } from './question.js';
import { ReportTable } from './report-table.js';
import { toldPeriod } from './spans.js';
import { useTeam } from './team.js';

export function PinnedRows({
  id,
  nameOf,
}: {
  readonly id: string;
  readonly nameOf: (id: string) => string | null;
}) {
  const { api } = useTeam();
  const [view, setView] = useState(readView(new URLSearchParams()));
  const path = pinPath(id);
  const loaded = useLoad(path, async (signal) => {
    const { rows, meta } = await parseReport((await api.raw(`${path}?_format=json`, signal)).text, breathe);
    // Of a pin, the answer has what the list of pins has.
    return { rows, meta, pin: meta as typeof meta & Omit<Pin, 'id'>, ...allColumnsOf(rows) };
  });
  return (
    <View title="Pinned rows" lead="As the platform sent them when they were pinned.">
      <p class="row">
        <a href="#/pins">All pins</a>
        <a href={`${path}?_format=csv&_bom=1`} download={`${id}.csv`}>
          CSV
        </a>
        <a href={`${path}?_format=json`} download={`${id}.json`}>
          JSON
        </a>
      </p>
      <Wait of={loaded}>
        {({ pin, meta, rows, own }) => {
          const advertiserId = String(pin.advertiserId ?? '');
          const advertiser = nameOf(advertiserId);
          const title = endpointTitle(pin.endpoint);
          const question = questionOf(pin) ?? { ...FIRST_QUESTION, endpoint: pin.endpoint, advertiserId };
          return (
            <>
              <h2>
                {title} · <bdi>{advertiser ?? `advertiser ${advertiserId || 'unknown'}`}</bdi> ·{' '}
                {toldPeriod(pin.period)}
              </h2>
              {rows.length === 0 ? (
                <Empty>The pin has no rows.</Empty>
              ) : (
                <ReportTable
                  {...{ question, view, report: { rows, meta }, columns: own, spans: new Map() }}
                  about={{ title, advertiser, nameOf, currency: null }}
                  setView={(part) => setView((was) => ({ ...was, ...part }))}
                />
              )}
            </>
          );
        }}
      </Wait>
    </View>
  );
}

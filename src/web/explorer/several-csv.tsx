/** The CSV of several advertisers as one file, made on this page from the gateway's. */
import { useState } from 'preact/hooks';
import { useNotices } from '../ui/notices.js';
import { Button } from '../ui/parts.js';
import { type CsvPart, joinCsv } from './join-csv.js';
import type { Meta } from './parse.js';
import { ofOne, pathOf, type Question } from './question.js';
import { csvName, saveCsv } from './save-csv.js';
import type { Part } from './several.js';
import { useTeam } from './team.js';

/** Of the link of one advertiser, and of the button of several. */
export const CSV_LABEL = 'CSV: the platform’s rows and columns';
export const CSV_TITLE = 'All rows, without filter, weeks and calculated columns.';

interface CsvProps {
  readonly question: Question;
  /** The advertisers that are shown. */
  readonly parts: readonly Part[];
  readonly period: Meta['period'];
}

export function SeveralCsv({ question, parts, period }: CsvProps) {
  const { api } = useTeam();
  const { act } = useNotices();
  const [done, setDone] = useState<number | null>(null);
  const make = async () => {
    const files: CsvPart[] = [];
    for (const { id, name } of parts) {
      setDone(files.length);
      const { text } = await api.raw(pathOf(ofOne(question, id), { _format: 'csv' }));
      files.push({ id, name, text });
    }
    const ids = parts.map(({ id }) => id);
    saveCsv(joinCsv(files), csvName(question, ids, period));
  };
  const start = () =>
    act(make, `CSV of ${parts.length} advertisers made, with an advertiserId column.`).then(() =>
      setDone(null),
    );
  return (
    <Button
      label={done === null ? CSV_LABEL : `CSV: ${done} of ${parts.length} …`}
      disabled={done !== null}
      title={`One file, with the id and name of each advertiser. ${CSV_TITLE}`}
      act={start}
    />
  );
}

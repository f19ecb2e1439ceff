/** The form of a query, and below it the answer. */
import { useMemo, useState } from 'preact/hooks';
import { Empty } from '../ui/parts.js';
import { go, hrefOf, useRoute } from '../ui/route.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { type Described, endpointsOf } from './endpoints.js';
import { addressOf, FIRST_QUESTION, faultOf, readQuestion, readView, type SetView } from './question.js';
import { ReportAnswer } from './report-answer.js';
import { ReportForm } from './report-form.js';
import { type Advertisers, SEEN, useTeam } from './team.js';

export function ReportSection() {
  const { session } = useTeam();
  const { query } = useRoute();
  const described = useGet<Described>('/openapi.json');
  const endpoints = useMemo(() => endpointsOf(described.value ?? {}), [described.value]);
  const seen = useGet<Advertisers>(SEEN);
  const advertisers = seen.value?.advertisers ?? [];
  const asked = readQuestion(query);
  const view = readView(query);
  const fault = asked === null ? null : faultOf(asked);
  // Only the newest fault is shown: that of the form replaces one of the question before.
  const [newFault, setNewFault] = useState<string | null>(null);
  const only = session.advertisers === '*' ? undefined : session.advertisers[0];
  const start = { ...FIRST_QUESTION, advertiserId: String(advertisers[0]?.id ?? only ?? '') };
  const setView: SetView = (part, replace = false) => {
    if (asked !== null) go(hrefOf(['report'], addressOf(asked, { ...view, ...part })), replace);
  };
  return (
    <View title="Report" lead="Query reports of the platform, from the cache if possible.">
      <ReportForm
        question={asked ?? start}
        endpoints={endpoints}
        advertisers={advertisers}
        fault={newFault}
        setFault={setNewFault}
        ask={(question) =>
          go(hrefOf(['report'], addressOf(question, { metric: view.metric, against: view.against })))
        }
      />
      {asked === null ? (
        <Empty>Press Show the report. The address of the page can then be shared.</Empty>
      ) : fault === null ? (
        <ReportAnswer question={asked} view={view} setView={setView} showsFault={newFault === null} />
      ) : newFault !== null ? null : (
        <p class="note warn" role="status">
          This address is not a valid report: {fault}
        </p>
      )}
    </View>
  );
}

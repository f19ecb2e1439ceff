/** The form of a query, and below it the answer. */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Empty, Looking } from '../ui/parts.js';
import { go, useRoute } from '../ui/route.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { type Described, endpointsOf, endpointTitle, firstQuestion } from './endpoints.js';
import {
  faultOf,
  keptOf,
  type Period,
  type Question,
  readQuestion,
  readView,
  reportHref,
  type SetView,
} from './question.js';
import { ReportAnswer } from './report-answer.js';
import { ReportForm, useDraft } from './report-form.js';
import { useAdvertisers, useTeam } from './team.js';

export function ReportSection() {
  const { session } = useTeam();
  const { query } = useRoute();
  const described = useGet<Described>('/openapi.json');
  const endpoints = useMemo(() => endpointsOf(described.value ?? {}), [described.value]);
  const { advertisers, nameOf, loading, tell } = useAdvertisers();
  const asked = readQuestion(query);
  const view = readView(query);
  const fault = asked === null ? null : faultOf(asked);
  const daysNow = useRef<Period | null>(null);
  const only = session.advertisers === '*' ? undefined : session.advertisers[0];
  const start = firstQuestion(endpoints, String(advertisers[0]?.id ?? only ?? ''));
  const isReady = !described.loading && !loading;
  const starts = asked === null && isReady && start.advertiserId !== '';
  // In place of the address without a question: going back leaves the page.
  useEffect(() => {
    if (starts) go(reportHref(start), true);
  }, [starts]);
  const setView: SetView = (part, replace = false) => {
    if (asked !== null) go(reportHref(asked, { ...view, ...part }), replace);
  };
  const question = asked ?? start;
  const drafted = useDraft(question, (asks) => go(reportHref(asks, keptOf(view, asks))));
  const endpoint = endpoints.find(({ name }) => name === question.endpoint);
  const about = {
    title: endpointTitle(question.endpoint),
    advertiser: nameOf(question.advertiserId),
    nameOf,
    currency: currencyOf(question, endpoint?.currency ?? null),
  };
  return (
    <View
      title="Report"
      lead="Choose a report, an advertiser and a period. The address of the page can be shared."
    >
      <ReportForm
        {...drafted}
        {...{ question, endpoints, advertisers }}
        daysNow={() => daysNow.current}
        folds={asked !== null && fault === null}
      />
      {drafted.isRefused ? null : asked === null ? (
        isReady && !starts ? (
          <Empty>
            No report of your team has named an advertiser yet. Enter the id of one above, as the platform's
            dashboard shows it, and press Enter.
          </Empty>
        ) : (
          <Looking>Loading the report …</Looking>
        )
      ) : fault === null ? (
        <div class="stack">
          <ReportAnswer
            {...{ about, tell, view, setView }}
            question={asked}
            tellDays={(days) => {
              daysNow.current = days;
            }}
          />
        </div>
      ) : (
        <p class="note warn" role="status">
          This address is not a valid report: {fault}
        </p>
      )}
    </View>
  );
}

/** Of money in rows that name none; null: unknown, as the advertiser's own is. @param usual by the settings */
function currencyOf({ spentBased }: Question, usual: string | null): string | null {
  if (spentBased === '') return usual;
  return spentBased === 'usd' ? 'USD' : null;
}

/** Cache policies as models over the trace: how many platform calls, and how many day-rows, each would cost. */

const DAY_S = 86_400;
const CURRENT_S = 300;
const RESTATING_S = 3600;
const FINAL_S = 30 * DAY_S;
const RESTATEMENT_DAYS = 5;

/** Fresh time of a day, by its age when it was fetched. */
function freshS(day, fetchedAt) {
  const today = Math.floor(fetchedAt / DAY_S);
  if (day >= today) return CURRENT_S;
  return day < today - RESTATEMENT_DAYS ? FINAL_S : RESTATING_S;
}

const width = ({ from, to }) => to - from + 1;
const seriesOf = ({ advertiser, byCampaign, byDate }) => `${advertiser}|${byCampaign}|${byDate}`;
const canonical = (request) => `${seriesOf(request)}|${request.from}|${request.to}`;
const exact = (request) => `${canonical(request)}|${request.spelling}`;

export function noCache(trace) {
  return { calls: trace.length, dayRows: trace.reduce((sum, request) => sum + width(request), 0) };
}

/** Whole answers under a key; `fresh` gives their time by request. */
function whole(trace, keyOf, fresh) {
  const until = new Map();
  const cost = { calls: 0, dayRows: 0 };
  for (const request of trace) {
    const key = keyOf(request);
    if (request.at < (until.get(key) ?? -1)) continue;
    cost.calls += 1;
    cost.dayRows += width(request);
    until.set(key, request.at + fresh(request));
  }
  return cost;
}

export const exactFixed = (trace) => whole(trace, exact, () => CURRENT_S);
/** The youngest day decides. */
const byYoungest = (request) => freshS(request.to, request.at);
export const exactAgeAware = (trace) => whole(trace, exact, byYoungest);
export const canonicalAgeAware = (trace) => whole(trace, canonical, byYoungest);

/**
 * The fewest calls anyone could make who knows the future: a call may bring every day of its series for nothing, so
 * it is made only when a request finds a day past its freshness. Calls at the last moment are optimal, as for
 * stabbing intervals at their right ends.
 */
export function fewestCalls(trace) {
  const lastCall = new Map();
  let calls = 0;
  for (const request of trace) {
    const key = request.byDate ? seriesOf(request) : canonical(request);
    const earlier = lastCall.get(key) ?? [];
    const satisfied = request.byDate
      ? everyDay(request, (day) => earlier.some((at) => request.at < at + freshS(day, at)))
      : earlier.some((at) => request.at < at + byYoungest({ ...request, at }));
    if (satisfied) continue;
    calls += 1;
    // Older calls serve final days only, and those the newest serves as long.
    lastCall.set(key, [...earlier.slice(-1), request.at]);
  }
  return calls;
}

/** The fewest day-rows: every day is fetched alone, when it is asked for and past its freshness. */
export function fewestDayRows(trace) {
  const until = new Map();
  let rows = 0;
  for (const request of trace) {
    const series = request.byDate ? seriesOf(request) : canonical(request);
    everyDay(request, (day) => {
      const key = `${series}|${day}`;
      if (request.at >= (until.get(key) ?? -1)) {
        rows += 1;
        until.set(key, request.at + freshS(request.byDate ? day : request.to, request.at));
      }
      return true;
    });
  }
  return rows;
}

function everyDay({ from, to }, test) {
  for (let day = from; day <= to; day++) if (!test(day)) return false;
  return true;
}

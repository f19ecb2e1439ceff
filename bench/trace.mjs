/**
 * The trace of `bench/economics`: what 12 teams' dashboards ask in 60 virtual days. Seeded: same seed, same trace.
 *
 * Day 0 is a Monday; days whose number modulo 7 is 5 or 6 are weekend. Times are seconds since the first midnight.
 */

const DAY_S = 86_400;
/** A Monday, and the first of a month: day 0 of the trace, in epoch milliseconds. */
export const ORIGIN_MS = Date.parse('2026-06-01T00:00:00Z');
const WINDOWS = [7, 14, 30, 90, 'month'];

/** Mulberry32: small, fast, and the same everywhere. */
export function createRandom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    int: (low, high) => low + Math.floor(next() * (high - low + 1)),
    chance: (probability) => next() < probability,
    pick: (list) => list[Math.floor(next() * list.length)],
  };
}

/**
 * @returns requests in order of time: {at (s), advertiser, from, to (day numbers), byDate, byCampaign, spelling (0…3)}
 */
export function createTrace({ seed = 1, days = 60, teams = 12, advertisers = 40 } = {}) {
  const random = createRandom(seed);
  const requests = [];
  for (let team = 0; team < teams; team++) {
    const own = drawAdvertisers(random, advertisers, 8);
    const dashboards = Array.from({ length: 5 }, () => createDashboard(random, own));
    for (let day = 0; day < days; day++) {
      for (const dashboard of dashboards) addDashboardDay(requests, random, dashboard, day);
      if (!isWeekend(day)) addAdHoc(requests, random, own, day);
    }
  }
  return requests.sort((a, b) => a.at - b.at);
}

/** Distinct advertisers, the i-th with weight 1/i. */
function drawAdvertisers(random, count, wanted) {
  const drawn = [];
  const left = Array.from({ length: count }, (_, index) => index + 1);
  while (drawn.length < wanted) {
    const total = left.reduce((sum, id) => sum + 1 / id, 0);
    let mark = random.next() * total;
    const index = left.findIndex((id) => {
      mark -= 1 / id;
      return mark <= 0;
    });
    drawn.push(...left.splice(index < 0 ? left.length - 1 : index, 1));
  }
  return drawn;
}

function createDashboard(random, own) {
  const windows = WINDOWS.filter(() => random.chance(0.6));
  return {
    advertiser: own[random.int(0, random.int(4, 8) - 1)],
    byCampaign: random.chance(0.5),
    windows: windows.length > 0 ? windows : [random.pick(WINDOWS)],
    users: random.int(1, 4),
    endsToday: random.chance(0.7),
    refreshes: random.chance(0.15),
  };
}

const isWeekend = (day) => day % 7 >= 5;

function addDashboardDay(requests, random, dashboard, day) {
  const at = (low, high) => day * DAY_S + random.int(low * 3600, high * 3600 - 1);
  const openings = [];
  for (let user = 0; user < dashboard.users; user++) {
    const times = isWeekend(day) ? (random.chance(0.2) ? 1 : 0) : random.int(2, 8);
    for (let opening = 0; opening < times; opening++) {
      const first = at(9, 18);
      openings.push({ at: first, spelling: user });
      if (random.chance(0.35)) openings.push({ at: first + random.int(20, 420), spelling: user });
    }
  }
  if (dashboard.refreshes && !isWeekend(day)) {
    for (let minute = 9 * 60; minute < 18 * 60; minute += 15)
      openings.push({ at: day * DAY_S + minute * 60, spelling: 0 });
  }
  for (const opening of openings) {
    for (const window of dashboard.windows)
      requests.push({ ...opening, ...rangeOf(dashboard, window, opening.at) });
  }
}

function rangeOf({ advertiser, byCampaign, endsToday }, window, at) {
  const today = Math.floor(at / DAY_S);
  const to = endsToday ? today : today - 1;
  // Months of 30 days: day 0 is the first of one.
  const from = window === 'month' ? to - (((to % 30) + 30) % 30) : to - window + 1;
  return { advertiser, byCampaign, byDate: true, from, to };
}

function addAdHoc(requests, random, own, day) {
  const at = () => day * DAY_S + random.int(9 * 3600, 18 * 3600 - 1);
  for (let count = random.int(2, 8); count > 0; count--) {
    const to = day - random.int(0, 60);
    const from = to - random.int(1, 60) + 1;
    requests.push({
      at: at(),
      spelling: random.int(0, 3),
      advertiser: random.pick(own),
      byCampaign: random.chance(0.5),
      byDate: random.chance(0.8),
      from,
      to,
    });
  }
  for (let count = random.int(2, 5); count > 0; count--) {
    requests.push({
      at: at(),
      spelling: random.int(0, 3),
      advertiser: random.pick(own),
      byCampaign: random.chance(0.5),
      byDate: true,
      from: day - 1,
      to: day - 1,
    });
  }
}

/**
 * Few requests over a long time, for what takes weeks to show: ten advertisers, each looked at some times a day over the 30
 * days that are over, and now and then over the month before, as for an invoice.
 */
export function createSlowTrace({ seed = 1, days = 60, advertisers = 10, openings = 3 } = {}) {
  const random = createRandom(seed);
  const requests = [];
  for (let day = 0; day < days; day++) {
    for (let advertiser = 1; advertiser <= advertisers; advertiser++) {
      const ask = (from, to) =>
        requests.push({
          ...{ at: day * DAY_S + random.int(7 * 3600, 20 * 3600), spelling: 0, withDays: true },
          ...{ advertiser, byDate: true, byCampaign: false, from, to },
        });
      for (let opening = 0; opening < openings; opening++) ask(day - 30, day - 1);
      if (random.chance(0.2)) ask(day - 60, day - 31);
    }
  }
  return requests.sort((a, b) => a.at - b.at);
}

const iso = (day) => new Date(ORIGIN_MS + day * DAY_S * 1000).toISOString().slice(0, 10);

/** The query of a request: one question, four ways to write it. */
export function queryOf({ advertiser, byDate, byCampaign, from, to, spelling, withDays = false }) {
  const pairs = [
    ['advertiserId', advertiser],
    ['dateFrom', iso(from)],
    ['dateTo', iso(to)],
    ...(byDate ? [['byDate', spelling % 2 === 0 ? '1' : 'true']] : []),
    ...(byCampaign
      ? [['byCampaign', spelling < 2 ? '1' : 'true']]
      : spelling === 3
        ? [['byCampaign', '0']]
        : []),
    ...(withDays ? [['_days', '1']] : []),
  ];
  if (spelling % 2 === 1) pairs.reverse();
  return pairs
    .map(([name, value]) => `${name}=${spelling === 2 ? String(value).replaceAll('-', '%2D') : value}`)
    .join('&');
}

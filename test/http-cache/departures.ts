/** Where the gateway does otherwise than a case of the public suite wants, and why: each is on `docs/standards.md`. */

export interface Departure {
  /** Ids of cases. */
  readonly cases: RegExp;
  readonly why: string;
}

export const DEPARTURES: readonly Departure[] = [
  {
    cases: /^(freshness-max-age-s-maxage-private|cc-resp-private-private)/,
    why: 'Meant for the caches of browsers; the gateway is a shared one.',
  },
  {
    cases: /^age-parse-/,
    why: 'RFC 9111, section 5.1: of several ages the first counts, and what is no number is left out of account. The suite is older and wants such an answer to be stale.',
  },
  {
    cases: /^freshness-(max-age-(decimal|a100|100a|two-stale-fresh)|expires-)/,
    why: 'A `max-age` or `expires` that is not in its form makes the answer stale; of two, the first counts (section 4.2.1).',
  },
  {
    cases: /^(status|heuristic)-(20[1-6]|299|3\d\d|5\d\d)-/,
    why: 'The status is not passed on: redirects, failures and answers that are no report become problem documents that nobody keeps, 203 becomes 200.',
  },
  {
    cases: /^(heuristic-|pragma-response-|other-heuristic-|status-4\d\d-fresh$)/,
    why: 'No freshness is guessed, and of refusals only 400, 404 and 422 are remembered, for 30 seconds at most.',
  },
  {
    cases: /^(stale-|ccreq-max-stale)/,
    why: 'No stale answer is given where RFC 9111 decides, not to a caller who would take one either.',
  },
  {
    cases:
      /^(cc-resp-(no-cache-revalidate|must-revalidate-stale|immutable-stale)|conditional-.*(stale|generate|vary-headers|forward)|ccreq-no-cache-(lm|etag)|304-)/,
    why: 'The platform is asked no conditional questions: a stale answer is fetched anew, whole.',
  },
  {
    cases: /^conditional-/,
    why: 'Validators are the gateway’s own, of the bodies it makes: `if-none-match` is answered by its own `etag`, and there is no `last-modified`.',
  },
  {
    cases: /^vary-/,
    why: 'Nothing of a caller’s headers reaches the platform, so that all its answers are to the same headers; `vary: *` is never kept.',
  },
  {
    cases: /^ccreq-(magreaterage|min-fresh|no-store)/,
    why: 'Of requests, `no-cache`, `max-age`, `max-stale` and `only-if-cached` are heard (section 5.2.1 obliges to none); an age is counted from the gateway’s own fetch.',
  },
  {
    cases: /^(headers-|head-|partial-|other-date-update|other-age-update-)/,
    why: 'An answer is written anew: rows in the gateway’s form, with headers of its own; `age` and `date` are counted from the gateway’s fetch and answer; ranges are not served; HEAD asks as GET does.',
  },
  {
    cases: /^(invalidate-|method-POST)/,
    why: 'No write goes to the address of a report: PUT, DELETE and the like are 405 there. A POST there that is no declared read is passed through, not kept, and makes nothing void; purges do.',
  },
  {
    cases: /^other-authorization/,
    why: 'Every call to the platform has the gateway’s credential, and each request is judged by its own key before the cache is looked at; so section 3.5 is met by authorizing each use, not by storing nothing.',
  },
];

/**
 * Words of the source that texts for people do not use: each needs an explanation, and has plain words. Not as part of a name:
 * `finality.mode`, `/gateway/v1/truth`, `get_finality`.
 */
export const OWN_WORDS =
  /(?<![\w./-])(?:finality|truth|vintage|divisib\w*|indivisib\w*|probation|epoch|generation)(?![\w/]|\.\w)/i;

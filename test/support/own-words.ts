/** Words of the source that texts for people do not use: each needs an explanation, and has plain words. */
export const OWN_WORDS = /\b(?:finality|truth|vintage|divisib\w*|probation|epoch|generation)\b/i;

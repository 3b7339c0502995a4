/** Characters that stand for themselves in JSON, of those most texts are made of. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** A text as JSON; for short ones a good deal quicker than `JSON.stringify`. */
export const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

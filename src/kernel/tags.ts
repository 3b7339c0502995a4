/** Words an execution can be found by. */
export type Tags = Readonly<Record<string, string>>;

export const MAX_TAGS = 64;

/**
 * How long all tags of an execution may be as JSON. They stand in its record, which has a cap of 64 KiB, and the rest of
 * that must have room for whatever is told of it later: a failure that did not fit could never be written.
 */
export const MAX_TAGS_CHARS = 24 * 1024;

export const isTagKey = (key: string): boolean => key.length <= 256 && /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$/.test(key);

/** Whether a record has room for these. */
export const tagsFit = (tags: Tags): boolean =>
	Object.keys(tags).length <= MAX_TAGS && JSON.stringify(tags).length <= MAX_TAGS_CHARS;

/** A key may be the name of something every object has, but nothing of that is a string. */
export const hasTag = (tags: Tags, key: string, value: string): boolean => tags[key] === value;

import { toText } from "./text.ts";

/**
 * The names of one partition's keys. The hash tag puts all of them into one slot; the part in front of a record's or
 * queue's own name has the same length everywhere, so the server gets from a key to the name by cutting it off.
 *
 *   h   header, a hash: time, commits, turns, watched, and `e:<engine>` for its last batch and what it was answered
 *   l   log, a hash: by the number of every commit that told of something all its events
 *   d   directory: queues that are not empty, in the order of their names
 *   w   watched records and until when; t   turns on records
 *   v:  version of a record, then the commits that told of it; r:  its document
 *   q:  a queue, a sorted set: an entry is a record's key, a null character and its score, so that one may not be taken
 *       for another of the same record; b:  a blob
 */
export interface PartitionKeys {
	/** Header, log, directory, watched, turns: declared to every commit, in this order. */
	readonly fixed: readonly [string, string, string, string, string];
	/** What stands in front of names, as bytes. */
	readonly prefixes: Readonly<Record<"version" | "record" | "queue" | "blob", Uint8Array>>;
	version(key: string): string;
	record(key: string): string;
	queue(name: string): string;
	blob(key: string): string;
}

export function partitionKeys(prefix: string, partition: number): PartitionKeys {
	const tag = `${prefix}{${partition}}`;
	const [version, record, queue, blob] = [`${tag}v:`, `${tag}r:`, `${tag}q:`, `${tag}b:`];
	return {
		fixed: [`${tag}h`, `${tag}l`, `${tag}d`, `${tag}w`, `${tag}t`],
		prefixes: {
			version: Buffer.from(version),
			record: Buffer.from(record),
			queue: Buffer.from(queue),
			blob: Buffer.from(blob),
		},
		version: (key) => version + toText(key),
		record: (key) => record + toText(key),
		queue: (name) => queue + toText(name),
		blob: (key) => blob + toText(key),
	};
}

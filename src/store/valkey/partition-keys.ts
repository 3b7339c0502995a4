import { toText } from "./text.ts";

/**
 * The names of one partition's keys. The hash tag puts all of them into one slot; the part in front of a record's or
 * queue's own name has the same length everywhere, so the server gets from a key to the name by cutting it off.
 *
 *   h   header, a hash: time, commits, turns, watched, stretch, and `e:<engine>` for its last batch and what it was answered
 *   l   log, a hash: by the number of every commit that told of something all its events
 *   s   stretches of 256 commits that have entries in the log; o   entries with events of owners that were forgotten
 *   d   directory: queues that are not empty, in the order of their names
 *   w   watched records and until when; t   turns on records
 *   v:  version of a record, then the commits that told of it; r:  its document
 *   q:  a queue, a sorted set: an entry is a record's key, a null character and its score, so that one may not be taken
 *       for another of the same record; b:  a blob
 */
export interface PartitionKeys {
	readonly header: string;
	readonly log: string;
	readonly stretches: string;
	readonly orphaned: string;
	readonly directory: string;
	readonly watched: string;
	/** All of these and the turns: declared to every commit, in the order the server's functions know. */
	readonly fixed: readonly string[];
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
	const [header, log, stretches, orphaned] = [`${tag}h`, `${tag}l`, `${tag}s`, `${tag}o`];
	const [directory, watched, turns] = [`${tag}d`, `${tag}w`, `${tag}t`];
	return {
		header,
		log,
		stretches,
		orphaned,
		directory,
		watched,
		fixed: [header, log, stretches, orphaned, directory, watched, turns],
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
